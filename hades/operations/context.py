"""The context of a model: the answer to a question within a budget.

`recall` finds the passages, `working_memory` adds what is around the best topics, and each section
gets its share of the budget (algorithm 6 of TracingRAG). A section that needs less
leaves the rest to the next.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any

from hades.context.packer import SECTION_TITLES, Sections
from hades.context.text.layout import held_days
from hades.context.tokens import TokenFamily, token_family
from hades.domain.answer import Diagnostic, Passage, Recall
from hades.domain.context import BudgetedContext, ContextItem
from hades.domain.graph import Reason
from hades.domain.question import Intent
from hades.domain.quoting import unlabelled
from hades.domain.summaries import PREFIX
from hades.errors import InvalidInput, NotFound
from hades.operations import questions, states
from hades.operations.declare import Param, operation
from hades.operations.inside import Inside
from hades.operations.parameters import (
    TOKENS_AT_MOST,
    Question,
    whole_number,
)
from hades.operations.working_memory import working_memory
from hades.store.records import Progress

SHARES = {"latest": 0.3, "summaries": 0.3, "details": 0.3, "reserve": 0.1}
LEVELS = {Intent.RECENT: 1, Intent.OVERVIEW: 3}
LEVELS |= dict.fromkeys((Intent.STATUS, Intent.WHY, Intent.RELATION, Intent.CONNECTION), 0)
"""The level of the summaries for each kind of question: 1 daily, 2 weekly, 3 monthly, 0 none."""
OTHER_LEVEL = 2
"""The level for all other questions (TracingRAG)."""
SUMMARIES = {1: "????-??-??", 2: "????-W??", 3: "????-??"}
"""The topics of each level: `summary/2026-11-03`, `…/2026-W45`, `…/2026-11`."""
CONTENT_CHARACTERS_AT_MOST = 200_000
"""A longer state is shown by its found passages only."""
TOPICS_EXPLORED = 3
"""The number of best topics whose recent states and related topics are among the details."""
RECALL_TOKENS_AT_LEAST = 5_000
RECALL_TOKENS_AT_MOST = 50_000
"""The budget of the recall. It never gets less than the default budget, so that even a small
context has a line for each topic that is usually found."""
CONTEXT_TOKENS = 8_000
CONTEXT_TOKENS_AT_LEAST = 200

Tokens = Annotated[
    str,
    Param(
        "The tokenizer that counts: a model such as gpt-4o, or a family.",
        "--tokens",
        characters=100,
    ),
]


@operation("POST", "/context", command="context", asks=True)
def retrieve_within_budget(
    inside: Inside,
    question: Question,
    *,
    max_tokens: Annotated[
        int,
        whole_number(
            "How many tokens at most, including the reserve.",
            "budget",
            least=CONTEXT_TOKENS_AT_LEAST,
            most=TOKENS_AT_MOST,
            flag="--max-tokens/-b",
        ),
    ] = CONTEXT_TOKENS,
    tokens: Tokens = "minilm",
    sections: Annotated[
        Mapping[str, Any] | None,
        Param('Shares of the budget: {"latest": 0.4, "reserve": 0.2}.', "--sections", json=True),
    ] = None,
    on_progress: Progress | None = None,
) -> BudgetedContext:
    """Build a context for a question, section by section.

    `latest` holds at least a line of the current state of each topic that was found, before
    anything else is added; `summaries` the summaries that fit the question, `details` facts, paths,
    passages, recent states and related topics. `reserve` stays free for the reply. Tokens that a
    section does not need go to the next. `sections` sets their shares of `max_tokens`; those not
    given shrink to fit. `tokens` names the tokenizer that counts: a family (minilm, cl100k, o200k,
    claude, llama3, qwen) or a model.
    """
    family = token_family(tokens)
    shares = _shares(sections)
    reserve = int(max_tokens * shares["reserve"])
    budget = max(50, min(max_tokens - reserve, RECALL_TOKENS_AT_MOST))
    wide = max(budget, RECALL_TOKENS_AT_LEAST)
    recalled = questions.recall(inside, question, budget=wide, on_progress=on_progress)
    level = recalled.level or LEVELS.get(recalled.intent, OTHER_LEVEL)
    allowed = {name: int(max_tokens * shares[name]) for name in SECTION_TITLES}
    packing = Sections(question, max_tokens - reserve, family)
    packing.fill_each("latest", allowed, _latest(inside, recalled, family, allowed["latest"]))
    packing.fill("summaries", allowed, _summaries(inside, recalled, level, packing.diagnostics))
    packing.fill("details", allowed, _details(inside, recalled, budget))
    return BudgetedContext(
        question=question,
        intent=recalled.intent,
        level=level,
        family=family.name,
        max_tokens=max_tokens,
        reserve=reserve,
        tokens=family.count([packing.text])[0],
        sections=tuple(packing.sections),
        text=packing.text,
        reasons=(*(one for one in recalled.reasons if one.stage != "pack"), *packing.diagnostics),
    )


def _shares(wanted: Mapping[str, Any] | None) -> dict[str, float]:
    """Return the share of each section; the defaults of the others are scaled to fit the rest."""
    given = dict(wanted or {})
    for name, share in given.items():
        if name not in SHARES:
            raise InvalidInput(f"There is no section {name!r}: use one of {', '.join(SHARES)}.")
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise InvalidInput(f"The share of {name} is a number from 0 to 1, not {share!r}.")
    left = 1 - sum(given.values())
    if left < 0:
        raise InvalidInput("The shares of the sections add up to more than 1.")
    rest = sum(share for name, share in SHARES.items() if name not in given)
    scale = min(1.0, left / rest) if rest else 1.0
    return {name: given.get(name, share * scale) for name, share in SHARES.items()}


def _topics(recalled: Recall) -> list[str]:
    """Return the topics found, best first, without summaries, which have their own section."""
    topics = dict.fromkeys(one.chunk.topic for one in recalled.passages)
    return [topic for topic in topics if not topic.startswith(PREFIX)]


def _latest(
    inside: Inside, recalled: Recall, family: TokenFamily, allowed: int
) -> list[ContextItem]:
    """Return the current state of each topic found, best first.

    A state that would fill more than half of the section is replaced by the best of its passages
    that were found, or else by its beginning.
    """
    items = []
    for topic in _topics(recalled):
        with suppress(NotFound):  # the topic held at the time asked about, and is gone
            state = states.get(inside, topic)
            cite = state.id
            text = state.content[:CONTENT_CHARACTERS_AT_MOST]
            if family.count([text])[0] > allowed // 2:
                own = (topic, state.version)
                passages = (row for row in recalled.passages if _state_of(row) == own)
                if (best := next(passages, None)) is not None:
                    cite = best.id
                    text = best.chunk.text
            items.append(ContextItem(cite, "latest", held_days(state), text))
    return items


def _state_of(passage: Passage) -> tuple[str, int]:
    return passage.chunk.topic, passage.chunk.version


def _summaries(
    inside: Inside, recalled: Recall, level: int, diagnostics: list[Diagnostic]
) -> Iterator[ContextItem]:
    """Yield the lines that answer an overview, or the summaries of the time asked about.

    Summaries come latest first. If the level has none, another level is used, finer ones first.
    """
    if recalled.level:
        for passage in recalled.passages:
            name = f"{passage.chunk.topic}@{passage.chunk.version}"
            yield ContextItem(name, "summary", held_days(passage), passage.chunk.text)
        return
    if level == 0:
        diagnostics.append(
            Diagnostic(Reason.SWITCHED_OFF, "summaries", f"a question of {recalled.intent.value}")
        )
        return
    times = (recalled.time.since, recalled.time.until) if recalled.time else (None, None)
    # A summary holds from the end of its period on.
    since, until = (time and time + timedelta(microseconds=1) for time in times)
    for other in (*range(level, 0, -1), *range(level + 1, len(SUMMARIES) + 1)):
        topics = states.topics(inside, PREFIX + SUMMARIES[other], since=since, until=until)
        for topic in sorted(topics, key=lambda topic: topic.valid_from, reverse=True):
            state = states.get(inside, topic.name)
            yield ContextItem(state.id, "summary", held_days(state), state.content)
        if topics:
            return
    diagnostics.append(
        Diagnostic(Reason.NO_HIERARCHY, "summaries", "nothing of that time is consolidated")
    )


def _details(inside: Inside, recalled: Recall, budget: int) -> Iterator[ContextItem]:
    """Yield facts, paths and passages, then earlier states and neighbours of the best topics."""
    for fact in recalled.facts:
        yield ContextItem(fact.edge.cite, "fact", "", unlabelled(fact.text))
    for path in recalled.paths:
        yield ContextItem(path.start.name, "path", "", unlabelled(path.told()))
    topics = [] if recalled.level else _topics(recalled)  # lines of summaries need no details
    for passage in recalled.passages:
        if passage.chunk.topic in topics:
            yield ContextItem(passage.id, "passage", held_days(passage), passage.chunk.text)
    for topic in topics[:TOPICS_EXPLORED]:
        with suppress(NotFound):
            for item in working_memory(inside, topic, budget=budget).items:
                if item.why != "latest":
                    yield ContextItem(item.state.id, item.why, held_days(item.state), item.text)
