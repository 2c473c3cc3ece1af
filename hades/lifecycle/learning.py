"""Learning from feedback: weights of edges, beliefs of relations, usefulness of states.

A used path should score above a rejected one. The pairs of paths in a feedback move the parameters
of the learning snapshot by one bounded step along the gradient of log σ(score of used − score of
rejected). One actor can move only so much in a day: see ACTOR_DAYS_AT_MOST and TEACHING_AT_MOST.
The snapshot is adopted if it puts more of the held-out pairs into the order that people chose.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

from hades.domain.feedback import (
    ACTOR_DAYS_AT_MOST,
    TEACHING_AT_MOST,
    Feedback,
    JudgedPath,
    JudgedStep,
    Judgement,
    LoggedQuery,
    Target,
    Verdict,
)
from hades.domain.graph import CERTAIN, MENTIONED, Belief
from hades.domain.times import DAY_MICROSECONDS, NOW
from hades.domain.weights import SHIPPED, Weighting, weight_of
from hades.lifecycle.authority import is_told
from hades.store.records import Write
from hades.store.store import Store

RATE = 0.1
STEP_AT_MOST = 0.05
"""The most that one feedback moves a parameter."""
PRIOR_SHIFT_AT_MOST = 0.4
"""How far a prior may move from its shipped value."""
COEFFICIENT_SHARE_AT_MOST = 0.5
"""How far a coefficient may move from its shipped value, as a share of it."""
BOOST_AT_LEAST = 0.25
BELIEF_STEP = 0.5
"""The amount that a verdict adds to a + b of an edge or relation."""
BELIEF_TOTAL_AT_MOST = 40.0
"""The limit of a + b. Beyond it older verdicts fade, so that belief can still change."""
TESTED_AT_LEAST = 3
"""The number of held-out pairs of paths that are needed to adopt a snapshot."""
PASSED_OVER = 0.5
"""How much a passage counts that an answer passed over. A passage that somebody judged counts 1."""
CERTAIN_RELATIONS = frozenset(("title of", "next", "says"))
"""Relations that follow from how a text is built. Their belief starts at CERTAIN."""


def score(weights: Weighting, path: JudgedPath) -> float:
    """Return the logarithm of a path's score under these weights."""
    steps = (math.log(_step_weight(weights, step)) for step in path.steps)
    return path.base + sum(steps)


def _step_weight(weights: Weighting, step: JudgedStep) -> float:
    if step.parts is None:
        return weights.boosts.get(step.relation, 1.0)
    return max(weight_of(_all_parts(weights, step), weights.coefficients), 1e-6)


def _all_parts(weights: Weighting, step: JudgedStep) -> dict[str, float]:
    return {**(step.parts or {}), "type_prior": weights.prior(step.relation)}


def learn(weights: Weighting, judgement: Judgement) -> Weighting:
    """Return the weights after one feedback."""
    steps: defaultdict[tuple[str, str], float] = defaultdict(float)
    for good, bad in judgement.pairs():
        wrong = 1 / (1 + math.exp(min(score(weights, good) - score(weights, bad), 50.0)))
        for path, sign in ((good, 1), (bad, -1)):
            for parameter, slope in _gradient(weights, path).items():
                steps[parameter] += sign * RATE * wrong * slope
    beliefs: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for path in judgement.paths:
        whole = belief_of(weights, path)
        for relation in {step.relation for step in path.steps if step.belief is None}:
            after = believed_after(_belief(weights, relation), path.verdict, whole)
            beliefs[relation].append(after)
    learned = {
        relation: (round(fmean(a for a, _ in after), 4), round(fmean(b for _, b in after), 4))
        for relation, after in beliefs.items()
    }
    return replace(_moved(weights, steps), beliefs={**weights.beliefs, **learned})


def belief_of(weights: Weighting, path: JudgedPath) -> float:
    """Return the belief that all steps of a path hold."""
    return math.prod(
        _belief(weights, step.relation).mean if step.belief is None else step.belief
        for step in path.steps
    )


def _belief(weights: Weighting, relation: str) -> Belief:
    return weights.belief(relation, CERTAIN if relation in CERTAIN_RELATIONS else MENTIONED)


