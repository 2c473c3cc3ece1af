"""Pydantic AI: an agent with the toolset, and a scripted model that calls its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import hades

pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import RetryPromptPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from hades.adapters.pydantic_ai import hades_toolset

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _event_loop() -> Iterator[None]:
    """`run_sync` uses the event loop of its thread; without one it makes one and leaves it open."""
    with asyncio.Runner() as runner:
        asyncio.set_event_loop(runner.get_loop())
        yield
    asyncio.set_event_loop(None)


def scripted(*calls: ToolCallPart) -> FunctionModel:
    """Return a model that calls tools one after the other, and then repeats what came back."""

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        done = sum(isinstance(message, ModelResponse) for message in messages)
        if done < len(calls):
            return ModelResponse([calls[done]])
        parts = [part for message in messages for part in message.parts]
        seen = [p.content for p in parts if isinstance(p, ToolReturnPart | RetryPromptPart)]
        return ModelResponse([TextPart("\n--\n".join(map(str, seen)))])

    return FunctionModel(answer)


def test_an_agent_writes_and_recalls(memory: hades.Memory) -> None:
    model = scripted(
        ToolCallPart("remember", {"topic": "ann/boat", "content": "Ann's boat is called Juniper."}),
        ToolCallPart("recall", {"question": "What is the boat called?"}),
        ToolCallPart("history", {"topic": "ann/boat"}),
        ToolCallPart("forget", {"topic": "ann/boat"}),
    )
    agent = Agent(model, toolsets=[hades_toolset(memory)])
    wrote, recalled, history, forgot = agent.run_sync("Remember it.").output.split("\n--\n")
    assert wrote == "Remembered as ann/boat@1."
    assert "Juniper" in recalled
    assert "Cite as: [1] ann/boat@1#0" in recalled
    assert "Juniper" in history
    assert forgot == "Forgot ann/boat."
    assert memory.topics() == []


def test_the_past_can_be_asked_for(memory: hades.Memory) -> None:
    memory.remember("boat", "The boat is called Juniper.", valid_from="2024-01-01")
    memory.remember("boat", "The boat is called Osprey.", valid_from="2024-06-01", kind="document")
    ask = {"question": "What is the boat called?", "as_of": "2024-03"}
    agent = Agent(scripted(ToolCallPart("recall", ask)), toolsets=[hades_toolset(memory)])
    answer = agent.run_sync("?").output
    assert "Juniper" in answer
    assert "Osprey" not in answer


def test_an_error_is_sent_to_the_model(memory: hades.Memory) -> None:
    calls = [ToolCallPart("history", {"topic": "none"}), ToolCallPart("recall", {"question": " "})]
    agent = Agent(scripted(*calls), toolsets=[hades_toolset(memory)])
    answer = agent.run_sync("?").output
    assert "There is no topic 'none'" in answer
    assert "the question is empty" in answer


def test_tools_are_described_and_can_be_limited_to_reading(memory: hades.Memory) -> None:
    memory.remember("boat", "The boat is called Juniper.")
    model = TestModel()
    agent = Agent(model, toolsets=[hades_toolset(memory, writes=False)])
    with pytest.raises(UnexpectedModelBehavior):  # it asks for the history of "a"
        agent.run_sync("?")
    assert model.last_model_request_parameters is not None
    tools = {tool.name: tool for tool in model.last_model_request_parameters.function_tools}
    assert set(tools) == {"recall", "history"}
    assert "Ask in a whole sentence" in (tools["recall"].description or "")
    assert tools["recall"].parameters_json_schema["required"] == ["question"]
