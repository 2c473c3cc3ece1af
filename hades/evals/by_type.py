"""Tables by type of question, for sets of notes, told facts, sessions and documents."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hades.evals.memories import Index
from hades.evals.sets import EvalQuestion

ALL = "all"
"""The row of all questions."""
ANSWERABLE = "answerable"
"""The row of the questions with gold, in a set that also has others."""
WORDS = "words"
"""The column of the number of words of `ask`, the only one that is not a share."""

Row = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one question."""

    question: EvalQuestion
    values: Mapping[str, float]
    """Values by column, without columns that do not apply to the question."""
    missed: bool
    found: tuple[str, ...] = ()
    """The ids found, best first."""
    said: str = ""
    """The answer of `ask`."""

    def __str__(self) -> str:
        wanted = f"{sorted(self.question.gold)} {list(self.question.answers)}"
        head = f"{self.question.id} [{self.question.type}] {self.question.text}"
        return f"{head}\n  wanted {wanted}\n  found {list(self.found)}\n  said {self.said}"


@dataclass(frozen=True, slots=True)
class ByType:
    """The outcomes of a set, measured by type of question."""

    dataset: str
    kind: str
    columns: tuple[str, ...]
    outcomes: Mapping[str, Sequence[Outcome]]
    """The outcomes for each table, which is a size of memory or a system."""
    index: Index | None = None
    """The cost of making the memory, if it is kept in the cache."""
    lost: Sequence[tuple[str, str]] = ()
    """(question, gold) pairs whose gold is not in the corpus, so that no system can find it."""

    def tables(self) -> dict[str, dict[str, Row]]:
        """Return, by table and type, the number of questions (n) and the mean of each column.

        A column that applies to no question of a table is left out.
        """
        return {name: self._rows(some) for name, some in self.outcomes.items()}

    def misses(self, of: str) -> list[Outcome]:
        """Return the outcomes that are misses, from every table, of one type or of `all`."""
        every = (one for some in self.outcomes.values() for one in some)
        return [one for one in every if one.missed and of in (ALL, one.question.type)]

    def plain(self) -> dict[str, Any]:
        """Return the set's name, its kind and the tables as JSON values, rounded."""
        tables = {
            name: {
                of: {column: value and round(value, 4) for column, value in row.items()}
                for of, row in rows.items()
            }
            for name, rows in self.tables().items()
        }
        made = {} if self.index is None else self.index.plain(self.lost)
        return {"dataset": self.dataset, "kind": self.kind, **made, "tables": tables}

    def sentences(self) -> list[str]:
        """Return what was measured, and what is wrong with the set; nothing without `index`."""
        asked = max(map(len, self.outcomes.values()), default=0)
        return [] if self.index is None else self.index.sentences(asked, self.lost)

    def _rows(self, outcomes: Sequence[Outcome]) -> dict[str, Row]:
        groups = {
            of: [one for one in outcomes if one.question.type == of]
            for of in sorted({one.question.type for one in outcomes})
        }
        answerable = [one for one in outcomes if one.question.gold]
        if 0 < len(answerable) < len(outcomes):
            groups[ANSWERABLE] = answerable
        groups[ALL] = list(outcomes)
        columns = [name for name in self.columns if any(name in one.values for one in outcomes)]
        rows: dict[str, Row] = {}
        for of, some in groups.items():
            rows[of] = {"n": len(some), **{name: _mean(some, name) for name in columns}}
        return rows


def cell(column: str, value: float | None) -> str:
    """Format a cell of a table: `words` and `n` as they are, shares in per cent, None as a dash."""
    if value is None:
        return "–"
    return f"{value if column == WORDS else 100 * value:.1f}" if column != "n" else f"{value:,}"


def _mean(some: Sequence[Outcome], column: str) -> float | None:
    values = [one.values[column] for one in some if column in one.values]
    return statistics.fmean(values) if values else None
