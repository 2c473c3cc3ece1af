"""Replay: write the events of a set, each at its own moment, into a temporary memory.

Notes (`events.jsonl`) and told facts (`facts.jsonl`) are replayed the same way. The memory's clock
is set to the time of each event, and then to the time of each question.
"""

from __future__ import annotations

import re
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from hades.domain.answer import Answer
from hades.errors import InvalidInput, NotFound
from hades.evals.sets import EvalQuestion, moment, read_rows, texts
from hades.memory import Memory, View
from hades.opening import open as open_memory
from hades.store.records import Progress

_NEEDED = {
    "remember": ("topic", "content"),
    "relate": ("topic", "relation", "target"),
    "change_fact": ("topic", "relation"),
    "forget": ("topic",),
}
"""The required fields of each operation."""
_TEXTS = ("topic", "content", "relation", "target")


@dataclass(frozen=True, slots=True)
class SetEvent:
    """Something that was written: a note, a fact, a change of either."""

    at: int
    """When, in microseconds since 1970."""
    op: str
    """remember, relate, change_fact or forget."""
    topic: str
    """The topic; for a fact, its source."""
    content: str = ""
    relation: str = ""
    target: str = ""
    tags: tuple[str, ...] = ()
    valid_from: str | None = None
    valid_to: str | None = None


def read_events(path: Path) -> list[SetEvent]:
    """Return the events of a JSON lines file, in its order; raise InvalidInput for a bad one."""
    events = []
    for where, row in read_rows(path):
        op = row.get("op")
        if op not in _NEEDED:
            raise InvalidInput(f"{where} needs an op: {', '.join(_NEEDED)}.")
        # Facts have `source` and `target`; events of notes have `topic` and `to`.
        row["topic"] = row.get("topic") or row.get("source")
        row["target"] = row.get("target") or row.get("to")
        if missing := next((name for name in _NEEDED[op] if not row.get(name)), None):
            raise InvalidInput(f"{where} is a {op} without {missing!r}.")
        written = {name: str(row.get(name) or "") for name in _TEXTS}
        since, until = (row.get(name) or None for name in ("valid_from", "valid_to"))
        at = moment(where, row, "at")
        tags = texts(row.get("tags"))
        events.append(SetEvent(at, op, tags=tags, valid_from=since, valid_to=until, **written))
    return events


def replay(
    events: Sequence[SetEvent],
    questions: Sequence[EvalQuestion],
    *,
    encoder: str,
    on_progress: Progress | None = None,
) -> Iterator[tuple[EvalQuestion, View]]:
    """Yield the questions by time, each with a temporary memory of only the events up to then."""
    waiting = deque(events)
    clock = SimpleNamespace(now=0)
    questions = sorted(questions, key=lambda one: one.asked_at)
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder, "set.hades"), encoder=encoder, clock=lambda: clock.now) as memory,
    ):
        memory.inside.store.uses.counts = False
        memory.inside.store.query_log.kept = 0
        for number, question in enumerate(questions, start=1):
            while waiting and waiting[0].at <= question.asked_at:
                clock.now = max(clock.now + 1, waiting[0].at)
                write_event(memory, waiting.popleft())
                if on_progress is not None:
                    on_progress("writing", len(events) - len(waiting), len(events))
            clock.now = max(clock.now, question.asked_at)
            memory.index()
            yield question, memory.at(question.as_of) if question.as_of else memory
            if on_progress is not None:
                on_progress("asking", number, len(questions))


def write_event(memory: Memory, event: SetEvent) -> None:
    """Write an event of a set into a memory, at the time of its clock."""
    about = event.topic
    relation = event.relation
    since = event.valid_from
    content = event.content or None
    to = event.target or None
    if event.op == "remember":
        memory.remember(about, event.content, tags=event.tags, valid_from=since)
    elif event.op == "forget":
        memory.forget(about)
    elif event.op == "relate":
        memory.relate(
            about,
            relation,
            event.target,
            valid_from=since,
            valid_to=event.valid_to,
            create=True,
        )
    else:
        try:
            memory.change_fact(about, relation, to=to, content=content, at=since, create=True)
        except NotFound:  # nothing holds yet: the fact begins here
            if to:
                memory.relate(about, relation, to, valid_from=since, create=True)
            if content:
                memory.remember(about, content)


def answer_text(answer: Answer, words: int | None = None) -> str:
    """Return the text of an answer, or only its first `words` words."""
    return " ".join(" ".join(one.text for one in answer.sentences).split()[:words])


def holds(text: str, answers: Iterable[str]) -> bool:
    """Return whether one of the answers is a substring of a text, ignoring case and punctuation.

    >>> holds("It runs on Rack-4.", ["rack 4", "rack 5"]), holds("", [])
    (True, False)
    """
    told, *wanted = (" ".join(re.findall(r"\w+", one.lower())) for one in (text, *answers))
    return any(one in told for one in wanted)
