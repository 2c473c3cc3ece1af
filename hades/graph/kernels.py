"""The push of personalised PageRank, in numba: see `ppr` for the algorithm.

Loading numba takes half a second, and the first compilation several. Walks run in numpy until this
module is ready, and where numba is not installed. All values of a node are in one row of `state`,
so that an arc costs one cache miss and not four. Loops avoid small functions that take arrays: each
call counts references, which took five times as long as the walk itself.
"""

from __future__ import annotations

from typing import Any

from numba import njit

RESIDUAL = 0
ESTIMATE = 1
TOTAL = 2
MARK = 3
UNSEEN = 0.0
SEEN = 1.0
QUEUED = 2.0
BARRED = 3.0
HEAD = 0
LENGTH = 1
TOUCHED = 2
PUSHES = 3
LEFT = 4


@njit(cache=True, nogil=True)
def _weigh(start: int, stop: int, targets: Any, weights: Any, barred: Any) -> float:
    """Return the sum of the weights of arcs, without arcs into barred nodes."""
    total = 0.0
    for arc in range(start, stop):
        if not barred[targets[arc]]:
            total += weights[arc]
    return total


@njit(cache=True, nogil=True)
def _total(node: int, rows: Any, barred: Any) -> float:
    """Return the sum of the weights of a node's arcs, without arcs into barred nodes."""
    indptr, targets, weights, row_of, late_start, late_stop, late, late_weights, totals = rows
    if not len(barred):
        return float(totals[node])
    row = row_of[node]
    if row >= 0:
        return _weigh(late_start[row], late_stop[row], late, late_weights, barred)
    if node + 1 < len(indptr):
        return _weigh(indptr[node], indptr[node + 1], targets, weights, barred)
    return 0.0


@njit(cache=True, nogil=True)
def start(
    seeds: Any, shares: Any, epsilon: float, rows: Any, barred: Any,
    state: Any, queue: Any, touched: Any, at: Any,
) -> None:  # fmt: skip
    """Give the seeds their shares and queue those above the threshold. No seed may be barred."""
    for place in range(len(seeds)):
        node = seeds[place]
        if state[node, MARK] == UNSEEN:
            touched[at[TOUCHED]] = node
            at[TOUCHED] += 1
            state[node, MARK] = SEEN
            state[node, TOTAL] = _total(node, rows, barred)
        state[node, RESIDUAL] += shares[place]
        above = state[node, RESIDUAL] > epsilon * state[node, TOTAL]
        if state[node, MARK] == SEEN and above:
            state[node, MARK] = QUEUED
            queue[(at[HEAD] + at[LENGTH]) % len(queue)] = node
            at[LENGTH] += 1


@njit(cache=True, nogil=True)
def push(
    damping: float, epsilon: float, limit: int, rows: Any, barred: Any, known: Any,
    state: Any, queue: Any, pushed: Any, touched: Any, at: Any,
) -> bool:  # fmt: skip
    """Push until the queue is empty or `limit` pushes were done. Return whether nodes are queued.

    A round first takes the residuals of all queued nodes, so that their order does not matter.
    `known` keeps the sums of weights under this mask for later walks; it may be empty.
    """
    indptr, base, weights, row_of, late_start, late_stop, late, late_weights, totals = rows
    masked = len(barred) > 0
    kept = len(known) > 0
    size = len(queue)
    head = at[HEAD]
    length = at[LENGTH]
    seen = at[TOUCHED]
    pushes = at[PUSHES]
    left = at[LEFT]
    while length and pushes < limit:
        if not left:
            left = length
            for number in range(left):
                node = queue[(head + number) % size]
                pushed[left - 1 - number] = state[node, RESIDUAL]
                state[node, ESTIMATE] += (1 - damping) * state[node, RESIDUAL]
                state[node, RESIDUAL] = 0.0
                state[node, MARK] = SEEN
        node = queue[head]
        head = head + 1 if head + 1 < size else 0
        length -= 1
        left -= 1
        pushes += 1
        residual = pushed[left]
        total = state[node, TOTAL]
        if total <= 0:
            continue
        spread = damping * residual / total
        row = row_of[node]
        if row >= 0:
            first = late_start[row]
            stop = late_stop[row]
            to = late
            strength = late_weights
        else:
            first = indptr[node]
            stop = indptr[node + 1]
            to = base
            strength = weights
        for arc in range(first, stop):
            other = to[arc]
            mark = state[other, MARK]
            if mark == BARRED:
                continue
            if mark == UNSEEN:
                touched[seen] = other
                seen += 1
                if masked and barred[other]:
                    state[other, MARK] = BARRED
                    continue
                mark = SEEN
                state[other, MARK] = SEEN
                if not masked:
                    state[other, TOTAL] = totals[other]
                elif kept and known[other] >= 0:
                    state[other, TOTAL] = known[other]
                else:
                    if row_of[other] < 0 and other + 1 < len(indptr):
                        begin = indptr[other]
                        end = indptr[other + 1]
                        state[other, TOTAL] = _weigh(begin, end, base, weights, barred)
                    else:
                        state[other, TOTAL] = _total(other, rows, barred)
                    if kept:
                        known[other] = state[other, TOTAL]
            held = state[other, RESIDUAL] + spread * strength[arc]
            state[other, RESIDUAL] = held
            if mark == SEEN and held > epsilon * state[other, TOTAL]:
                state[other, MARK] = QUEUED
                end = head + length
                queue[end if end < size else end - size] = other
                length += 1
    at[HEAD] = head
    at[LENGTH] = length
    at[TOUCHED] = seen
    at[PUSHES] = pushes
    at[LEFT] = left
    return bool(length > 0)


@njit(cache=True, nogil=True)
def gather(state: Any, touched: Any, at: Any, nodes: Any, scores: Any) -> int:
    """Write nodes with an estimate to `nodes` and `scores`, clear the scratch, return the count."""
    count = 0
    for place in range(at[TOUCHED]):
        node = touched[place]
        if state[node, ESTIMATE] > 0:
            nodes[count] = node
            scores[count] = state[node, ESTIMATE]
            count += 1
        for column in range(4):
            state[node, column] = 0.0
    at[:] = 0
    return count


@njit(cache=True, nogil=True)
def several(
    seeds: Any, shares: Any, ends: Any, damping: float, epsilon: float, stop: bool, limit: int,
    rows: Any, barred: Any, known: Any,
    state: Any, queue: Any, pushed: Any, touched: Any, at: Any,
    nodes: Any, scores: Any, done: Any, pushes: Any, short: Any,
) -> bool:  # fmt: skip
    """Do several walks. Return True if `limit` pushes were reached before all were done.

    Seeds and shares of the walks are joined; those of walk `n` end at `ends[n]`. Nodes and scores
    are written in the same way, up to `done[n]`, which is -1 for an unfinished walk. The next call
    continues where this one stopped. With `stop`, it writes the unfinished walks as they are and
    flags them in `short`.
    """
    for number in range(len(ends)):
        if done[number] >= 0:
            continue
        begin = ends[number - 1] if number else 0
        written = done[number - 1] if number else 0
        if at[TOUCHED] == 0:
            own = slice(begin, ends[number])
            start(seeds[own], shares[own], epsilon, rows, barred, state, queue, touched, at)
        before = at[PUSHES]
        most = before if stop else before + limit
        more = push(damping, epsilon, most, rows, barred, known, state, queue, pushed, touched, at)
        pushes[number] = at[PUSHES]
        limit -= at[PUSHES] - before
        if more and not stop:
            return True
        short[number] = more
        done[number] = written + gather(state, touched, at, nodes[written:], scores[written:])
    return False
