"""Belief: how sure we are, from the evidence of single edges up to a whole answer.

An edge holds with a probability that is Beta(a, b): a counts what speaks for it, b what
speaks against it. What is built of several such beliefs gets the mean and the variance it
would have if they were independent, and from these two a Beta again (moment matching),
whose middle nine tenths are the interval. The work is a few products, whatever the graph.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from hades.domain.answer import Interval
from hades.domain.graph import Belief

OUTSIDE = 0.05
"""The share left out on each side of an interval."""
BEST_FEW_PASSAGES = 5
RANKER_STRENGTH = 20.0
"""A ranker's probability counts like so many observed cases: it says how wide its interval is."""
QUANTILE_TOLERANCE = 1e-3
"""Intervals are shown to two digits; finer steps cost twice the time."""
QUANTILE_STEPS_AT_MOST = 40
NARROW = 1e-9
"""A variance below this is none: the interval is a point."""
LARGE_SHAPE = 2_000.0
"""From here on a Beta is a normal distribution to four digits, and its fraction slow."""


class Moments(NamedTuple):
    """What is known of a probability: its mean and its variance."""

    mean: float
    variance: float


def of_edge(belief: Belief) -> Moments:
    """The moments of Beta(a, b)."""
    total = belief.a + belief.b
    mean = belief.a / total
    return Moments(mean, mean * (1 - mean) / (total + 1))


def of_probability(probability: float) -> Moments:
    """A probability somebody gives, as if it came from RANKER_STRENGTH cases."""
    mean = min(max(probability, 0.0), 1.0)
    return Moments(mean, mean * (1 - mean) / (RANKER_STRENGTH + 1))


def all_of(beliefs: Iterable[Moments]) -> Moments:
    """That every one holds: the product of the means."""
    mean, second = 1.0, 1.0
    for one in beliefs:
        mean *= one.mean
        second *= one.variance + one.mean**2
    return Moments(mean, max(second - mean**2, 0.0))


def any_of(beliefs: Iterable[Moments]) -> Moments:
    """That at least one holds: noisy-OR."""
    none = all_of(Moments(1 - one.mean, one.variance) for one in beliefs)
    return Moments(1 - none.mean, none.variance)


def path_belief(edges: Sequence[Belief]) -> Moments:
    """How sure a path is: that all its edges hold. A path without edges is certain."""
    return all_of(of_edge(belief) for belief in edges)


def answer_belief(passages: Iterable[Moments]) -> Moments:
    """How sure it is that the answer is there: that one of the best few passages has it."""
    return any_of(sorted(passages, reverse=True)[:BEST_FEW_PASSAGES])


def interval(moments: Moments) -> Interval:
    """The mean, and where the probability lies nine times of ten."""
    mean = min(max(moments.mean, 0.0), 1.0)
    spread = mean * (1 - mean)
    # A probability cannot vary more than a coin that shows it outright.
    variance = min(moments.variance, spread * 0.999)
    if variance < NARROW:
        return Interval(mean, mean, mean)
    total = spread / variance - 1
    a, b = mean * total, (1 - mean) * total
    low, high = _middle(float(f"{a:.3g}"), float(f"{b:.3g}"))
    # Of a very lopsided Beta the mean lies outside its own middle: it is shown inside.
    return Interval(mean, min(low, mean), max(high, mean))


@lru_cache(maxsize=4_096)
def _middle(a: float, b: float) -> tuple[float, float]:
    """The middle of Beta(a, b), without its tails."""
    if a + b > LARGE_SHAPE:
        mean = a / (a + b)
        reach = 1.6449 * math.sqrt(mean * (1 - mean) / (a + b + 1))
        return max(mean - reach, 0.0), min(mean + reach, 1.0)
    return _quantile(OUTSIDE, a, b), 1 - _quantile(OUTSIDE, b, a)


def _quantile(share: float, a: float, b: float) -> float:
    """Below which that share of Beta(a, b) lies: Newton's steps, held by halving."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    low, high = 0.0, 1.0
    mean = a / (a + b)
    at = max(mean - 1.6449 * math.sqrt(mean * (1 - mean) / (a + b + 1)), mean / 4)
    for _ in range(QUANTILE_STEPS_AT_MOST):
        wrong = _below(at, a, b, log_beta) - share
        low, high = (low, at) if wrong > 0 else (at, high)
        density = math.exp((a - 1) * math.log(at) + (b - 1) * math.log1p(-at) - log_beta)
        step = at - wrong / density if density > 0 else low
        new = step if low < step < high else (low + high) / 2
        if abs(new - at) < QUANTILE_TOLERANCE or not 0 < new < 1:
            return new
        at = new
    return at


def _below(x: float, a: float, b: float, log_beta: float) -> float:
    """How much of Beta(a, b) lies below x: the continued fraction of the incomplete beta."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _below(1 - x, b, a, log_beta)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    tiny = 1e-30
    c, d = 1.0, 1 / max(1 - (a + b) * x / (a + 1), tiny)
    total = d
    for m in range(1, 200):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for part in (even, odd):
            d = 1 / (1 + part * d or tiny)
            c = 1 + part / c or tiny
            total *= c * d
        if abs(c * d - 1) < 1e-6:
            break
    return front * total
