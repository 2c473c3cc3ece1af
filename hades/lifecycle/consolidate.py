"""Consolidation: summaries of days, weeks and months that are over (source document 003, §5).

A day with enough states gets a summary, a week with enough of those another, a month likewise.
Each is made of the largest parts below that lie in it, and of the states themselves of
days that have none. So each stands for every state of its time. One is made anew, as a new
version, when what it is made of is no longer the same: something was written late, or a told
fact of that time changed. A second run finds nothing to do, and one that was stopped goes on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import blake2b

from hades.context.tokens import count
from hades.domain.answer import Usage
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

DAYS, WEEKS = 5, 4
"""Of daily summaries that a week must have, and of weekly ones that a month must have."""
ACTION = "consolidate"
"""What the change log calls it."""
EXTRACTIVE = "extractive"
SOURCES = 3
"""A model reads so many times what it may write."""
SOUND_AT_LEAST = 0.5
"""Where fewer of a model's sentences stand in what they cite, none of them is taken."""
TASK = "Summarise what happened."


@dataclass(slots=True)
class Consolidator:
    """One run over one space."""

    store: Store
    space: int
    actor: str
    at_least: int
    """States that a day must have, or a month of too few weeks."""
    on_progress: Progress
    dry_run: bool = False
    model: ChatModel | None = None
    usage: Usage | None = None
    """What the calls of the model took; in a dry run, would take at most."""
    _absent: str = ""  # why the model is not asked any more
    _days: dict[int, list[StateOfPeriod]] = field(default_factory=lambda: defaultdict(list))
    _there: dict[str, StoredSummary] = field(default_factory=dict)
    _rows: dict[str, int] = field(default_factory=dict)
    """By topic of a summary that is there, or was made: its row."""
    _told: dict[int, set[ToldEdge]] = field(default_factory=dict)

    def run(
        self, since: datetime | None, until: datetime | None, levels: Iterable[int]
    ) -> Consolidation:
        """Make the summaries of the periods that lie between two times."""
        now = from_micros(self.store.now())
        first, last = since or datetime.min.replace(tzinfo=UTC), min(until or now, now)
        with self.store.snapshot():
            self.on_progress("reading states", 0, 0)
            times = to_micros(first), to_micros(now)
            for state in self.store.summaries.states(self.space, *times, NOW):
                self._days[day_of(state.valid_from)].append(state)
            self._told = self.store.summaries.told_by_day(self.space, NOW)
            self._there = {one.topic: one for one in self.store.summaries.there(self.space, NOW)}
        self._rows = {topic: one.id for topic, one in self._there.items()}
        made: list[SummaryMade] = []
        skipped: list[tuple[str, str]] = []
        unchanged = 0
        for level in levels:
            periods = sorted({SummaryPeriod.around(level, day) for day in self._days})
            over = [one for one in periods if first <= one.since and one.until <= last]
            for at, period in enumerate(over):
                self.on_progress(f"{period.topic}", at, len(over))
                if not self._is_enough(period):
                    continue
                try:
                    done = self._make(period)
                except (Conflict, NotFound, *LOST) as error:  # purged meanwhile, another's name …
                    skipped.append((period.topic, str(error)))
                    continue
                unchanged += done is None
                made += [done] if done else []
        return Consolidation(tuple(made), unchanged, tuple(skipped), self.dry_run, self.usage)

    def _is_enough(self, period: SummaryPeriod) -> bool:
        if period.topic in self._there:
            return True  # it is kept up to date
        states = sum(len(self._days.get(day, ())) for day in period.days)
        if period.level == DAILY:
            return states >= self.at_least
        below = {SummaryPeriod.around(period.level - 1, day).topic for day in period.days}
        parts = len(below & self._rows.keys())
        if period.level == WEEKLY:
            return parts >= DAYS
        return parts >= WEEKS or states >= self.at_least

    def _made_of(self, period: SummaryPeriod) -> set[int]:
        """The rows of what a summary is made of: of each day the largest part there is."""
        found: set[int] = set()
        for day in self._days.keys() & set(period.days):
            parts = [SummaryPeriod.around(level, day) for level in range(period.level - 1, 0, -1)]
            whole = [one.topic for one in parts if one.lies_in(period) and one.topic in self._rows]
            found |= {self._rows[whole[0]]} if whole else {state.id for state in self._days[day]}
        return found

    def _make(self, period: SummaryPeriod) -> SummaryMade | None:
        """Write the summary of a period; None: nothing of it changed."""
        states = [one for day in period.days for one in self._days.get(day, ())]
        edges = set[ToldEdge]().union(*(self._told.get(day, ()) for day in period.days))
        made_of = self._made_of(period)
        mark = blake2b(repr((sorted(made_of), sorted(edges, key=str))).encode(), digest_size=12)
        wanted = {"made_of": mark.hexdigest()}
        # Who names no model is content with what another run made.
        wanted |= {"asked": self.model.name} if self.model else {}
        there = self._there.get(period.topic)
        if there is not None and wanted.items() <= there.metadata.items():
            return None
        with self.store.snapshot():
            told = self.store.edges.read(self.space, sorted(one[0] for one in edges), NOW)
            what = (period.since, period.until, states, told.values())
            lines, originals = summary_lines.lines_of(self.store, self.space, *what)
        room = answer_tokens(period.level, originals)
        chosen, by, why = summary_lines.chosen_lines(lines, room), EXTRACTIVE, self._absent
        if self.model is not None:
            own, why = self._by_model(summary_lines.chosen_lines(lines, SOURCES * room), room)
            chosen, by = (own, wanted["asked"]) if own else (chosen, EXTRACTIVE)
        if self.model is None:
            wanted.pop("asked", None)  # the next run tries again
        head = summary_lines.headline(period, len(states), len({one.topic for one in states}))
        content = summary_lines.composed(head, chosen, TOKENS[period.level])
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
            self._rows[period.topic], write.cancelled = row, not appended
        return made

    def _by_model(
        self, sources: Sequence[summary_lines.Line], limit: int
    ) -> tuple[list[summary_lines.Line], str]:
        """Lines in the words of the model, each as it was checked; or why there are none."""
        assert self.model is not None
        texts = [one.text for one in sources]
        reply = cited_sentences(self.model, TASK, texts, max_tokens=limit, dry_run=self.dry_run)
        if not reply.answered:  # who is not there is not asked again
            self.model, self._absent = None, reply.why
        if reply.usage is not None:
            self.usage = reply.usage if self.usage is None else self.usage + reply.usage
        sound = reply.held
        if reply.why or len(sound) < SOUND_AT_LEAST * len(reply.sentences):
            return [], reply.why or f"only {len(sound)} of {len(reply.sentences)} sentences hold"
        lines = []
        for one in sound:
            first, *also = (sources[number - 1] for number in one.cited)
            cited = tuple(other.cited for other in also)
            lines.append(replace(first, text=" ".join(one.text.split()), also=cited))
        return lines, f"{reply.dropped} dropped" if reply.dropped else ""
