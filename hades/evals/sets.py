"""Question sets as they lie in a folder.

`corpus.jsonl` has a passage a line, `{id, title, text}`, or `turns.jsonl` a turn of a
conversation a line, `{id, conversation, session, when, speaker, text}`. `questions.jsonl`
has `{id, question, gold: [ids]}`, for turns the conversation it is about, and the `answer`
where somebody knows it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hades.errors import InvalidInput

CORPUS, TURNS = "corpus.jsonl", "turns.jsonl"
QUESTIONS, TRIPLES = "questions.jsonl", "triples.jsonl"
LOST_NAMED_AT_MOST = 5
"""Enough to see what is wrong: usually ids of another corpus, or written another way."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and the ids of the passages, or turns, that answer it."""

    id: str
    text: str
    gold: frozenset[str]
    conversation: str | None = None
    """The conversation it is about; None where the set has none."""
    answer: str = ""
    """The answer itself, where the set tells it."""

    @property
    def fold(self) -> int:
        """Which half it falls in, 0 or 1: train on one, report on the other."""
        return zlib.crc32(self.id.encode()) & 1


@dataclass(frozen=True, slots=True)
class Lost:
    """Gold that is not in the corpus, so that no system can find it."""

    gold: tuple[tuple[str, str], ...] = ()
    """The ids of questions, and of what is missing for them."""

    @property
    def questions(self) -> int:
        """How many questions lack some of their gold."""
        return len({question for question, _ in self.gold})

    def told(self, of: int) -> str:
        """It in a sentence, a few of them by name."""
        named = ", ".join(f"{gold} (of {asked})" for asked, gold in self.gold[:LOST_NAMED_AT_MOST])
        more = len(self.gold) - LOST_NAMED_AT_MOST
        return (
            f"{self.questions:,} of {of:,} questions have gold that is not in the corpus, and "
            f"counts as not found: {named}" + (f" and {more:,} more." if more > 0 else ".")
        )


@dataclass(frozen=True, slots=True)
class EvalSet:
    """A corpus and questions about it."""

    name: str
    folder: Path
    questions: tuple[Question, ...]

    @property
    def is_conversations(self) -> bool:
        """Whether it holds turns rather than passages."""
        return (self.folder / TURNS).is_file()

    @property
    def corpus(self) -> Path:
        """The file of passages or turns."""
        return self.folder / (TURNS if self.is_conversations else CORPUS)

    @property
    def triples(self) -> Path:
        """Facts somebody extracted from the passages; not every set has them."""
        return self.folder / TRIPLES

    def lost(self) -> Lost:
        """The gold that cannot be found, because the corpus does not have it."""
        there = {
            (str(row.get("conversation")) if self.is_conversations else None, str(row.get("id")))
            for _, row in read_rows(self.corpus)
        }
        missing = {
            one.id: [gold for gold in sorted(one.gold) if (one.conversation, gold) not in there]
            for one in self.questions
        }
        return Lost(tuple((asked, gold) for asked, ids in missing.items() for gold in ids))

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
    if not any((folder / name).is_file() for name in (CORPUS, TURNS)):
        raise InvalidInput(f"{folder} has neither {CORPUS} nor {TURNS}: it is no question set.")
    path = folder / QUESTIONS if questions is None else Path(questions).expanduser()
    if not path.is_file():
        raise InvalidInput(f"There is no file of questions at {path}.")
    asked = tuple(_questions(path))
    if not asked:
        raise InvalidInput(f"{path} has no question with a gold passage.")
    loaded = EvalSet(folder.name, folder, asked)
    if loaded.is_conversations and (lost := next((q for q in asked if not q.conversation), None)):
        raise InvalidInput(f"The question {lost.id!r} does not say which conversation it is about.")
    return loaded


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


def _questions(path: Path) -> Iterator[Question]:
    """Every question of a file that can be answered from its corpus."""
    for where, row in read_rows(path):
        text, gold = row.get("question"), row.get("gold")
        if not isinstance(text, str) or not text.strip() or not isinstance(gold, list):
            raise InvalidInput(f"{where} needs a question and a list of gold ids.")
        if not gold:
            continue  # nothing could be found, so nothing can be measured
        about = row.get("conversation")
        yield Question(
            id=str(row.get("id", where)),
            text=text,
            gold=frozenset(map(str, gold)),
            conversation=None if about is None else str(about),
            answer=str(row.get("answer", "")),
        )
