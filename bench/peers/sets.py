"""The sets of the comparison, as groups of passages and the questions about them.

A group is searched alone: a corpus, a conversation, the notes of a year, the history of one
question, or the chunks that HADES makes of a folder of documents. Samples are taken by position,
so every run asks the same questions.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hades.evals.documents import TWO_STEPS, has_quote, spaced
from hades.evals.memories import open_cached
from hades.evals.replay import SetEvent, read_events
from hades.evals.sets import EvalQuestion, EvalSet, load_set, read_rows
from hades.settings import load_settings

ROOT = Path(__file__).parents[2]
WIKI_EVERY, WIKI_PASSAGES = 8, 800
LOCOMO_CONVERSATIONS, LOCOMO_EVERY = 2, 3
LONGMEMEVAL_EVERY = 12
FOUND, FOUND_IN_DOCUMENTS = 5, 10
"""Passages asked for in each question."""
DOCUMENT_SYSTEMS = ("hades", "hades-search", "chroma", "txtai", "bm25s")


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
    """What HADES stores: a row of a file, an event, a date, or the folder of documents."""

    @property
    def deletes(self) -> bool:
        """Whether all versions of the topic are to be deleted."""
        return isinstance(self.source, SetEvent) and self.source.op == "forget"


@dataclass(frozen=True, slots=True)
class Group:
    """Passages that are searched together, in the order of time, and the questions about them."""

    passages: Sequence[Passage]
    questions: Sequence[EvalQuestion]
    needs: Mapping[str, Sequence[frozenset[str]]] = field(default_factory=dict)
    """By question: sets of passages, of each of which one must be found. For questions that are
    not here, each gold passage is such a set."""

    def needed(self, question: EvalQuestion) -> Sequence[frozenset[str]]:
        """Return the sets of passages, of each of which one must be found."""
        each = [frozenset({passage}) for passage in sorted(question.gold)]
        return self.needs.get(question.id, each)


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
    found: int = FOUND
    """Passages asked for in each question; recall returns at least FOUND by default."""
    systems: Sequence[str] = ()
    """The systems that are measured on it; all if none is named."""

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


def _documents(whole: EvalSet) -> Iterator[Group]:
    """Yield the chunks that HADES makes of the documents, so that all systems find the same."""
    cache = load_settings().cache_folder()
    with open_cached(whole, cache, False, "minilm", None) as (memory, _):
        chunks = [chunk for topic in memory.topics() for chunk in memory.chunks(topic.name)]
    words = {chunk.id: spaced(chunk.text) for chunk in chunks}
    answerable = [question for question in whole.questions if question.quotes]
    needs = {}
    for question in answerable:
        places = [
            frozenset(id_ for id_, text in words.items() if has_quote(text, quote))
            for _, quote in question.quotes
        ]
        one_is_enough = question.type != TWO_STEPS
        needs[question.id] = [frozenset().union(*places)] if one_is_enough else places
    passages = [
        Passage(chunk.id, f"{chunk.heading}\n{chunk.text}", source=whole.corpus) for chunk in chunks
    ]
    yield Group(passages, answerable, needs)


def _document_set(name: str, title: str) -> PeerSet:
    return PeerSet(
        f"documents: {title}",
        "documents",
        "all questions with an answer; the passages are the chunks that HADES makes",
        data(f"documents/{name}"),
        _documents,
        FOUND_IN_DOCUMENTS,
        DOCUMENT_SYSTEMS,
    )


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
    "site_policy": _document_set("site_policy", "policies of a code host"),
    "runbooks": _document_set("runbooks", "runbooks for alerts"),
}
