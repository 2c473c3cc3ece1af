"""Weights: what an edge starts with."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hades.domain.weights import TYPE_PRIORS, initial_weight, weight_of

shares = st.floats(0, 1)


@given(st.sampled_from([*TYPE_PRIORS, "anything"]), shares, st.none() | shares)
def test_a_weight_is_a_share_and_follows_from_its_parts(
    relation: str, certainty: float, similarity: float | None
) -> None:
    weight = initial_weight(relation, certainty=certainty, similarity=similarity)
    assert 0.5 <= weight.value < 1
    assert weight.value == weight_of(weight.components)
    assert ("sim" in weight.components) == (similarity is not None)


def test_more_of_anything_weighs_more() -> None:
    plain = initial_weight("calls").value
    assert initial_weight("calls", similarity=0.8).value > plain
    assert initial_weight("calls", certainty=0.5).value < plain
    assert initial_weight("in_category").value < plain < initial_weight("contains").value
