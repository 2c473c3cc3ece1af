"""Strength: how much a state counts after some time, from 0 to 1. It ranks states, never hides one.

    strength = level · decay
    level    = worth + (1 - worth) · uses / (uses + 8)
    worth    = importance + usefulness / 4, between 0 and 1
    decay    = 2^(-age / half-life)
    half-life = 30 days · (1 + uses), at most 10 years

Uses count once a day for each actor, on four days at most, so that one actor alone moves little.
Usefulness is what feedback says, from -1 to 1. Age is the time since the last use, or since
recording if no question used the state. This is the forgetting curve of Ebbinghaus: exponential,
and flatter after every repetition.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from hades.domain.topics import DEFAULT_IMPORTANCE, PlacedChunk, State

HALF_USES = 8
"""The uses after which the level is half-way from the importance to 1. Chosen by hand."""
USEFULNESS_SHARE = 0.25
"""The most that feedback adds to an importance or takes from it. Chosen, not measured."""
HALF_LIFE = timedelta(days=30)
HALF_LIFE_AT_MOST = timedelta(days=3_650)
DIGITS = 4
"""Decimals of the values, so that answers a few seconds apart are the same."""


@dataclass(frozen=True, slots=True)
class Strength:
    """The strength of a state, 0 to 1, and its parts."""

    value: float
    importance: float
    uses: int
    last_used: datetime | None
    decay: float
    """The factor of age: 1 when just used or recorded, then falling to 0."""
    gain: float
    """The bonus in the ranking: (level - default importance) · decay. It is 0 for a state of
    default importance that was never used, at any age."""
    usefulness: float = 0.0
    """The verdict of feedback, from -1 to 1."""


def strength_of(state: State | PlacedChunk, now: datetime) -> Strength:
    """Return the strength of a state, or of the state of a chunk, at a moment."""
    uses = max(0, state.access_count)
    worth = min(max(state.importance + USEFULNESS_SHARE * state.usefulness, 0.0), 1.0)
    level = worth + (1 - worth) * uses / (uses + HALF_USES)
    age = max(timedelta(), now - (state.last_used or state.recorded_at))
    half_life = min(HALF_LIFE * min(1 + uses, 1_000), HALF_LIFE_AT_MOST)
    decay = 2.0 ** -(age / half_life)
    return Strength(
        value=round(level * decay, DIGITS),
        importance=state.importance,
        uses=uses,
        last_used=state.last_used,
        decay=round(decay, DIGITS),
        gain=round((level - DEFAULT_IMPORTANCE) * decay, DIGITS),
        usefulness=round(state.usefulness, DIGITS),
    )
