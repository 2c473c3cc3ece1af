"""Situations: notes in dated versions with questions about them, to train on and to check.

    python tools/situations.py training/notes      checks the files of a folder and counts

A file has one JSON object a line, plain or compressed (`.jsonl`, `.jsonl.xz`):

    {"topic": "people/ana-lima",
     "notes": [{"date": "2025-02-03", "sentences": ["Ana rents a flat.", …], "topic": …}, …],
     "questions": [{"q": "Where does Ana live?", "asked": "2025-09-01", "type": "current",
                    "gold": [[1, 0]], "stale": [[0, 0]]}, …]}

`[n, s]` is sentence s of note n. A note's own `topic` is given only where it differs from that of
the situation. The domain of a situation is the name of its file.
"""

import argparse
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = {
    *("current", "past", "why", "when", "who", "number", "list", "yesno"),
    *("paraphrase", "twohop", "unknown"),
}
Place = tuple[int, int]
"""Numbers of a note and of a sentence in it."""


@dataclass(frozen=True)
class Question:
    text: str
    asked: str
    kind: str
    gold: list[Place]
    stale: list[Place]


@dataclass(frozen=True)
class Situation:
    domain: str
    topic: str
    notes: list[dict[str, Any]]
    questions: list[Question]

    def topic_of(self, note: int) -> str:
        return str(self.notes[note].get("topic", self.topic))

    def sentence(self, place: Place) -> str:
        """A sentence as the product embeds it: after the spoken name of its topic."""
        note, number = place
        return f"{spoken(self.topic_of(note))}. {self.notes[note]['sentences'][number]}"

    def note(self, number: int) -> str:
        """A whole note as the product embeds it."""
        return f"{spoken(self.topic_of(number))}. {' '.join(self.notes[number]['sentences'])}"

    def places(self, until: str = "9999") -> list[Place]:
        """Every sentence written by a date."""
        return [
            (note, number)
            for note, version in enumerate(self.notes)
            if version["date"] <= until
            for number in range(len(version["sentences"]))
        ]


def spoken(topic: str) -> str:
    """A topic's name with spaces for separators."""
    return " ".join(re.sub(r"[/_\-]+", " ", topic).split())


def read_situations(folders: Iterable[Path]) -> Iterator[Situation]:
    """Read every file of situations in these folders."""
    for folder in folders:
        for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.xz")]):
            content = path.read_bytes()
            if path.suffix == ".xz":
                content = lzma.decompress(content)
            for line in content.decode().split("\n"):
                if line.strip():
                    yield _situation(path.name.split(".")[0], json.loads(line))


def _situation(domain: str, row: dict[str, Any]) -> Situation:
    questions = [
        Question(
            one["q"],
            one["asked"],
            one["type"],
            [(n, s) for n, s in one["gold"]],
            [(n, s) for n, s in one["stale"]],
        )
        for one in row["questions"]
    ]
    return Situation(domain, row["topic"], row["notes"], questions)


def check(situation: Situation) -> Iterator[str]:
    """Yield what is wrong with a situation."""
    places = set(situation.places())
    dates = [note["date"] for note in situation.notes]
    if dates != sorted(dates):
        yield "its notes are not in the order of their dates"
    kinds = Counter(question.kind for question in situation.questions)
    for needed in ("paraphrase", "unknown"):
        if not kinds[needed]:
            yield f"it has no {needed} question"
    for question in situation.questions:
        marked = question.gold + question.stale
        if question.kind not in KINDS:
            yield f"{question.text!r} is of the unknown type {question.kind}"
        elif not places.issuperset(marked):
            yield f"{question.text!r} names a sentence that is not there"
        elif any(dates[note] > question.asked for note, _ in marked):
            yield f"{question.text!r} names a sentence written after it was asked"
        elif bool(question.gold) == (question.kind == "unknown"):
            yield f"{question.text!r}: only unknown questions have no gold"
        elif set(question.gold) & set(question.stale):
            yield f"{question.text!r} has a sentence that is both gold and stale"
        elif question.kind == "twohop" and len({*map(situation.topic_of, dict(marked))}) < 2:
            yield f"{question.text!r} has gold in one topic only"


def main() -> None:
    parser = argparse.ArgumentParser(description="Check situations and count them.")
    parser.add_argument("folder", type=Path, nargs="+")
    kinds, wrong = Counter[str](), 0
    situations = list(read_situations(parser.parse_args().folder))
    for situation in situations:
        kinds.update(question.kind for question in situation.questions)
        for reason in check(situation):
            wrong += 1
            print(f"{situation.domain} {situation.topic}: {reason}")
    domains = len({situation.domain for situation in situations})
    print(f"{len(situations)} situations in {domains} domains, {kinds.total()} questions:")
    print(", ".join(f"{kind} {count}" for kind, count in kinds.most_common()))
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
