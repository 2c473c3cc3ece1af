"""Question sets measured: a small corpus of our own, from files to tables."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.errors import HadesError, InvalidInput
from hades.evals import Index, Measured, load_set, measure, open_set
from hades.evals.measure import QuestionResult, ranking, score
from hades.evals.metrics import (
    expected_calibration_error,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
    standard_error,
)
from hades.evals.report import to_markdown, write_report
from hades.recall.rank.baselines import SYSTEMS
from tests.shell import run_hades

RECIPE = " ".join(f"Step {n}: boil the beans, salt them, wait." for n in range(60))
RANG = " ".join(f"On day {n} I rang it and rang it." for n in range(60))
PASSAGES = [
    {"id": "p1", "title": "Ada Brook", "text": "Ada Brook keeps the lighthouse at Gull Point."},
    {"id": "p2", "title": "Gull Point", "text": "Gull Point is a cape in the county of Marrow."},
    {"id": "p3", "title": "Marrow", "text": "Marrow is known for its slate and its sheep."},
    {"id": "p4", "title": "Tin Harbour", "text": "Tin Harbour sells fish on Fridays."},
    {"id": "p5", "title": "", "text": RECIPE},
]
QUESTIONS = [
    {"id": "q1", "question": "Who keeps the lighthouse at Gull Point?", "gold": ["p1"]},
    {"id": "q2", "question": "What is Marrow known for?", "gold": ["p3"]},
    {"id": "q3", "question": "How are beans boiled?", "gold": ["p5"]},
    {"id": "q4", "question": "Nobody can know this.", "gold": []},
]
TURNS = [
    ("0", "session_1", "Ann", "I bought a red bicycle."),
    ("0", "session_1", "Ben", "Lovely!\n\nDoes it have a bell?"),
    ("0", "session_2", "Ann", f"The bell broke. {RANG}"),
    ("1", "session_1", "Cy", "I bought a bicycle too, a green one."),
]


def write(path: Path, rows: list[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def coast(tmp_path: Path) -> Path:
    folder = tmp_path / "coast"
    folder.mkdir()
    write(folder / "corpus.jsonl", PASSAGES)
    write(folder / "questions.jsonl", QUESTIONS)
    facts = {"chunk": "p4", "subject": "Tin Harbour", "predicate": "in", "object": "Quill Bay"}
    write(folder / "triples.jsonl", [facts])
    return folder


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    folder = tmp_path / "chats"
    folder.mkdir()
    rows = [
        {
            "id": f"t{number}",
            "conversation": int(conversation),
            "session": session,
            "when": "1:56 pm on 8 May, 2023",
            "speaker": speaker,
            "text": text,
        }
        for number, (conversation, session, speaker, text) in enumerate(TURNS)
    ]
    write(folder / "turns.jsonl", rows)
    asked = {"id": "q", "question": "Who bought a bicycle?", "gold": ["t0"], "conversation": 0}
    write(folder / "questions.jsonl", [asked])
    return folder


def test_a_set_is_a_folder(coast: Path) -> None:
    loaded = load_set(coast)
    assert loaded.name == "coast"
    assert [one.id for one in loaded.questions] == ["q1", "q2", "q3"], "q4 has nothing to find"
    assert loaded.questions[0].gold == {"p1"}
    assert loaded.first(2).questions == loaded.questions[:2]


def test_gold_that_is_not_in_the_corpus_is_named(coast: Path, tmp_path: Path) -> None:
    assert load_set(coast).lost() == []
    wrong = [
        QUESTIONS[0],
        {"id": "q5", "question": "Who sells fish?", "gold": ["p4", "P4"]},
        {"id": "q6", "question": "And slate?", "gold": [f"x{n}" for n in range(6)]},
    ]
    write(tmp_path / "other.jsonl", wrong)
    words = ["eval", str(coast), "--questions", str(tmp_path / "other.jsonl"), "--systems", "words"]
    told = json.loads(run_hades(*words, "--json").stdout)
    some = ["P4", "x0", "x1", "x2", "x3"]
    assert told["lost_gold"] == {"questions": 2, "passages": 7, "some": some}
    shown = run_hades(*words, "--report", str(tmp_path / "report"))
    sentence = (
        "2 of 3 questions have gold that is not in the corpus, and counts as not found: "
        "P4 (of q5), x0 (of q6), x1 (of q6), x2 (of q6), x3 (of q6) and 2 more."
    )
    assert sentence in shown.stdout
    assert sentence in (tmp_path / "report" / "coast.md").read_text()


def test_a_turn_of_another_conversation_cannot_be_found(chats: Path) -> None:
    assert load_set(chats).lost() == []
    asked = {"id": "q", "question": "Who bought one?", "gold": ["t0", "t3"], "conversation": 0}
    write(chats / "questions.jsonl", [asked])
    assert load_set(chats).lost() == [("q", "t3")]


def test_the_halves_share_no_question(coast: Path) -> None:
    asked = [{"id": f"{n:x}-{n * n}", "question": "Who?", "gold": ["p1"]} for n in range(40)]
    write(coast / "questions.jsonl", asked)
    loaded = load_set(coast)
    halves = [{one.id for one in loaded.half(fold).questions} for fold in (0, 1)]
    assert halves[0] | halves[1] == {one["id"] for one in asked}
    assert not halves[0] & halves[1]
    write(coast / "questions.jsonl", asked[:1])
    with pytest.raises(InvalidInput, match="No question of coast"):
        load_set(coast).half(1 - load_set(coast).questions[0].fold)


@pytest.mark.parametrize(
    ("file", "rows", "says"),
    [
        ("questions.jsonl", [{"id": "q"}], "line 1 needs a question"),
        ("questions.jsonl", [{"question": "?", "gold": []}], "no question with a gold"),
        ("questions.jsonl", [[1]], "not an object"),
    ],
)
def test_what_is_no_set_is_refused(coast: Path, file: str, rows: Any, says: str) -> None:
    write(coast / file, rows)
    with pytest.raises(InvalidInput, match=says):
        load_set(coast)


def test_folders_and_files_that_are_not_there_are_refused(coast: Path, tmp_path: Path) -> None:
    for folder, questions in ((tmp_path / "no", None), (tmp_path, None), (coast, "no.jsonl")):
        with pytest.raises(InvalidInput):
            load_set(folder, questions)


def test_a_set_is_measured(coast: Path, tmp_path: Path) -> None:
    loaded = load_set(coast)
    with open_set(loaded, tmp_path / "cache") as opened:
        measured = measure(loaded, opened, ["dense", "words", "hybrid"])
    assert list(measured.systems) == ["dense", "words", "hybrid"]
    for scores in measured.systems.values():
        assert scores.values["recall@5"] == 1.0, "five passages hold everything"
        assert scores.context_tokens > 0
        assert scores.ece is None, "a plain search states no belief"
    assert measured.systems["words"].values["mrr"] == 1.0
    assert measured.index.chunks > len(PASSAGES), "the long passage is several chunks"


def test_other_questions_about_the_same_corpus_use_the_same_memory(
    coast: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    with open_set(load_set(coast), cache) as first:
        made = first.index
        change = first.memory.change
    write(tmp_path / "more.jsonl", [{"id": "m", "question": "Who sells fish?", "gold": ["p4"]}])
    loaded = load_set(coast, tmp_path / "more.jsonl")
    with open_set(loaded, cache) as again:
        assert (again.index, again.memory.change) == (made, change)
        assert measure(loaded, again, ["words"]).systems["words"].values["mrr"] == 1.0
    assert len(list((cache / "evals").iterdir())) == 1


def test_another_corpus_gets_another_memory(coast: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with open_set(load_set(coast), cache):
        pass
    write(coast / "corpus.jsonl", PASSAGES[:3])
    with open_set(load_set(coast), cache) as opened:
        assert opened.memory.stats()["topics"] == 3
    assert len(list((cache / "evals").iterdir())) == 2


class Stopped(Exception):
    """Somebody pressed Ctrl-C."""


def test_a_stopped_making_goes_on_where_it_stood(coast: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    def stop(what: str, _done: int, _total: int) -> None:
        if what == "embedding":
            raise Stopped

    with pytest.raises(Stopped), open_set(load_set(coast), cache, on_progress=stop):
        pass
    told: list[str] = []
    with open_set(load_set(coast), cache, on_progress=lambda what, *_: told.append(what)) as opened:
        assert opened.memory.stats()["pending"] == 0
        assert opened.memory.stats()["topics"] == len(PASSAGES)
    assert "reading" not in told, "the texts were taken in by the first run"


def test_facts_join_the_passage_they_were_read_in(coast: Path, tmp_path: Path) -> None:
    loaded = load_set(coast)
    with open_set(loaded, tmp_path / "cache") as plain:
        assert not plain.memory.entities("Quill Bay")
    with open_set(loaded, tmp_path / "cache", triples=True) as told:
        (edge,) = told.memory.edges("Quill Bay")
        assert (edge.source.name, edge.relation) == ("Tin Harbour", "in")
        (hit,) = told.memory.search("Quill Bay", retriever="names")
        assert told.id_of(hit.chunk) == "p4", "though the passage does not say so"
        assert told.index.edges > plain.index.edges
    (coast / "triples.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"no triples\.jsonl"):
        open_set(loaded, tmp_path / "cache", triples=True).__enter__()


def test_a_question_sees_only_its_own_conversation(chats: Path, tmp_path: Path) -> None:
    loaded = load_set(chats)
    with open_set(loaded, tmp_path / "cache") as opened:
        hits = opened.view(loaded.questions[0]).search("Who bought a bicycle?", 50)
        found = {opened.id_of(hit.chunk) for hit in hits}
        assert found == {"t0", "t1", "t2"}
        assert len(hits) > len(found), "the long turn is several chunks, all of them its own"
        assert measure(loaded, opened, ["words"]).systems["words"].values["mrr"] == 1.0


def test_a_turn_without_a_conversation_is_refused(chats: Path, tmp_path: Path) -> None:
    write(chats / "questions.jsonl", [{"id": "q", "question": "Who?", "gold": ["t0"]}])
    with pytest.raises(InvalidInput, match="which conversation"):
        load_set(chats)
    write(chats / "questions.jsonl", [{"question": "?", "gold": ["t0"], "conversation": 0}])
    write(chats / "turns.jsonl", [{"id": "t0", "speaker": "Ann", "text": "Hello there."}])
    with pytest.raises(InvalidInput, match="line 1 is a turn without 'conversation'"):
        open_set(load_set(chats), tmp_path / "cache").__enter__()


def hit(topic: str, ordinal: int = 0) -> hades.Hit:
    return hades.Hit(hades.Chunk(topic, 1, ordinal, "text", 0, 4), 1.0, {}, 1)


def test_several_chunks_of_one_passage_count_once() -> None:
    hits = [hit("b", 1), hit("a"), hit("b"), hit("c")]
    assert ranking(hits, lambda chunk: chunk.topic) == ("b", "a", "c")


def test_beliefs_and_times_become_scores() -> None:
    asked = [
        QuestionResult(("a", "x"), frozenset("a"), 10.0, 100, ((0.9, True), (0.3, False))),
        QuestionResult(("x", "b"), frozenset("b"), 30.0, 200, ((0.9, True), (0.3, False))),
    ]
    scores = score(asked)
    assert scores.values["mrr"] == 0.75
    assert (scores.p50_ms, scores.p95_ms, scores.context_tokens) == (10.0, 30.0, 150)
    assert scores.ece == pytest.approx(0.5 * 0.1 + 0.5 * 0.3)


def test_full_recall_is_what_a_caller_would_get(coast: Path, tmp_path: Path) -> None:
    loaded = load_set(coast)
    with open_set(loaded, tmp_path / "cache") as opened:
        measured = measure(loaded, opened)
        recalls = [opened.view(one).recall(one.text) for one in loaded.questions]
    assert tuple(measured.systems) == SYSTEMS, "all of them unless some are named"
    full = measured.systems["full"]
    assert full.values["recall@50"] == 1.0
    assert full.context_tokens == pytest.approx(sum(one.tokens for one in recalls) / 3)
    told = [
        (passage.belief.mean, opened.id_of(passage.chunk) in question.gold)
        for question, recall in zip(loaded.questions, recalls, strict=True)
        for passage in recall.passages
    ]
    assert full.ece == pytest.approx(expected_calibration_error(told))


def a_measurement(dataset: str = "2wiki") -> Measured:
    asked = [QuestionResult(("a", "x"), frozenset("a"), 10.0, 100, ((0.9, True),))]
    return Measured(dataset, 1, Index(12.5, 7, 30), {"hybrid": score(asked)})


def test_the_data_has_the_promised_shape() -> None:
    data = json.loads(json.dumps(a_measurement().plain()))
    assert set(data) == {"dataset", "lost_gold", "index", "systems"}
    assert data["index"] == {"seconds": 12.5, "chunks": 7, "edges": 30}
    assert set(data["systems"]["hybrid"]) == {
        *(f"recall@{k}" for k in (2, 5, 10, 25, 50)),
        *("ndcg@10", "mrr", "p50_ms", "p95_ms", "context_tokens", "ece"),
    }


def test_the_page_has_the_ladder_with_standard_errors() -> None:
    page = to_markdown(a_measurement())
    assert re.search(r"\| hybrid \| 100\.0 \(0\.0\) \|", page)


def test_a_report_is_a_page_and_data(tmp_path: Path) -> None:
    written = {path.suffix for path in write_report(a_measurement(), tmp_path / "report")}
    assert written == {".md", ".json"}
    assert json.loads((tmp_path / "report" / "2wiki.json").read_text())["dataset"] == "2wiki"


def test_a_report_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HadesError, match="cannot be written"):
        write_report(a_measurement(), tmp_path / "file")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HADES_CACHE", str(tmp_path / "cache"))
    return lambda *words: run_hades("eval", *map(str, words))


def test_the_command_prints_a_table_or_json(coast: Path, tmp_path: Path, run: Any) -> None:
    shown = run(coast, "--systems", "words,dense", "--report", tmp_path / "report")
    assert shown.exit_code == 0, shown.output
    assert re.search(r"coast: 3 questions", shown.stdout)
    assert [line.split()[0] for line in shown.stdout.splitlines()[2:4]] == ["dense", "words"]
    assert (tmp_path / "report" / "coast.md").is_file()
    data = json.loads(run(coast, "--systems", "words", "--limit", 1, "--json").stdout)
    assert data["systems"]["words"]["recall@5"] == 1.0


def test_asking_is_measured_by_its_sentences(coast: Path, run: Any) -> None:
    write(
        coast / "questions.jsonl",
        [
            {**QUESTIONS[0], "answer": "ada brook"},
            {**QUESTIONS[1], "answer": "gold"},
            {"id": "q5", "question": "Is Gull Point a cape?", "answer": "yes", "gold": ["p2"]},
        ],
    )
    told = json.loads(run(coast, "--answers", "--json").stdout)
    assert (told["questions"], told["with_answer"]) == (3, 2)
    assert (told["held"], told["reachable"]) == (0.5, 0.5)
    assert told["cited"] == 1.0
    assert 1 <= told["sentences"] <= 3
    assert told["tokens"] > 5
    out = run(coast, "--answers", "--limit", "1").stdout
    assert re.search(r"held +100\.0 %", out)
    assert run(coast, "--answers", "--systems", "full").exit_code == 2


def test_the_command_refuses_in_one_sentence(coast: Path, tmp_path: Path, run: Any) -> None:
    for words in (
        (tmp_path / "no",),
        (coast, "--systems", "magic"),
        (coast, "--fold", 2),
        (coast, "--limit", 0),
    ):
        refused = run(*words)
        assert refused.exit_code == 2
        assert refused.stderr.count("\n") == 1


IDS = st.lists(st.integers(0, 30).map(str), unique=True, max_size=20)

GOLD = st.frozensets(st.integers(0, 30).map(str), min_size=1, max_size=6)


def test_recall_is_the_share_of_the_gold_that_was_found() -> None:
    ranking = ["a", "x", "b", "y"]
    assert recall_at(2, ranking, {"a", "b"}) == 0.5
    assert recall_at(3, ranking, {"a", "b"}) == 1.0
    assert recall_at(50, ranking, {"a", "b", "c", "d"}) == 0.5


def test_gain_is_discounted_by_rank() -> None:
    # Found at ranks 1 and 3: 1/log2(2) + 1/log2(4) = 1.5; at best 1 + 1/log2(3).
    assert ndcg_at(10, ["a", "x", "b"], {"a", "b"}) == pytest.approx(1.5 / (1 + 1 / math.log2(3)))
    assert ndcg_at(10, ["a", "b", "x"], {"a", "b"}) == 1.0
    # With more gold than places, filling the places is perfect.
    assert ndcg_at(1, ["a"], {"a", "b", "c"}) == 1.0


def test_the_first_gold_decides_the_reciprocal_rank() -> None:
    assert reciprocal_rank(["x", "y", "a", "b"], {"a", "b"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "y"], {"a"}) == 0.0


def test_calibration_compares_beliefs_with_what_came_true() -> None:
    # Bin 0.8–0.9: mean .85, half true, off by .35. Bin 0.1–0.2: mean .1, none true, off by .1.
    told = [(0.9 - 1e-9, True), (0.8, False), (0.1, False), (0.1, False)]
    assert expected_calibration_error(told) == pytest.approx(0.5 * 0.35 + 0.5 * 0.1)
    assert expected_calibration_error([(1.0, True), (0.0, False)]) == 0.0
    assert expected_calibration_error([]) is None


def test_the_standard_error_is_near_the_textbook_one() -> None:
    values = [0.0, 1.0] * 50
    assert standard_error(values) == pytest.approx(0.5 / math.sqrt(100), rel=0.15)
    assert standard_error(values) == standard_error(values), "seeded: the same every time"
    assert standard_error([0.7]) == 0.0


def test_percentiles_are_values_that_were_measured() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(values, 0.5) == 3.0
    assert percentile(values, 0.95) == 5.0
    assert percentile([], 0.5) == 0.0


@given(IDS, GOLD)
def test_everything_is_a_share_and_more_ranks_never_lose(
    ranking: list[str], gold: frozenset[str]
) -> None:
    recalls = [recall_at(k, ranking, gold) for k in range(1, 25)]
    assert recalls == sorted(recalls)
    for value in (*recalls, ndcg_at(10, ranking, gold), reciprocal_rank(ranking, gold)):
        assert 0 <= value <= 1 + 1e-12


@given(IDS, GOLD)
def test_gold_first_is_perfect(ranking: list[str], gold: frozenset[str]) -> None:
    best = [*sorted(gold), *(one for one in ranking if one not in gold)]
    assert ndcg_at(10, best, gold) == pytest.approx(1)
    assert recall_at(len(gold), best, gold) == 1
    assert reciprocal_rank(best, gold) == 1


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_calibration_error_is_bounded_and_ignores_order(told: list[tuple[float, bool]]) -> None:
    error = expected_calibration_error(told)
    assert error is not None
    assert 0 <= error <= 1
    assert expected_calibration_error(told[::-1]) == pytest.approx(error)
