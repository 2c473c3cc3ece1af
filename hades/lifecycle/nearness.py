"""Nearness: whether two sentences of a topic say the same, by their vectors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hades.domain.graph import NodeKind
from hades.domain.sentences import note_sentences
from hades.graph.arrays import Floats32
from hades.lifecycle.synthesis import plain_sentence
from hades.models.encoder import Encoder
from hades.models.onnx_encoder import FolderEncoder
from hades.recall.notes import SAID_AGAIN
from hades.store.store import Store

CHUNKS_AT_MOST = 64
"""Of a topic's passages, the newest whose vectors are read."""


def near_sentences(
    store: Store, encoder: Encoder, space: int, topic: str
) -> Callable[[str, str], bool]:
    """Whether two sentences of a topic's versions say the same, or one says the other anew.

    What is not indexed yet is encoded here, unless another machine would have to do it.
    """
    chunks = store.chunks.ever_of(store.topics.id(space, topic))[-CHUNKS_AT_MOST:]
    rows = store.chunks.vectors(encoder.model, [NodeKind.CHUNK.node(one) for one in chunks])
    known: dict[str, Floats32 | None] = {}
    for chunk, text in store.chunks.texts(chunks).items():
        row = np.frombuffer(rows.get(NodeKind.CHUNK.node(chunk), b""), np.float16)
        vectors = row.astype(np.float32).reshape(-1, encoder.dims)
        said = note_sentences(text)
        for one, vector in zip(said or (text,), vectors[1:] if said else vectors, strict=False):
            known[plain_sentence(one)] = vector

    def vector_of(text: str) -> Floats32 | None:
        if text not in known:
            known[text] = encoder.encode([text])[0] if isinstance(encoder, FolderEncoder) else None
        return known[text]

    def near(one: str, other: str) -> bool:
        first, second = vector_of(one), vector_of(other)
        return first is not None and second is not None and float(first @ second) >= SAID_AGAIN

    return near
