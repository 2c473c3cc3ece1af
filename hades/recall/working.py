"""Working memory: what to have in mind when working on a topic (source document 003, §7).

Half of the budget is reserved for the latest state. Recent states get a third of the remainder,
important ones half of what is then left, related topics the rest. Unused room goes to the states
that did not fit, the latest state first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import nlargest

from hades.context.pack import PART_TOKENS_AT_LEAST, held_days, indented, shown_name
from hades.context.tokens import ELLIPSIS, count, cut
from hades.domain.answer import Diagnostic, Path, WorkingItem, WorkingMemory
from hades.domain.graph import Reason
from hades.domain.topics import State
from hades.errors import NotFound
from hades.recall.find.finder import Scope
from hades.store.store import Store

STAGE = "working memory"
RECENT_AT_MOST = 10
IMPORTANT_AT_MOST = 10
RELATED_AT_MOST = 20
IMPORTANT_FROM = 0.7
"""The importance from which a state is important: nearly half-way from the default .5 to 1."""
LATEST_SHARE = 1 / 2
SHARES = {"recent": 1 / 3, "important": 1 / 2, "related": 1.0}
"""The share of each part of the room that is left at its turn."""
RELATED_TOKENS_AT_MOST = 200
"""The most tokens of a related topic: a reminder, not the whole text."""
NAME_CHARACTERS_AT_MOST = 80
PATH_CHARACTERS_AT_MOST = 300


def gather(
    store: Store, scope: Scope, topic: str, near: Sequence[tuple[str, Path]], budget: int
) -> WorkingMemory:
    """Return the working memory of a topic within a budget of tokens; `near` are its neighbours."""
    latest = store.topics.state(scope.space, topic, scope.as_of)
    states = store.topics.history(scope.space, topic, scope.as_of, archived=False)
    before = (old for old in states if not old.forgotten and old.version != latest.version)
    recent, important = recent_and_important(before)
    own = {"recent": reversed(recent), "important": important}
    parts = {
        name: [(state, "") for state in store.topics.whole(scope.space, part, scope.as_of)]
        for name, part in own.items()
    }
    parts["related"] = list(_related(store, scope, near))
    return _Packing(budget).packed(latest, parts)


def recent_and_important(states: Iterable[State]) -> tuple[Sequence[State], Sequence[State]]:
    """Return the last states, oldest first, and the most important of the others, best first."""
    recent: deque[State] = deque(maxlen=RECENT_AT_MOST)
    important: list[State] = []
    for state in states:
        if len(recent) == RECENT_AT_MOST and recent[0].importance >= IMPORTANT_FROM:
            others = (*important, recent[0])
            important = nlargest(
                IMPORTANT_AT_MOST, others, lambda one: (one.importance, one.version)
            )
        recent.append(state)
    return recent, important


def _related(
    store: Store, scope: Scope, near: Sequence[tuple[str, Path]]
) -> Iterator[tuple[State, str]]:
    for topic, path in near:
        with suppress(NotFound):  # forgotten, or not there yet at that time
            yield store.topics.state(scope.space, topic, scope.as_of), str(path)


class _Packing:
    """The context of a working memory while it is packed."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._room = budget
        self._items: list[WorkingItem] = []
        self._diagnostics: list[Diagnostic] = []

    def packed(self, latest: State, parts: dict[str, list[tuple[State, str]]]) -> WorkingMemory:
        """Pack the latest state and as many others as fit, best first in each part."""
        kept = min(self._tokens(latest), int(self._budget * LATEST_SHARE))
        self._room -= kept
        waiting: list[tuple[str, State, str]] = []
        for why, share in SHARES.items():
            room = self._room * share
            for state, path in parts[why]:
                used = self._put(why, state, path, room)
                room -= used
                if not used:
                    waiting.append((why, state, path))
        self._room += kept
        waiting.insert(0, ("latest", latest, ""))
        for why, state, path in waiting:
            if not self._put(why, state, path, self._room):
                self._diagnostics.append(Diagnostic(Reason.EVICTED, STAGE, f"{state.id} ({why})"))
        order = ["latest", *SHARES]
        self._items.sort(key=lambda item: order.index(item.why))
        context = "\n\n".join(f"{_head(item)}\n{indented(item.text)}" for item in self._items)
        return WorkingMemory(
            topic=latest.topic,
            items=tuple(self._items),
            context=context,
            tokens=count([context])[0],
            budget=self._budget,
            reasons=tuple(self._diagnostics),
        )

    def _tokens(self, state: State) -> int:
        head = _head(WorkingItem("latest", state, "", 0))
        return sum(count([head, state.content.strip()]))

    def _put(self, why: str, state: State, path: str, room: float) -> int:
        """Add a state if it fits, and return its tokens; 0 if it does not fit."""
        item = WorkingItem(why, state, "", 0, path)
        head = count([_head(item)])[0]
        text = state.content.strip()
        whole = count([text])[0]
        fits = int(min(room, self._room)) - head
        most = min(fits, RELATED_TOKENS_AT_MOST) if why == "related" else fits
        if whole > most:
            # Drop an old version that does not fit; cut the latest or a related one to its start.
            least = 1 if why == "latest" else PART_TOKENS_AT_LEAST
            if why in ("recent", "important") or most < least:
                return 0
            text = cut(text, most)
            detail = f"{state.id} cut to {most} of {whole} tokens"
            self._diagnostics.append(Diagnostic(Reason.BUDGET_EXHAUSTED, STAGE, detail))
        tokens = head + count([text])[0]
        self._room -= tokens
        self._items.append(WorkingItem(why, state, text, tokens, path))
        return tokens


def _head(item: WorkingItem) -> str:
    """Return the head line of a state: why it is here, its id and its time."""
    state = item.state
    how = f": {' '.join(item.path.split())[:PATH_CHARACTERS_AT_MOST]}" if item.path else ""
    name = f"{shown_name(state.topic)}@{state.version}"
    if len(name) > NAME_CHARACTERS_AT_MOST:
        name = ELLIPSIS + name[-NAME_CHARACTERS_AT_MOST:]
    return f"[{item.why}] {name}, {held_days(state)}{how}"
