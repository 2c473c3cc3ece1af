"""Reading on: what comes next in a question that takes several steps.

The hop encoder reads the question together with a passage already found, and its vector is
near to the passage that is needed next. It stands beside the encoder whose vectors it is
compared with (`hop.onnx`, made by tools/train_hop.py); passages keep the vectors they have.
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
"""As the hop encoder was trained."""
SECONDS_AT_LEAST = 0.1
"""With less time left nothing is read: two passages take 30 ms on two cores."""


def start_reading_on(
    stage: Stage, search: SearchQuery, seeds: Seeds, encoder: Encoder
) -> Callable[[], Floats]:
    """Begin to read the question with the best passages, in the background.

    The function returned waits, and gives each chunk's nearness to what comes next.
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
