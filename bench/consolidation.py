"""Consolidation: how fast summaries are made, and what they save.

A half year of notes is made by a generator, few of which matter; ten questions ask for an
overview of some time. Without summaries a model has to read the states of that time, since
nothing in such a question tells which of them matter: ordinary recall, which looks for what is
like the question, is shown beside it within its usual limits.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import hades
from bench.table import note, seconds, show
from hades.context.tokens import count
from hades.domain.times import to_micros

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from noting import remember_months, said_in

QUESTIONS = (
    ("What happened last month?", ("2024-06",)),
    ("What happened in May?", ("2024-05",)),
    ("What happened in April?", ("2024-04",)),
    ("Summarise March", ("2024-03",)),
    ("Give me a recap of February 2024", ("2024-02",)),
    ("What changed in January 2024?", ("2024-01",)),
    ("What happened in the first quarter?", ("2024-01", "2024-02", "2024-03")),
    ("What happened in the second quarter?", ("2024-04", "2024-05", "2024-06")),
    ("Give me an overview of the project", tuple(f"2024-0{month}" for month in range(1, 7))),
    ("What happened this year?", tuple(f"2024-0{month}" for month in range(1, 7))),
)


def run(*, small: bool = False) -> None:
    """Print the tables."""
    months, notes = (6, 12) if small else (6, 30)
    now = to_micros(datetime(2024, 7, 10, tzinfo=UTC))
    with (
        tempfile.TemporaryDirectory() as folder,
        hades.open(f"{folder}/m.hades", clock=lambda: now) as memory,
    ):
        note("remembering")
        planted = remember_months(memory, months, notes)
        states = sum(topic.versions for topic in memory.topics())
        note("consolidating")
        made: list[hades.Consolidation] = []
        first = seconds(lambda: made.append(memory.consolidate()))
        again = seconds(memory.consolidate)
        memory.remember("late", "Decided: one thing more.", valid_from="2024-03-06")
        late = seconds(lambda: made.append(memory.consolidate()))
        show(
            f"Consolidation of {states:,} states, {len(made[0].made)} summaries",
            ["run", "seconds", "states a second", "summaries made"],
            [
                ["first", f"{first:.2f}", f"{states / first:,.0f}", len(made[0].made)],
                ["again", f"{again:.3f}", f"{states / again:,.0f}", 0],
                ["one state more", f"{late:.3f}", "", len(made[1].made)],
            ],
        )
        memory.index()
        tokens = dict.fromkeys(planted, 0)
        texts = [memory.get(topic.name) for topic in memory.topics("[dj]*")]
        for state, own in zip(texts, count([one.content for one in texts]), strict=True):
            tokens[f"{state.valid_from:%Y-%m}"] += own
        rows = []
        for question, months_asked in QUESTIONS:
            note(question)
            facts = [fact for month in months_asked for fact in planted[month]]
            whole = sum(tokens[month] for month in months_asked)
            told = memory.recall(question)
            plain = memory.recall(question, plan={"level": 0})
            says = [f"{said_in(one.context, facts):.0%}" for one in (told, plain)]
            rows.append(
                [
                    *(question, told.level, says[0], f"{told.tokens:,}", f"{told.ms:.0f}"),
                    *(f"{whole:,}", f"{whole / told.tokens:.1f}×"),
                    *(says[1], f"{plain.tokens:,}"),
                ]
            )
        head = ["question", "level", "says of what matters", "tokens", "ms", "tokens of the states"]
        more = ["ratio", "ordinary recall says", "tokens"]
        title = f"Overview questions with summaries and without ({states:,} states)"
        show(title, [*head, *more], rows)
