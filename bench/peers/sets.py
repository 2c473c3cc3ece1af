"""The sets of the comparison, as groups of passages and the questions about them.

A group is searched alone: a corpus, a conversation, the notes of a year, or the history of one
question. Samples are taken by position, so every run asks the same questions.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hades.evals.replay import SetEvent, read_events
from hades.evals.sets import EvalQuestion, EvalSet, load_set, read_rows

ROOT = Path(__file__).parents[2]
WIKI_EVERY, WIKI_PASSAGES = 8, 800
LOCOMO_CONVERSATIONS, LOCOMO_EVERY = 2, 3
LONGMEMEVAL_EVERY = 12


@dataclass(frozen=True, slots=True)
class Passage:
    """A text to store. Without text it is an event that only HADES can store, or a deletion."""

    id: str
    text: str
    """The text as every peer gets it, with its title, topic or speaker."""
    topic: str = ""
    """The note that it is a version of."""
    at: int = 0
    """When it is written, in microseconds since 1970; 0: before every question."""
    source: Any = None
    """What HADES stores: a row of a file, an event, or a date."""

    @property
    def deletes(self) -> bool:
        """Whether all versions of the topic are to be deleted."""
        return isinstance(self.source, SetEvent) and self.source.op == "forget"


@dataclass(frozen=True, slots=True)
class Group:
    """Passages that are searched together, in the order of time, and the questions about them."""

    passages: Sequence[Passage]
    questions: Sequence[EvalQuestion]


@dataclass(frozen=True, slots=True)
class PeerSet:
    """A set of the comparison."""

    title: str
    kind: str
    """One of hades.evals.sets.FILES."""
    chosen: str
    """Which part of the set is measured."""
    folder: Callable[[], Path]
    groups: Callable[[EvalSet], Iterator[Group]]

    def load(self) -> list[Group]:
        """Return the groups."""
        return list(self.groups(load_set(self.folder())))


def data(name: str) -> Callable[[], Path]:
    """Return a function that returns the folder of a set below HADES_DATA."""
    return lambda: Path(os.environ.get("HADES_DATA", "HADES_DATA")) / name


def own(name: str) -> Callable[[], Path]:
    """Return a function that returns the folder of a set of this repository."""
    return lambda: ROOT / "evals" / name


def _wiki(whole: EvalSet) -> Iterator[Group]:
    questions = whole.questions[::WIKI_EVERY]
    rows = {str(row["id"]): row for _, row in read_rows(whole.corpus)}
    gold = {one for question in questions for one in question.gold}
    others = random.Random(0).sample(sorted(set(rows) - gold), WIKI_PASSAGES - len(gold))
    kept = sorted(gold.union(others))
    yield Group(
        [
            Passage(id_, f"{rows[id_]['title']}\n{rows[id_]['text']}", source=rows[id_])
            for id_ in kept
        ],
        questions,
    )


def _conversations(whole: EvalSet) -> Iterator[Group]:
    turns: dict[str, list[Passage]] = {}
    for _, row in read_rows(whole.corpus):
        turn = Passage(str(row["id"]), f"{row['speaker']}: {row['text']}", source=row)
        turns.setdefault(str(row["conversation"]), []).append(turn)
    for conversation, passages in list(turns.items())[:LOCOMO_CONVERSATIONS]:
        questions = [one for one in whole.questions if one.conversation == conversation]
        yield Group(passages, questions[::LOCOMO_EVERY])


def _notes(whole: EvalSet) -> Iterator[Group]:
    versions = Counter[str]()
    passages = []
    for event in read_events(whole.corpus):
        versions[event.topic] += bool(event.content)
        id_ = f"{event.topic}@{versions[event.topic]}" if event.content else ""
        text = f"{event.topic}. {event.content}" if event.content else ""
        passages.append(Passage(id_, text, event.topic, event.at, event))
    answerable = [one for one in whole.questions if one.gold]
    yield Group(passages, sorted(answerable, key=lambda one: one.asked_at))


def _sessions(whole: EvalSet) -> Iterator[Group]:
    texts = {str(row["session"]): str(row["text"]) for _, row in read_rows(whole.corpus)}
    for question in whole.questions[::LONGMEMEVAL_EVERY]:
        passages = [
            Passage(session, texts[session], session, source=date)
            for session, date in question.history
            if texts.get(session, "").strip()
        ]
        yield Group(passages, [question])


_TINY = {
    "Ada Brook": "Ada Brook keeps the lighthouse at Gull Point.",
    "Gull Point": "Gull Point is a cape in Marrow.",
    "Marrow": "Marrow is a county. Its capital is Sedge.",
    "Tom Reed": "Tom Reed repairs clocks in Sedge.",
    "Fern Mill": "Fern Mill ground barley until 1901.",
    "Otter Lane": "Otter Lane floods every spring.",
}


def _tiny(_: EvalSet | None = None) -> Iterator[Group]:
    rows = [{"id": title, "title": title, "text": text} for title, text in _TINY.items()]
    yield Group(
        [Passage(row["id"], f"{row['title']}\n{row['text']}", source=row) for row in rows],
        [
            EvalQuestion("t1", "Who repairs clocks?", frozenset({"Tom Reed"})),
            EvalQuestion(
                "t2", "Where does Ada Brook work?", frozenset({"Ada Brook", "Gull Point"})
            ),
        ],
    )


def tiny() -> list[Group]:
    """Return a corpus of six passages and two questions, for tests and quick looks."""
    return list(_tiny())


TINY = "tiny"
SETS = {
    "home": PeerSet("everyday notes: home", "everyday", "all", own("home"), _notes),
    "studio": PeerSet("everyday notes: studio", "everyday", "all", own("studio"), _notes),
    "locomo": PeerSet(
        "LoCoMo",
        "turns",
        f"the first {LOCOMO_CONVERSATIONS} of its conversations, every third question",
        data("locomo"),
        _conversations,
    ),
    "longmemeval": PeerSet(
        "LongMemEval",
        "sessions",
        f"every {LONGMEMEVAL_EVERY}th question, each with its own history of about 47 sessions",
        data("longmemeval"),
        _sessions,
    ),
    "2wiki": PeerSet(
        "2WikiMultihopQA",
        "corpus",
        f"every {WIKI_EVERY}th question; their gold passages and others drawn at random,"
        f" {WIKI_PASSAGES:,} in all",
        data("2wiki"),
        _wiki,
    ),
}
