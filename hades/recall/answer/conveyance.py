"""Conveyance: how much a recall conveyed, as one number (algorithms, §12).

    C = (W·R·H / T)·Ctx^α,  α = 1.7

| factor | is | measured as |
|---|---|---|
| W, what | coverage | the share of the question's words, by weight, that the packed text says |
| R, where | relation | the share of packed passages the graph joins with another or the question |
| H, how | belief | the mean belief of the packed passages |
| T, time | seconds | from the question to the context |
| Ctx | economy | the share of the context's tokens that is evidence, not heads and titles |

Between a memory i and a reader j, Hmean(C_out, C_in)·C_ext^α·P_ij, C_ext = ¼(L+I+A+G):

| factor | is | measured as |
|---|---|---|
| C_out, C_in | sent, taken in | W·R·H / T of the passages chosen, and of those packed |
| L | coherence | the share of packed passages that stand on a shown path |
| I | instruction fit | the share of stages that ran to their end within the caps of the plan |
| A | actionability | Ctx: what of the context can be used |
| G | grounding | the share of passages, facts and steps of paths that name what states them |
| P_ij | compatibility | the share of what was chosen that fits into the reader's context |

A factor of zero or below makes the whole zero: nothing was conveyed. C is a rate, so it
compares answers to one question or one set of questions, not one machine with another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from hades.domain.answer import Conveyance

ALPHA = 1.7


Sent = tuple[float, float, float]
"""W, R and H of passages on their way to a reader."""


def conveyance(
    packed: Sent,
    chosen: Sent,
    *,
    seconds: float,
    context: float,
    others: Sequence[float],
    compatibility: float,
) -> Conveyance:
    """What was conveyed by what was packed of all that was chosen; `others` are L, I and G."""
    taken, sent = (math.prod(max(0.0, one) for one in passages) for passages in (packed, chosen))
    external = (context + sum(others)) / 4
    value = pair = 0.0
    if seconds > 0 and taken > 0:
        value = taken / seconds * context**ALPHA
        pair = 2 * sent * taken / (sent + taken) / seconds * external**ALPHA * compatibility
    return Conveyance(*packed, seconds, context, value, external, compatibility, pair)
