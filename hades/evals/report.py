"""Reports: what was measured as a Markdown page, its data as JSON, a ladder as a picture."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from hades.errors import Unavailable
from hades.evals.by_type import ByType, cell
from hades.evals.measure import METRICS, Measured, Scores
from hades.evals.picture import draw_ladder
from hades.evals.published import published

_UNKNOWN = "–"


def write_report(measured: Measured | ByType, folder: Path) -> list[Path]:
    """Write `NAME.md` and `NAME.json`; of a ladder, where matplotlib is there, also pictures."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        pictures = draw_ladder(measured, folder) if isinstance(measured, Measured) else []
        page, data = (folder / f"{measured.dataset}.{kind}" for kind in ("md", "json"))
        page.write_text(to_markdown(measured, pictures), encoding="utf-8")
        data.write_text(json.dumps(measured.plain(), indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"The report in {folder} cannot be written: {error}.") from error
    return [page, data, *pictures]


def to_markdown(measured: Measured | ByType, pictures: Sequence[Path] = ()) -> str:
    """The page: what was measured, the ladder or the tables by type, what others reached."""
    if isinstance(measured, ByType):
        return "\n".join(_tables_by_type(measured)) + "\n"
    return "\n".join(_lines(measured, pictures)) + "\n"


def _tables_by_type(measured: ByType) -> Iterator[str]:
    yield f"# {measured.dataset}\n\nShares in per cent."
    for name, rows in measured.tables().items():
        yield f"\n## {name}\n"
        shown = ([of, *(cell(*one) for one in row.items())] for of, row in rows.items())
        yield from _table(["type", "n", *measured.columns], shown)


def _lines(measured: Measured, pictures: Sequence[Path]) -> Iterator[str]:
    index = measured.index
    yield f"# {measured.dataset}\n"
    yield (
        f"{measured.questions:,} questions, {index.chunks:,} chunks, {index.edges:,} edges; "
        f"the memory was made in {index.seconds:g} s. Recall, nDCG and MRR in per cent, "
        "standard errors in brackets (bootstrap over the questions).\n"
    )
    if index.skipped:
        yield f"{index.skipped:,} records could not be taken in.\n"
    if measured.lost.gold:
        yield f"{measured.lost.told(measured.questions)}\n"
    head = ["system", *map(label, METRICS), "p50 ms", "p95 ms", "context tokens", "ECE"]
    yield from _table(head, (_row(*one) for one in measured.systems.items()))
    if picture := next((one for one in pictures if one.suffix == ".svg"), None):
        yield f"\n![The ladder of systems on {measured.dataset}]({picture.name})"
    others = published(measured.dataset)
    if others:
        yield "\n## Published\n"
        reported = [name for name in METRICS if any(name in one.values for one in others)]
        rows = [
            [one.system, *(_per_cent(one.values.get(name)) for name in reported), one.note]
            for one in others
        ]
        rows += [
            [f"**HADES, {name}**", *(_per_cent(scores.values[metric]) for metric in reported), ""]
            for name, scores in list(measured.systems.items())[-1:]
        ]
        yield from _table(["system", *map(label, reported), "note"], rows)


def _row(name: str, scores: Scores) -> list[str]:
    return [
        name,
        *(
            f"{100 * scores.values[metric]:.1f} ({100 * scores.errors[metric]:.1f})"
            for metric in METRICS
        ),
        f"{scores.p50_ms:.1f}",
        f"{scores.p95_ms:.1f}",
        f"{scores.context_tokens:.0f}",
        _UNKNOWN if scores.ece is None else f"{scores.ece:.3f}",
    ]


def _table(head: Sequence[str], rows: Iterator[list[str]] | list[list[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def _per_cent(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{100 * value:.1f}"


def label(metric: str) -> str:
    """A metric as tables head it: R@5, nDCG@10, MRR."""
    return metric.replace("recall", "R").replace("ndcg", "nDCG").replace("mrr", "MRR")
