"""Belief: how sure we are, from the evidence of single edges up to a whole answer.

An edge holds with a probability that is Beta(a, b): a counts evidence for it, b evidence against
it. A combination of beliefs gets the mean and variance of independent ones, and from these a Beta
again (moment matching), whose middle 90 % are the interval. The cost is a few products.
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
"""The number of observed cases that a ranker's probability stands for; it sets the interval."""
QUANTILE_TOLERANCE = 1e-3
"""Intervals are shown with two digits; finer steps would double the time."""
QUANTILE_STEPS_AT_MOST = 40
NARROW = 1e-9
"""With a variance below this, the interval is a point."""
LARGE_SHAPE = 2_000.0
"""From this a + b on, a Beta equals a normal distribution to four digits, and the exact
computation is slow."""


class Moments(NamedTuple):
    """The mean and the variance of a probability."""

    mean: float
    variance: float


def of_edge(belief: Belief) -> Moments:
    """Return the moments of Beta(a, b)."""
    total = belief.a + belief.b
    mean = belief.a / total
    return Moments(mean, mean * (1 - mean) / (total + 1))


def of_probability(probability: float) -> Moments:
    """Return the moments of a probability, as if it came from RANKER_STRENGTH cases."""
    mean = min(max(probability, 0.0), 1.0)
    return Moments(mean, mean * (1 - mean) / (RANKER_STRENGTH + 1))


def all_of(beliefs: Iterable[Moments]) -> Moments:
    """Return the belief that all hold: the product of the means."""
    mean = 1.0
    second = 1.0
    for belief in beliefs:
        mean *= belief.mean
        second *= belief.variance + belief.mean**2
    return Moments(mean, max(second - mean**2, 0.0))


def any_of(beliefs: Iterable[Moments]) -> Moments:
    """Return the belief that at least one holds: noisy-OR."""
    none = all_of(Moments(1 - belief.mean, belief.variance) for belief in beliefs)
    return Moments(1 - none.mean, none.variance)


def path_belief(edges: Sequence[Belief]) -> Moments:
    """Return the belief that all edges of a path hold. A path without edges is certain."""
    return all_of(of_edge(belief) for belief in edges)


def answer_belief(passages: Iterable[Moments]) -> Moments:
    """Return the belief that one of the best few passages has the answer."""
    return any_of(sorted(passages, reverse=True)[:BEST_FEW_PASSAGES])


def interval(moments: Moments) -> Interval:
    """Return the mean and the 90 % interval."""
    mean = min(max(moments.mean, 0.0), 1.0)
    spread = mean * (1 - mean)
    # The variance of a probability is at most mean · (1 - mean).
    variance = min(moments.variance, spread * 0.999)
    if variance < NARROW:
        return Interval(mean, mean, mean)
    total = spread / variance - 1
    a = mean * total
    b = (1 - mean) * total
    low, high = _middle(float(f"{a:.3g}"), float(f"{b:.3g}"))
    # The mean of a very skewed Beta can lie outside its middle; widen the interval to it.
    return Interval(mean, min(low, mean), max(high, mean))


@lru_cache(maxsize=4_096)
def _middle(a: float, b: float) -> tuple[float, float]:
    """Return the ends of the middle 90 % of Beta(a, b)."""
    if a + b > LARGE_SHAPE:
        mean = a / (a + b)
        reach = 1.6449 * math.sqrt(mean * (1 - mean) / (a + b + 1))
        return max(mean - reach, 0.0), min(mean + reach, 1.0)
    return _quantile(OUTSIDE, a, b), 1 - _quantile(OUTSIDE, b, a)


def _quantile(share: float, a: float, b: float) -> float:
    """Return the value that a `share` of Beta(a, b) is below, by Newton's method and bisection."""
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    low = 0.0
    high = 1.0
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
    """Return the share of Beta(a, b) below x, by the continued fraction of the incomplete beta."""
    if x > (a + 1) / (a + b + 2):
        return 1 - _below(1 - x, b, a, log_beta)
    front = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta) / a
    tiny = 1e-30
    c = 1.0
    d = 1 / max(1 - (a + b) * x / (a + 1), tiny)
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
