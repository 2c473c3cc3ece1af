"""Reading on: what comes next in a question that takes several steps.

The hop encoder reads the question together with a passage already found, and its vector is
near to the passage that is needed next. It stands beside the encoder whose vectors it is
compared with (`hop.onnx`, made by tools/train_hop.py); passages keep the vectors they have.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from hades.domain.graph import Reason
from hades.errors import HadesError
from hades.models.encoder import Encoder, hop_encoder
from hades.recall.find.retrieve import Retrieved
from hades.recall.run import Run

PASSAGE_CHARACTERS = 350
"""As the hop encoder was trained."""
SECONDS_AT_LEAST = 0.1
"""With less time left nothing is read: two passages take 30 ms on two cores."""


@contextmanager
def reading_on(run: Run, retrieved: Retrieved, encoder: Encoder) -> Iterator[None]:
    """Read the question with the best passages, in the background of what is done inside."""
    plan, query, signals = run.plan.retriever, retrieved.query, retrieved.signals
    with run.stage("read_on", plan.timeout_ms) as stage:
        waiting, hop = None, hop_encoder(encoder)
        apart = query.notes | query.graph.spoken
        best = [int(one) for one in signals.top[: plan.read_on] if not apart[one]]
        if not plan.read_on:
            stage.note(Reason.SWITCHED_OFF)
        elif hop is None or retrieved.vector is None:
            stage.note(Reason.FALLBACK, "this encoder cannot read on")
        elif stage.seconds_left < SECONDS_AT_LEAST:
            stage.stop(Reason.TIMEOUT, "without what comes next")
        elif best:
            ids = query.graph.chunks[run.look_at(best, stage)].tolist()
            texts, headings = query.store.chunks.texts(ids), query.store.chunks.headings(ids)
            asked = [
                f"{retrieved.question} {headings[one]}: {texts[one][:PASSAGE_CHARACTERS]}"
                for one in ids
            ]
            waiting = run.in_background(lambda: hop.encode(asked), left_behind=True)
            stage.found = len(ids)
        yield
        if waiting is None:
            return
        try:
            vectors = waiting(stage.seconds_left)
        except TimeoutError:
            stage.stop(Reason.TIMEOUT, "without what comes next: the encoder takes longer")
        except HadesError as error:
            stage.note(Reason.ENCODER_FAILED, str(error))
        else:
            for vector in vectors:
                retrieved.following = np.maximum(retrieved.following, query.cosine(vector))
