"""The comparison with other systems: our two baselines, and the page made from result files."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("networkx")
pytest.importorskip("scipy")

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "tools"), str(ROOT)]

import comparison  # noqa: E402

from bench.peers.graphs import HippoStyle, LinearStyle  # noqa: E402
from bench.peers.measure import measure  # noqa: E402
from bench.peers.sets import SETS, TINY, Passage, tiny  # noqa: E402

OBSERVATORY = ROOT / "tests" / "evals" / "observatory"


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
    bell = replace(work, text="Where does Eve Marsh work?")
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


def test_chunks_of_documents_are_the_passages_of_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADES_CACHE", str(tmp_path))
    observatory = replace(SETS["runbooks"], folder=lambda: OBSERVATORY)
    monkeypatch.setitem(SETS, "observatory", observatory)
    [group] = observatory.load()
    texts = {passage.id: passage.text for passage in group.passages}
    assert texts["corpus/guide/mirror.rst@1#1"].startswith("The mirror > Washing\n")
    assert "distilled water" in texts["corpus/guide/mirror.rst@1#1"]
    asked = {question.id: group.needed(question) for question in group.questions}
    assert list(asked) == ["ob-1", "ob-2", "ob-3", "ob-4", "ob-5"], "only those with an answer"
    rinse, dry = "corpus/guide/mirror.rst@1#1", "corpus/guide/mirror.rst@1#0"
    assert asked["ob-4"] == [{rinse, dry}], "either place answers"
    assert asked["ob-5"] == [{rinse}, {"corpus/contacts.md@1#0"}], "both are needed"
    result = measure("hades-search", "observatory")
    assert result["counts"] == {"groups": 1, "passages": 10, "questions": 5}
    assert (result["scores"]["recall@5"], result["scores"]["recall@10"]) == (100.0, 100.0)


def test_a_table_of_documents_has_ten_passages_and_names_its_machine() -> None:
    scores = {"hit@1": 40.0, "recall@2": 50.0, "recall@5": 60.0, "recall@10": 70.0, "error": 4.0}
    common = {"date": "2026-01-02", "machine": "M, 2 cores", "python": "3.12", "load": 0.5}
    common |= {"version": "1.2", "counts": {"questions": 9, "passages": 80}, "scores": scores}
    common |= dict.fromkeys(comparison.COSTS, 1.5)
    here = {**common, "set": "runbooks", "system": "chroma"}
    there = {**common, "set": "abilities", "system": "mem0", "machine": "N", "skipped": "no disk"}
    text = comparison.measured([here, there])
    assert "| system | hit@1 % | R@5 % | R@10 % | index s |" in text
    assert "| chromadb | **40.0** | **60.0** | **70.0** | 1.5 |" in text
    assert "about 4 points. Machine: M, 2 cores." in text
    assert (
        "Not measured on this set yet: HADES, `recall`, HADES, `search`, txtai, hybrid, bm25s."
        in text
    )


def test_the_page_is_what_the_tool_writes() -> None:
    assert comparison.page() == comparison.PAGE.read_text(encoding="utf-8")
