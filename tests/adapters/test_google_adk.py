"""Google ADK: the memory service, driven by a real runner with a scripted model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

import hades

pytest.importorskip("google.adk", reason="the extra `google-adk` is not installed")

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService, Session
from google.adk.tools import load_memory
from google.genai.types import Content, Part

from hades.adapters.google_adk import HadesMemoryService

pytestmark = pytest.mark.slow


def event(id: str, author: str, text: str) -> Event:
    role = "user" if author == "user" else "model"
    content = Content(role=role, parts=[Part(text=text)])
    return Event(id=id, author=author, content=content, timestamp=1_700_000_000)


def session(*events: Event, user: str = "ann", id: str = "s/1") -> Session:
    return Session(id=id, app_name="trips", user_id=user, events=list(events))


BOAT = event("e1", "user", "My boat is called Juniper.")
WIND = event("e2", "guide", "The wind: is fine today.")


def test_sessions_are_found_by_their_user_only(memory: hades.Memory) -> None:
    async def use() -> list[Any]:
        service = HadesMemoryService(memory)
        await service.add_session_to_memory(session(BOAT))
        await service.add_session_to_memory(session(BOAT, WIND))
        await service.add_session_to_memory(session(event("e3", "user", "No boat."), user="*"))
        asked = {"app_name": "trips", "query": "What is my boat called?"}
        return [
            (await service.search_memory(user_id=user, **asked)).memories
            for user in ("ann", "*", "ben")
        ]

    ann, star, ben = asyncio.run(use())
    assert [entry.content.parts[0].text for entry in ann] == [
        "My boat is called Juniper.",
        "The wind: is fine today.",
    ]
    assert (ann[0].author, ann[0].timestamp) == ("user", "2023-11-14T22:13:20Z")
    assert ann[1].content.role == "model"
    assert [entry.content.parts[0].text for entry in star] == ["No boat."]
    assert ben == []
    assert "Juniper" in memory.recall("What is the boat called?").context


def test_a_deleted_memory_stays_deleted(memory: hades.Memory) -> None:
    async def use() -> list[Any]:
        service, scope = HadesMemoryService(memory), {"app_name": "trips", "user_id": "ann"}
        await service.add_events_to_memory(**scope, events=[BOAT, WIND], session_id="s")
        (first, _) = (await service.search_memory(**scope, query="boat")).memories
        await service.delete_memory(app_name="trips", user_id="ben", memory_id=first.id)
        kept = await service.search_memory(**scope, query="boat")
        await service.delete_memory(**scope, memory_id=first.id)
        await service.add_events_to_memory(**scope, events=[BOAT, WIND], session_id="s")
        return [kept.memories, (await service.search_memory(**scope, query="boat")).memories]

    kept, left = asyncio.run(use())
    assert len(kept) == 2
    assert [entry.author for entry in left] == ["guide"]
    assert len(memory.history("adk/trips/ann/s/e1")) == 2


class ScriptedModel(BaseLlm):
    """A model that loads the memory once, and then repeats what came back."""

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = llm_request.contents[-1].parts or []
        answers = [part.function_response for part in last if part.function_response]
        part = Part.from_function_call(name="load_memory", args={"query": "boat"})
        if answers:
            part = Part(text=str(answers[0].response))
        yield LlmResponse(content=Content(role="model", parts=[part]))


def test_an_agent_loads_what_was_said_in_another_session(memory: hades.Memory) -> None:
    agent = LlmAgent(name="guide", model=ScriptedModel(model="scripted"), tools=[load_memory])

    async def talk() -> str:
        service, sessions = HadesMemoryService(memory), InMemorySessionService()
        await service.add_session_to_memory(session(BOAT))
        runner = Runner(
            app_name="trips", agent=agent, session_service=sessions, memory_service=service
        )
        begun = await sessions.create_session(app_name="trips", user_id="ann")
        question = Content(role="user", parts=[Part(text="What is my boat called?")])
        said = ""
        async for happened in runner.run_async(
            user_id="ann", session_id=begun.id, new_message=question
        ):
            if happened.is_final_response() and happened.content and happened.content.parts:
                said = happened.content.parts[0].text or ""
        return said

    assert "Juniper" in asyncio.run(talk())


def test_distilled_notes_are_found_by_their_user_only(memory: hades.Memory) -> None:
    said = "Send me the reports as PDF from now on, never as spreadsheets."

    async def use() -> list[Any]:
        service = HadesMemoryService(memory, distil=True)
        asked = event("e1", "user", said)
        await service.add_session_to_memory(session(asked, user="ana"))
        await service.add_session_to_memory(session(asked, WIND, user="ana"))
        found = {}
        for user in ("ana", "*", "ben"):
            query = {"app_name": "trips", "user_id": user, "query": "How are reports sent?"}
            found[user] = (await service.search_memory(**query)).memories
        note, *_ = (entry for entry in found["ana"] if entry.id.startswith("users/"))
        await service.delete_memory(app_name="trips", user_id="ben", memory_id=note.id)
        assert memory.get(note.id).content == said
        await service.delete_memory(app_name="trips", user_id="ana", memory_id=note.id)
        return [found, note]

    found, note = asyncio.run(use())
    assert (note.author, note.content.parts[0].text) == ("user", said)
    assert note.timestamp == "2023-11-14T22:13:20Z"
    assert [len(found["*"]), len(found["ben"])] == [0, 0]
    assert "as PDF" in memory.recall("How are reports sent?", about="trips/ana").context
    assert memory.topics("users/*", kind="note") == []
