"""A passage of a state that was not ranked: from its history, a summary or a focus."""

from __future__ import annotations

from datetime import datetime

from hades.domain.answer import Passage
from hades.domain.strength import strength_of
from hades.domain.topics import Chunk, State
from hades.recall.rank import belief


def state_passage(
    state: State, chunk: Chunk, found_by: str, score: float, chance: float, now: datetime
) -> Passage:
    """A chunk of a state as a passage; `chance`: how likely the answer stands there."""
    content, score = state.content, round(score, 6)
    return Passage(
        chunk=chunk,
        line=content.count("\n", 0, chunk.start) + 1,
        end_line=content.count("\n", 0, max(chunk.start, chunk.end - 1)) + 1,
        valid_from=state.valid_from,
        recorded_at=state.recorded_at,
        score=score,
        parts={found_by: score},
        retrievers=(found_by,),
        belief=belief.interval(belief.of_probability(chance * state.confidence)),
        valid_to=state.valid_to,
        confidence=state.confidence,
        importance=state.importance,
        strength=strength_of(state, now),
    )
