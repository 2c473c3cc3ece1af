"""Words written lately are beside the index: they are found and scored as if they were in it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hades.domain.times import FOREVER
from hades.index.words import Presence, Words

WORDS = ("mercury", "venus", "rocket", "fuel", "pump", "valves", "crew", "the")
MOMENT = 10
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=60).map(" ".join)
even_texts = st.lists(st.sampled_from(WORDS), min_size=20, max_size=20).map(" ".join)
presences = st.builds(
    lambda chunk, note, valid_to, retired_at: Presence(
        chunk, chunk, chunk % 3, int(note), 0, valid_to, 0, retired_at
    ),
    st.integers(1, 40),
    st.booleans(),
    st.sampled_from((5, FOREVER)),
    st.sampled_from((5, FOREVER)),
)
Rows = list[tuple[Presence, str]]


def written(folder: Path, *batches: Rows) -> Words:
    """An index that took in presences, batch by batch."""
    words = Words(folder)
    for batch in batches:
        words = words.put(batch)
    return words


def average(words: Words) -> float:
    """How many words a passage of the index has."""
    return words.lengths[1] / words.lengths[0]


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(
    said=st.one_of(
        st.lists(texts, min_size=40, max_size=40),
        st.lists(even_texts, min_size=40, max_size=40),
    ),
    before=st.lists(presences, max_size=40),
    merged=st.lists(presences, max_size=12),
    recent=st.lists(presences, min_size=1, max_size=12),
    question=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    topics=st.sampled_from((None, [1], [0, 2])),
    earlier=st.booleans(),
)
def test_presences_beside_the_index_are_found_as_if_in_it(
    said: list[str],
    before: list[Presence],
    merged: list[Presence],
    recent: list[Presence],
    question: str,
    topics: list[int] | None,
    earlier: bool,
) -> None:
    def rows(some: list[Presence]) -> Rows:
        return [(one, said[one.chunk - 1]) for one in {one.id: one for one in some}.values()]

    with tempfile.TemporaryDirectory() as folder:
        beside = written(Path(folder) / "a", rows(before), rows(merged))
        beside = beside.with_recent(rows(recent[:1])).with_recent(rows(recent))
        whole = {one.id: one for one in [*before, *merged, *recent]}
        rebuilt = written(Path(folder) / "b", rows(list(whole.values())))
        asked = (question, MOMENT, MOMENT, 400, topics)
        found = dict(beside.best(*asked, earlier=earlier))
        anew = dict(rebuilt.best(*asked, earlier=earlier))
        # Only the average length lags until the next merge, and no score by more than that;
        # tantivy counts replaced versions in it, for some time.
        lag = abs(average(beside) / average(rebuilt) - 1) if before or merged else 0
        replaced = {one.id for one in before} & {one.id for one in merged}
        assert found == pytest.approx(anew, rel=0.5 if replaced else lag * 1.5 + 1e-5)
        for term in WORDS:
            assert beside.rarity(term) == pytest.approx(rebuilt.rarity(term))
            assert beside.saying(term) == rebuilt.saying(term)
