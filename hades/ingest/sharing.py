"""Fair indexing: no caller waits for the long texts of another.

A question first indexes small states of its own space, except those of actors with many waiting.
A server indexes the rest in the background. Each pair of space and actor has a queue, and the
queue that has used the least time goes next.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock

from hades.errors import NotFound
from hades.index.indexes import usable
from hades.ingest.folder_lock import folder_lock
from hades.ingest.phases import BATCH_STATES, BATCH_TEXTS, ENCODED_TEXTS, Phases
from hades.models.encoder import Encoder
from hades.store.records import Pending, Phase, Progress, Rank
from hades.store.store import Store

WORDS_AT_ONCE = 1_000
"""A question does not cut and link the states of an actor of whom more small states are waiting."""
VECTORS_AT_ONCE = 64
"""A question does not embed the states of an actor of whom more small states are waiting. It embeds
at most this many chunks."""

_Queue = tuple[int, int]
"""The number of a space and the number of an actor."""
_FACTS: _Queue = (0, 0)
"""The one queue for the facts of all spaces."""


def small_share(store: Store, space: int) -> list[Pending]:
    """Return the states that a question in a space indexes first, alternating between actors.

    These are small states of actors with few waiting; none if very many wait in the space.
    """
    if store.waiting.are_many(space):
        return []
    small = [p for p in store.waiting.fair_order(space, WORDS_AT_ONCE + 1) if p.rank in _SMALL]
    few = set()
    for (_, actor), queue in _queues(small).items():
        words = sum(pending.rank == Rank.SMALL_WORDS for pending in queue)
        if words <= WORDS_AT_ONCE:
            few.add((actor, Rank.SMALL_WORDS))
        if len(queue) <= VECTORS_AT_ONCE:
            few.add((actor, Rank.SMALL_VECTORS))
    return [pending for pending in small if (pending.actor, pending.rank) in few]


def few_facts(store: Store, space: int, model: str) -> bool:
    """Return whether a question should embed facts of its space: a few, not many, lack a vector."""
    waiting = len(store.edges.unembedded(model, BATCH_TEXTS + 1, space))
    return 0 < waiting <= BATCH_TEXTS


def index_share(store: Store, space: int, phases: Phases, encoder: Encoder, lock: Lock) -> None:
    """Index only what a question in this space waits for; match names only if `lock` is free."""
    unread = [p for p in small_share(store, space) if p.rank == Rank.SMALL_WORDS]
    _cut_and_introduce(store, phases, unread[:BATCH_STATES])
    # A thread that holds the lock matches these names too.
    if lock.acquire(blocking=False):
        try:
            phases.match()
        finally:
            lock.release()
    share = [p for p in small_share(store, space) if p.rank == Rank.SMALL_VECTORS]
    phases.embed_states(encoder, share, VECTORS_AT_ONCE)
    if few_facts(store, space, encoder.model):
        phases.embed_facts(encoder, space)


class Background:
    """A run that indexes the waiting states and facts of all spaces.

    Each space and actor has a queue, and all facts share one; the queue that has used the least
    time is next.
    """

    def __init__(
        self,
        store: Store,
        space: int,
        phases: Callable[[int], Phases],
        encoder: Encoder,
        lock: Lock,
        report: Progress,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._space = space
        self._phases = phases
        self._encoder = encoder
        self._lock = lock
        self._report = report
        self._clock = clock
        self._spent_s: dict[_Queue, float] = {}

    def run(self) -> None:
        """Index in this thread until nothing waits, then embed chunks that still lack a vector."""
        while self.index_next():
            pass
        # Chunks may lack vectors although no state waits, as after an import.
        self._phases(self._space).embed(self._encoder)

    def index_next(self) -> bool:
        """Index a batch of the queue that has used the least time. Return False if none waits."""
        queues = _queues(self._store.waiting.fair_order(None, BATCH_STATES))
        if self._store.edges.unembedded(self._encoder.model, 1):
            queues[_FACTS] = []
        if not queues:
            return False
        known = [self._spent_s[queue] for queue in queues if queue in self._spent_s]
        self._spent_s = {q: self._spent_s.get(q, min(known, default=0.0)) for q in queues}
        chosen = min(queues, key=lambda queue: (self._spent_s[queue], queue))
        begun = self._clock()
        with suppress(NotFound):  # a state was purged while it was read: the next call looks again
            self._index(chosen, queues[chosen])
        self._spent_s[chosen] += self._clock() - begun
        return True

    def _index(self, queue: _Queue, states: Sequence[Pending]) -> None:
        phases = self._phases(queue[0] or self._space)
        self._report("indexing", 0, 0)
        if queue != _FACTS and states[0].rank in _WORDS:
            is_large = states[0].rank == Rank.LARGE_WORDS
            same = [pending for pending in states if pending.rank == states[0].rank]
            _cut_and_introduce(self._store, phases, same[:1] if is_large else same)
            with self._lock:
                phases.match()
            return
        with folder_lock(usable(self._store.index_folder), "embedding", self._report):
            if queue == _FACTS:
                phases.embed_facts(self._encoder, None)
            else:
                phases.embed_states(self._encoder, states, ENCODED_TEXTS)


_SMALL = (Rank.SMALL_WORDS, Rank.SMALL_VECTORS)
_WORDS = (Rank.SMALL_WORDS, Rank.LARGE_WORDS)


def _queues(states: Sequence[Pending]) -> dict[_Queue, list[Pending]]:
    """Return the states by space and actor, in the given order."""
    queues: dict[_Queue, list[Pending]] = {}
    for pending in states:
        queues.setdefault((pending.space, pending.actor), []).append(pending)
    return queues


def _cut_and_introduce(store: Store, phases: Phases, states: Sequence[Pending]) -> None:
    """Cut states into chunks and store the names and links that they introduce."""
    phases.cut([pending for pending in states if pending.phase in (Phase.CHUNKS, Phase.LARGE)])
    phases.introduce([store.waiting.already_cut(states)])
