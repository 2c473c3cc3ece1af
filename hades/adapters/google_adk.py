"""Google ADK: a memory service that stores sessions and searches their events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hades.adapters.access import current, delete, framework, topic_name, writable
from hades.adapters.messages import Message, distil, message_line
from hades.domain.distilled import SAID
from hades.domain.times import iso
from hades.errors import Conflict
from hades.lifecycle.distil import folder_of
from hades.memory import View

with framework("google-adk>=2"):
    from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai.types import Content, Part

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

ROOT = "adk"
NO_SESSION = ""


class HadesMemoryService(BaseMemoryService):
    """Events with text as topics `adk/APP/USER/SESSION/EVENT`, each found by any recall.

    A search returns the `k` best events of the user. `delete_memory` forgets an event: questions do
    not find it and it is not added again with its session, but time travel still shows it. With
    `distil`, new events are also distilled into notes, and a search returns these notes too. The
    notes belong to the user `APP/USER`: `recall(…, about="trips/ann")` finds them. Deleting an
    event does not delete its notes; delete a note by its own id.
    """

    def __init__(self, memory: View, *, k: int = 10, distil: bool = False) -> None:
        self.memory = memory
        self.k = k
        self.distil = distil

    async def add_session_to_memory(self, session: Session) -> None:
        """Add the events of a session that are new."""
        place = (session.app_name, session.user_id, session.id)
        await asyncio.to_thread(self._add, place, session.events)

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Add events that are new; `custom_metadata` is ignored."""
        await asyncio.to_thread(self._add, (app_name, user_id, session_id or NO_SESSION), events)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Return the events of a user that match a query best."""
        entries = await asyncio.to_thread(self._search, app_name, user_id, query)
        return SearchMemoryResponse(memories=entries)

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Forget an event or a note by the id of its entry."""
        if memory_id:
            await asyncio.to_thread(self._delete, app_name, user_id, memory_id)

    # In a thread

    def _add(self, place: tuple[str, str, str], events: Sequence[Event]) -> None:
        memory = writable(self.memory)
        stored = {topic.name for topic in memory.topics(f"{topic_name(ROOT, *place)}/*")}
        said_now: list[Message] = []
        for event in events:
            topic = topic_name(ROOT, *place, event.id)
            parts = event.content.parts if event.content else None
            text = "\n".join(part.text for part in parts or () if part.text and not part.thought)
            if topic in stored or not text.strip():
                continue
            author = event.author or "user"
            at = datetime.fromtimestamp(event.timestamp, UTC)
            role = "user" if author == "user" else "assistant"
            with suppress(Conflict):  # it was deleted, or another process adds it
                memory.remember(
                    topic,
                    message_line(author, text),
                    kind="conversation",
                    metadata={"author": author},
                    valid_from=at,
                    expect_version=0,
                )
                said_now.append({"role": role, "content": text, "at": iso(at)})
        if self.distil:
            distil(memory, said_now, topic_name(*place[:2]))

    def _search(self, app_name: str, user_id: str, query: str) -> list[MemoryEntry]:
        if not query.strip():
            return []
        glob = f"{topic_name(ROOT, app_name, user_id)}/*"
        hits = self.memory.search(query, self.k, glob=glob)
        if self.distil:
            user = topic_name(app_name, user_id)
            hits += self.memory.search(query, self.k, about=user, kind="note")
            hits = sorted(hits, key=lambda hit: -hit.score)[: self.k]
        topics = dict.fromkeys(hit.chunk.topic for hit in hits)
        return [entry for topic in topics if (entry := self._entry(topic))]

    def _entry(self, topic: str) -> MemoryEntry | None:
        state = current(self.memory, topic)
        if state is None:
            return None
        noted = state.metadata.get(SAID, {}).get("by", "user")
        author = str(state.metadata.get("author", noted))
        text = state.content.removeprefix(f"{author}: ")
        content = Content(parts=[Part(text=text)], role="user" if author == "user" else "model")
        return MemoryEntry(
            id=topic, content=content, author=author, timestamp=iso(state.valid_from)
        )

    def _delete(self, app_name: str, user_id: str, memory_id: str) -> None:
        notes = folder_of(topic_name(app_name, user_id))
        if memory_id.startswith((f"{topic_name(ROOT, app_name, user_id)}/", notes)):
            delete(self.memory, [memory_id], erase=False)
