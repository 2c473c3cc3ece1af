"""A question within a budget of tokens, by sections (seed 003, §6, algorithm 6).

Nothing is searched here: recall finds, working memory adds what is around the best topics, and
this module gives each section its share. A section that needs less leaves the rest to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hades.context.pack import indented, shown_name
from hades.context.tokens import TokenFamily
from hades.domain.answer import Intent, Note, Recall, unlabelled
from hades.domain.context import BudgetedContext, ContextItem, ContextSection
from hades.domain.graph import Reason
from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.memory import View

STAGE = "context"
SHARES = {"latest": 0.3, "summaries": 0.3, "details": 0.3, "reserve": 0.1}
TITLES = {
    "latest": "Latest states:",
    "summaries": "Summaries:",
    "details": "Details:",
}
LEVELS = {
    Intent.STATUS: 0,
    Intent.WHY: 0,
    Intent.RELATION: 0,
    Intent.RECENT: 1,
    Intent.OVERVIEW: 3,
}
"""Of summaries: 1 daily, 2 weekly, 3 monthly; other questions get weekly ones (seed 003)."""
OTHER_LEVEL = 2
SUMMARY_GLOB = "summary/*"
PART_TOKENS_AT_LEAST = 24
"""A shorter part of a text says too little to be worth its head line."""
CONTENT_CHARACTERS_AT_MOST = 200_000
"""A longer state is not shown whole: its passages are."""
TOPICS_EXPLORED = 3
"""The best ones, whose recent states and related topics are details."""
RECALL_TOKENS_AT_MOST = 50_000

Draft = tuple[str, str, str]
"""What to cite, why it is here, and the text."""


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
    level = LEVELS.get(found.intent, OTHER_LEVEL)
    packing = _Sections(family, max_tokens - reserve, question)
    latest, seen = _latest(view, found, family, int(max_tokens * shares["latest"]))
    packing.fill("latest", int(max_tokens * shares["latest"]), iter(latest))
    summaries = iter(_summaries(view, found, level, packing.notes, on_progress))
    packing.fill("summaries", int(max_tokens * shares["summaries"]), summaries)
    packing.fill("details", max_tokens, _details(view, found, seen, budget))
    text, tokens = packing.rendered()
    return BudgetedContext(
        question=question,
        intent=found.intent,
        level=level,
        family=family.name,
        max_tokens=max_tokens,
        reserve=reserve,
        tokens=tokens,
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


def _latest(
    view: View, found: Recall, family: TokenFamily, allowed: int
) -> tuple[list[Draft], set[str]]:
    """The current states of the topics found, best first; of long ones the passages found.

    Also what must not be shown again: the states that are whole, and these passages.
    """
    drafts: list[Draft] = []
    seen: set[str] = set()
    for topic in dict.fromkeys(one.chunk.topic for one in found.passages):
        try:
            state = view.get(topic)
        except NotFound:  # it held at the time asked about, and is gone
            continue
        if _is_short(state, family, allowed):
            drafts.append((state.id, "latest", state.content))
            seen.add(state.id)
            continue
        for one in found.passages:
            if (one.chunk.topic, one.chunk.version) == (topic, state.version):
                drafts.append((one.id, "latest", one.chunk.text))
                seen.add(one.id)
    return drafts, seen


def _is_short(state: State, family: TokenFamily, allowed: int) -> bool:
    """Whether a state may be shown whole: it leaves half of the section to the others."""
    content = state.content
    if len(content) > CONTENT_CHARACTERS_AT_MOST:
        return False
    return family.count([content])[0] <= allowed // 2


def _summaries(
    view: View, found: Recall, level: int, notes: list[Note], on_progress: Progress | None
) -> Iterator[Draft]:
    """The summaries that fit the question, of its level."""
    if level == 0:
        notes.append(Note(Reason.SWITCHED_OFF, "summaries", f"a question of {found.intent.value}"))
        return
    if not view.topics(SUMMARY_GLOB, limit=1):
        notes.append(Note(Reason.NO_HIERARCHY, "summaries", "nothing is consolidated yet"))
        return
    fitting = view.recall(
        found.question, glob=SUMMARY_GLOB, budget=RECALL_TOKENS_AT_MOST, on_progress=on_progress
    )
    for topic in dict.fromkeys(one.chunk.topic for one in fitting.passages):
        with suppress(NotFound):
            state = view.get(topic)
            if state.level == level:
                yield state.id, "summary", state.content


def _details(view: View, found: Recall, seen: set[str], budget: int) -> Iterator[Draft]:
    """Facts, paths, other passages, then what is around the best topics."""
    for fact in found.facts:
        edge = fact.edge
        stated = edge.provenance.chunk if edge.id <= 0 and edge.provenance else f"edge {edge.id}"
        yield stated, "fact", unlabelled(fact.text)
    for path in found.paths:
        yield path.start.name, "path", unlabelled(path.told())
    for one in found.passages:
        if one.id not in seen and f"{one.chunk.topic}@{one.chunk.version}" not in seen:
            seen.add(one.id)
            yield one.id, "passage", one.chunk.text
    topics = list(dict.fromkeys(one.chunk.topic for one in found.passages))
    for topic in topics[:TOPICS_EXPLORED]:
        with suppress(NotFound):
            for item in view.working_memory(topic, budget=budget).items:
                if item.state.id not in seen and item.why != "latest":
                    seen.add(item.state.id)
                    yield item.state.id, item.why, item.text


class _Sections:
    """A context as its sections fill up. Every part ends with an empty line, so they add up."""

    def __init__(self, family: TokenFamily, room: int, question: str) -> None:
        self._family = family
        asked = family.cut_words(f"Question: {' '.join(question.split())}", room // 4)
        self._asked = f"{asked}\n\n"
        self._room = room - family.count([self._asked])[0]
        self._spare = self._numbers = 0
        self.sections: list[ContextSection] = []
        self.notes: list[Note] = []

    def fill(self, name: str, share: int, drafts: Iterator[Draft]) -> None:
        """Put in what fits, best first; of what does not, the beginning where it is worth it."""
        allowed = max(0, min(share + self._spare, self._room))
        title = self._family.count([f"{TITLES[name]}\n\n"])[0]
        room, items, left_out = allowed - title, list[ContextItem](), 0
        for draft in drafts:
            if room < PART_TOKENS_AT_LEAST:
                self.notes.append(Note(Reason.BUDGET_EXHAUSTED, name, f"from {draft[0]} on"))
                break
            item = self._item(draft, room)
            if item is None:
                left_out += 1
                continue
            self._numbers += 1
            items.append(item)
            room -= item.tokens
        if left_out:
            self.notes.append(Note(Reason.EVICTED, name, f"{left_out} did not fit"))
        used = title + sum(one.tokens for one in items) if items else 0
        self._spare, self._room = allowed - used, self._room - used
        self.sections.append(ContextSection(name, allowed, used, tuple(items)))

    def _item(self, draft: Draft, room: int) -> ContextItem | None:
        cite, why, text = draft
        number = self._numbers + 1
        least = self._tokens(number, ContextItem(cite, why, "", 0))
        if room < least + 1:
            return None
        whole, most = ContextItem(cite, why, text.strip(), 0), room - least
        if (tokens := self._tokens(number, whole)) <= room:
            return replace(whole, tokens=tokens)
        while most >= PART_TOKENS_AT_LEAST:
            part = replace(whole, text=self._family.cut(whole.text, most))
            if (tokens := self._tokens(number, part)) <= room:
                self.notes.append(Note(Reason.BUDGET_EXHAUSTED, STAGE, f"{cite} was cut"))
                return replace(part, tokens=tokens)
            most = most * 3 // 4
        return None

    def _tokens(self, number: int, item: ContextItem) -> int:
        return self._family.count([_shown_item(number, item)])[0]

    def rendered(self) -> tuple[str, int]:
        """The text and its tokens."""
        number, parts = 0, [self._asked]
        for section in self.sections:
            parts += [f"{TITLES[section.name]}\n\n"] if section.items else []
            for item in section.items:
                number += 1
                parts.append(_shown_item(number, item))
        text = "".join(parts)
        return text, self._family.count([text])[0]


def _shown_item(number: int, item: ContextItem) -> str:
    return f"[{number}] {shown_name(item.cite)} ({item.why})\n{indented(item.text)}\n\n"
