"""The context of a model: the answer to a question within a budget, and core blocks.

`recall` finds the passages, `working_memory` adds what is around the best topics, and each section
gets its share of the budget (source document 003, §6, algorithm 6). A section that needs less
leaves the rest to the next.

Core blocks are topics `core/NAME`, so they have versions, times and erasure like all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

from hades.context.packer import SECTION_TITLES, Sections
from hades.context.text.layout import held_days
from hades.context.tokens import TokenFamily, count, token_family
from hades.domain.answer import Diagnostic, Passage, Recall, unlabelled
from hades.domain.context import CORE_PREFIX, BudgetedContext, ContextItem, CoreBlock
from hades.domain.graph import Reason
from hades.domain.question import Intent
from hades.domain.rules import clean_content, clean_name
from hades.domain.summaries import PREFIX
from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.operations.declare import Param, Role, operation
from hades.operations.parameters import (
    TEXT_CHARACTERS_AT_MOST,
    TOKENS_AT_MOST,
    Question,
    whole_number,
)
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.memory import Memory, View

SHARES = {"latest": 0.3, "summaries": 0.3, "details": 0.3, "reserve": 0.1}
LEVELS = {Intent.RECENT: 1, Intent.OVERVIEW: 3}
LEVELS |= dict.fromkeys((Intent.STATUS, Intent.WHY, Intent.RELATION, Intent.CONNECTION), 0)
"""The level of the summaries for each kind of question: 1 daily, 2 weekly, 3 monthly, 0 none."""
OTHER_LEVEL = 2
"""The level for all other questions (source document 003)."""
SUMMARIES = {1: "????-??-??", 2: "????-W??", 3: "????-??"}
"""The topics of each level: `summary/2026-11-03`, `…/2026-W45`, `…/2026-11`."""
CONTENT_CHARACTERS_AT_MOST = 200_000
"""A longer state is shown by its found passages only."""
TOPICS_EXPLORED = 3
"""The number of best topics whose recent states and related topics are among the details."""
RECALL_TOKENS_AT_LEAST, RECALL_TOKENS_AT_MOST = 5_000, 50_000
"""The budget of the recall. The least is the usual budget, so that a small context has a line of
every topic that is usually found."""
CORE_LIMIT_TOKENS = 500
"""The limit of a core block that sets none."""
CONTEXT_TOKENS, CONTEXT_TOKENS_AT_LEAST = 8_000, 200

BlockName = Annotated[str, Param("The block, such as human.", example="human")]
AddedText = Annotated[
    str,
    Param(
        "The text to add.",
        example="Likes tea.",
        characters=TEXT_CHARACTERS_AT_MOST,
        rule=clean_content,
    ),
]
OldText = Annotated[
    str, Param("The exact text to replace.", example="tea", characters=TEXT_CHARACTERS_AT_MOST)
]
NewText = Annotated[
    str,
    Param(
        "The new text.", example="coffee", characters=TEXT_CHARACTERS_AT_MOST, rule=clean_content
    ),
]
Tokens = Annotated[
    str,
    Param("Whose tokens: a family, or a model such as gpt-4o.", "--tokens", characters=100),
]


@operation("POST", "/context", command="context", asks=True)
def retrieve_within_budget(
    view: View,
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
    given shrink to fit. `tokens` says whose tokens count: a family (minilm, cl100k, o200k, claude,
    llama3, qwen) or the name of a model.
    """
    family = token_family(tokens)
    shares = _shares(sections)
    reserve = int(max_tokens * shares["reserve"])
    budget = max(50, min(max_tokens - reserve, RECALL_TOKENS_AT_MOST))
    wide = max(budget, RECALL_TOKENS_AT_LEAST)
    found = view.recall(question, budget=wide, on_progress=on_progress)
    level = found.level or LEVELS.get(found.intent, OTHER_LEVEL)
    allowed = {name: int(max_tokens * shares[name]) for name in SECTION_TITLES}
    packing = Sections(question, max_tokens - reserve, family)
    packing.fill_each("latest", allowed, _latest(view, found, family, allowed["latest"]))
    packing.fill("summaries", allowed, _summaries(view, found, level, packing.diagnostics))
    packing.fill("details", allowed, _details(view, found, budget))
    return BudgetedContext(
        question=question,
        intent=found.intent,
        level=level,
        family=family.name,
        max_tokens=max_tokens,
        reserve=reserve,
        tokens=family.count([packing.text])[0],
        sections=tuple(packing.sections),
        text=packing.text,
        reasons=(*(one for one in found.reasons if one.stage != "pack"), *packing.diagnostics),
    )


def _shares(wanted: Mapping[str, Any] | None) -> dict[str, float]:
    """Return the share of each section; the defaults of the others are scaled to fit the rest."""
    given = dict(wanted or {})
    for name, share in given.items():
        if name not in SHARES:
            raise InvalidInput(f"There is no section {name!r}: {', '.join(SHARES)}.")
        if type(share) not in (int, float) or not 0 <= share <= 1:
            raise InvalidInput(f"The share of {name} is a number from 0 to 1, not {share!r}.")
    left = 1 - sum(given.values())
    if left < 0:
        raise InvalidInput("The shares of the sections add up to more than 1.")
    rest = sum(share for name, share in SHARES.items() if name not in given)
    scale = min(1.0, left / rest) if rest else 1.0
    return {name: given.get(name, share * scale) for name, share in SHARES.items()}


def _topics(found: Recall) -> list[str]:
    """Return the topics found, best first, without summaries, which have their own section."""
    topics = dict.fromkeys(one.chunk.topic for one in found.passages)
    return [topic for topic in topics if not topic.startswith(PREFIX)]


