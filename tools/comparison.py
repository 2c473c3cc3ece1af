"""Write the measured part of docs/lab/comparison.md from bench/results/comparison.

Run it after `python -m bench compare`; a test fails when the page is not what this writes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from bench.peers.sets import SETS  # noqa: E402
from bench.peers.systems import TITLES  # noqa: E402

PAGE, RESULTS = ROOT / "docs" / "lab" / "comparison.md", ROOT / "bench" / "results" / "comparison"
BEGIN = "<!-- Written by tools/comparison.py from bench/results/comparison. -->"
END = "<!-- The end of what tools/comparison.py writes. -->"
TESTS = ("time travel", "deletion", "bridges")
Result = Mapping[str, Any]
COLUMNS = {"hit@1": "hit@1 %", "recall@2": "R@2 %", "recall@5": "R@5 %", "all@5": "all@5 %"}
DOCUMENT_COLUMNS = {"hit@1": "hit@1 %", "recall@5": "R@5 %", "recall@10": "R@10 %"}
COSTS = ("index_processor_s", "p50_processor_ms", "p95_processor_ms", "peak_mb", "disk_mb")
COST_HEADS = ("index s", "P50 ms", "P95 ms", "memory MB", "disk MB")


def page() -> str:
    """Return the page with its measured part written anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{measured(results(RESULTS))}\n{END}{after}"


def results(folder: Path) -> list[Result]:
    """Return all results of a folder, in the order of the sets and systems."""
    order = {
        f"{of}-{name}": at
        for at, (of, name) in enumerate(
            (of, name) for of in (*SETS, "abilities") for name in TITLES
        )
    }
    paths = sorted(folder.glob("*.json"), key=lambda path: order[path.stem])
    return [{"set": path.stem.rpartition("-")[0], **_read(path)} for path in paths]


def measured(found: Sequence[Result]) -> str:
    """Return the measured part for these results, as Markdown."""
    if not found:
        return "Nothing has been measured yet.\n"
    return "\n".join([*_about(found), *_sets(found), *_abilities(found), *_skipped(found), ""])


def _about(found: Sequence[Result]) -> Iterator[str]:
    dates = sorted({one["date"] for one in found})
    machines = sorted({f"{one['machine']}, Python {one['python']}" for one in found})
    loads = [one["load"] for one in found]
    versions = {TITLES[one["system"]].partition(",")[0]: one["version"] for one in found}
    named = ", ".join(f"{name} {version}" for name, version in versions.items() if "(" not in name)
    yield (
        f"Measured {' and '.join(dates)} on {'; '.join(machines)}, with a load of {min(loads):g} to"
        f" {max(loads):g}. {named}.\n"
    )


def _sets(found: Sequence[Result]) -> Iterator[str]:
    for name, peer_set in SETS.items():
        rows = [one for one in found if one["set"] == name and "skipped" not in one]
        if not rows:
            continue
        counts = rows[0]["counts"]
        scores = DOCUMENT_COLUMNS if peer_set.kind == "documents" else COLUMNS
        scores = {**scores, "stale": "stale %"} if peer_set.kind == "everyday" else scores
        best = {
            key: (min if key == "stale" else max)(one["scores"][key] for one in rows)
            for key in scores
        }
        yield f"### {peer_set.title[0].upper()}{peer_set.title[1:]}\n"
        yield (
            f"{peer_set.chosen[0].upper()}{peer_set.chosen[1:]}: {counts['questions']:,} questions,"
            f" {counts['passages']:,} passages. The standard error of R@5 is about"
            f" {max(one['scores']['error'] for one in rows):g} points.{_machine(rows, found)}\n"
        )
        yield _row(["system", *scores.values(), *COST_HEADS])
        yield _row(["---"] * (1 + len(scores) + len(COST_HEADS)))
        for one in rows:
            cells = [_shown(one["scores"][key], best[key]) for key in scores]
            yield _row([TITLES[one["system"]], *cells, *(f"{one[key]:g}" for key in COSTS)])
        there = {one["system"] for one in rows}
        missing = [TITLES[name] for name in peer_set.systems or TITLES if name not in there]
        yield f"\nNot measured on this set yet: {', '.join(missing)}.\n" if missing else ""


def _machine(rows: Sequence[Result], found: Sequence[Result]) -> str:
    """Return a sentence on the machine of a set, if not all sets were measured on one."""
    here = sorted({one["machine"] for one in rows})
    return f" Machine: {'; '.join(here)}." if len({one["machine"] for one in found}) > 1 else ""


def _abilities(found: Sequence[Result]) -> Iterator[str]:
    rows = [one for one in found if one["set"] == "abilities" and "skipped" not in one]
    rows = [one for one in rows if one["system"] != "hades-search"]
    if rows:
        yield "### Time travel, deletion, bridges\n"
        yield _row(["system", *TESTS])
        yield _row(["---"] * (1 + len(TESTS)))
        for one in rows:
            cells = [f"**{one[test]['verdict']}**, {one[test]['why']}" for test in TESTS]
            yield _row([TITLES[one["system"]], *cells])
        yield ""


def _skipped(found: Sequence[Result]) -> Iterator[str]:
    for one in found:
        if "skipped" in one:
            yield f"- {TITLES[one['system']]} on {one['set']} was not measured: {one['skipped']}\n"


def _shown(value: float, best: float) -> str:
    return f"**{value:.1f}**" if value == best else f"{value:.1f}"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |" if cells[0] != "---" else "|" + "---|" * len(cells)


def _read(path: Path) -> Result:
    read: Result = json.loads(path.read_text(encoding="utf-8"))
    return read


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
