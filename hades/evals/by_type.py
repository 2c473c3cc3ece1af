"""Tables by type of question: how notes, told facts and sessions are measured."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hades.evals.sets import Question

ALL = "all"
"""The row of every question, whatever its type."""
WORDS = "words"
"""The column that is no share: how many words `ask` says."""

Row = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one question."""

    question: Question
    values: Mapping[str, float]
    """By column; one that does not apply to the question is left out."""
    missed: bool
    found: tuple[str, ...] = ()
    """Ids of what was found, best first."""
    said: str = ""
    """What `ask` said."""

    def __str__(self) -> str:
        wanted = f"{sorted(self.question.gold)} {list(self.question.answers)}"
        head = f"{self.question.id} [{self.question.type}] {self.question.text}"
        return f"{head}\n  wanted {wanted}\n  found {list(self.found)}\n  said {self.said}"


@dataclass(frozen=True, slots=True)
class ByType:
    """A set, measured by type of question."""

    dataset: str
    kind: str
    columns: tuple[str, ...]
    outcomes: Mapping[str, Sequence[Outcome]]
    """By table: a size of memory, or a system."""

    def tables(self) -> dict[str, dict[str, Row]]:
        """By table and type: how many questions (n), and the mean of each column."""
        return {name: self._rows(some) for name, some in self.outcomes.items()}

    def misses(self, of: str) -> list[Outcome]:
        """The questions of a type, or of `all`, that were not answered well."""
        every = (one for some in self.outcomes.values() for one in some)
        return [one for one in every if one.missed and of in (ALL, one.question.type)]

    def plain(self) -> dict[str, Any]:
        """As it is printed in JSON."""
        tables = {
            name: {
                of: {column: value and round(value, 4) for column, value in row.items()}
                for of, row in rows.items()
            }
            for name, rows in self.tables().items()
        }
        return {"dataset": self.dataset, "kind": self.kind, "tables": tables}

    def _rows(self, outcomes: Sequence[Outcome]) -> dict[str, Row]:
        rows: dict[str, Row] = {}
        for of in (*sorted({one.question.type for one in outcomes}), ALL):
            some = [one.values for one in outcomes if of in (ALL, one.question.type)]
            rows[of] = {"n": len(some), **{name: _mean(some, name) for name in self.columns}}
        return rows


def cell(column: str, value: float | None) -> str:
    """A number as tables show it: shares in per cent."""
    if value is None:
        return "–"
    return f"{value if column == WORDS else 100 * value:.1f}" if column != "n" else f"{value:,}"


def _mean(some: Sequence[Mapping[str, float]], column: str) -> float | None:
    values = [one[column] for one in some if column in one]
    return statistics.fmean(values) if values else None
