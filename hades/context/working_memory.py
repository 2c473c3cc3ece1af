"""Working memory: what to know when working on a topic (TracingRAG).

Half of the budget is for the latest state. Of the rest, a third is for the states before it, half
of the remainder for important states, and the remainder for related topics. Tokens that a part does
not need go to the others, the latest state first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from heapq import nlargest
from operator import attrgetter

from hades.context.packer import PART_TOKENS_AT_LEAST, BlockDraft, PackedBlock, Packer, size
from hades.context.text.layout import flat, held_days, shown_cite, shown_name
from hades.context.tokens import ELLIPSIS, count
from hades.domain.answer import Path, WorkingItem, WorkingMemory
from hades.domain.graph import Reason
from hades.domain.quoting import unlabelled
from hades.domain.times import AsOf
from hades.domain.topics import State
from hades.errors import NotFound
from hades.store.store import Store

STAGE = "working memory"
RECENT_AT_MOST = 10
IMPORTANT_AT_MOST = 10
RELATED_AT_MOST = 20
IMPORTANT_FROM = 0.7
"""The importance from which a state is important. The default is 0.5."""
LATEST_SHARE = 1 / 2
SHARES = {"recent": 1 / 3, "important": 1 / 2, "related": 1.0}
"""The share of the remaining room that each part gets, in this order."""
RELATED_TOKENS_AT_MOST = 200
"""The most tokens of a related topic, which is a reminder and not shown whole."""
PART_AT_LEAST = {"latest": 1, "recent": 0, "important": 0, "related": PART_TOKENS_AT_LEAST}
"""A cut text needs at least this many tokens, by part. With 0 it is shown whole or not at all."""
NAME_CHARACTERS_AT_MOST = 80
PATH_CHARACTERS_AT_MOST = 300

_Drafts = list[BlockDraft[WorkingItem]]


def gather(
    store: Store, space: int, as_of: AsOf, topic: str, near: Sequence[tuple[str, Path]], budget: int
) -> WorkingMemory:
    """Return the working memory of a topic within a budget of tokens.

    `near` names the related topics, nearest first, each with the path that leads to it.
    """
    topics = store.topics
    latest = topics.state(space, topic, as_of)
    history = topics.history(space, topic, as_of, archived=False)
    older = (state for state in history if state.version != latest.version)
    recent, important = recent_and_important(state for state in older if not state.forgotten)
    own = {"recent": reversed(recent), "important": important}
    parts = {
        why: [_draft(why, state) for state in topics.whole(space, states, as_of)]
        for why, states in own.items()
    }
    parts["related"] = list(_related(store, space, as_of, near))
    return _packed(_draft("latest", latest), parts, budget)


def recent_and_important(states: Iterable[State]) -> tuple[Sequence[State], Sequence[State]]:
    """Return the last states, oldest first, and the most important earlier ones, best first."""
    recent: deque[State] = deque(maxlen=RECENT_AT_MOST)
    important: list[State] = []
    for state in states:
        if len(recent) == RECENT_AT_MOST and recent[0].importance >= IMPORTANT_FROM:
            others = (*important, recent[0])
            important = nlargest(IMPORTANT_AT_MOST, others, attrgetter("importance", "version"))
        recent.append(state)
    return recent, important


def _related(
    store: Store, space: int, as_of: AsOf, near: Sequence[tuple[str, Path]]
) -> Iterator[BlockDraft[WorkingItem]]:
    for topic, path in near:
        with suppress(NotFound):  # forgotten, or not written yet at that time
            yield _draft("related", store.topics.state(space, topic, as_of), str(path))


def _draft(why: str, state: State, path: str = "") -> BlockDraft[WorkingItem]:
    """Return the draft of a state; its head line has its name, why it is included, and `path`."""
    how = f": {unlabelled(flat(path)[:PATH_CHARACTERS_AT_MOST])}" if path else ""
    name = state.topic
    if len(name) > NAME_CHARACTERS_AT_MOST:
        name = ELLIPSIS + name[-NAME_CHARACTERS_AT_MOST:]
    return BlockDraft(
        WorkingItem(why, state, "", 0, path),
        state.id,
        f"[{why}] {shown_name(name)}@{state.version}, {held_days(state)}{how}",
        state.content.strip(),
        least=PART_AT_LEAST[why],
        most=RELATED_TOKENS_AT_MOST if why == "related" else None,
    )


def _packed(
    latest: BlockDraft[WorkingItem], parts: dict[str, _Drafts], budget: int
) -> WorkingMemory:
    """Pack the latest state and as many others as fit, best first in each part."""
    packer = Packer(budget, STAGE)
    latest_size = size(packer.family, latest.head, latest.text)
    kept = min(latest_size, int(budget * LATEST_SHARE))
    packer.take(kept)
    blocks: list[PackedBlock[WorkingItem]] = []
    waiting = [latest]
    for why, share in SHARES.items():
        packed, left_out = packer.part(packer.room * share).fill(parts[why], skips=True)
        blocks += packed
        waiting += left_out
    packer.take(-kept)
    packed, left_out = packer.fill(waiting, skips=True)
    for draft in left_out:
        packer.record(Reason.EVICTED, f"{shown_cite(draft.cite)} ({draft.item.why})")
    blocks += packed
    blocks.sort(key=lambda block: [*PART_AT_LEAST].index(block.item.why))
    context = "\n\n".join(map(str, blocks))
    return WorkingMemory(
        topic=latest.item.state.topic,
        items=tuple(replace(row.item, text=row.text, tokens=row.tokens) for row in blocks),
        context=context,
        tokens=count([context])[0],
        budget=budget,
        reasons=tuple(packer.diagnostics),
    )
