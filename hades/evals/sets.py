"""Question sets in a folder.

The kind of a set is known by its main file; `questions.jsonl` is beside it. A line of
`corpus.jsonl` is a passage, `{id, title, text}`; of `turns.jsonl` a turn of a conversation, `{id,
conversation, session, when, speaker, text}`; of `questions.jsonl` a question, `{id, question, gold:
[ids]}`, for turns with its `conversation`, and with the `answer` if it is known. The lines of
`events.jsonl`, `facts.jsonl` and `sessions.jsonl`, whose sets are measured by type of question, are
described in `docs/evaluation.md`. A set of documents has a folder `corpus` instead of a file, and
its gold is quotes, `{file, quote}`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hades.domain.times import to_micros
from hades.errors import InvalidInput
from hades.language.english.moments import parse_time
from hades.store.records import Progress

CORPUS = "corpus.jsonl"
QUESTIONS = "questions.jsonl"
TRIPLES = "triples.jsonl"
FILES = {
    "turns": "turns.jsonl",
    "corpus": CORPUS,
    "everyday": "events.jsonl",
    "facts": "facts.jsonl",
    "sessions": "sessions.jsonl",
    "documents": "corpus/",
}
"""The kinds of sets, each with its main file, or its folder of documents."""
LADDER_KINDS = ("corpus", "turns")
"""Kinds that are measured system by system; the others by type of question."""
_DATED = ("everyday", "facts")
"""Kinds whose questions have a time."""
_SOME_WITHOUT_GOLD = (*_DATED, "documents")
"""Kinds that also have questions without gold."""
NOTHING_KNOWN = "unknown"
"""The type of question that nothing in the memory answers."""


@dataclass(frozen=True, slots=True)
class EvalQuestion:
    """A question and the ids of the passages that answer it."""

    id: str
    text: str
    gold: frozenset[str]
    conversation: str | None = None
    """The conversation it is about; None if the set has none."""
    answers: tuple[str, ...] = ()
    """The accepted answers, if the set has them."""
    type: str = ""
    """The type of question by the set, or ""."""
    asked_at: int = 0
    """When it is asked, in microseconds since 1970."""
    as_of: str | None = None
    """The valid time that the caller passes, if any."""
    stale: frozenset[str] = frozenset()
    """Ids of passages that answered once and no longer do."""
    stale_sentences: tuple[str, ...] = ()
    """Sentences that were right once and no longer are, if the set has them."""
    history: tuple[tuple[str, str], ...] = ()
    """The sessions it may look at, each with its date."""
    quotes: tuple[tuple[str, str], ...] = ()
    """For documents: the id of each gold place, and the quote that is there."""

    @property
    def fold(self) -> int:
        """The question's half of the set, 0 or 1, by a hash: train on one, report the other."""
        return zlib.crc32(self.id.encode()) & 1


@dataclass(frozen=True, slots=True)
class EvalSet:
    """A corpus and questions about it."""

    name: str
    folder: Path
    kind: str
    """One of FILES."""
    questions: tuple[EvalQuestion, ...]

    @property
    def corpus(self) -> Path:
        """The file of passages, turns, events, facts or sessions, or the folder of documents."""
        return self.folder / FILES[self.kind]

    @property
    def triples(self) -> Path:
        """The file of facts extracted from the passages; not every set has it."""
        return self.folder / TRIPLES

    def each_question(self, doing: str, on_progress: Progress | None) -> Iterator[EvalQuestion]:
        """Yield the questions, and report progress after each."""
        for number, question in enumerate(self.questions, start=1):
            yield question
            if on_progress is not None:
                on_progress(doing, number, len(self.questions))

    def lost(self) -> list[tuple[str, str]]:
        """Return pairs of a question's id and one of its gold ids that is not in the corpus."""
        known = {
            (str(row.get("conversation")) if self.kind == "turns" else None, str(row.get("id")))
            for _, row in read_rows(self.corpus)
        }
        return [
            (one.id, gold)
            for one in self.questions
            for gold in sorted(one.gold)
            if (one.conversation, gold) not in known
        ]

    def half(self, fold: int) -> EvalSet:
        """Return the set with only the questions whose `fold` is this one."""
        if fold not in (0, 1):
            raise InvalidInput(f"A fold is 0 or 1, not {fold}.")
        questions = tuple(one for one in self.questions if one.fold == fold)
        if not questions:
            raise InvalidInput(f"No question of {self.name} falls in the half {fold}.")
        return replace(self, questions=questions)

    def first(self, limit: int) -> EvalSet:
        """Return the set with only its first `limit` questions."""
        if limit < 1:
            raise InvalidInput(f"The limit is at least one question, not {limit}.")
        return replace(self, questions=self.questions[:limit])


