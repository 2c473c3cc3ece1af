"""Strength: between 0 and 1, raised by uses and importance, lowered by time only."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.domain.strength import HALF_LIFE, strength_of

DAY = datetime(2024, 1, 1, tzinfo=UTC)
MOMENTS = st.datetimes(datetime(1, 1, 2), datetime(9998, 1, 1), timezones=st.just(UTC))
SHARES = st.floats(0, 1)
STATES = st.builds(
    hades.State,
    topic=st.just("a"),
    version=st.just(1),
    content=st.just("x"),
    valid_from=st.just(DAY),
    valid_to=st.none(),
    recorded_at=MOMENTS,
    importance=SHARES,
    access_count=st.integers(0, 10**12),
    last_used=st.none() | MOMENTS,
)


@given(STATES, MOMENTS)
def test_it_lies_between_0_and_1(state: hades.State, now: datetime) -> None:
    found = strength_of(state, now)
    assert 0 <= found.value <= 1
    assert 0 <= found.decay <= 1
    assert -0.5 <= found.gain <= 0.5


@given(STATES, MOMENTS)
def test_a_use_never_lowers_it(state: hades.State, now: datetime) -> None:
    used = replace(state, access_count=state.access_count + 1, last_used=now)
    assert strength_of(used, now).value >= strength_of(state, now).value


@given(STATES, MOMENTS, st.timedeltas(timedelta(), timedelta(days=365)))
def test_time_never_raises_it(state: hades.State, now: datetime, later: timedelta) -> None:
    assert strength_of(state, now + later).value <= strength_of(state, now).value


@given(STATES, MOMENTS, SHARES)
def test_what_is_more_important_is_never_weaker(
    state: hades.State, now: datetime, importance: float
) -> None:
    more = replace(state, importance=max(importance, state.importance))
    assert strength_of(more, now).value >= strength_of(state, now).value - 1e-12


@given(MOMENTS, MOMENTS)
def test_age_alone_moves_nothing(recorded: datetime, now: datetime) -> None:
    """A state nobody used, of the usual importance, gains and loses nothing in the order."""
    assert strength_of(hades.State("a", 1, "x", DAY, None, recorded), now).gain == 0


def test_a_use_slows_its_decay() -> None:
    never = hades.State("a", 1, "x", DAY, None, DAY)
    once = replace(never, access_count=1, last_used=DAY)
    assert strength_of(never, DAY + HALF_LIFE).decay == pytest.approx(1 / 2)
    assert strength_of(once, DAY + HALF_LIFE).decay == pytest.approx(2 ** (-1 / 2), abs=1e-4)
