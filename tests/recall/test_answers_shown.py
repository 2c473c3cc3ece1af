"""How answers look on a terminal."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path as FilePath

import pytest
from making import LIKELY, SPRING, passage, path, recall
from rich.console import Console

import hades
from hades.cli import render
from hades.cli.commands import read_json
from hades.context.text.answers import answer_lines, path_lines, recall_lines
from hades.context.text.layout import PlainText
from hades.domain.statement import statement
from tests.shell import run_hades

FOUND = recall(
    "Why was X rejected?",
    [
        passage("It triggers [bold]Bug Y[/].\nSo it was rejected.", "design/x", heading="Decision"),
        passage("long " * 200, "notes"),
    ],
    [replace(path("design/x", "Bug Y", reliability=0.7), rationale="named in the question")],
)


def drawn(draw: Callable[[Console], None]) -> str:
    out = io.StringIO()
    draw(Console(file=out, width=400, soft_wrap=True, highlight=False))
    return out.getvalue()


def shown(lines: PlainText) -> str:
    return drawn(lambda out: render.show_lines(out, lines))


def test_a_recall() -> None:
    lines = shown(recall_lines(FOUND)).splitlines()
    assert lines[0] == "7 tokens  belief 0.80  8.0 ms"
    assert lines[1] == "[1] design/x@2, lines 1–2, 2024-03-01 · Decision  belief 0.80"
    assert lines[2] == "   It triggers [bold]Bug Y[/]. So it was rejected."
    assert lines[4].endswith("…")
    assert lines[5:] == [
        "Paths:",
        "(P1) 0.70: design/x --[leads_to]--> Bug Y",
        "left out for lack of space: 2 passages, 90 tokens",
    ]


def test_a_user_reads_only_the_reasons_that_affect_the_answer() -> None:
    notes = (
        hades.Diagnostic(hades.Reason.CAP_EXCEEDED, "beam", "822 arcs beyond the strongest"),
        hades.Diagnostic(hades.Reason.NOTHING_NAMED, "seeds"),
        hades.Diagnostic(hades.Reason.TIMEOUT, "walk", "after 200 ms, the walk is not complete"),
        hades.Diagnostic(
            hades.Reason.NO_EMBEDDINGS, "seeds", "412 of 2,310 passages have no vector yet"
        ),
    )
    found = replace(FOUND, reasons=notes)
    plain = shown(recall_lines(found)).splitlines()[-2:]
    assert plain == [
        "stopped after 200 ms, the walk is not complete",
        "412 of 2,310 passages have no vector yet, and are found by words and names only",
    ]
    told = shown(recall_lines(found, explain=True))
    assert all(str(note) in told for note in notes)


def test_the_stages_are_a_waterfall() -> None:
    lines = shown(recall_lines(FOUND, explain=True)).splitlines()
    assert "   meaning +0.7  words +0.2" in lines
    assert lines[0] == ("why, execution  7 tokens  belief 0.80 (0.60–0.90)  8.0 ms")
    assert lines[1] == "It asks for a reason, about “X”."
    assert lines[2] == (
        "[1] design/x@2, lines 1–2, 2024-03-01 · Decision"
        "  score 0.900  meaning graph  belief 0.80 (0.60–0.90)"
    )
    assert "     named in the question, belief 0.80 (0.60–0.90)" in lines
    first, second = lines[-3:-1]
    assert first.startswith("seeds │████████        ")
    assert first.endswith("2.0 ms  found 12  added 12  reads 12  coverage 50%")
    assert second.startswith("paths │        ████████████████████████│")
    assert second.endswith("6.0 ms  found 9  added 4  cut 5  coverage 75%  capped")
    assert lines[-1].startswith("conveyance 21.9: evidence 0.32, context 0.70")


def test_a_recall_without_anything() -> None:
    empty = replace(recall("?"), telemetry=(), reasons=())
    assert "Nothing that is remembered fits" in shown(recall_lines(empty, explain=True))


def test_an_answer_names_its_places() -> None:
    said = hades.Answer("Why?", (hades.Sentence("So it was rejected.", 0.9, 1),), FOUND)
    assert shown(answer_lines(said)).splitlines() == [
        "So it was rejected. [1]",
        "[1] design/x@2#0, lines 1–2, 2024-03-01, belief 0.80",
    ]
    none = hades.Answer("Why?", (), FOUND)
    assert shown(answer_lines(none)) == "Nothing found answers this.\n"
    ends = hades.Node("topic", "db[07]"), hades.Node("entity", "rack 4")
    edge = hades.Edge(7, ends[0], "runs_on", ends[1], 1.0, SPRING, None, SPRING)
    told = replace(FOUND, facts=(hades.Fact(edge, statement(edge), 0.9, LIKELY),))
    both = replace(said, sentences=(*said.sentences, hades.Sentence("It does.", 0.8, 1, "fact")))
    assert shown(answer_lines(replace(both, recall=told))).splitlines() == [
        "So it was rejected. [1]",
        "It does. [F1]",
        "[F1] edge 7, belief 0.80",
        "[1] design/x@2#0, lines 1–2, 2024-03-01, belief 0.80",
    ]
    alone = replace(told, passages=(), paths=(), reasons=())
    assert shown(recall_lines(alone)).splitlines()[1:] == [
        "[F1] db(07) runs on rack 4, since 1 March 2024  belief 0.80"
    ]
    half = replace(said, unsaid=("approach Y",))
    assert shown(answer_lines(half)).splitlines()[:2] == [
        "Nothing found says anything about “approach Y”. Closest:",
        "So it was rejected. [1]",
    ]


def test_paths_and_neighbours() -> None:
    near = hades.Neighbour(hades.Node("entity", "Bug Y"), 1, 0.5, path("design/x", "Bug Y"))
    out = drawn(lambda out: render.render(out, [near], list[hades.Neighbour]))
    assert "Bug Y  entity  1     0.500  design/x --[leads_to]--> Bug Y" in out
    assert drawn(lambda out: render.render(out, [], list[hades.Neighbour])) == "no neighbours\n"
    assert shown(path_lines([])) == "no paths\n"


def test_a_plan_from_the_command_line(tmp_path: FilePath) -> None:
    assert read_json('{"graph": {"hops": 1}}', "plan") == {"graph": {"hops": 1}}
    file = tmp_path / "plan.json"
    file.write_text('{"facts": 1}')
    assert read_json(f"@{file}", "plan") == {"facts": 1}
    for wrong in ("hops", "[1]", f"@{tmp_path / 'none'}", f"@{tmp_path}"):
        with pytest.raises(hades.InvalidInput, match="plan"):
            read_json(wrong, "plan")


@pytest.mark.parametrize(
    "words",
    [
        ("recall", "  "),
        ("recall", "why?", "--mode", "fast"),
        ("ask", "why?", "--plan", "{"),
        ("paths", "", "b"),
        ("neighbours", " "),
    ],
    ids=" ".join,
)
def test_refusals_are_one_sentence(words: tuple[str, ...], path: FilePath) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "x")
    result = run_hades(*words, "--memory", str(path))
    assert result.exit_code == 2
    assert result.stderr.startswith("hades: ")
    assert result.stderr.count("\n") == 1