def _gradient(weights: Weighting, path: JudgedPath) -> dict[tuple[str, str], float]:
    """Return the derivative of `score` by each parameter, which is named (group, name)."""
    total: defaultdict[tuple[str, str], float] = defaultdict(float)
    for step in path.steps:
        if step.parts is None:
            total["boosts", step.relation] += 1  # by the logarithm of the boost
            continue
        slope = 1 - _step_weight(weights, step)
        parts = _all_parts(weights, step)
        total["priors", step.relation] += slope * weights.coefficients["type_prior"]
        for name in weights.coefficients:
            total["coefficients", name] += slope * parts.get(name, 0.0)
    return total


def _moved(weights: Weighting, steps: Mapping[tuple[str, str], float]) -> Weighting:
    """Return the weights after a step, each parameter within its bounds."""
    boosts = dict(weights.boosts)
    priors = dict(weights.priors)
    factors = dict(weights.coefficients)
    for (group, name), step in steps.items():
        step = _within(step, -STEP_AT_MOST, STEP_AT_MOST)
        if not step:
            continue
        if group == "boosts":
            boosts[name] = _within(boosts.get(name, 1.0) * math.exp(step), BOOST_AT_LEAST, 1.0)
        elif group == "priors":
            middle = SHIPPED.prior(name)
            reach = PRIOR_SHIFT_AT_MOST
            priors[name] = _within(weights.prior(name) + step, middle - reach, middle + reach)
        else:
            middle = SHIPPED.coefficients[name]
            reach = COEFFICIENT_SHARE_AT_MOST * middle
            factors[name] = _within(factors[name] + step, middle - reach, middle + reach)
    return replace(weights, boosts=boosts, priors=priors, coefficients=factors)


def _within(value: float, least: float, most: float) -> float:
    return round(min(max(value, least), most), 6)


def believed_after(belief: Belief, verdict: Verdict, whole: float) -> tuple[float, float]:
    """Return the a and b of a step's belief after a verdict on its path; `whole` is the path's
    belief.

    All steps of a used path hold. In a rejected path at least one step fails: b grows by the
    probability that this step fails, given that the path fails, and a by the rest.
    """
    failed = 0.0 if verdict.good else min(1.0, (1 - belief.mean) / max(1 - whole, 1e-6))
    a = belief.a + BELIEF_STEP * (1 - failed)
    b = belief.b + BELIEF_STEP * failed
    faded = min(1.0, BELIEF_TOTAL_AT_MOST / (a + b))
    return round(a * faded, 4), round(b * faded, 4)


def accuracy(weights: Weighting, pairs: Sequence[tuple[JudgedPath, JudgedPath]]) -> float:
    """Return the share of pairs in which the used path scores above the rejected one.

    A tie counts half.
    """
    margins = [round(score(weights, good) - score(weights, bad), 9) for good, bad in pairs]
    right = sum(0.5 + 0.5 * ((margin > 0) - (margin < 0)) for margin in margins)
    return round(right / max(1, len(pairs)), 6)


