"""Earlier versions of notes, against a plain model of what was remembered and forgotten."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

import hades
from hades.domain.times import from_micros
from hades.operations.indexing import catch_up
from tests.conftest import HeldClock

TOPICS = ("a", "b")
TEXTS = ("Rain fell.", "Snow fell.", "Hail fell.")
FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
FOR_EVER = 1_000
"""A day after all others."""


class Step(NamedTuple):
    topic: str
    text: str | None
    """None: it is forgotten."""
    days_back: int
    """Since how many days before it is written it is true."""


class Believed(NamedTuple):
    since: int
    written: int
    text: str | None


steps = st.lists(
    st.builds(
        Step,
        st.sampled_from(TOPICS),
        st.none() | st.sampled_from(TEXTS),
        st.just(0) | st.integers(0, 6),
    ),
    max_size=9,
)


def there(states: list[Believed], valid: int, known: int) -> dict[str, tuple[int, int]]:
    """By text of a topic that is there or was before: its last stretch, in days."""
    by_start: dict[int, Believed] = {}
    for one in states:
        if one.written <= known:
            if one.text is None:  # whatever was there or planned is gone from here on
                by_start = {day: old for day, old in by_start.items() if day < one.since}
            by_start[one.since] = one
    runs: list[tuple[int, int, str | None]] = []
    for day, one in sorted(by_start.items()):
        begin = day
        if runs:
            last, _, text = runs[-1]
            runs[-1] = last, day, text
            if text == one.text:  # nothing came between: one stretch
                runs.pop()
                begin = last
        runs.append((begin, FOR_EVER, one.text))
    found: dict[str, tuple[int, int]] = {}
    for begin, end, text in reversed(runs):
        if begin <= valid:
            if text is None:
                break
            found.setdefault(text, (begin, end))
    return found


@given(steps, st.integers(0, 20), st.integers(0, 20))
@settings(max_examples=20)
def test_what_is_there_and_what_was_before(
    taken: list[Step], valid_day: int, known_day: int
) -> None:
    clock = HeldClock()
    states: dict[str, list[Believed]] = {topic: [] for topic in TOPICS}
    with (
        tempfile.TemporaryDirectory() as folder,
        hades.open(Path(folder) / "m.hades", clock=clock) as memory,
    ):
        for number, step in enumerate(taken):
            today = 8 + number
            clock.set(f"{FIRST_DAY + timedelta(today):%Y-%m-%d}")
            if step.text is None:
                if not there(states[step.topic], today, today):
                    continue
                memory.forget(step.topic)
                states[step.topic].append(Believed(today, today, None))
            else:
                since = today - step.days_back
                before = memory.change
                memory.remember(step.topic, step.text, valid_from=FIRST_DAY + timedelta(since))
                if memory.change > before:  # what holds already is not written again
                    states[step.topic].append(Believed(since, today, step.text))
        clock.set(f"{FIRST_DAY + timedelta(30):%Y-%m-%d}")
        catch_up(memory.inside, None)
        for view, valid, known in (
            (memory, 30, 30),
            (memory.at(FIRST_DAY + timedelta(valid_day)), valid_day, 30),
            (memory.at(known=FIRST_DAY + timedelta(known_day)), 30, known_day),
        ):
            expected = {
                (topic, text): stretch
                for topic in TOPICS
                for text, stretch in there(states[topic], valid, known).items()
            }
            found = candidates(view)
            assert set(found) == set(expected)
            for one, (begin, end) in found.items():
                # A text told anew for an earlier day is kept as two stretches side by side.
                assert expected[one][0] <= begin < end <= expected[one][1]


def candidates(view: hades.View) -> dict[tuple[str, str], tuple[int, int]]:
    """By topic and text: from which day until which it was there."""
    scope = view.inside.scope()
    with view.inside.engine.query_context(scope) as query:
        numbers = query.mask.nonzero()[0]
        starts, ends = query.indexes.spans(numbers, scope.as_of)
        ids = query.graph.chunks[numbers].tolist()
        placed = view.inside.store.chunks.find(ids, scope.as_of)
    found = {}
    for one, start, end in zip(ids, starts.tolist(), ends.tolist(), strict=True):
        chunk = placed[one].chunk
        days = [(from_micros(min(at, 2 * 10**15)) - FIRST_DAY).days for at in (start, end)]
        found[chunk.topic, chunk.text] = days[0], min(days[1], FOR_EVER)
    return found
