"""Metrics of a ranking, from 0 to 1.

A ranking is a list of distinct ids, best first. Gold is the set of ids that answer.
"""

from __future__ import annotations

import math
import random
import statistics
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeVar

Result = TypeVar("Result")

CALIBRATION_BINS = 10
BOOTSTRAP_SAMPLES = 1_000


def recall_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return the share of the gold that is among the first k."""
    return len(set(ranking[:k]) & set(gold)) / len(gold)


def ndcg_at(k: int, ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return the discounted gain of the first k relative to the best possible order.

    Every gold id counts the same, 1/log2(rank + 1); the best order has all of them first.
    """
    gained = sum(_discount(rank) for rank, id_ in enumerate(ranking[:k], 1) if id_ in gold)
    return gained / sum(_discount(rank) for rank in range(1, min(k, len(gold)) + 1))


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """Return 1 / the rank of the first gold id; 0 without one."""
    return next((1 / rank for rank, id_ in enumerate(ranking, 1) if id_ in gold), 0.0)


def expected_calibration_error(told: Iterable[tuple[float, bool]]) -> float | None:
    """Return the mean distance of beliefs from the truth; None without beliefs.

    Beliefs fall into ten bins of equal width. The mean belief of each bin is compared with the
    share of true ones, weighted by the size of the bin.
    """
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(CALIBRATION_BINS)]
    for belief, was_true in told:
        bins[min(int(belief * CALIBRATION_BINS), CALIBRATION_BINS - 1)].append((belief, was_true))
    count = sum(map(len, bins))
    if not count:
        return None
    # len(bin)/count · |mean belief - share true| is |sum of beliefs - number true| / count.
    return sum(abs(sum(b for b, _ in one) - sum(t for _, t in one)) for one in bins) / count


def standard_error(values: Sequence[float]) -> float:
    """Return the standard error of the mean, by bootstrap; 0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    chance = random.Random(0)
    means = [
        statistics.fmean(chance.choices(values, k=len(values))) for _ in range(BOOTSTRAP_SAMPLES)
    ]
    return statistics.pstdev(means)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed; 0 without values."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, math.ceil(share * len(ordered)) - 1))]


def timed(call: Callable[[], Result]) -> tuple[Result, float]:
    """Call a function; return its result, and how many milliseconds it took."""
    start = time.perf_counter()
    result = call()
    return result, 1000 * (time.perf_counter() - start)