def _latest(view: View, found: Recall, family: TokenFamily, allowed: int) -> list[ContextItem]:
    """Return the current state of each topic found, best first.

    A state that would fill more than half of the section is replaced by the best of its passages
    that were found, or else by its beginning.
    """
    items = []
    for topic in _topics(found):
        with suppress(NotFound):  # the topic held at the time asked about, and is gone
            state = view.get(topic)
            cite, text = state.id, state.content[:CONTENT_CHARACTERS_AT_MOST]
            if family.count([text])[0] > allowed // 2:
                own = (topic, state.version)
                passages = (row for row in found.passages if _state_of(row) == own)
                if (best := next(passages, None)) is not None:
                    cite, text = best.id, best.chunk.text
            items.append(ContextItem(cite, "latest", held_days(state), text))
    return items


def _state_of(passage: Passage) -> tuple[str, int]:
    return passage.chunk.topic, passage.chunk.version


def _summaries(
    view: View, found: Recall, level: int, diagnostics: list[Diagnostic]
) -> Iterator[ContextItem]:
    """Yield the lines that answer an overview, or the summaries of the time asked about.

    Summaries come latest first. If the level has none, another level is used, finer ones first.
    """
    if found.level:
        for passage in found.passages:
            name = f"{passage.chunk.topic}@{passage.chunk.version}"
            yield ContextItem(name, "summary", held_days(passage), passage.chunk.text)
        return
    if level == 0:
        diagnostics.append(
            Diagnostic(Reason.SWITCHED_OFF, "summaries", f"a question of {found.intent.value}")
        )
        return
    times = (found.time.since, found.time.until) if found.time else (None, None)
    # A summary holds from the end of its period on.
    since, until = (time and time + timedelta(microseconds=1) for time in times)
    for other in (*range(level, 0, -1), *range(level + 1, len(SUMMARIES) + 1)):
        topics = view.topics(PREFIX + SUMMARIES[other], since=since, until=until)
        for topic in sorted(topics, key=lambda topic: topic.valid_from, reverse=True):
            state = view.get(topic.name)
            yield ContextItem(state.id, "summary", held_days(state), state.content)
        if topics:
            return
    diagnostics.append(
        Diagnostic(Reason.NO_HIERARCHY, "summaries", "nothing of that time is consolidated")
    )


def _details(view: View, found: Recall, budget: int) -> Iterator[ContextItem]:
    """Yield facts, paths and passages, then earlier states and neighbours of the best topics."""
    for fact in found.facts:
        yield ContextItem(fact.edge.cite, "fact", "", unlabelled(fact.text))
    for path in found.paths:
        yield ContextItem(path.start.name, "path", "", unlabelled(path.told()))
    topics = [] if found.level else _topics(found)  # lines of summaries need no details
    for passage in found.passages:
        if passage.chunk.topic in topics:
            yield ContextItem(passage.id, "passage", held_days(passage), passage.chunk.text)
    for topic in topics[:TOPICS_EXPLORED]:
        with suppress(NotFound):
            for item in view.working_memory(topic, budget=budget).items:
                if item.why != "latest":
                    yield ContextItem(item.state.id, item.why, held_days(item.state), item.text)


@operation("GET", "/core", command="core list", timed=True)
def core(
    view: View, name: Annotated[str | None, Param("Only this block.", example="human")] = None
) -> list[CoreBlock]:
    """List the core blocks: texts that a model always sees if they are pinned."""
    if name is not None:
        return [_block(view.get(_topic(name)))]
    return [_block(view.get(topic.name)) for topic in view.topics(f"{CORE_PREFIX}*")]


@operation("POST", "/core/{name}/append", role=Role.WRITER, command="core append")
def core_append(memory: Memory, name: BlockName, content: AddedText) -> CoreBlock:
    """Add a line to a core block, or create the block.

    Raise InvalidInput if the block would exceed its limit. The limit, `pinned` and
    `description` are metadata of the topic `core/NAME`; `remember` sets them.
    """
    with memory.batch():  # so that no other writer edits the block in between
        with suppress(NotFound):
            before = memory.get(_topic(name)).content
            content = f"{before}\n{content}" if before else content
        return _written(memory, name, content)


@operation("POST", "/core/{name}/replace", role=Role.WRITER, command="core replace")
def core_replace(memory: Memory, name: BlockName, old: OldText, new: NewText) -> CoreBlock:
    """Replace every occurrence of a text in a core block.

    Raise InvalidInput if the text is not there, or if the block would exceed its limit.
    """
    with memory.batch():
        before = memory.get(_topic(name)).content
        if not old or old not in before:
            raise InvalidInput(f"The core block {name!r} does not have that text: read it first.")
        return _written(memory, name, before.replace(old, new))


def _written(memory: Memory, name: str, text: str) -> CoreBlock:
    """Write the new text of a block; raise InvalidInput, which undoes the batch, if too long."""
    block = _block(memory.remember(_topic(name), text, kind="document"))
    if block.tokens > block.limit:
        raise InvalidInput(
            f"The core block {name!r} would have {block.tokens:,} tokens of {block.limit:,}: "
            "replace or shorten what it says first."
        )
    return block


def _topic(name: str) -> str:
    return CORE_PREFIX + clean_name(name, "block").removeprefix(CORE_PREFIX)


def _block(state: State) -> CoreBlock:
    limit = state.metadata.get("limit")
    return CoreBlock(
        name=state.topic.removeprefix(CORE_PREFIX),
        text=state.content,
        tokens=count([state.content])[0],
        limit=limit if type(limit) is int and limit > 0 else CORE_LIMIT_TOKENS,
        pinned=state.metadata.get("pinned") is not False,
        description=str(state.metadata.get("description") or ""),
        version=state.version,
    )
