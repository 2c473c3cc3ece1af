"""Conveyance: how much a recall conveyed, as one number (algorithms, §12).

    C = (W·R·H / T)·Ctx^α,  α = 1.7

| factor | is | measured as |
|---|---|---|
| W, what | coverage | the share of the question's words, by weight, that the packed text says |
| R, where | relation | the share of packed passages the graph joins with another or the question |
| H, how | belief | the mean belief of the packed passages |
| T, time | seconds | from the question to the context |
| Ctx | economy | the share of the context's tokens that is evidence, not heads and titles |

A factor of zero or below makes the whole zero: nothing was conveyed. C is a rate, so it
compares answers to one question or one set of questions, not one machine with another.
"""

from __future__ import annotations

from collections.abc import Sequence

from hades.domain.answer import Conveyance

ALPHA = 1.7


def conveyance(
    *,
    coverage: float,
    joined: int,
    beliefs: Sequence[float],
    seconds: float,
    evidence_tokens: int,
    tokens: int,
) -> Conveyance:
    """What a recall conveyed; `beliefs` are of the packed passages, `joined` counts among them."""
    packed = len(beliefs)
    what = coverage
    where = joined / packed if packed else 0.0
    how = sum(beliefs) / packed if packed else 0.0
    context = min(evidence_tokens / tokens, 1.0) if tokens > 0 else 0.0
    value = 0.0
    if min(what, where, how, seconds, context) > 0:
        value = what * where * how / seconds * context**ALPHA
    return Conveyance(
        what=what, where=where, how=how, seconds=seconds, context=context, value=value
    )
