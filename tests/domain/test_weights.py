"""Weights: what an edge starts with, and what one step of learning may change."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.domain.feedback import (
    JudgedPath,
    JudgedStep,
    Judgement,
    Verdict,
    read_judgement,
)
from hades.domain.weights import (
    COEFFICIENTS,
    SHIPPED,
    TYPE_PRIORS,
    Weighting,
    initial_weight,
    read_weighting,
    weight_of,
)
from hades.lifecycle.learning import accuracy, learn, score

shares = st.floats(0, 1).map(lambda value: round(value, 4))
parts = st.fixed_dictionaries({"sim": shares, "evidence": shares, "freshness": shares})
steps = st.builds(
    JudgedStep,
    st.sampled_from(["cites", "calls", "mentions", "title of", "anything"]),
    st.none() | parts,
    st.none() | shares,
)


@st.composite
def judgements(draw: st.DrawFn) -> Judgement:
    paths = [
        JudgedPath(
            number,
            Verdict(draw(st.booleans()), draw(st.booleans())),
            draw(st.floats(-14, 0)),
            tuple(draw(st.lists(steps, min_size=1, max_size=5))),
        )
        for number in range(1, draw(st.integers(2, 6)))
    ]
    return Judgement({("path", path.number): path.verdict for path in paths}, tuple(paths))


@pytest.mark.slow
@given(st.lists(judgements(), min_size=1, max_size=30))
def test_every_parameter_stays_near_what_is_shipped(given_feedback: list[Judgement]) -> None:
    weights = SHIPPED
    for judgement in given_feedback:
        assert read_judgement(judgement.as_json()) == judgement
        weights = learn(weights, judgement)
    for name, value in weights.coefficients.items():
        assert 0.5 * COEFFICIENTS[name] <= value <= 1.5 * COEFFICIENTS[name]
    for relation in weights.priors:
        assert abs(weights.prior(relation) - SHIPPED.prior(relation)) <= 0.4 + 1e-6
    assert all(0.25 <= boost <= 1 for boost in weights.boosts.values())
    assert all(a + b <= 40.001 and min(a, b) > 0 for a, b in weights.beliefs.values())
    assert read_weighting(weights.as_json()) == weights


def pair(good: str, bad: str) -> Judgement:
    fresh = {"evidence": 1.0, "freshness": 1.0}
    paths = [
        JudgedPath(number, Verdict(relation == good), -0.3, (JudgedStep(relation, fresh, None),))
        for number, relation in enumerate((good, bad), 1)
    ]
    return Judgement({("path", path.number): path.verdict for path in paths}, tuple(paths))


def test_a_relation_that_is_preferred_gains_a_prior() -> None:
    judgement, weights = pair("in_category", "contains"), SHIPPED
    assert accuracy(weights, judgement.pairs()) == 0
    for _ in range(400):
        weights = learn(weights, judgement)
    assert weights.prior("in_category") > SHIPPED.prior("in_category")
    assert weights.prior("contains") < SHIPPED.prior("contains")
    assert accuracy(weights, judgement.pairs()) == 1
    good, bad = judgement.paths
    assert score(weights, good) > score(weights, bad)


def test_learned_priors_move_stored_weights_by_their_logit() -> None:
    weights = Weighting(priors={**SHIPPED.priors, "cites": 0.9})
    stored = {"type_prior": 0.6, "evidence": 1.0, "freshness": 1.0}
    aged = weights.aged("cites", 0.8, stored, 0.0)
    assert aged.components["type_prior"] == 0.9
    assert round(weights.shift("cites"), 6) == 0.3
    assert weights.shift("calls") == 0


shares_of_one = st.floats(0, 1)


@given(st.sampled_from([*TYPE_PRIORS, "anything"]), shares_of_one, st.none() | shares_of_one)
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
