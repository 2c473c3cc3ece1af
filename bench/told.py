"""Told facts: are they answered right while their vectors wait, and after `index`?

A generated world is told by `relate` alone: 1,270 dated facts of lands, people and firms, whose
values change over ten years. The same questions are asked before any vector was made, and again
after `index`: what holds now, also in other words than it was told in, what held at a time that
the question names or that `at` gives, and since when something holds. An answer is right when its
first sentence says the value.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from pathlib import Path

import hades
from bench.table import seconds, show
from hades.domain.statement import day

SEED = 11
FACTS, FACTS_SMALL, ASKED = 1_270, 1_100, 160
BEGIN, END = date(2014, 1, 1), date(2024, 12, 1)
CHANGES_AFTER_DAYS = (300, 1_500)
TYPES = ("now", "in words", "at", "since when", "other words")

STARTS = """
    Bra Cor Dal Elm Fen Gar Hol Ist Jor Kal Lor Mer Nor Ost Pel Quin Ros Sel Tam Ulv Ver
""".split()  # noqa: SIM905
MIDDLES = "a e i o u an el in or un".split()  # noqa: SIM905
ENDS = {
    "land": "dia land mark nia stan ria".split(),  # noqa: SIM905
    "town": "burg ford haven ton ville wick".split(),  # noqa: SIM905
    "person": "berg dahl man quist sen ström".split(),  # noqa: SIM905
    "firm": "corp dyne flex soft tech works".split(),  # noqa: SIM905
    "coin": "al eso ino mark ound upee".split(),  # noqa: SIM905
}
FIRST = "Ada Bruno Carmen Dov Elif Farah Goran Hilde Isak Jana Kofi Leda Milo Nadia Otis".split()  # noqa: SIM905
RELATIONS = {
    ("land", "has_capital", "town"): (
        "What is the capital of {s}?",
        "What was the capital of {s} in {t}?",
        "Since when is {o} the capital of {s}?",
        "Which town is {s} governed from?",
    ),
    ("land", "head_of_state", "person"): (
        "Who is the head of state of {s}?",
        "Who was the head of state of {s} in {t}?",
        "Since when is {o} head of state of {s}?",
        "Who rules {s}?",
    ),
    ("land", "has_currency", "coin"): (
        "Which currency does {s} have?",
        "Which currency did {s} have in {t}?",
        "Since when does {s} have the currency {o}?",
        "What money do people in {s} pay with?",
    ),
    ("person", "works_at", "firm"): (
        "Where does {s} work?",
        "Where did {s} work in {t}?",
        "Since when does {s} work at {o}?",
        "Who employs {s}?",
    ),
    ("person", "lives_in", "town"): (
        "Where does {s} live?",
        "Where did {s} live in {t}?",
        "Since when does {s} live in {o}?",
        "In which town is {s} at home?",
    ),
    ("firm", "led_by", "person"): (
        "Who leads {s}?",
        "Who led {s} in {t}?",
        "Since when is {s} led by {o}?",
        "Who is the boss of {s}?",
    ),
    ("firm", "based_in", "town"): (
        "Where is {s} based?",
        "Where was {s} based in {t}?",
        "Since when is {s} based in {o}?",
        "In which town does {s} have its offices?",
    ),
}


@dataclass
class World:
    """Facts by subject and relation, in the order of time: (since, value)."""

    size: int
    dice: random.Random = field(default_factory=lambda: random.Random(SEED))
    facts: dict[tuple[str, str], list[tuple[date, str]]] = field(default_factory=dict)
    asked: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        called = {kind: self._names(kind) for kind in ENDS}
        told = 0
        while told < self.size:
            (kind, relation, other), questions = self.dice.choice(list(RELATIONS.items()))
            subject = self.dice.choice(called[kind])
            if (subject, relation) in self.facts:
                continue
            history, when = list[tuple[date, str]](), BEGIN + timedelta(self.dice.randrange(700))
            while when < END and told < self.size:
                value = self.dice.choice(called[other])
                if history and value == history[-1][1]:
                    continue
                history.append((when, value))
                told += 1
                when += timedelta(self.dice.randrange(*CHANGES_AFTER_DAYS))
            self.facts[subject, relation] = history
            self.asked[subject, relation] = questions

    def _names(self, kind: str) -> list[str]:
        names = [a + b + c for a in STARTS for b in MIDDLES for c in ENDS[kind]]
        names = self.dice.sample(names, self.size // 12)
        return [f"{self.dice.choice(FIRST)} {n}" if kind == "person" else n for n in names]

    def tell(self, memory: hades.Memory) -> None:
        """Relate every fact with the days from which and until which it held."""
        with memory.batch():
            for (subject, relation), history in self.facts.items():
                for (since, value), after in pairwise([*history, None]):
                    ends = None if after is None else str(after[0])
                    times = {"valid_from": str(since), "valid_to": ends}
                    memory.relate(subject, relation, value, create=True, **times)

    def questions(self, count: int) -> Iterator[tuple[str, str, str | None, str]]:
        """Type, question, the moment for `at`, and what the answer must say."""
        dice, pairs = random.Random(SEED + 1), list(self.facts)
        for number in range(count):
            pair, kind = dice.choice(pairs), TYPES[number % len(TYPES)]
            history, (now, then, since, other) = self.facts[pair], self.asked[pair]
            place = dice.randrange(len(history))
            begun, value = history[place]
            until = history[place + 1][0] if place + 1 < len(history) else END
            moment = begun + (until - begun) / 2
            names = {"s": pair[0], "o": value, "t": f"{moment:%B %Y}"}
            if kind in ("now", "other words"):
                question = now if kind == "now" else other
                yield kind, question.format(**names), None, history[-1][1]
            elif kind == "in words":
                yield kind, then.format(**names), None, value
            elif kind == "at":
                yield kind, now.format(**names), str(moment), value
            else:
                last, value = history[-1]
                told = day(datetime.combine(last, time(), UTC))
                yield kind, since.format(s=pair[0], o=value), None, told


def right(memory: hades.Memory, world: World) -> dict[str, list[bool]]:
    """By type, whether each question was answered right."""
    found: dict[str, list[bool]] = {kind: [] for kind in TYPES}
    for kind, question, moment, wanted in world.questions(ASKED):
        view = memory if moment is None else memory.at(moment)
        said = view.ask(question).sentences
        found[kind].append(bool(said) and wanted in said[0].text)
    return found


def run(*, small: bool = False) -> None:
    """Ask before and after the vectors are made."""
    print("## Told facts\n")
    world, rows = World(FACTS_SMALL if small else FACTS), []
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as memory:
        world.tell(memory)
        memory.warm()
        for name in ("vectors wait", "after `index`"):
            found: dict[str, list[bool]] = {}
            took = seconds(lambda found=found: found.update(right(memory, world)))  # type: ignore[misc]
            each = [f"{100 * sum(own) / len(own):.1f}" for own in found.values()]
            told = [one for own in found.values() for one in own]
            ms = f"{1000 * took / len(told):.0f}"
            rows.append((name, f"{100 * sum(told) / len(told):.1f}", *each, ms))
            memory.index()
    title = f"{world.size:,} dated facts, {ASKED} questions, % right"
    show(title, ("", "all", *TYPES, "ms a question"), rows)
