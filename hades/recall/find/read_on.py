"""Reading on: find the next passage of a question that takes several steps.

The hop encoder (`hop.onnx`, made by tools/train_hop.py) encodes the question together with a
passage already found. Its vector is near to the passage needed next, in the vector space of the
usual encoder, so passages keep their vectors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hades.domain.graph import Reason
from hades.errors import HadesError
from hades.graph.arrays import Floats
from hades.models.encoder import Encoder, hop_encoder
from hades.recall.find.results import SearchQuery, Seeds
from hades.recall.run import Stage

PASSAGE_CHARACTERS = 350
"""Characters of a passage that the hop encoder was trained on."""
SECONDS_AT_LEAST = 0.1
"""The time that must be left to read on: two passages take 30 ms on two cores."""


def start_reading_on(
    stage: Stage, search: SearchQuery, seeds: Seeds, encoder: Encoder
) -> Callable[[], Floats]:
    """Begin to encode the question with the best passages, in the background.

    The returned function waits, and returns each chunk's cosine with the nearest of the vectors.
    """
    run, query, nothing = stage.run, search.query, np.zeros(len(seeds.mask))
    count, hop = run.plan.retriever.read_on, hop_encoder(encoder)
    apart = query.notes | query.graph.spoken
    best = [int(chunk) for chunk in seeds.top[:count] if not apart[chunk]]
    if not count:
        stage.note(Reason.SWITCHED_OFF)
    elif hop is None or search.vector is None:
        stage.note(Reason.FALLBACK, "this encoder cannot read on")
    elif stage.seconds_left < SECONDS_AT_LEAST:
        stage.stop(Reason.TIMEOUT, "without what comes next")
    elif best:
        ids = query.graph.chunks[run.look_at(best, stage)].tolist()
        texts, headings = query.store.chunks.texts(ids), query.store.chunks.headings(ids)
        read = [f"{search.text} {headings[id_]}: {texts[id_][:PASSAGE_CHARACTERS]}" for id_ in ids]
        stage.found = len(ids)
        waiting = run.in_background(lambda: hop.encode(read), left_behind=True)

        def wait() -> Floats:
            following = nothing
            try:
                vectors = waiting(stage.seconds_left)
            except TimeoutError:
                stage.stop(Reason.TIMEOUT, "without what comes next: the encoder takes longer")
            except HadesError as error:
                stage.note(Reason.ENCODER_FAILED, str(error))
            else:
                for vector in vectors:
                    following = np.maximum(following, query.cosine(vector))
            return following

        return wait
    return lambda: nothing
