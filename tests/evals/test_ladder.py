"""The ladder: rungs as plans, metrics of paths, and the picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from hades.errors import InvalidInput
from hades.evals import Ladder, load_set, measure_ladder, open_set
from hades.evals.chart import to_svg
from hades.evals.ladder import (
    COLUMNS,
    RUNGS,
    coherence,
    joins_gold,
)
from hades.evals.report import write_report
from tests.shell import run_hades

PASSAGES = [
    {"id": "p1", "title": "Ada Brook", "text": "Ada Brook keeps the lighthouse at Gull Point."},
    {"id": "p2", "title": "Gull Point", "text": "Gull Point is a cape in the county of Marrow."},
    {"id": "p3", "title": "Marrow", "text": "Marrow is known for its slate and its sheep."},
    {"id": "p4", "title": "Tin Harbour", "text": "Tin Harbour sells fish on Fridays."},
]
QUESTIONS = [
    {
        "id": "q1",
        "question": "In which county does Ada Brook keep a lighthouse?",
        "gold": ["p1", "p2"],
    },
    {"id": "q2", "question": "What is Marrow known for?", "gold": ["p3"]},
]


@pytest.fixture
def coast(tmp_path: Path) -> Path:
    folder = tmp_path / "coast"
    folder.mkdir()
    for name, rows in (("corpus", PASSAGES), ("questions", QUESTIONS)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


def test_every_rung_is_measured_or_says_why_not(coast: Path, tmp_path: Path) -> None:
    eval_set = load_set(coast)
    with open_set(eval_set, tmp_path / "cache") as opened:
        ladder = measure_ladder(eval_set, opened)
    assert set(ladder.rungs) | set(ladder.skipped) == set(RUNGS)
    flat, full = ladder.rungs["flat"], ladder.rungs["PathRAG"]
    assert flat["bridges"] == 0  # it has no paths
    assert flat["path_length"] is None
    assert full["recall@5"] == full["bridges"] == full["purity"] == 1
    assert full["path_length"] is not None
    assert 1 <= full["path_length"] <= 4
    assert full["tokens"] > flat["tokens"] > 0  # type: ignore[operator]


def test_a_report_has_a_table_and_a_picture(coast: Path, tmp_path: Path) -> None:
    asked = ["eval", str(coast), "--ladder", "--report", str(tmp_path / "report"), "--json"]
    done = run_hades(*asked, env={"HADES_CACHE": str(tmp_path / "cache")})
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rungs"]["PathRAG"]["recall@5"] == 1
    page = (tmp_path / "report" / "coast-ladder.md").read_text(encoding="utf-8")
    assert "| flat |" in page
    assert "![ladder](coast-ladder.svg)" in page
    ElementTree.fromstring((tmp_path / "report" / "coast-ladder.svg").read_text(encoding="utf-8"))


def test_a_ladder_has_its_own_systems(coast: Path) -> None:
    done = run_hades("eval", str(coast), "--ladder", "--systems", "dense")
    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit | InvalidInput)


def test_a_bridge_joins_two_gold_passages() -> None:
    gold = frozenset({"a", "b"})
    assert joins_gold([{"a"}, set(), {"b"}], gold)
    assert not joins_gold([{"a"}, set(), {"a"}], gold)
    assert not joins_gold([{"a"}, set(), {"c"}], gold)
    assert not joins_gold([{"a"}, *[set[str]()] * 4, {"b"}], gold)  # five steps


def test_coherence_is_the_mean_cosine_of_pairs() -> None:
    east, north = np.array([1.0, 0.0], np.float32), np.array([0.0, 1.0], np.float32)
    assert coherence([east, east, north]) == pytest.approx(1 / 3)
    assert coherence([east]) is None


def test_the_picture_has_a_bar_for_each_rung_and_escapes_names(tmp_path: Path) -> None:
    rungs = {name: dict.fromkeys(COLUMNS, 0.5) for name in RUNGS}
    ladder = Ladder("a<b", 3, rungs, {})
    svg = ElementTree.fromstring(to_svg(ladder))
    bars = svg.findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 1 + len(RUNGS) + len(RUNGS) * len(COLUMNS)  # the page, the legend, bars
    empty = Ladder("none", 3, {name: dict.fromkeys(COLUMNS) for name in RUNGS}, {})
    ElementTree.fromstring(to_svg(empty))
    assert len(write_report(empty, tmp_path)) == 3
