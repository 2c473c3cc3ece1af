"""Turns: the last questions and answers of a conversation, which a question may follow.

A follow-up question is read together with the last question that stands alone, and only the turns
after that question are searched by meaning and words. For any other question all turns are
searched. The topics nearest to these turns become candidates and gain in the ranking, unless the
question names something itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

import numpy as np

from hades.domain.graph import Reason
from hades.domain.plain import counted
from hades.domain.rules import clean_content
from hades.errors import InvalidInput
from hades.graph.arrays import Floats
from hades.models.encoder import Encoder
from hades.recall.find.seeds import encoded, prior_of
from hades.recall.query_context import QueryContext
from hades.recall.run import Run

TURNS_AT_MOST = 6
"""How many turns are used; earlier ones are ignored."""
TURN_CHARACTERS_AT_MOST = 1_000
EARLIER = 0.7
"""The weight of a turn; that of the next turn is 1."""
SPREAD = 0.2
"""A topic whose prior for a turn is this much below the best counts 1/e as much."""
GAIN = 1.0
"""The gain of the topic nearest to the turns, in standard deviations of the candidates' scores. A
larger gain harms questions that change the subject (docs/lab/details.md)."""


def clean_turns(turns: Iterable[str] | None) -> tuple[str, ...]:
    """Return the last turns, each cut to its beginning; raise InvalidInput if one is no text."""
    given = [turns] if isinstance(turns, str) else turns or ()
    if not isinstance(given, Iterable):
        raise InvalidInput(f"The turns must be a list of texts, not {given!r}.")
    last = deque(given, TURNS_AT_MOST)
    return tuple(text for turn in last if (text := clean_content(turn)[:TURN_CHARACTERS_AT_MOST]))


def gains_of_turns(
    run: Run, query: QueryContext, encoder: Encoder, turns: Sequence[str]
) -> Floats | None:
    """Return the gain of each chunk from the turns, by chunk number; None without turns or chunks.

    The unit is a standard deviation of the candidates' scores. All chunks of a topic gain the same.
    """
    if not turns or not query.mask.any():
        return None
    topic = query.indexes.chunks["topic"]
    near = np.zeros(int(topic.max()) + 1)
    with run.stage("turns", run.plan.retriever.timeout_ms) as stage:
        stage.note(Reason.FOLLOW_UP, f"read with {counted(len(turns), 'turn')} before it")
        late = "turns are searched by their words"
        vectors = encoded(stage, encoder, turns, late)
        for at, turn in enumerate(turns):
            bm25 = query.words(turn)
            cosine = np.zeros(len(bm25)) if vectors is None else query.cosine(vectors[at], bm25)
            best = np.full(len(near), -np.inf)
            np.maximum.at(best, topic[query.mask], prior_of(query, cosine, bm25)[1][query.mask])
            share = np.exp((best - best.max()) / SPREAD)
            near = EARLIER * near + share / share.sum()
    gains: Floats = GAIN * near[topic] / near.max()
    return gains
