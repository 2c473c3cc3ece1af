"""OpenAI Agents SDK: a session in a memory, driven by real runs of a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import hades

agents = pytest.importorskip("agents", reason="the extra `openai-agents` is not installed")

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Session, Usage  # noqa: E402
from agents import function_tool as as_tool  # noqa: E402
from agents.memory import SessionSettings, SQLiteSession  # noqa: E402
from openai.types.responses import (  # noqa: E402
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from hades.adapters.openai_agents import HadesSession  # noqa: E402

pytestmark = pytest.mark.slow
QUIET = RunConfig(tracing_disabled=True)


def message(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(text=text, type="output_text", annotations=[])
    return ResponseOutputMessage(
        id="m", content=[part], role="assistant", status="completed", type="message"
    )


class ScriptedModel(Model):
    """A model that says what is written, and keeps what it was sent."""

    def __init__(self, *script: Any) -> None:
        self.script, self.sent = list(script), list[Any]()

    async def get_response(self, *_: Any, **given: Any) -> ModelResponse:
        self.sent.append(given["input"])
        return ModelResponse(output=[self.script.pop(0)], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError


@as_tool
def look_up(name: str) -> str:
    """Look up a place."""
    return f"{name} is in Croatia."


def test_an_agent_remembers_across_runs(memory: hades.Memory) -> None:
    call = ResponseFunctionToolCall(
        arguments='{"name": "Split"}', call_id="c", name="look_up", type="function_call"
    )
    model = ScriptedModel(call, message("You will sail in Croatia."), message("To Split."))
    agent = Agent(name="guide", model=model, tools=[look_up])

    async def talk() -> str:
        session = HadesSession("ann/1", memory)
        assert isinstance(session, Session)
        await Runner.run(agent, "I will sail to Split.", session=session, run_config=QUIET)
        again = HadesSession("ann/1", memory)
        return str(
            (await Runner.run(agent, "Where to?", session=again, run_config=QUIET)).final_output
        )

    assert asyncio.run(talk()) == "To Split."
    kinds = [item.get("type", "message") for item in model.sent[-1]]
    assert kinds == ["message", "function_call", "function_call_output", "message", "message"]
    assert "sail to Split" in memory.recall("Where will the user sail to?").context
    assert "Split is in Croatia" in memory.recall("Which country is Split in?").context


ITEMS: list[Any] = [
    {"role": "user", "content": "I sail."},
    {"role": "user", "content": [{"type": "input_text", "text": "In Croatia."}]},
    {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"},
    {"type": "function_call_output", "call_id": "c", "output": "42 boats"},
    {"type": "reasoning", "id": "r", "summary": []},
]


@pytest.mark.parametrize("settings", [None, SessionSettings(limit=2)])
def test_it_does_what_the_session_of_the_sdk_does(
    memory: hades.Memory, tmp_path: Path, settings: SessionSettings | None
) -> None:
    async def use(session: Session) -> list[Any]:
        seen: list[Any] = [await session.get_items(), await session.pop_item()]
        await session.add_items([])
        await session.add_items(ITEMS[:3])
        await session.add_items(ITEMS[3:])
        seen += [await session.get_items(), await session.get_items(limit=3)]
        seen += [await session.get_items(limit=0), await session.pop_item()]
        seen += [await session.pop_item(), await session.get_items()]
        await session.clear_session()
        return [*seen, await session.get_items()]

    theirs = SQLiteSession("s", tmp_path / "s.db", session_settings=settings)
    ours = HadesSession("s", memory, session_settings=settings)
    assert asyncio.run(use(ours)) == asyncio.run(use(theirs))
    theirs.close()
    assert memory.search("boats") == []


def test_what_was_said_is_content_and_calls_are_not(memory: hades.Memory) -> None:
    asyncio.run(HadesSession("s", memory).add_items(ITEMS))
    (topic,) = memory.topics("chats/s/*")
    assert memory.get(topic.name).content == "user: I sail.\n\nuser: In Croatia.\n\ntool: 42 boats"


def test_what_a_user_said_is_distilled(memory: hades.Memory) -> None:
    said = "Send me the reports as PDF from now on, never as spreadsheets."
    agent = Agent(name="guide", model=ScriptedModel(message("All right.")))
    session = HadesSession("s/1", memory, user="ana")
    asyncio.run(Runner.run(agent, said, session=session, run_config=QUIET))
    (note,) = memory.topics("users/ana/*", kind="note")
    assert memory.get(note.name).content == said
    assert "as PDF" in memory.recall("How are reports sent?", about="ana").context
