"""Questions about one user: what was distilled from that user's conversations, and no other's."""

from __future__ import annotations

import json
from typing import Any

import pytest

import hades
from tests.shell import run_hades

WORDS = {
    "ana": "Send me the reports as PDF from now on, never as spreadsheets.",
    "*": "I am vegetarian, so no meat in the meals.",
    "ana/x": "Always answer me in German when I ask about the reports.",
}
QUESTION = "What do the reports and the meals have to be like?"
OTHERS = ("ben", "an?", "[a]na", "an*", "%2A", "users", "x")


@pytest.fixture
def users(memory: hades.Memory) -> hades.Memory:
    for user, text in WORDS.items():
        memory.distil([{"role": "user", "content": text}], user=user)
    memory.remember("canteen/menu", "The meals and the reports on them.")
    return memory


def texts_of(view: Any, user: str) -> set[str]:
    """All texts that questions about a user return, without the speaker."""
    hits = view.search(QUESTION, about=user)
    passages = view.recall(QUESTION, about=user).passages
    asked = view.ask(QUESTION, about=user).recall.passages
    texts = [hit.chunk.text for hit in (*hits, *passages, *asked)]
    return {text.removeprefix("user: ") for text in texts}


@pytest.mark.parametrize("memory", ["embedded", "postgres", "client"], indirect=True)
def test_a_question_about_a_user_finds_nothing_of_others(users: hades.Memory) -> None:
    assert {user: texts_of(users, user) for user in WORDS} == {
        user: {text} for user, text in WORDS.items()
    }
    assert [user for user in OTHERS if texts_of(users, user)] == []
    assert {hit.chunk.topic for hit in users.search(QUESTION)} > {"canteen/menu"}


@pytest.mark.parametrize("memory", ["embedded", "postgres", "client"], indirect=True)
def test_a_user_is_named_alone_and_properly(users: hades.Memory) -> None:
    for ask in (users.search, users.recall, users.ask):
        with pytest.raises(hades.InvalidInput, match=r"^Give `about` or `glob`, not both\.$"):
            ask(QUESTION, about="ana", glob="users/*")  # type: ignore[operator]
        for name in ("", " ", "a\0b"):
            with pytest.raises(hades.InvalidInput, match="user's name"):
                ask(QUESTION, about=name)  # type: ignore[operator]


def test_what_a_user_said_later_replaces_nothing_of_another(memory: hades.Memory) -> None:
    memory.distil([{"role": "user", "content": WORDS["ana"]}], user="ana")
    memory.distil(
        [{"role": "user", "content": "No more PDF: from now on I want reports as plain text."}],
        user="*",
    )
    held = [memory.get(topic.name).content for topic in memory.topics("users/ana/*", kind="note")]
    assert held == [WORDS["ana"]]


def test_a_command_asks_about_a_user(path: Any) -> None:
    with hades.open(path) as memory:
        for user, text in WORDS.items():
            memory.distil([{"role": "user", "content": text}], user=user)
    for command in ("recall", "search", "ask"):
        arguments = [command, QUESTION, "--about", "*", "--json", "--memory", str(path)]
        told = run_hades(*arguments, catch_exceptions=False)
        assert told.exit_code == 0, told.output
        assert "vegetarian" in json.dumps(json.loads(told.stdout)), command
        assert "German" not in told.stdout, command
        assert "PDF" not in told.stdout, command


def test_an_agent_asks_about_a_user(path: Any) -> None:
    pytest.importorskip("langgraph", reason="the extra `agents` is not installed")
    with hades.open(path) as memory:
        for user, text in WORDS.items():
            memory.distil([{"role": "user", "content": text}], user=user)
    question = ["ask", "How should the reports be sent?", "--agent", "--memory", str(path)]
    told = run_hades(*question, "--about", "*", catch_exceptions=False)
    assert told.exit_code == 0, told.output
    assert "PDF" not in told.output
    assert "PDF" in run_hades(*question, "--about", "ana").output
