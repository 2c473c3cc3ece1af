"""Sets of documents: the small one beside this file, and what is wrong with others."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hades.errors import InvalidInput
from hades.evals import ByType, load_set, measure_documents, open_set
from hades.evals.documents import has_quote, spaced
from hades.evals.memories import open_cached
from hades.evals.train import train

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import evaluate

from tests.shell import run_hades

OBSERVATORY = Path(__file__).parent / "observatory"
LADDER = ["dense", "words", "hybrid", "fusion", "full"]
DOME = {
    "id": "q1",
    "type": "fact",
    "question": "When do we open the dome in the evening?",
    "answer": ["forty minutes before sunset"],
    "gold": [{"file": "opening.md", "quote": "Open the dome forty minutes before sunset"}],
}
LOST = {"file": "opening.md", "quote": "Oil the hinges of the porch door\nevery single spring."}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def measured(cache: Path) -> ByType:
    return measure_documents(load_set(OBSERVATORY), cache)


def asked(folder: Path, *rows: Mapping[str, Any]) -> Path:
    """Write other questions about the documents; return their file."""
    path = folder / "other.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_documents_are_measured_by_type_of_question(measured: ByType) -> None:
    tables = measured.tables()
    assert list(tables) == ["ask", *LADDER]
    ask = tables["ask"]
    types = ["fact", "how_to", "number_or_default", "two_step", "unknown", "why"]
    assert list(ask) == [*types, "answerable", "all"]
    assert (ask["answerable"]["n"], ask["all"]["n"]) == (5, 6)
    columns = ("hit1", "r5", "r10", "first", "answered", "denied", "doubted")
    assert list(ask["fact"]) == ["n", *columns]
    assert [ask["fact"][name] for name in columns] == [1, 1, 1, 1, 1, 0, 0]
    measures = [name for name, value in ask["unknown"].items() if value is not None]
    assert measures == ["n", "answered"]


def test_a_system_of_the_ladder_is_measured_by_what_it_finds(measured: ByType) -> None:
    for system in LADDER:
        rows = measured.tables()[system]
        assert "unknown" not in rows, "it has nothing to find"
        assert rows["fact"] == {"n": 1, "hit1": 1, "r5": 1, "r10": 1}
        assert rows["all"]["n"] == 5


def test_two_steps_need_each_place_and_other_questions_any(cache: Path, tmp_path: Path) -> None:
    places = [*DOME["gold"], LOST]
    rows = ({**DOME, "gold": places}, {**DOME, "id": "q2", "type": "two_step", "gold": places})
    eval_set = load_set(OBSERVATORY, asked(tmp_path, *rows))
    found = measure_documents(eval_set, cache, ["ask", "full"]).tables()
    for system in ("ask", "full"):
        assert found[system]["fact"]["r10"] == 1
        assert (found[system]["two_step"]["hit1"], found[system]["two_step"]["r10"]) == (1, 0.5)


def test_an_answer_counts_if_its_words_are_said(cache: Path, tmp_path: Path) -> None:
    wrong = {**DOME, "answer": ["minutes before sun", "", "…"]}
    found = measure_documents(load_set(OBSERVATORY, asked(tmp_path, wrong)), cache, ["ask"])
    row = found.tables()["ask"]["fact"]
    assert (row["hit1"], row["first"], row["answered"], row["denied"]) == (1, 0, 0, 0)
    (miss,) = found.misses("fact")
    assert "opening.md: Open the dome" in str(miss)
    assert "corpus/opening.md@1#" in str(miss)


def test_a_quote_in_no_document_is_named_like_lost_gold(cache: Path, tmp_path: Path) -> None:
    rows = (DOME, {**DOME, "id": "q2", "gold": [LOST]})
    found = measure_documents(load_set(OBSERVATORY, asked(tmp_path, *rows)), cache, ["words"])
    place = "opening.md: Oil the hinges of the porch door every single spring."
    assert found.plain()["lost_gold"] == {"questions": 1, "passages": 1, "some": [place]}
    assert found.sentences()[1].startswith("1 of 2 questions have gold that is not in the corpus")
    assert f"{place} (of q2)." in found.sentences()[1]
    assert found.tables()["words"]["all"]["hit1"] == 0.5


def test_a_passage_has_a_quote_if_it_has_most_of_its_words_in_a_row() -> None:
    words = spaced("Use **red** torches: white light spoils the eyes.")
    assert has_quote(words, "red torches; white\nlight spoils")
    assert has_quote(words, "white light spoils the eyes of guests and"), "five of its eight words"
    assert not has_quote(words, "the eyes of guests and of the staff")
    assert not has_quote(words, "red torches of"), "a short one is needed whole"
    assert not has_quote(words, "…")
    assert not has_quote(spaced(""), "…")


def test_the_memory_is_kept_until_a_document_changes(cache: Path, tmp_path: Path) -> None:
    def kept(folder: Path) -> int:
        with open_cached(load_set(folder), cache, False, "minilm", None) as (memory, _):
            assert len(memory.topics()) == 5
        return len(list((cache / "evals").iterdir()))

    moved = tmp_path / "observatory"
    shutil.copytree(OBSERVATORY, moved)
    assert kept(OBSERVATORY) == kept(moved) == 1, "the same documents, wherever they are"
    (moved / "corpus" / "contacts.md").rename(moved / "corpus" / "phones.md")
    assert kept(moved) == 2
    (moved / "corpus" / "phones.md").write_text("# Phones\n\nNobody has one.\n")
    assert kept(moved) == 3


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({**DOME, "gold": ["opening.md"]}, "each with a file and a quote"),
        ({**DOME, "gold": [{"file": "opening.md"}]}, "each with a file and a quote"),
        ({**DOME, "gold": []}, "gold places, or the type 'unknown' and none"),
        ({**DOME, "type": "unknown"}, "gold places, or the type 'unknown' and none"),
        ({**DOME, "gold": None}, "a question and a list of gold"),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, row: Any, says: str) -> None:
    with pytest.raises(InvalidInput, match=f"other.jsonl, line 1 needs .*{says}"):
        load_set(OBSERVATORY, asked(tmp_path, row))


def test_documents_have_no_passages_to_train_on(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no passages: it is of documents"):
        train([load_set(OBSERVATORY)], tmp_path / "w.json", cache=tmp_path, encoder="minilm")
    with pytest.raises(InvalidInput, match="has no passages"):
        open_set(load_set(OBSERVATORY), tmp_path).__enter__()


def test_a_file_named_corpus_is_no_set(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("a file")
    with pytest.raises(InvalidInput, match=r"sessions.jsonl, corpus/: it is not a set"):
        load_set(tmp_path)


def test_make_eval_finds_sets_of_documents(tmp_path: Path) -> None:
    shutil.copytree(OBSERVATORY, tmp_path / "documents" / "observatory")
    assert evaluate.sets_in(tmp_path) == [tmp_path / "documents" / "observatory"]


def test_the_command_prints_tables_json_and_a_report(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADES_CACHE", str(cache))

    def run(*words: object) -> Any:
        return run_hades("eval", str(OBSERVATORY), *map(str, words))

    shown = run("--systems", "ask,words", "--limit", 2, "--report", tmp_path)
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("2 questions, 10 chunks, ")
    head = lines.index("observatory: words") + 1
    assert lines[head].split() == ["type", "n", "hit1", "r5", "r10"]
    assert "| fact | 1 | 100.0 | 100.0 | 100.0 |" in (tmp_path / "observatory.md").read_text()
    assert json.loads((tmp_path / "observatory.json").read_text())["index"]["chunks"] == 10
    other = asked(tmp_path, {**DOME, "answer": ["never"]})
    found = run("--questions", other, "--systems", "ask", "--show", "fact", "--json")
    data = json.loads(found.stdout)
    assert (data["kind"], list(data["tables"])) == ("documents", ["ask"])
    assert [miss["question"]["id"] for miss in data["misses"]] == ["q1"]
    for words in (("--systems", "ppr"), ("--answers",), ("--notes", "10"), ("--triples",)):
        refused = run(*words)
        assert refused.exit_code == 2, refused.output
        assert refused.stderr.count("\n") == 1
