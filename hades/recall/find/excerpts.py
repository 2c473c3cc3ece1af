"""Excerpts: the part of a large memory that one question needs.

A process that may not hold all arrays asks the database for the passages around a question: the
nearest in meaning, those with its words, those with its names, and from there two hops through the
graph. The same recall then runs over these (about a thousand) passages.
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
"""The bytes of all arrays per chunk while they are built, as measured with 25 mentions per chunk.
Afterwards they take half of it, memory-mapped."""
NEAREST = 300
SAID = 150
"""The most chunks by meaning and by words."""
FIRST_HOP = 400
SECOND_HOP = 400
BESIDE = 200
"""The most chunks of the first hop, of the second hop, and of neighbours by edges."""
STARTS = 40
STARTS_AGAIN = 40
"""The chunks from which the first and the second hop start."""
NAMED_WORTH = 20.0
"""A name in the question counts as much as a name that this many of the chunks mention."""


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
    """Return a small store: the part of a memory around a question, its name `keys` and nodes."""
    valid, known = store.moment(as_of)
    known = min(known, FOREVER - 1)  # an open end is later
    near: list[int] = []
    index = store.vector_index(encoder.model)
    if question and index is not None:
        try:
            vector = encoder.encode([question])[0]
        except HadesError:
            pass  # then words and names must find it
        else:
            near = index.nearest(vector.tolist(), NEAREST, space, valid, known, topics)
    by_words = words.best(question, valid, known, SAID, topics, earlier=True) if question else []
    own = [row_of(node) for node in nodes if NodeKind.CHUNK.has(node)]
    for topic in (row_of(node) for node in nodes if NodeKind.TOPIC.has(node)):
        own += store.chunks.ever_of(topic)[-STARTS:]
    named = [row_of(node) for node in nodes if NodeKind.ENTITY.has(node)]
    named += [entity for _, entity in store.mentions.named(space, keys, known)] if keys else []
    mixed = zip_longest(near, (chunk for chunk, _ in by_words))
    chunks = [*own, *(chunk for pair in mixed for chunk in pair if chunk is not None)]
    starts = list(dict.fromkeys(chunks))[:STARTS]
    first = hop(store.database, starts, named, FIRST_HOP, NAMED_WORTH)
    second = hop(store.database, first[:STARTS_AGAIN], [], SECOND_HOP, NAMED_WORTH)
    next_to = beside(store.database, [*starts, *first[:STARTS]], nodes, BESIDE)
    ends = [*nodes, *(NodeKind.ENTITY.node(entity) for entity in named)]
    return store.excerpt([*chunks, *first, *second, *next_to], ends)
