"""Consolidation: summaries of days, weeks and months that are over (TracingRAG).

A day with enough states gets a summary, and so does a week with enough daily summaries and a month
with enough weekly ones. A summary is made of the largest summaries within its period, and of the
states of days without one, so it covers every state of its period. When these sources change (a
late note, a changed told fact), it gets a new version. A second run finds nothing to do, and an
interrupted run can be continued.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b

from hades.context.tokens import count
from hades.domain.answer import Usage
from hades.domain.plain import counted
from hades.domain.summaries import (
    DAILY,
    KIND,
    TOKENS,
    WEEKLY,
    Consolidation,
    SummaryMade,
    SummaryPeriod,
    answer_tokens,
    day_of,
)
from hades.domain.times import NOW, from_micros, to_micros
from hades.errors import Conflict, NotFound
from hades.lifecycle import summary_lines
from hades.models.chat import ChatModel
from hades.models.checked import cited_sentences
from hades.store.archive import LOST
from hades.store.records import Draft, Progress
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod, StoredSummary, ToldEdge

DAYS = 5
WEEKS = 4
"""Daily summaries that a week needs, and weekly ones that a month needs, to get a summary."""
ACTION = "consolidate"
"""The action in the change log."""
EXTRACTIVE = "extractive"
SOURCES = 3
"""A model reads this many times the tokens that it may write."""
SOUND_AT_LEAST = 0.5
"""The share of a model's sentences that their sources must support; below it, none is used."""
TASK = "Summarise what happened."