def load_set(folder: str | Path, questions: str | Path | None = None) -> EvalSet:
    """Load the set in a folder, with its own questions or those of another file.

    Questions without gold are left out, except in sets of notes, facts and documents.
    """
    folder = Path(folder).expanduser().resolve()
    if not folder.is_dir():
        raise InvalidInput(f"There is no folder {folder} with a question set.")
    kind = kind_of(folder)
    if kind is None:
        raise InvalidInput(f"{folder} has none of {', '.join(FILES.values())}: it is not a set.")
    path = folder / QUESTIONS if questions is None else Path(questions).expanduser()
    if not path.is_file():
        raise InvalidInput(f"There is no file of questions at {path}.")
    asked = tuple(
        question
        for where, row in read_rows(path)
        if (question := _question(where, row, kind)).gold or kind in _SOME_WITHOUT_GOLD
    )
    if not asked:
        raise InvalidInput(f"{path} has no question, or no question with a gold passage.")
    if kind == "turns" and (lost := next((q for q in asked if not q.conversation), None)):
        raise InvalidInput(f"The question {lost.id!r} does not say which conversation it is about.")
    return EvalSet(folder.name, folder, kind, asked)


def kind_of(folder: Path) -> str | None:
    """Return the kind of set in a folder; None if there is none."""
    for kind, name in FILES.items():
        path = folder / name
        if path.is_dir() if kind == "documents" else path.is_file():
            return kind
    return None


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (`FILE, line N`, row) for each row of a JSON lines file; skip empty lines."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            where = f"{path}, line {number}"
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise InvalidInput(f"{where} is not JSON: {error}.") from error
            if not isinstance(row, dict):
                raise InvalidInput(f"{where} is not an object with fields.")
            yield where, row


def moment(where: str, row: Mapping[str, Any], name: str) -> int:
    """Return the time in field `name`, in microseconds since 1970; without one, InvalidInput."""
    try:
        return to_micros(parse_time(str(row[name]), 0))
    except (KeyError, InvalidInput) as error:
        raise InvalidInput(f"{where} needs a time as {name!r}, such as 2025-02-03.") from error


def texts(value: object) -> tuple[str, ...]:
    """Return the value of a field, a list or a single text, as a tuple without empty texts."""
    some = value if isinstance(value, list) else [value]
    return tuple(str(one) for one in some if one not in (None, ""))


def _question(where: str, row: Mapping[str, Any], kind: str) -> EvalQuestion:
    text = row.get("question")
    gold = row.get("gold", [] if kind == "facts" else None)
    if not isinstance(text, str) or not text.strip() or not isinstance(gold, list):
        raise InvalidInput(f"{where} needs a question and a list of gold ids.")
    about = row.get("conversation")
    try:
        history = tuple((str(one["session"]), str(one["date"])) for one in row.get("haystack", ()))
    except (TypeError, KeyError) as error:
        raise InvalidInput(f"{where} needs a haystack of sessions, each with a date.") from error
    quotes = _quotes(where, row, gold) if kind == "documents" else ()
    return EvalQuestion(
        id=str(row.get("id", where)),
        text=text,
        gold=frozenset(place for place, _ in quotes) if quotes else frozenset(map(str, gold)),
        conversation=None if about is None else str(about),
        answers=texts(row.get("answer")),
        type=str(row.get("type", "")),
        asked_at=moment(where, row, "asked_at") if kind in _DATED else 0,
        as_of=str(row["as_of"]) if row.get("as_of") else None,
        stale=frozenset(texts(row.get("stale"))),
        stale_sentences=texts(row.get("stale_sentences")),
        history=history,
        quotes=quotes,
    )


def _quotes(where: str, row: Mapping[str, Any], gold: Sequence[Any]) -> tuple[tuple[str, str], ...]:
    """Return the gold places of a question about documents, as pairs of id and quote."""
    try:
        places = [(str(one["file"]), str(one["quote"])) for one in gold]
    except (TypeError, KeyError) as error:
        raise InvalidInput(f"{where} needs gold places, each with a file and a quote.") from error
    if bool(places) == (row.get("type") == NOTHING_KNOWN):
        raise InvalidInput(f"{where} needs gold places, or the type {NOTHING_KNOWN!r} and none.")
    return tuple((f"{file}: {' '.join(quote.split())}", quote) for file, quote in places)
