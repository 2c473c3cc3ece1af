"""LangChain: its own tests of retrievers, and the history of a chat."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hades

pytest.importorskip("langchain_core", reason="the extra `langchain` is not installed")
standard = pytest.importorskip(
    "langchain_tests.integration_tests", reason="langchain-tests is not installed"
)

from langchain_core.language_models import FakeListChatModel  # noqa: E402
from langchain_core.messages import (  # noqa: E402
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.runnables import RunnableLambda  # noqa: E402

from hades.adapters.langchain import HadesChatHistory, HadesRetriever  # noqa: E402

pytestmark = pytest.mark.slow

NOTES = {
    "infra/queue": "We chose Postgres for the job queue, because Redis lost jobs in March.",
    "infra/cache": "The cache stays in Redis; it may lose entries.",
    "infra/mail": "Mails are sent by a job of the queue every minute.",
    "people/ann": "Ann looks after the job queue.",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    with hades.open(tmp_path_factory.mktemp("langchain") / "notes.hades") as memory:
        for topic, text in NOTES.items():
            memory.remember(topic, text, valid_from="2024-03-01")
        yield memory


@pytest.mark.anyio
class TestRetriever(standard.RetrieversIntegrationTests):  # type: ignore[name-defined,misc]
    """The standard tests of LangChain, as they are."""

    @pytest.fixture(autouse=True)
    def _memory(self, notes: hades.Memory) -> None:
        self.notes = notes

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HadesRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.notes}

    @property
    def retriever_query_example(self) -> str:
        return "Which database has the job queue?"


def test_documents_say_where_they_stand_and_since_when(notes: hades.Memory) -> None:
    first, *_ = HadesRetriever(memory=notes, k=2).invoke("Why Postgres for the queue?")
    assert first.page_content == NOTES["infra/queue"]
    assert first.id == "infra/queue@1#0"
    assert first.metadata["source"] == "infra/queue"
    assert first.metadata["valid_from"] == "2024-03-01T00:00:00Z"
    assert 0 < first.metadata["belief"] <= 1


def test_a_retriever_is_narrowed_and_reads_the_past(notes: hades.Memory) -> None:
    people = HadesRetriever(memory=notes, glob="people/*").invoke("job queue")
    assert [document.metadata["source"] for document in people] == ["people/ann"]
    assert HadesRetriever(memory=notes.at("2023-01")).invoke("job queue") == []
    (one,) = asyncio.run(HadesRetriever(memory=notes).ainvoke("job queue", k=1))
    assert one.metadata["source"] in NOTES


def test_a_wrong_number_is_refused(notes: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="number of passages"):
        HadesRetriever(memory=notes, k=0).invoke("job queue")


EVERY_KIND: list[BaseMessage] = [
    SystemMessage("Be short."),
    HumanMessage([{"type": "text", "text": "Where did I sail?"}], id="m1"),
    AIMessage("", tool_calls=[{"name": "look", "args": {"x": [1, None]}, "id": "c1"}]),
    ToolMessage("Croatia", tool_call_id="c1"),
    AIMessage("In Croatia.", additional_kwargs={"seen": True}),
]


def test_messages_come_back_as_they_were(memory: hades.Memory) -> None:
    history = HadesChatHistory(memory, "ann/1")
    history.add_messages(EVERY_KIND[:2])
    history.add_messages(EVERY_KIND[2:])
    history.add_user_message("Thanks!")
    again = HadesChatHistory(memory, "ann/1").messages
    assert again == [*EVERY_KIND, HumanMessage("Thanks!")]
    assert HadesChatHistory(memory, "ann").messages == []
    assert "In Croatia" in memory.recall("Where did the user sail?").context


def test_a_cleared_history_is_gone_but_for_time_travel(memory: hades.Memory) -> None:
    history = HadesChatHistory(memory, "s")
    history.add_messages([HumanMessage("I sailed in Croatia.")])
    (topic,) = memory.topics("chats/*")
    history.clear()
    assert history.messages == []
    assert memory.search("Croatia") == []
    assert [state.forgotten for state in memory.history(topic.name)] == [False, True]


def test_an_erased_history_leaves_nothing(memory: hades.Memory, path: Path) -> None:
    history = HadesChatHistory(memory, "s", erase=True)
    history.add_messages([HumanMessage("My password is Xylophone77.")])
    history.clear()
    with pytest.raises(hades.NotFound):
        memory.history("chats/s")
    assert b"Xylophone77" not in path.read_bytes()


def test_a_chain_remembers_across_runs(memory: hades.Memory) -> None:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("past"), ("human", "{text}")])
    model = FakeListChatModel(responses=["Hello Ann.", "You are Ann."])

    async def turn(text: str) -> int:
        history = HadesChatHistory(memory, "s")
        past = await history.aget_messages()
        seen = RunnableLambda(lambda prompt: len(prompt.to_messages()))
        reply = await (prompt | model).ainvoke({"past": past, "text": text})
        await history.aadd_messages([HumanMessage(text), reply])
        return (prompt | seen).invoke({"past": past, "text": text})

    assert [asyncio.run(turn("I am Ann.")), asyncio.run(turn("Who am I?"))] == [1, 3]


def test_what_a_user_said_is_found_in_another_session(memory: hades.Memory) -> None:
    history = HadesChatHistory(memory, "s/1", user="ana")
    said = "Send me the reports as PDF from now on, never as spreadsheets."
    history.add_messages([HumanMessage(said), AIMessage("All right.")])
    HadesChatHistory(memory, "s/2", user="ben").add_user_message("Always answer me in German.")
    found = HadesRetriever(memory=memory, about="ana").invoke("How should answers be?")
    assert {document.metadata["source"].split("/")[1] for document in found} == {"ana"}
    assert said in {document.page_content for document in found}
