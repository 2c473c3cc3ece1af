"""Question sets as they lie in a folder.

What kind a set is shows in its first file; `questions.jsonl` stands beside it. `corpus.jsonl`
has a passage a line, `{id, title, text}`, `turns.jsonl` a turn of a conversation,
`{id, conversation, session, when, speaker, text}`, and a question `{id, question, gold: [ids]}`,
for turns the conversation it is about, and the `answer` where somebody knows it. The kinds
that are measured by type of question (`events.jsonl`, `facts.jsonl`, `sessions.jsonl`) say in
`docs/evaluation.md` what their lines have.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hades.domain.times import to_micros
from hades.errors import InvalidInput
from hades.language.english.moments import parse_time
from hades.store.records import Progress

CORPUS, QUESTIONS, TRIPLES = "corpus.jsonl", "questions.jsonl", "triples.jsonl"
FILES = {
    "turns": "turns.jsonl",
    "corpus": CORPUS,
    "everyday": "events.jsonl",
    "facts": "facts.jsonl",
    "sessions": "sessions.jsonl",
}
"""The kinds of sets, each with the file it is known by."""
LADDER_KINDS = ("corpus", "turns")
"""Kinds that are measured system by system; the others by type of question."""
_DATED = ("everyday", "facts")
"""Kinds whose questions are asked at a moment; some of them want nothing to be found."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of what answers it."""

    id: str
    text: str
    gold: frozenset[str]
    conversation: str | None = None
    """The conversation it is about; None where the set has none."""
    answers: tuple[str, ...] = ()
    """What an answer may say, any of these, where the set tells it."""
    type: str = ""
    """What is hard about it, in the set's own words; empty where it does not say."""
    asked_at: int = 0
    """When it is asked, in microseconds since 1970."""
    as_of: str | None = None
    """The time the caller passes, if one is passed."""
    stale: frozenset[str] = frozenset()
    """Ids of what was right once and is not now."""
    history: tuple[tuple[str, str], ...] = ()
    """The sessions it may look at, each with its date."""

    @property
    def fold(self) -> int:
        """Which half it falls in, 0 or 1: train on one, report on the other."""
        return zlib.crc32(self.id.encode()) & 1


@dataclass(frozen=True, slots=True)
class EvalSet:
    """A corpus and questions about it."""

    name: str
    folder: Path
    kind: str
    """One of FILES."""
    questions: tuple[Question, ...]

    @property
    def corpus(self) -> Path:
        """The file of what is asked about: passages, turns, events, facts, sessions."""
        return self.folder / FILES[self.kind]

    @property
    def triples(self) -> Path:
        """Facts somebody extracted from the passages; not every set has them."""
        return self.folder / TRIPLES

    def in_turn(self, doing: str, on_progress: Progress | None) -> Iterator[Question]:
        """The questions one after the other; after each, how many are done is told."""
        for number, question in enumerate(self.questions, start=1):
            yield question
            if on_progress is not None:
                on_progress(doing, number, len(self.questions))

    def lost(self) -> list[tuple[str, str]]:
        """The gold that the corpus does not have, each with the id of its question."""
        there = {
            (str(row.get("conversation")) if self.kind == "turns" else None, str(row.get("id")))
            for _, row in read_rows(self.corpus)
        }
        return [
            (one.id, gold)
            for one in self.questions
            for gold in sorted(one.gold)
            if (one.conversation, gold) not in there
        ]

    def half(self, fold: int) -> EvalSet:
        """The same corpus with the questions of one half."""
        if fold not in (0, 1):
            raise InvalidInput(f"A fold is 0 or 1, not {fold}.")
        questions = tuple(one for one in self.questions if one.fold == fold)
        if not questions:
            raise InvalidInput(f"No question of {self.name} falls in the half {fold}.")
        return replace(self, questions=questions)

    def first(self, limit: int) -> EvalSet:
        """The same corpus with the first questions only."""
        if limit < 1:
            raise InvalidInput(f"The limit is at least one question, not {limit}.")
        return replace(self, questions=self.questions[:limit])


def load_set(folder: str | Path, questions: str | Path | None = None) -> EvalSet:
    """The set in a folder, with its own questions or those of another file."""
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
        if (question := _question(where, row, kind)).gold or kind in _DATED
    )
    if not asked:
        raise InvalidInput(f"{path} has no question, or no question with a gold passage.")
    if kind == "turns" and (lost := next((q for q in asked if not q.conversation), None)):
        raise InvalidInput(f"The question {lost.id!r} does not say which conversation it is about.")
    return EvalSet(folder.name, folder, kind, asked)


def kind_of(folder: Path) -> str | None:
    """The kind of set a folder holds; None where it holds none."""
    return next((kind for kind, name in FILES.items() if (folder / name).is_file()), None)


def read_rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each line of a JSON lines file, with its place for messages."""
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
    """The time a line has under a name, in microseconds since 1970."""
    try:
        return to_micros(parse_time(str(row[name]), 0))
    except (KeyError, InvalidInput) as error:
        raise InvalidInput(f"{where} needs a time as {name!r}, such as 2025-02-03.") from error


def texts(value: object) -> tuple[str, ...]:
    """A value of a line as texts: a list of them, a single one, or none."""
    some = value if isinstance(value, list) else [value]
    return tuple(str(one) for one in some if one not in (None, ""))


def _question(where: str, row: Mapping[str, Any], kind: str) -> Question:
    text, gold = row.get("question"), row.get("gold", [] if kind == "facts" else None)
    if not isinstance(text, str) or not text.strip() or not isinstance(gold, list):
        raise InvalidInput(f"{where} needs a question and a list of gold ids.")
    about = row.get("conversation")
    try:
        history = tuple((str(one["session"]), str(one["date"])) for one in row.get("haystack", ()))
    except (TypeError, KeyError) as error:
        raise InvalidInput(f"{where} needs a haystack of sessions, each with a date.") from error
    return Question(
        id=str(row.get("id", where)),
        text=text,
        gold=frozenset(map(str, gold)),
        conversation=None if about is None else str(about),
        answers=texts(row.get("answer")),
        type=str(row.get("type", "")),
        asked_at=moment(where, row, "asked_at") if kind in _DATED else 0,
        as_of=str(row["as_of"]) if row.get("as_of") else None,
        stale=frozenset(texts(row.get("stale"))),
        history=history,
    )
