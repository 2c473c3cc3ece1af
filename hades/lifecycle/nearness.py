"""Nearness: how near sentences and topics are in meaning, by the vectors they have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hades.domain.graph import NodeKind
from hades.domain.sentences import note_sentences
from hades.graph.arrays import Floats32
from hades.lifecycle.synthesis import plain_sentence
from hades.models.encoder import Encoder
from hades.recall.notes import SAID_AGAIN
from hades.store.store import Store

CHUNKS_AT_MOST = 64
"""Of a topic's passages, the newest that are compared."""


def near_sentences(
    store: Store, encoder: Encoder, space: int, topic: str
) -> Callable[[str, str], bool]:
    """Whether two sentences of a topic's versions say the same, or one says the other anew.

    Sentences that are not indexed yet are near to none.
    """
    chunks = store.chunks.ever_of(store.topics.id(space, topic))[-CHUNKS_AT_MOST:]
    texts = store.chunks.texts(chunks)
    rows = store.chunks.vectors(encoder.model, [NodeKind.CHUNK.node(one) for one in chunks])
    known: dict[str, Floats32] = {}
    for chunk, text in texts.items():
        vectors = read_vectors(rows.get(NodeKind.CHUNK.node(chunk), b""), encoder.dims)
        said = note_sentences(text)
        for one, vector in zip(said or (text,), vectors[1:] if said else vectors, strict=False):
            known[plain_sentence(one)] = vector

    def near(one: str, other: str) -> bool:
        first, second = known.get(one), known.get(other)
        return first is not None and second is not None and float(first @ second) >= SAID_AGAIN

    return near


def read_vectors(row: bytes, dims: int) -> Floats32:
    """The vectors of a passage: of the whole, then of each of its sentences."""
    return np.frombuffer(row, np.float16).astype(np.float32).reshape(-1, dims)
