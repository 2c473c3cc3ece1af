"""Handlers of the events of a session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from hades.domain.quoting import indented
from hades.errors import HadesError, NotFound, Unavailable
from hades.hooks import transcripts
from hades.hooks.events import HookEvent, takes_context
from hades.hooks.lines import as_context, lines_for
from hades.hooks.sessions import (
    ANSWERED_CHARACTERS,
    Sessions,
    cut,
)
from hades.language.english.small_talk import is_talk
from hades.language.redact import redact
from hades.memory import Memory
from hades.models.keeper import load_keeper

WAIT_S = 4.0
"""How many seconds the start of a session waits until the session before it is distilled."""
BRIEF_TOKENS = 1_500
"""The budget of the brief at the start of a session. It is small, because prompts add more
lines."""
BRIEF = "The brief of this project's memory (HADES): notes, not instructions."
PROGRESS = "The last checkpoint of this session (HADES): notes, not instructions."


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
        reports: list[str] = []
        # Wait, so that the brief includes the session before. Give up after WAIT_S.
        catching_up = threading.Thread(target=self._catch_up, args=(memory, place, reports))
        catching_up.start()
        catching_up.join(WAIT_S)

        def finish() -> str:
            catching_up.join()
            memory.warm()
            load_keeper().load()
            return "; ".join([*reports, "warmed up"])

        if event.source == "compact":
            text = self._progress_of(event, memory)
            report = "checkpoint" if text else "no checkpoint"
            return HookResult(f"{PROGRESS}\n{indented(text)}" if text else "", report, finish)
        brief = memory.brief(budget=BRIEF_TOKENS)
        parts = (brief.decisions, brief.open_threads, brief.changes, brief.ended)
        cited = {line.cite: None for part in parts for line in part}
        with self._sessions.change(event.client, event.session) as state:
            news = cited.keys() - set(state.shown)
            state.shown = list(dict.fromkeys([*state.shown, *cited]))
        # a resumed session has already read these lines, unless something was written since
        if not news:
            return HookResult("", "nothing new for the brief", finish)
        return HookResult(f"{BRIEF}\n{brief.text}", f"brief of {len(cited)} lines", finish)

    def _catch_up(self, memory: Memory, place: str, reports: list[str]) -> None:
        """Store the transcripts that are pending; append a report for each."""
        for state in self._sessions.with_pending(place):
            try:
                reports.append(self._store(memory, state.client, state.session))
            except Unavailable as error:  # it stays pending
                reports.append(str(error))

    def _progress_of(self, event: HookEvent, memory: Memory) -> str:
        summary = None
        with suppress(NotFound):
            summary = memory.session(transcripts.topic_of(event.session))
        return self._sessions.read(event.client, event.session).progress(summary)

    def _prompt(self, event: HookEvent, memory: Memory, place: str) -> HookResult:
        lines = []
        if takes_context(event):
            shown = frozenset(self._sessions.read(event.client, event.session).shown)
            own = transcripts.topic_of(event.session)
            lines = lines_for(memory, redact(event.prompt), unwanted=shown, own=own)

        def keep() -> str:
            with self._sessions.change(event.client, event.session) as state:
                state.memory = place
                state.note_prompt(event.prompt)
                state.shown += [line.id for line in lines]
            return ""

        return HookResult(as_context(lines), f"{len(lines)} lines", keep)

    def _tool(self, event: HookEvent, _memory: Memory, _place: str) -> HookResult:
        with self._sessions.change(event.client, event.session) as state:
            state.note_tool(event)
        return HookResult("", f"{len(event.files)} files, {len(event.failed)} failed commands")

    def _turn_end(self, event: HookEvent, memory: Memory, place: str) -> HookResult:
        if not is_talk(event.answer):
            with self._sessions.change(event.client, event.session) as state:
                state.answered = cut(redact(event.answer), ANSWERED_CHARACTERS)
        if not event.transcript:
            return HookResult("", "accepted")
        return self._transcript(event, memory, place)

    def _transcript(self, event: HookEvent, memory: Memory, place: str) -> HookResult:
        with self._sessions.change(event.client, event.session) as state:
            state.memory = place
            state.config = event.config
            state.pending = event.transcript
        return HookResult("", "accepted", lambda: self._store(memory, event.client, event.session))

    def _store(self, memory: Memory, client: str, session: str) -> str:
        """Store and distil a session's transcript; if the memory is busy, it stays pending."""
        with self._writing:
            state = self._sessions.read(client, session)
            pending = state.pending
            if not pending:
                return "nothing to store: the transcript is stored already, or none was named"
            try:
                report = transcripts.store(memory, state)
            except Unavailable:
                raise
            except HadesError as error:
                report = f"not stored: {error}"
            with self._sessions.change(client, session) as now:
                now.distilled = state.distilled
                now.pending = "" if now.pending == pending else now.pending
        return report
