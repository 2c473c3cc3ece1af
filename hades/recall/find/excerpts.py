"""Excerpts: the part of a large memory that one question needs.

A process that may not hold all arrays asks the database for the passages around a question:
the nearest in meaning, those with its words, those that say its names, and from there two hops
through the graph. The same recall then runs over these some thousand passages.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from hades.domain.graph import NodeKind, row_of
from hades.domain.times import FOREVER, AsOf
from hades.errors import HadesError
from hades.index.words import Words
from hades.models.encoder import Encoder
from hades.store.excerpt import beside, hop
from hades.store.store import Store

BYTES_A_CHUNK = 6_500
"""What all arrays of a memory take while they are made; afterwards it is half of it, mapped
(MuSiQue: 25 mentions a chunk)."""
NEAREST, SAID = 300, 150
FIRST_HOP, SECOND_HOP, BESIDE = 400, 400, 200
"""How many chunks each way brings at most."""
STARTS, STARTS_AGAIN = 40, 40
"""From so many chunks a hop starts: the best found, the best of the first hop."""
NAMED_WORTH = 20.0
"""A name of the question counts as much as one that so many of these chunks say."""


def gather(
    store: Store,
    encoder: Encoder,
    words: Words,
    space: int,
    as_of: AsOf,
    question: str,
    keys: Sequence[str],
    nodes: Sequence[int],
    topics: Sequence[int] | None,
) -> Store:
    """The excerpt of a memory around a question with its `keys` of names, and around nodes."""
    valid, known = store.moment(as_of)
    known = min(known, FOREVER - 1)  # an open end is later
    near: list[int] = []
    index = store.vector_index(encoder.model)
    if question and index is not None:
        try:
            vector = encoder.encode([question])[0]
        except HadesError:
            pass  # words and names must do
        else:
            near = index.nearest(vector.tolist(), NEAREST, space, valid, known, topics)
    said = words.best(question, valid, known, SAID, topics, earlier=True) if question else []
    own = [row_of(node) for node in nodes if NodeKind.CHUNK.has(node)]
    for topic in (row_of(node) for node in nodes if NodeKind.TOPIC.has(node)):
        own += store.chunks.ever_of(topic)[-STARTS:]
    named = [row_of(node) for node in nodes if NodeKind.ENTITY.has(node)]
    named += [entity for _, entity in store.mentions.named(space, keys, known)] if keys else []
    mixed = zip_longest(near, (chunk for chunk, _ in said))
    found = [*own, *(one for pair in mixed for one in pair if one is not None)]
    starts = list(dict.fromkeys(found))[:STARTS]
    first = hop(store.database, starts, named, FIRST_HOP, NAMED_WORTH)
    second = hop(store.database, first[:STARTS_AGAIN], [], SECOND_HOP, NAMED_WORTH)
    next_to = beside(store.database, [*starts, *first[:STARTS]], nodes, BESIDE)
    ends = [*nodes, *(NodeKind.ENTITY.node(one) for one in named)]
    return store.excerpt([*found, *first, *second, *next_to], ends)