@dataclass(slots=True)
class Consolidator:
    """One run of consolidation over one space."""

    store: Store
    space: int
    actor: str
    at_least: int
    """States that a day needs, or a month with too few weekly summaries."""
    on_progress: Progress
    dry_run: bool = False
    model: ChatModel | None = None
    usage: Usage | None = None
    """The usage of the model; in a dry run, the most it would use."""
    _absent: str = ""  # why the model is not asked any more
    _days: dict[int, list[StateOfPeriod]] = field(default_factory=lambda: defaultdict(list))
    _there: dict[str, StoredSummary] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    """The row of each summary, existing or made in this run, by topic."""
    _told: dict[int, set[ToldEdge]] = field(default_factory=dict)

    def run(
        self, since: datetime | None, until: datetime | None, levels: Iterable[int]
    ) -> Consolidation:
        """Make or renew the summaries, of these levels, of past periods between two times."""
        now = from_micros(self.store.now())
        first = since or datetime.min.replace(tzinfo=UTC)
        last = min(until or now, now)
        with self.store.snapshot():
            self.on_progress("reading states", 0, 0)
            times = to_micros(first), to_micros(now)
            for state in self.store.summaries.states(self.space, *times, NOW):
                self._days[day_of(state.valid_from)].append(state)
            self._told = self.store.summaries.told_by_day(self.space, NOW)
            self._there = {item.topic: item for item in self.store.summaries.there(self.space, NOW)}
        self._rows = {topic: item.id for topic, item in self._there.items()}
        made: list[SummaryMade] = []
        skipped: list[tuple[str, str]] = []
        unchanged = most = 0
        for level in levels:
            periods = sorted({SummaryPeriod.around(level, day) for day in self._days})
            over = [item for item in periods if first <= item.since and item.until <= last]
            for at, period in enumerate(over):
                self.on_progress(f"{period.topic}", at, len(over))
                most = max(most, self._states(period))
                if not self._is_enough(period):
                    continue
                try:
                    done = self._make(period)
                except (Conflict, NotFound, *LOST) as error:  # purged meanwhile, name taken …
                    skipped.append((period.topic, str(error)))
                    continue
                unchanged += done is None
                made += [done] if done else []
        why = "" if made or skipped else self._why_none(unchanged, most)
        counts = tuple(made), unchanged, tuple(skipped)
        return Consolidation(*counts, self.dry_run, self.usage, why)

    def _why_none(self, unchanged: int, most: int) -> str:
        """Return why no summary was made; `most` is the most states of a period that is over."""
        if unchanged:
            return "Every summary is up to date."
        if not self._days:
            return "No state began in that time."
        if not most:
            return "No day, week or month with states is over yet."
        needed = f"a day or month needs {self.at_least} states, a week {DAYS} daily summaries"
        return f"Too few states: {needed}; the fullest period has {counted(most, 'state')}."

    def _states(self, period: SummaryPeriod) -> int:
        return sum(len(self._days.get(day, ())) for day in period.days)

    def _is_enough(self, period: SummaryPeriod) -> bool:
        if period.topic in self._there:
            return True  # an existing summary is kept up to date
        states = self._states(period)
        if period.level == DAILY:
            return states >= self.at_least
        below = {SummaryPeriod.around(period.level - 1, day).topic for day in period.days}
        parts = len(below & self._rows.keys())
        if period.level == WEEKLY:
            return parts >= DAYS
        return parts >= WEEKS or states >= self.at_least

    def _made_of(self, period: SummaryPeriod) -> set[int]:
        """Return the rows that a summary is made of: for each day the largest summary, or else its
        states."""
        rows: set[int] = set()
        for day in self._days.keys() & set(period.days):
            parts = [SummaryPeriod.around(level, day) for level in range(period.level - 1, 0, -1)]
            whole = [
                part.topic for part in parts if part.lies_in(period) and part.topic in self._rows
            ]
            rows |= {self._rows[whole[0]]} if whole else {state.id for state in self._days[day]}
        return rows

    def _make(self, period: SummaryPeriod) -> SummaryMade | None:
        """Write the summary of a period, unless in a dry run; None if its sources are the same."""
        states = [item for day in period.days for item in self._days.get(day, ())]
        edges = set[ToldEdge]().union(*(self._told.get(day, ()) for day in period.days))
        made_of = self._made_of(period)
        mark = blake2b(repr((sorted(made_of), sorted(edges, key=str))).encode(), digest_size=12)
        wanted = {"made_of": mark.hexdigest()}
        # Without a model, reuse a summary even if a model wrote it.
        wanted |= {"asked": self.model.name} if self.model else {}
        stored = self._there.get(period.topic)
        if stored is not None and wanted.items() <= stored.metadata.items():
            return None
        with self.store.snapshot():
            told = self.store.edges.read(self.space, sorted(item[0] for item in edges), NOW)
            what = (period.since, period.until, states, told.values())
            lines, originals = summary_lines.lines_of(self.store, self.space, *what)
        room = answer_tokens(period.level, originals)
        chosen = summary_lines.chosen_lines(lines, room)
        by = EXTRACTIVE
        why = self._absent
        if self.model is not None:
            own, why = self._by_model(summary_lines.chosen_lines(lines, SOURCES * room), room)
            chosen, by = (own, wanted["asked"]) if own else (chosen, EXTRACTIVE)
        if self.model is None:
            wanted.pop("asked", None)  # the next run tries again
        head = summary_lines.headline(period, len(states), len({item.topic for item in states}))
        every = len(lines) if by == EXTRACTIVE else 0
        content = summary_lines.composed(head, chosen, TOKENS[period.level], every)
        made = SummaryMade(period.topic, period.level, len(states), count([content])[0], by, why)
        if self.dry_run:
            self._rows[period.topic] = -1 - len(self._rows)
            return made
        metadata = {**wanted, "states": len(states), "by": by, "why": why}
        draft = Draft(content, metadata=metadata, level=period.level, valid_from=period.until)
        with self.store.write(self.actor, ACTION, self.space) as write:
            if not self.store.summaries.are_there(made_of, told):
                raise Conflict("One of its sources was purged meanwhile: consolidate again.")
            state, appended = self.store.topics.add(write, self.space, period.topic, draft)
            self.store.topics.set_kind(write, self.space, period.topic, KIND)
            row = self.store.summaries.put(self.space, period.topic, state.version, made_of)
            self._rows[period.topic] = row
            write.cancelled = not appended
        return made

    def _by_model(
        self, sources: Sequence[summary_lines.Line], limit: int
    ) -> tuple[list[summary_lines.Line], str]:
        """Return the lines of the model that are supported, [] if too few are, and why the others
        are missing."""
        assert self.model is not None
        texts = [line.text for line in sources]
        reply = cited_sentences(self.model, TASK, texts, max_tokens=limit, dry_run=self.dry_run)
        if not reply.answered:  # do not ask an unavailable model again
            self.model = None
            self._absent = reply.why
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        sound = reply.held
        if reply.why or len(sound) < SOUND_AT_LEAST * len(reply.sentences):
            return [], reply.why or f"only {len(sound)} of {len(reply.sentences)} sentences hold"
        lines = []
        for sentence in sound:
            first, *also = (sources[number - 1] for number in sentence.numbers)
            cited = tuple(source.cited for source in also)
            lines.append(replace(first, text=" ".join(sentence.text.split()), also=cited))
        return lines, f"{reply.dropped} dropped" if reply.dropped else ""
