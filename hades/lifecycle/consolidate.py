"""Consolidation: summaries of days, weeks and months that are over (seed 003, §5).

A day with enough states gets a summary, a week with enough of those another, a month likewise. A
weekly summary is made of daily ones, and of the states themselves of days that have none; a
monthly one of weekly ones, and for days beyond whole weeks of what is below. So each stands for
every state of its time. One is made anew, as a new version, when what it is made of is no longer
the same: something was written late, or a told fact of that time changed. A second run finds
nothing to do, and one that was stopped goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b

from hades.context.tokens import count
from hades.domain.graph import SIMILAR_TO, Edge
from hades.domain.summaries import (
    DAILY,
    KIND,
    MONTHLY,
    WEEKLY,
    Consolidation,
    SummaryMade,
    SummaryPeriod,
    day_of,
)
from hades.domain.times import NOW, to_micros
from hades.errors import Conflict
from hades.lifecycle import digest
from hades.store.records import Draft, EdgeFilter, Progress
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod, StoredSummary

ACTION = "consolidate"
"""What the change log calls it."""
TOKENS = {DAILY: 400, WEEKLY: 600, MONTHLY: 800}
EXTRACTIVE = "extractive"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """How much there must be for a summary."""

    states: int = 10
    """States of a day."""
    days: int = 5
    """Daily summaries of a week."""
    weeks: int = 4
    """Weekly summaries that a month has a part in."""
    at_least: int = 10
    """States of a month that gets one however few weeks have theirs."""


@dataclass(slots=True)
class Consolidator:
    """One run over one space."""

    store: Store
    space: int
    actor: str
    thresholds: Thresholds
    tokens: dict[int, int]
    on_progress: Progress
    dry_run: bool = False
    _days: dict[int, list[StateOfPeriod]] = field(default_factory=lambda: defaultdict(list))
    _there: dict[str, StoredSummary] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    """By topic of a summary that is there, or was made: its row."""
    _edges: list[Edge] = field(default_factory=list)

    def run(
        self, since: datetime | None, until: datetime | None, levels: Sequence[int]
    ) -> Consolidation:
        """Make the summaries of the periods that lie between two times."""
        now = self.store.now()
        with self.store.snapshot():
            self.on_progress("reading states", 0, 0)
            for state in self.store.summaries.states(self.space, now):
                self._days[day_of(state.valid_from)].append(state)
            self._there = {one.topic: one for one in self.store.summaries.there(self.space, NOW)}
            told = self.store.edges.find(self.space, EdgeFilter(any_time=True), NOW)
        self._edges = [one for one in told if one.relation != SIMILAR_TO]
        self._rows = {topic: one.id for topic, one in self._there.items()}
        made: list[SummaryMade] = []
        skipped: list[tuple[str, str]] = []
        unchanged = 0
        for level in levels:
            periods = sorted({SummaryPeriod.around(level, day) for day in self._days})
            over = [
                one
                for one in periods
                if to_micros(one.until) <= now
                and (since is None or one.since >= since)
                and (until is None or one.until <= until)
            ]
            for at, period in enumerate(over):
                self.on_progress(f"{period.topic}", at, len(over))
                if not self._is_enough(period):
                    continue
                try:
                    done = self._make(period)
                except Conflict as error:
                    skipped.append((period.topic, str(error)))
                    continue
                unchanged += done is None
                made += [done] if done else []
        return Consolidation(tuple(made), unchanged, tuple(skipped), self.dry_run)

    def _is_enough(self, period: SummaryPeriod) -> bool:
        if period.topic in self._there:
            return True  # it is kept up to date
        states = sum(len(self._days.get(day, ())) for day in period.days)
        least = self.thresholds
        if period.level == DAILY:
            return states >= least.states
        below = {SummaryPeriod.around(period.level - 1, day).topic for day in period.days}
        enough = len(below & self._rows.keys()) >= (
            least.days if period.level == WEEKLY else least.weeks
        )
        return enough or (period.level == MONTHLY and states >= least.at_least)

    def _made_of(self, period: SummaryPeriod) -> set[int]:
        """The rows of what a summary is made of: of each day the largest part there is."""
        found: set[int] = set()
        for day in period.days:
            if day not in self._days:
                continue
            parts = [SummaryPeriod.around(level, day) for level in range(period.level - 1, 0, -1)]
            whole = [
                one.topic
                for one in parts
                if one.topic in self._rows
                and period.since <= one.since
                and one.until <= period.until
            ]
            found |= {self._rows[whole[0]]} if whole else {state.id for state in self._days[day]}
        return found

    def _make(self, period: SummaryPeriod) -> SummaryMade | None:
        """Write the summary of a period; None: nothing of it changed."""
        states = [one for day in period.days for one in self._days.get(day, ())]
        edges = [
            one
            for one in self._edges
            if any(
                at and period.since <= at < period.until for at in (one.valid_from, one.valid_to)
            )
        ]
        made_of, limit = self._made_of(period), self.tokens[period.level]
        told = sorted((one.id, str(one.valid_from), str(one.valid_to)) for one in edges)
        mark = blake2b(repr((sorted(made_of), told, limit)).encode(), digest_size=12).hexdigest()
        there = self._there.get(period.topic)
        if there is not None and there.metadata.get("made_of") == mark:
            return None
        with self.store.snapshot():
            lines = digest.lines_of(self.store, self.space, period, states, edges)
            vectors = self.store.summaries.vectors({one.state for one in lines})
        head = digest.headline(period, len(states), len({one.topic for one in states}))
        content = digest.composed(head, digest.chosen_lines(lines, vectors, limit), limit)
        made = SummaryMade(period.topic, period.level, len(states), count([content])[0], EXTRACTIVE)
        if self.dry_run:
            self._rows[period.topic] = -1 - len(self._rows)
        else:
            self._write(period, content, made, mark, made_of, [one.id for one in edges])
        return made

    def _write(
        self,
        period: SummaryPeriod,
        content: str,
        made: SummaryMade,
        mark: str,
        made_of: set[int],
        edges: Iterable[int],
    ) -> None:
        metadata = {"by": made.by, "why": made.why, "states": made.states, "made_of": mark}
        draft = Draft(content, metadata=metadata, level=period.level, valid_from=period.until)
        store = self.store
        with store.write(self.actor, ACTION, self.space) as write:
            if not store.summaries.are_there(made_of, edges):
                raise Conflict("Something it is made of was purged meanwhile: consolidate again.")
            state, appended = store.topics.add(write, self.space, period.topic, draft)
            store.topics.set_kind(write, self.space, period.topic, KIND)
            row = store.summaries.put(self.space, period.topic, state.version, made_of)
            write.cancelled = not appended
        self._rows[period.topic] = row
