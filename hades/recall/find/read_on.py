"""Reading on: find the next passage of a question that takes several steps.

The hop encoder (`hop.onnx`, made by tools/train_hop.py) encodes the question together with a
passage already found. Its vector is near to the passage needed next, in the vector space of the
usual encoder, so passages keep their vectors.
"""

from __future__ import annotations

import numpy as np

from hades.domain.graph import Reason
from hades.errors import HadesError
from hades.graph.arrays import Floats
from hades.models.encoder import Encoder, hop_encoder
from hades.recall.find.results import SearchQuery, Seeds
from hades.recall.run import Stage

PASSAGE_CHARACTERS = 250
"""How many characters of a passage are read. More only take longer (docs/lab/recall.md)."""
ADDED_AT_LEAST = 0.25
"""The share of the question's words, by weight, that the second passage must add to be read."""
SECONDS_AT_LEAST = 0.1
"""Reading on needs this much time left; reading two passages takes 30 ms on two cores."""


def read_on(stage: Stage, search: SearchQuery, seeds: Seeds, encoder: Encoder) -> Floats:
    """Encode the question with the best passages; return each chunk's cosine with the nearest of
    these vectors, or 0 if nothing is read."""
    run = stage.run
    query = search.query
    following = np.zeros(len(seeds.mask))
    count = run.plan.retriever.read_on
    hop = hop_encoder(encoder)
    apart = query.notes | query.graph.spoken
    best = [int(chunk) for chunk in seeds.top[:count] if not apart[chunk]]
    best = _worth_reading(search, best)
    if not count:
        stage.note(Reason.SWITCHED_OFF)
    elif hop is None or search.vector is None:
        stage.note(Reason.FALLBACK, "this encoder cannot read on")
    elif stage.seconds_left < SECONDS_AT_LEAST:
        stage.stop(Reason.TIMEOUT, "without what comes next")
    elif best:
        ids = query.graph.chunks[run.look_at(best, stage)].tolist()
        texts = query.store.chunks.texts(ids)
        headings = query.store.chunks.headings(ids)
        read = [f"{search.text} {headings[id_]}: {texts[id_][:PASSAGE_CHARACTERS]}" for id_ in ids]
        stage.found = len(ids)
        try:
            vectors = hop.encode(read)
        except HadesError as error:
            stage.note(Reason.ENCODER_FAILED, str(error))
        else:
            for vector in vectors:
                following = np.maximum(following, query.cosine(vector, exact=False))
    return following


def _worth_reading(search: SearchQuery, best: list[int]) -> list[int]:
    """Return the passages after which something may come next."""
    has_term, weight = search.term_table(np.array(best, np.int64))
    covered = has_term[:1].max(0, initial=0) @ weight
    both = has_term.max(0, initial=0) @ weight
    return best if both - covered >= ADDED_AT_LEAST else best[:1]
