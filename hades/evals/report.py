"""Reports of measurements: tables, a Markdown page, and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from hades.errors import Unavailable
from hades.evals.by_type import ALL, ByType, cell
from hades.evals.chart import to_svg
from hades.evals.ladder import Ladder
from hades.evals.measure import METRICS, Measured, Scores

Table = list[list[str]]
"""Rows of cells; the first is the head."""
_UNKNOWN = "–"


def write_report(measured: Measured | ByType | Ladder, folder: Path) -> list[Path]:
    """Write `NAME.md` and `NAME.json` into a folder, made if needed; return their paths.

    A ladder is called `NAME-ladder`, and its picture is `NAME-ladder.svg`.
    """
    name = measured.dataset
    texts = {}
    if isinstance(measured, Ladder):
        name = f"{name}-ladder"
        texts["svg"] = to_svg(measured)
    texts["md"] = to_markdown(measured)
    texts["json"] = json.dumps(measured.plain(), indent=2) + "\n"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind, text in texts.items():
            (folder / f"{name}.{kind}").write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"The report in {folder} cannot be written: {error}.") from error
    return [folder / f"{name}.{kind}" for kind in texts]


def to_markdown(measured: Measured | ByType | Ladder) -> str:
    """Return the Markdown page: what was measured, and the ladder or the tables by type."""
    lines = [f"# {measured.dataset}\n"]
    if isinstance(measured, ByType):
        lines += [f"{sentence}\n" for sentence in measured.sentences()]
        lines.append("Shares in per cent.")
        for name, table in type_tables(measured).items():
            lines += [f"\n## {name}\n", *_markdown(table)]
    elif isinstance(measured, Ladder):
        lines += [f"{sentence}\n" for sentence in measured.sentences()]
        lines += [*_markdown(measured.table()), f"\n![ladder]({measured.dataset}-ladder.svg)"]
    else:
        first, *wrong = measured.sentences()
        lines.append(
            f"{first}. Recall, nDCG and MRR in per cent, standard errors in brackets (bootstrap "
            "over the questions).\n"
        )
        lines += [f"{one}\n" for one in wrong]
        lines += _markdown(ladder_table(measured, errors=True))
    return "\n".join(lines) + "\n"


def ladder_table(measured: Measured, *, errors: bool = False) -> Table:
    """Return a table with a row for each system; `errors` adds the standard errors."""

    def row(name: str, scores: Scores) -> list[str]:
        values = [
            _per_cent(scores.values[one]) + f" ({_per_cent(scores.errors[one])})" * errors
            for one in METRICS
        ]
        times = [f"{scores.p50_ms:.1f}", f"{scores.p95_ms:.1f}", f"{scores.context_tokens:.0f}"]
        return [name, *values, *times, _UNKNOWN if scores.ece is None else f"{scores.ece:.3f}"]

    head = ["system", *map(_label, METRICS), "p50 ms", "p95 ms", "context tokens", "ECE"]
    return [head, *(row(*one) for one in measured.systems.items())]


def type_tables(measured: ByType) -> dict[str, Table]:
    """Return a table by size of memory or system: a row per type of question, in per cent."""
    return {
        name: [
            ["type", *rows[ALL]],
            *([of, *(cell(*one) for one in row.items())] for of, row in rows.items()),
        ]
        for name, rows in measured.tables().items()
    }


def _markdown(table: Table) -> Iterator[str]:
    head, *rows = ("| " + " | ".join(row) + " |" for row in table)
    yield from (head, "|" + "---|" * len(table[0]), *rows)


def _per_cent(share: float) -> str:
    return f"{100 * share:.1f}"


def _label(metric: str) -> str:
    """Return the heading of a metric: R@5, nDCG@10, MRR."""
    return metric.replace("recall", "R").replace("ndcg", "nDCG").replace("mrr", "MRR")
