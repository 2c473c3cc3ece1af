"""Strength: how much a state counts after some time, from 0 to 1. It ranks and never hides.

    strength = level · decay
    level    = importance + (1 - importance) · uses / (uses + 8)
    decay    = 2^(-age / half-life)
    half-life = 30 days · (1 + uses), at most 10 years

Age is the time since its last use, or since it was recorded when no question used it. This is
the forgetting curve of Ebbinghaus: exponential, and flatter after every repetition.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from hades.domain.topics import DEFAULT_IMPORTANCE

HALF_USES = 8
"""After so many uses a state is half-way from its importance to 1: a judgement."""
HALF_LIFE = timedelta(days=30)
HALF_LIFE_AT_MOST = timedelta(days=3_650)
DIGITS = 4
"""So it is the same in answers a few seconds apart."""


class Ageing(Protocol):
    """What has an age: a state, or a passage of one."""

    @property
    def importance(self) -> float: ...
    @property
    def access_count(self) -> int: ...
    @property
    def last_used(self) -> datetime | None: ...
    @property
    def recorded_at(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Strength:
    """How strong a state is, 0 to 1, and what that is made of."""

    value: float
    importance: float
    uses: int
    last_used: datetime | None
    decay: float
    """What time left of it since its last use, else since it was recorded: 1 is all."""
    gain: float
    """What speaks for it in the order: how far uses and importance raise it above a state of
    default importance that was never used, as far as time left it. Age alone moves nothing."""


def strength_of(state: Ageing, now: datetime) -> Strength:
    """How strong a state is at a moment."""
    uses = max(0, state.access_count)
    level = state.importance + (1 - state.importance) * uses / (uses + HALF_USES)
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
    )
