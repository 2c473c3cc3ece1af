"""The comparison with other systems: our two baselines, and the page made from result files."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("networkx")
pytest.importorskip("scipy")

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT)]

import comparison  # noqa: E402

from bench.peers.graphs import HippoStyle, LinearStyle  # noqa: E402
from bench.peers.measure import measure  # noqa: E402
from bench.peers.sets import TINY, Passage, tiny  # noqa: E402
from hades.evals.sets import EvalQuestion  # noqa: E402


@pytest.mark.parametrize("baseline", [HippoStyle, LinearStyle])
def test_a_baseline_follows_a_name_to_the_next_passage(
    baseline: type[HippoStyle | LinearStyle], tmp_path: Path
) -> None:
    system = baseline(tmp_path, "corpus")
    [group] = tiny()
    system.index(group.passages)
    clocks, work = group.questions
    assert system.find(clocks, 1) == ["Tom Reed"]
    assert system.find(work, 2) == ["Ada Brook", "Gull Point"]
    system.delete(["Ada Brook"])
    system.index([Passage("Eve Marsh", "Eve Marsh rings the bell at Fern Mill.")])
    bell = EvalQuestion("", "Where does Eve Marsh work?", frozenset())
    assert system.find(bell, 2) == ["Eve Marsh", "Fern Mill"]


def test_a_measured_result_has_scores_and_costs() -> None:
    result = measure("hippo", TINY)
    assert result["counts"] == {"groups": 1, "passages": 6, "questions": 2}
    assert result["scores"]["recall@5"] == 100.0
    assert result["peak_mb"] > 0
    assert result["disk_mb"] == 0


def test_a_table_marks_the_best_and_says_what_was_skipped() -> None:
    costs = dict.fromkeys(comparison.COSTS, 1.5)
    scores = dict.fromkeys((*comparison.COLUMNS, "stale", "error"), 50.0)
    common = {"set": "2wiki", "date": "2026-01-02", "machine": "M, 2 cores", "python": "3.12"}
    common |= {"load": 0.5, "version": "1.2", "counts": {"questions": 63, "passages": 800}}
    worse = {**common, **costs, "system": "bm25s", "scores": scores}
    better = {**worse, "system": "hades", "scores": {**scores, "recall@5": 90.0}}
    text = comparison.measured([better, worse, {**common, "system": "mem0", "skipped": "no disk"}])
    assert "| HADES, `recall` | **50.0** | **50.0** | **90.0** | **50.0** | 1.5 |" in text
    assert "| bm25s | **50.0** | **50.0** | 50.0 |" in text
    assert "mem0, `infer=False` on 2wiki was not measured: no disk" in text
    assert "63 questions, 800 passages" in text


def test_the_page_is_what_the_tool_writes() -> None:
    assert comparison.page() == comparison.PAGE.read_text(encoding="utf-8")
