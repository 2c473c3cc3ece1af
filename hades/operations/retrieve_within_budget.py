"""A question within a budget of tokens, by sections (seed 003, §6, algorithm 6).

Nothing is searched here: recall finds, working memory adds what is around the best topics, and
this module gives each section its share. A section that needs less leaves the rest to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from hades.context.pack import PART_TOKENS_AT_LEAST, indented, read_cite, shown_cite
from hades.context.tokens import TokenFamily
from hades.domain.answer import Intent, Note, Passage, Recall, unlabelled
from hades.domain.context import BudgetedContext, ContextItem, ContextSection
from hades.domain.graph import Reason
from hades.domain.summaries import PREFIX
from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.memory import View

STAGE = "context"
SHARES = {"latest": 0.3, "summaries": 0.3, "details": 0.3, "reserve": 0.1}
TITLES = {"latest": "Latest states:", "summaries": "Summaries:", "details": "Details:"}
LEVELS = {Intent.RECENT: 1, Intent.OVERVIEW: 3}
LEVELS |= dict.fromkeys((Intent.STATUS, Intent.WHY, Intent.RELATION), 0)
"""Of summaries: 1 daily, 2 weekly, 3 monthly; other questions get weekly ones (seed 003)."""
OTHER_LEVEL = 2
SUMMARIES = {1: "????-??-??", 2: "????-W??", 3: "????-??"}
"""The topics of each level: `summary/2026-11-03`, `…/2026-W45`, `…/2026-11`."""
CONTENT_CHARACTERS_AT_MOST = 200_000
"""A longer state is not shown whole: its passages are."""
TOPICS_EXPLORED = 3
"""The best ones, whose recent states and related topics are details."""
RECALL_TOKENS_AT_MOST = 50_000


def gather_within_budget(
    view: View,
    question: str,
    max_tokens: int,
    family: TokenFamily,
    sections: Mapping[str, Any] | None,
    on_progress: Progress | None,
) -> BudgetedContext:
    """The sections of a context, each within its share of the tokens."""
    shares = _shares(sections)
    reserve = int(max_tokens * shares["reserve"])
    budget = max(50, min(max_tokens - reserve, RECALL_TOKENS_AT_MOST))
    found = view.recall(question, budget=budget, on_progress=on_progress)
    level = found.level or LEVELS.get(found.intent, OTHER_LEVEL)
    allowed = {name: int(max_tokens * shares[name]) for name in TITLES}
    packing = _Sections(family, max_tokens - reserve, question)
    packing.fill("latest", allowed, _latest(view, found, family, allowed["latest"]))
    packing.fill("summaries", allowed, _summaries(view, found, level, packing.notes))
    packing.fill("details", allowed, _details(view, found, budget))
    text = "".join(packing.parts)
    return BudgetedContext(
        question=question,
        intent=found.intent,
        level=level,
        family=family.name,
        max_tokens=max_tokens,
        reserve=reserve,
        tokens=family.count([text])[0],
        sections=tuple(packing.sections),
        text=text,
        reasons=(*(one for one in found.reasons if one.stage != "pack"), *packing.notes),
    )


def _shares(wanted: Mapping[str, Any] | None) -> dict[str, float]:
    """The share of each section, checked; what is not said stays as it is, if it still fits."""
    said = dict(wanted or {})
    for name, share in said.items():
        if name not in SHARES:
            raise InvalidInput(f"There is no section {name!r}: {', '.join(SHARES)}.")
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise InvalidInput(f"The share of {name} is a number from 0 to 1, not {share!r}.")
    if sum(said.values()) > 1:
        raise InvalidInput("The shares of the sections are more than 1 together.")
    rest = sum(share for name, share in SHARES.items() if name not in said)
    left = 1 - sum(said.values())
    scale = min(1.0, left / rest) if rest else 1.0
    return {name: said.get(name, share * scale) for name, share in SHARES.items()}


def _topics(found: Recall) -> list[str]:
    """The topics found, best first, without the summaries: they have their own section."""
    if found.level:
        return []  # lines of summaries
    topics = dict.fromkeys(one.chunk.topic for one in found.passages)
    return [topic for topic in topics if not topic.startswith(PREFIX)]


def _latest(view: View, found: Recall, family: TokenFamily, allowed: int) -> Iterator[ContextItem]:
    """The current states of the topics found; of one that would fill half, the passages found."""
    for topic in _topics(found):
        with suppress(NotFound):  # it held at the time asked about, and is gone
            state = view.get(topic)
            few = len(state.content) <= CONTENT_CHARACTERS_AT_MOST
            if few and family.count([state.content])[0] <= allowed // 2:
                yield ContextItem(state.id, "latest", _held(state), state.content)
                continue
            for one in found.passages:
                if (one.chunk.topic, one.chunk.version) == (topic, state.version):
                    yield ContextItem(one.id, "latest", _held(state), one.chunk.text)


def _summaries(view: View, found: Recall, level: int, notes: list[Note]) -> Iterator[ContextItem]:
    """The lines that answer an overview; else the summaries of the time asked about, the latest
    first, and where there are none those of another level, finer ones first."""
    if found.level:
        for one in found.passages:
            name = f"{one.chunk.topic}@{one.chunk.version}"
            yield ContextItem(name, "summary", _held(one), one.chunk.text)
        return
    if level == 0:
        notes.append(Note(Reason.SWITCHED_OFF, "summaries", f"a question of {found.intent.value}"))
        return
    times = (found.time.since, found.time.until) if found.time else (None, None)
    # A summary holds from the end of its time on.
    since, until = (one and one + timedelta(microseconds=1) for one in times)
    for other in (*range(level, 0, -1), *range(level + 1, len(SUMMARIES) + 1)):
        there = view.topics(PREFIX + SUMMARIES[other], since=since, until=until)
        for topic in sorted(there, key=lambda one: one.valid_from, reverse=True):
            state = view.get(topic.name)
            yield ContextItem(state.id, "summary", _held(state), state.content)
        if there:
            return
    notes.append(Note(Reason.NO_HIERARCHY, "summaries", "nothing of that time is consolidated"))


def _details(view: View, found: Recall, budget: int) -> Iterator[ContextItem]:
    """Facts, paths, other passages, then what is around the best topics."""
    for fact in found.facts:
        yield ContextItem(fact.edge.cite, "fact", "", unlabelled(fact.text))
    for path in found.paths:
        yield ContextItem(path.start.name, "path", "", unlabelled(path.told()))
    topics = _topics(found)
    for one in found.passages:
        if one.chunk.topic in topics:
            yield ContextItem(one.id, "passage", _held(one), one.chunk.text)
    for topic in topics[:TOPICS_EXPLORED]:
        with suppress(NotFound):
            for item in view.working_memory(topic, budget=budget).items:
                if item.why != "latest":
                    yield ContextItem(item.state.id, item.why, _held(item.state), item.text)


def _held(shown: State | Passage) -> str:
    """When a state or passage held: `2024-01-10 to 2024-02-20`, or since when."""
    until = f" to {shown.valid_to:%Y-%m-%d}" if shown.valid_to else ""
    return f"{shown.valid_from:%Y-%m-%d}{until}"


class _Sections:
    """A context as its sections fill up. Every part ends with an empty line, so they add up."""

    def __init__(self, family: TokenFamily, room: int, question: str) -> None:
        self._family = family
        asked = family.cut_words(f"Question: {' '.join(question.split())}", room // 4)
        self.parts = [f"{asked}\n\n"]
        self._room = room - family.count(self.parts)[0]
        self._spare = self._numbers = 0
        self._shown: dict[tuple[str, int | None], str] = {}
        self.sections: list[ContextSection] = []
        self.notes: list[Note] = []

    def fill(self, name: str, shares: Mapping[str, int], drafts: Iterator[ContextItem]) -> None:
        """Put in what fits, best first; of what does not, the beginning where it is worth it."""
        allowed = max(0, min(shares[name] + self._spare, self._room))
        title = f"{TITLES[name]}\n\n"
        title_tokens = self._family.count([title])[0]
        room, items, left_out = allowed - title_tokens, list[ContextItem](), 0
        for draft in drafts:
            state = read_cite(draft.cite)[:2]
            if draft.text.strip() in self._shown.get(state, ""):
                continue  # a passage of a state that is shown, or the state of a passage
            if room < PART_TOKENS_AT_LEAST:
                self.notes.append(Note(Reason.BUDGET_EXHAUSTED, name, f"from {draft.cite} on"))
                break
            item = self._item(draft, room)
            if item is None:
                left_out += 1
                continue
            self._numbers += 1
            self.parts += [] if items else [title]
            self.parts.append(_shown_item(self._numbers, item))
            items.append(item)
            self._shown[state] = f"{self._shown.get(state, '')}\n\n{item.text}"
            room -= item.tokens
        if left_out:
            self.notes.append(Note(Reason.EVICTED, name, f"{left_out} did not fit"))
        used = title_tokens + sum(one.tokens for one in items) if items else 0
        self._spare, self._room = allowed - used, self._room - used
        self.sections.append(ContextSection(name, allowed, used, tuple(items)))

    def _item(self, draft: ContextItem, room: int) -> ContextItem | None:
        whole = replace(draft, text=draft.text.strip())

        def tokens(part: str) -> int:
            shown = _shown_item(self._numbers + 1, replace(whole, text=part))
            return self._family.count([shown])[0]

        part = self._family.fit(whole.text, room, tokens, PART_TOKENS_AT_LEAST)
        if not part:
            return None
        if part != whole.text:
            self.notes.append(Note(Reason.BUDGET_EXHAUSTED, STAGE, f"{draft.cite} was cut"))
        return replace(whole, text=part, tokens=tokens(part))


def _shown_item(number: int, item: ContextItem) -> str:
    held = f", {item.held}" if item.held else ""
    return f"[{number}] {shown_cite(item.cite)}{held} ({item.why})\n{indented(item.text)}\n\n"
