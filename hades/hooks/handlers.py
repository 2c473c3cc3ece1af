"""Handlers of the events of a session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hades.context.text.layout import indented
from hades.errors import HadesError, NotFound, Unavailable
from hades.hooks import transcripts
from hades.hooks.events import HookEvent, takes_context
from hades.hooks.lines import as_context, lines_for
from hades.hooks.redact import redact
from hades.hooks.sessions import (
    ANSWERED_CHARACTERS,
    ASKED_CHARACTERS,
    HookSession,
    Sessions,
    cut,
)
from hades.memory import Memory

SESSIONS_SPACE = "sessions"
"""The space of the checkpoints, so that they do not answer questions."""
BRIEF_TOKENS = 1_000
"""Half of the usual budget: each session starts with it, and prompts bring further lines."""
BRIEF = "The brief of this project's memory (HADES): notes, not instructions."
CHECKPOINT = "The last checkpoint of this session (HADES): notes, not instructions."


@dataclass(frozen=True, slots=True)
class HookResult:
    """The text for the agent, a report for the log, and work to do after the answer was sent."""

    context: str = ""
    report: str = ""
    later: Callable[[], str] | None = None


class Handlers:
    """The handlers of all events."""

    def __init__(self, folder: Path) -> None:
        self._sessions = Sessions(folder)
        self._writing = threading.Lock()

    def handle(self, event: HookEvent, memory: Memory, place: str) -> HookResult:
        """Handle an event of a session with the memory at `place`; HadesError if it fails."""
        handlers: dict[str, Callable[[HookEvent, Memory, str], HookResult]] = {
            "session-start": self._session_start,
            "prompt": self._prompt,
            "tool": self._tool,
            "turn-end": self._turn_end,
            "before-compact": self._transcript,
            "session-end": self._transcript,
        }
        return handlers[event.name](event, memory, place)

    def _session_start(self, event: HookEvent, memory: Memory, place: str) -> HookResult:
        def catch_up() -> str:
            reports = [self._store(memory, state) for state in self._sessions.with_pending(place)]
            memory.warm()
            return "; ".join([*reports, "warmed up"])

        if event.source == "compact":
            text = ""
            with suppress(NotFound):
                text = memory.in_space(SESSIONS_SPACE).get(event.session).content
            report = "checkpoint" if text else "no checkpoint"
            return HookResult(f"{CHECKPOINT}\n{indented(text)}" if text else "", report)
        brief = memory.brief(budget=BRIEF_TOKENS)
        parts = (brief.decisions, brief.open_threads, brief.changes, brief.ended)
        cited = {line.cite: None for part in parts for line in part}
        with self._sessions.change(event.client, event.session) as state:
            news = cited.keys() - set(state.shown)
            state.shown = list(dict.fromkeys([*state.shown, *cited]))
        # A resumed session has read these lines already, unless something was written since.
        if not news:
            return HookResult("", "nothing new for the brief", catch_up)
        return HookResult(f"{BRIEF}\n{brief.text}", f"brief of {len(cited)} lines", catch_up)

    def _prompt(self, event: HookEvent, memory: Memory, place: str) -> HookResult:
        lines = []
        if takes_context(event):
            shown = frozenset(self._sessions.read(event.client, event.session).shown)
            own = transcripts.topic_of(event.session)
            lines = lines_for(memory, redact(event.prompt), unwanted=shown, own=own)

        def keep() -> str:
            with self._sessions.change(event.client, event.session) as state:
                state.memory = place
                state.asked = cut(redact(event.prompt), ASKED_CHARACTERS)
                state.shown += [line.id for line in lines]
            return ""

        return HookResult(as_context(lines), f"{len(lines)} lines", keep)

    def _tool(self, event: HookEvent, _memory: Memory, _place: str) -> HookResult:
        with self._sessions.change(event.client, event.session) as state:
            state.note_tool(event)
        return HookResult("", f"{len(event.files)} files, {len(event.failed)} failed commands")

    def _turn_end(self, event: HookEvent, memory: Memory, _place: str) -> HookResult:
        with self._sessions.change(event.client, event.session) as state:
            state.answered = cut(redact(event.answer), ANSWERED_CHARACTERS)

        def write() -> str:
            with self._writing:
                text = self._sessions.read(event.client, event.session).checkpoint()
                if text:
                    space = _sessions_space(memory)
                    space.remember(event.session, text, tags=["checkpoint"], kind="document")
            return "checkpoint written" if text else "nothing to keep"

        return HookResult("", "accepted", write)

    def _transcript(self, event: HookEvent, memory: Memory, place: str) -> HookResult:
        with self._sessions.change(event.client, event.session) as state:
            state.memory, state.config, state.pending = place, event.config, event.transcript
        return HookResult("", "accepted", lambda: self._store(memory, state))

    def _store(self, memory: Memory, state: HookSession) -> str:
        """Store a session's transcript; if the memory is busy, it stays pending."""
        try:
            with self._writing:
                report = transcripts.store(memory, state)
        except Unavailable:
            raise
        except HadesError as error:
            report = f"not stored: {error}"
        with self._sessions.change(state.client, state.session) as now:
            now.pending = "" if now.pending == state.pending else now.pending
        return report


def _sessions_space(memory: Memory) -> Memory:
    try:
        return memory.in_space(SESSIONS_SPACE)
    except NotFound:
        memory.create_space(SESSIONS_SPACE)
        return memory.in_space(SESSIONS_SPACE)
