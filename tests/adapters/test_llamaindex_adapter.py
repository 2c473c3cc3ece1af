"""LlamaIndex: the retriever in a query engine, the memory block in a chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

import hades

pytest.importorskip("llama_index.core", reason="the extra `llamaindex` is not installed")

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import ChatMessage, MockLLM
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine
from sqlalchemy.ext.asyncio import create_async_engine

from hades.adapters.llamaindex import HadesMemoryBlock, HadesNodeRetriever

pytestmark = pytest.mark.slow


@pytest.fixture
def notes(memory: hades.Memory) -> hades.Memory:
    memory.remember("infra/queue", "The job queue is in Postgres, since Redis lost jobs.")
    memory.remember("infra/cache", "The cache is in Redis.")
    memory.remember("people/ann", "Ann looks after the job queue.")
    return memory


def test_nodes_are_the_passages_of_a_recall(notes: hades.Memory) -> None:
    first, *rest = HadesNodeRetriever(notes, k=2).retrieve("Where is the job queue?")
    assert len(rest) == 1
    assert first.node.node_id == "infra/queue@1#0"
    assert first.text == "The job queue is in Postgres, since Redis lost jobs."
    assert first.metadata["source"] == "infra/queue"
    assert (first.score or 0) >= (rest[0].score or 0)
    people = asyncio.run(HadesNodeRetriever(notes, glob="people/*").aretrieve("job queue"))
    assert [node.metadata["source"] for node in people] == ["people/ann"]


def test_a_query_engine_reads_them(notes: hades.Memory) -> None:
    engine = RetrieverQueryEngine.from_args(HadesNodeRetriever(notes, k=1), llm=MockLLM())
    answer = str(engine.query("Where is the job queue?"))  # the mock repeats its prompt
    assert "since Redis lost jobs" in answer
    assert "source: infra/queue" in answer
    assert "belief" not in answer


@asynccontextmanager
async def short_memory(block: HadesMemoryBlock, **given: Any) -> AsyncIterator[Memory]:
    """LlamaIndex's memory with a block; its database is closed at the end."""
    engine = create_async_engine("sqlite+aiosqlite:///:memory:")
    yield Memory.from_defaults(memory_blocks=[block], async_engine=engine, **given)
    await engine.dispose()


def test_messages_that_leave_the_chat_stay_findable(memory: hades.Memory) -> None:
    block = HadesMemoryBlock(memory=memory, budget=200)
    small: dict[str, Any] = {"token_limit": 60, "chat_history_token_ratio": 0.5}
    small |= {"token_flush_size": 10, "tokenizer_fn": str.split, "session_id": "ann/1"}

    async def talk() -> list[ChatMessage]:
        async with short_memory(block, **small) as short:
            for said in ("My boat is called Juniper, by the way.", *["How is the weather?"] * 6):
                await short.aput(ChatMessage(role="user", content=said))
                await short.aput(ChatMessage(role="assistant", content="Nice, with some wind."))
            return await short.aget(input="What is my boat called?")

    seen = asyncio.run(talk())
    assert any(topic.name.startswith("chats/ann%2F1/") for topic in memory.topics())
    assert "Juniper" in str(seen[0].content)
    assert "Juniper" in memory.recall("What is the boat called?").context


def test_a_block_without_a_question_says_nothing(memory: hades.Memory) -> None:
    block = HadesMemoryBlock(memory=memory)
    assert asyncio.run(block.aget([])) == ""
    assert asyncio.run(block.aget([ChatMessage(role="user", content=" ")])) == ""
    assert asyncio.run(block.aget([ChatMessage(role="user", content="Who?")])) == ""


def test_a_chat_engine_uses_the_block(notes: hades.Memory) -> None:
    async def talk() -> str:
        async with short_memory(HadesMemoryBlock(memory=notes)) as short:
            engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=short)
            return str(await engine.achat("Where is the job queue?"))

    assert "Postgres" in asyncio.run(talk())
