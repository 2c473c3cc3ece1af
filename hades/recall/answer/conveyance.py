"""Conveyance: how much a recall conveyed in its time, C = (W·R·H / T)·Ctx^α.

W is the share of the question's words that the packed passages cover. R is the share of these
passages that the graph joins with another or with the question, H their mean belief, T the time in
seconds. Ctx is the chance that at least one packed passage or fact answers, so more evidence of the
right kind raises it.
"""

import math

from hades.context.pack import Packed
from hades.domain.answer import Conveyance
from hades.recall.run import Run

ALPHA = 1.7
"""As in HiRAG × PathRAG. Measurements did not confirm it (docs/lab/recall.md)."""
_DIGITS = 4


def conveyance(evidence: float, seconds: float, context: float) -> Conveyance:
    """Return the conveyance of evidence W·R·H that took some seconds, in its context."""
    value = evidence / seconds * context**ALPHA if seconds > 0 else 0.0
    return Conveyance(value, round(evidence, _DIGITS), round(context, _DIGITS))


def conveyed(run: Run, packed: Packed, coverage: float) -> Conveyance:
    """Return the conveyance of a recall; `coverage` is W."""
    steps = [step for path in packed.paths for step in path.steps]
    joined = {step.chunk for step in steps}
    joined |= {node.name for path in packed.paths for node in path.nodes}
    ranked = [row for row in packed.passages if "history" not in row.parts]
    linked = sum("names" in row.retrievers or row.id in joined for row in ranked)
    sure = sum(row.belief.mean for row in ranked)
    evidence = coverage * linked * sure / max(1, len(ranked)) ** 2
    beliefs = [passage.belief.mean for passage in ranked]
    beliefs += [fact.belief.mean for fact in packed.facts]
    return conveyance(evidence, run.ms / 1000, 1 - math.prod(1 - belief for belief in beliefs))