class Learner:
    """Learns from feedback in one space, inside one write."""

    def __init__(self, store: Store, write: Write, space: int, actor: str) -> None:
        self._store = store
        self._write = write
        self._space = space
        self._actor = actor
        self._today = write.at - write.at % DAY_MICROSECONDS

    def judge(self, shown: LoggedQuery, verdicts: Mapping[Target, Verdict]) -> Judgement:
        """Return the verdicts, with the weights and beliefs of the paths among them."""
        weights = self._store.weights.in_force(self._space, NOW)
        numbers = sorted(number for kind, number in verdicts if kind == "path")
        ids = {edge for number in numbers for _, edge in shown.paths[number - 1].steps}
        edges = self._store.edges.read(self._space, [edge for edge in ids if edge > 0], NOW)
        beliefs = {number: round(edge.belief.mean, 4) for number, edge in edges.items()}
        stated = [-edge for edge in ids if edge < 0]
        parts = self._store.derived_edges.parts(self._space, stated, shown.at)
        paths = []
        for number in numbers:
            path = shown.paths[number - 1]
            steps = tuple(
                JudgedStep(relation, parts.get(-edge), beliefs.get(edge))
                for relation, edge in path.steps
            )
            weighed = (_step_weight(weights, step) for step in steps if step.parts is not None)
            base = math.log(max(path.score, 1e-6)) - sum(map(math.log, weighed))
            paths.append(JudgedPath(number, verdicts["path", number], round(base, 6), steps))
        return Judgement(verdicts, tuple(paths))

    def take(self, recall: str, judgement: Judgement) -> Feedback:
        """Record feedback, learn from it within the limit of the day, and test the result."""
        table = self._store.feedback
        pairs = len(judgement.pairs())
        taught = table.taught(self._space, self._actor, self._today)
        teaches = bool(judgement.paths) and taught < TEACHING_AT_MOST
        held_out = teaches and pairs > 0 and table.is_next_held_out(self._space)
        snapshot = self._teach(judgement) if teaches and not held_out else None
        table.add(self._write, self._space, recall, self._actor, judgement, held_out, snapshot)
        adopted = teaches and self._test()
        limited = bool(judgement.paths) and not teaches
        counted = len(judgement.verdicts)
        return Feedback(recall, counted, held_out, pairs, 0, adopted, limited)

    def _test(self) -> bool:
        """Evaluate the new weights on the held-out pairs. Return whether they were adopted."""
        weights = self._store.weights
        table = self._store.feedback
        learning = weights.learning(self._space)
        if learning is None:
            return False
        pairs = [pair for test in table.held_out(self._space) for pair in test.pairs()]
        before = accuracy(weights.in_force(self._space, NOW), pairs)
        after = accuracy(weights.get(self._space, learning.id), pairs)
        adopted = len(pairs) >= TESTED_AT_LEAST and after > before
        weights.update(
            self._write,
            learning.id,
            tested=len(pairs),
            accuracy=after if pairs else None,
            accuracy_before=before if pairs else None,
            adopted_at=self._write.at if adopted else None,
        )
        return adopted

    def _teach(self, judgement: Judgement) -> int:
        """Update the snapshot that learns, or a new one, and return its number."""
        weights = self._store.weights
        learning = weights.learning(self._space)
        if learning is None:
            number = weights.add(self._write, self._space, weights.in_force(self._space, NOW))
            updates = 0
        else:
            number = learning.id
            updates = learning.updates
        learned = learn(weights.get(self._space, number), judgement)
        weights.update(self._write, number, config=learned.as_json(), updates=updates + 1)
        return number

    def believe(self, shown: LoggedQuery, judgement: Judgement) -> None:
        """Update the beliefs of extracted edges: of facts, and of the steps of paths.

        Edges that an actor told or approved are left alone (see authority.py). Each edge takes one
        verdict of an actor a day, on ACTOR_DAYS_AT_MOST days.
        """
        weights = self._store.weights.in_force(self._space, NOW)
        verdicts: dict[int, tuple[Verdict, float | None]] = {}
        for (kind, number), verdict in judgement.verdicts.items():
            if kind == "fact":
                verdicts[shown.facts[number - 1]] = verdict, None
        for path in judgement.paths:
            for _, number in shown.paths[path.number - 1].steps:
                verdicts.setdefault(number, (path.verdict, belief_of(weights, path)))
        edges = self._store.edges
        numbers = sorted(number for number in verdicts if number > 0)
        for number, edge in edges.read(self._space, numbers, NOW).items():
            days, last = edges.revisions(number, "feedback", self._actor)
            is_open = days < ACTOR_DAYS_AT_MOST and last < self._today
            if is_open and not is_told(edge) and edge.retired_at is None:
                verdict, whole = verdicts[number]
                whole = edge.belief.mean if whole is None else whole
                a, b = believed_after(edge.belief, verdict, whole)
                edges.revise(self._write, number, belief_a=a, belief_b=b)

    def judge_states(self, shown: LoggedQuery, verdicts: Mapping[Target, Verdict]) -> None:
        """Count the verdicts on passages for their states."""
        for (kind, number), verdict in verdicts.items():
            if kind == "passage":
                topic, _, version = shown.passages[number - 1].rpartition("#")[0].rpartition("@")
                amount = 1.0 if verdict.sure else PASSED_OVER
                counts = (amount, 0.0) if verdict.good else (0.0, amount)
                self._store.feedback.judge(self._space, self._actor, topic, int(version), *counts)
