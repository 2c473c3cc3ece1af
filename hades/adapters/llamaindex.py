"""LlamaIndex: a retriever, and a memory block for `Memory`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from hades.adapters.access import framework
from hades.adapters.conversation import Conversation
from hades.adapters.messages import Message, message_line
from hades.adapters.passages import best_passages, details
from hades.memory import View

with framework("llama-index-core>=0.14"):
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import BaseMemoryBlock
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

HIDDEN = ["version", "line", "score", "belief"]
"""Details of a passage that neither an encoder nor a model should read."""


class HadesNodeRetriever(BaseRetriever):
    """The `k` passages that answer a question best, as `recall` ranks them.

    `scope` narrows the topics by tag, kind, glob, since and until, as in `recall`.
    """

    def __init__(self, memory: View, k: int = 4, **scope: Any) -> None:
        super().__init__()
        self.memory = memory
        self.k = k
        self.scope = scope

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [
            NodeWithScore(
                node=TextNode(
                    id_=passage.id,
                    text=passage.chunk.text,
                    metadata=details(passage),
                    excluded_embed_metadata_keys=HIDDEN,
                    excluded_llm_metadata_keys=HIDDEN,
                ),
                score=passage.score,
            )
            for passage in best_passages(self.memory, query_bundle.query_str, self.k, self.scope)
        ]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class HadesMemoryBlock(BaseMemoryBlock[str]):
    """Long-term memory of a chat: messages that leave the short-term memory stay findable.

    They are written to topics below `chats/SESSION`. Before each turn, the block recalls what the
    memory knows about the last message, in at most `budget` tokens; `glob` narrows the topics.
    """

    memory: View
    name: str = "hades"
    session_id: str = "llamaindex"
    budget: int = 1_000
    glob: str | None = None

    async def _aget(
        self, messages: Sequence[ChatMessage] | None = None, **block_kwargs: Any
    ) -> str:
        texts = (message.content for message in reversed(messages or ()) if message.role == "user")
        question = next((text for text in texts if text and text.strip()), None)
        return await asyncio.to_thread(self._context, question) if question else ""

    async def _aput(self, messages: Sequence[ChatMessage]) -> None:
        await asyncio.to_thread(self._write, messages)

    def _context(self, question: str) -> str:
        recalled = self.memory.recall(question, budget=self.budget, glob=self.glob)
        return recalled.context if recalled.passages or recalled.facts else ""

    def _write(self, messages: Sequence[ChatMessage]) -> None:
        for session, some in groupby(messages, self._session):
            dumped = [message.model_dump(mode="json", exclude_none=True) for message in some]
            Conversation(self.memory, session, _spoken).add(dumped)

    def _session(self, message: ChatMessage) -> str:
        """Return the session that `Memory` noted in a message, or the block's own."""
        return str(message.additional_kwargs.get("session_id", self.session_id))


def _spoken(message: Message) -> str:
    read = ChatMessage.model_validate(message)
    return message_line(read.role.value, read.content or "")
