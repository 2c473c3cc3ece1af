"""Strength: bounded, moves passages among near-equals, is explained, and hides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import UNHURRIED, with_more
from shell import Shell

import hades
from hades.domain.strength import HALF_LIFE, strength_of
from hades.domain.times import from_micros
from tests.conftest import HeldClock

BOXES = 300
PLAN_WEIGHT = 0.5
"""`reranker.strength` of the default plan."""


def use(memory: hades.Memory, topic: str, times: int) -> None:
    """Count uses of a topic's state, each as a question of another actor does."""
    state = memory.get(topic)
    used = [(topic, state.version, state.recorded_at)]
    for number in range(times):
        memory.inside.store.uses.add(memory.inside.space_id, f"reader {number}", used)
    memory.inside.store.uses.write()


def found_for(memory: hades.Memory, weight: float) -> dict[str, float]:
    """The topics found, best first, with their points."""
    plan = with_more(UNHURRIED, {"reranker": {"strength": weight}, "final_context": 20})
    passages = memory.recall("Where is the blue stapler?", plan=plan).passages
    return {one.chunk.topic: one.parts["rank"] for one in passages}


@pytest.mark.parametrize("kind", ["note", "document"])
def test_of_near_equals_the_used_one_stands_first(memory: hades.Memory, kind: str) -> None:
    for number in range(20):
        memory.remember(f"shelf/{number}", f"Spare key {number} is in the shed.", kind=kind)
    for who in ("Ann", "Ben", "Cleo", "Dora", "Emil", "Fritz", "Gerda", "Hugo"):
        memory.remember(f"desk/{who}", f"The blue stapler is on {who}'s desk.", kind=kind)
    before = found_for(memory, 0.0)
    order = [*before]
    near = min(range(1, 8), key=lambda at: before[order[at - 1]] - before[order[at]])
    use(memory, order[near], 1_000)
    use(memory, order[-1], 1_000)  # says something else: no use brings it up
    after = found_for(memory, 1.0)
    assert [*after].index(order[near]) < [*after].index(order[near - 1])
    assert all(topic.startswith("desk") for topic in [*after][:8])
    assert after[order[near]] == pytest.approx(before[order[near]] + 0.5, abs=0.01)
    assert found_for(memory, 0.0) == before


def test_one_actor_alone_raises_a_note_by_little(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("facts/stapler", "The blue stapler is on Ann's desk.")
    memory.remember("gossip/stapler", "They say the blue stapler is on Ben's desk.")
    reader = memory.in_space("default", actor="reader")
    gains = []
    for _ in range(6):
        for _ in range(11):
            reader.recall("Where is the blue stapler?", glob="gossip/*")
        memory.inside.store.uses.write()
        gains.append(strength_of(memory.get("gossip/stapler"), from_micros(clock.micros)).gain)
        clock.tick(86_400)
    points = [gain * PLAN_WEIGHT for gain in gains]
    assert points[0] < 0.03  # 11 uses would be 0.145
    assert points[0] < points[3] == points[5] < 0.084


def test_uses_do_not_raise_an_earlier_version(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("server/db07", "It stands in rack 4.", valid_from="2023-01-01")
    use(memory, "server/db07", 500)
    memory.remember("server/db07", "It stands in rack 9.", valid_from="2023-06-01")
    found = memory.recall("In which rack does db07 stand?", plan=UNHURRIED).passages
    assert [one.chunk.version for one in found] == [2, 1]


@pytest.fixture(scope="module")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    """Hundreds of old notes of no importance, beside one that is strong and says the same."""
    path, clock = tmp_path_factory.mktemp("weak") / "m.hades", HeldClock()
    clock.set("2000-01-01")
    with hades.open(path, clock=clock) as memory:
        for number in range(BOXES):
            memory.remember(f"box/{number}", f"Box {number} holds the old letters.", importance=0.0)
        clock.set("2019-12-01")
        memory.remember("box/strong", "This box holds the old letters.", importance=1.0)
        memory.index()
        use(memory, "box/strong", 1_000)
        yield memory


@pytest.mark.parametrize("number", range(0, BOXES, 37))
def test_a_weak_state_is_found_all_the_same(weak: hades.Memory, number: int) -> None:
    found = weak.recall(f"What does box {number} hold?", plan=UNHURRIED).passages
    best = next(one for one in found if one.chunk.topic == f"box/{number}")
    assert best.strength is not None
    assert best.strength.value == 0
    assert any(hit.chunk.topic == f"box/{number}" for hit in weak.search(f"box {number}", 5))
    assert weak.get(f"box/{number}").content


def test_recall_explains_it(path: Path) -> None:
    shell = Shell(path)
    with hades.open(path) as memory:
        memory.remember("a", "Ada keeps bees.", importance=0.8)
    shell("recall", "Who keeps bees?")
    shown = " ".join(shell("recall", "Who keeps bees?", "--explain").split())
    assert "strength 0.82: importance 0.8, uses 1, last used" in shown
    assert "decay 1.00, gain +0.32" in shown
    assert shell.json("recall", "Who keeps bees?")["passages"][0]["strength"]["uses"] == 1
    assert "used 1×, last" in shell("get", "a")
    recall = shell.json("recall", "Who keeps bees?")["id"]
    shell("feedback", recall, "--useful", "1")
    shown = " ".join(shell("recall", "Who keeps bees?", "--explain").split())
    assert "importance 0.8, usefulness +0.33, uses 1, last used" in shown


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
