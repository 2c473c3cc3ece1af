"""Conveyance: how much a recall conveyed; docs/answers.md says how each factor is measured."""

from hades.context.pack import Packed
from hades.domain.answer import Conveyance, Passage
from hades.recall.run import Run

Factors = tuple[float, float, float]
ALPHA = 1.7


def conveyance(
    packed: Factors, chosen: Factors, seconds: float, context: float, lig: Factors, fits: float
) -> Conveyance:
    """Compute the conveyance from W, R, H (packed and chosen), T, Ctx, L, I, G and P_ij."""
    taken, sent = (max(0.0, w) * max(0.0, r) * max(0.0, h) for w, r, h in (packed, chosen))
    external, value, pair = (context + sum(lig)) / 4, 0.0, 0.0
    if seconds > 0 and taken > 0:
        value = taken / seconds * context**ALPHA
        pair = 2 * sent * taken / (sent + taken) / seconds * external**ALPHA * fits
    return Conveyance(*packed, seconds, context, value, external, fits, pair)


def conveyed(
    run: Run, packed: Packed, coverage: tuple[float, float], chosen: list[Passage], others: int
) -> Conveyance:
    """Compute the conveyance of a recall, C = (W·R·H / T)·Ctx^α (see `Conveyance`).

    `chosen` are the passages, and `others` the number of paths and facts, that the packer could
    choose from. `coverage` is how far the packed and the chosen passages cover the question.
    """
    steps = [step for path in packed.paths for step in path.steps]
    joined = {s.chunk for s in steps} | {node.name for path in packed.paths for node in path.nodes}
    told, wrh = len(packed.passages) + len(packed.facts), list[Factors]()
    for passages, said in zip((packed.passages, chosen), coverage, strict=True):
        ranked = [row for row in passages if "history" not in row.parts]
        linked = sum("names" in row.retrievers or row.id in joined for row in ranked)
        count, sure = max(1, len(ranked)), sum(row.belief.mean for row in ranked)
        wrh.append((said, linked / count, sure / count))
    on_path = sum(row.id in joined for row in packed.passages) / max(1, len(packed.passages))
    in_caps = sum(not row.capped and not row.early_stop for row in run.reports) / len(run.reports)
    cited = (told + sum(bool(s.chunk or s.snippet) for s in steps)) / max(1, told + len(steps))
    context = min(packed.evidence_tokens / max(1, packed.tokens), 1.0)
    fits = (told + len(packed.paths)) / max(1, len(chosen) + others)
    return conveyance(wrh[0], wrh[1], run.ms / 1000, context, (on_path, in_caps, cited), fits)
