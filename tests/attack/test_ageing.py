"""Whatever ages a memory, everything that was written can still be read as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hades
from tests.conftest import HeldClock

DAY = 86_400
TOPICS = ("a", "b/c")
TEXTS = (
    "Ada pays 3 euros.",
    "Ada pays 4 euros. Bela left.",
    "🎉",
    "The lamp is not red.",
    "x " * 9,
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["remember"] * 3 + ["forget", "promote", "consolidate", "archive", "age"]),
        st.sampled_from(TOPICS),
        st.sampled_from(TEXTS),
    ),
    max_size=20,
)


@pytest.mark.slow
@settings(max_examples=20)
@given(STEPS)
def test_nothing_becomes_unreachable(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, str]]
) -> None:
    clock = HeldClock()
    written: dict[str, str] = {}
    with hades.open(tmp_path_factory.mktemp("old") / "m.hades", clock=clock) as memory:
        for what, topic, text in steps:
            clock.tick(DAY)
            there = {one.name for one in memory.topics()}
            if what == "remember":
                state = memory.remember(topic, text)
                written[state.id] = text
            elif what == "forget" and topic in there:
                memory.forget(topic)
            elif what == "promote" and topic in there:
                state = memory.promote(topic, reason="A look at it.").state
                written[state.id] = state.content
            elif what == "consolidate":
                memory.consolidate(at_least=1)
            elif what == "archive":
                with memory.inside.store.transaction():  # as if indexed: vectors take long
                    memory.inside.store.database.run("DELETE FROM pending")
                memory.archive(older_than="2d", keep_versions=1)
            elif what == "age":
                clock.tick(400 * DAY)
        clock.tick(60 * DAY)
        memory.consolidate(at_least=1)
        reached = {
            one.id
            for summary in memory.topics("summary/????-??")
            for one in memory.originals(summary.name, every=True)
        }
        assert written.keys() <= reached
        for cite, text in written.items():
            name, _, version = cite.rpartition("@")
            state = memory.get(name, int(version))
            assert state.content == text
            then = memory.at(valid=state.valid_from, known=state.recorded_at)
            assert then.get(name).content == text
