"""Sets of notes, of told facts and of sessions: small ones of our own, measured by type."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hades.errors import InvalidInput
from hades.evals import load_set, measure_everyday, measure_sessions, open_set
from hades.evals.by_type import ByType, Outcome
from hades.evals.everyday import draw, draws
from hades.evals.replay import holds, read_events, replay
from hades.evals.sets import EvalQuestion

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import evaluate

from tests.shell import run_hades

OVENS = [
    {"at": "2025-01-07T09:00Z", "op": "remember", "topic": "oven/1", "content": "Oven 1 is old."},
    {"at": "2025-01-07T09:00Z", "op": "remember", "topic": "oven/2", "content": "Oven 2 has 220."},
    {"at": "2025-01-08", "op": "relate", "source": "oven/2", "relation": "in", "target": "cellar"},
    {"at": "2025-03-04", "op": "remember", "topic": "oven/2", "content": "Oven 2 has 210 °C now."},
    {
        "at": "2025-03-05",
        "op": "change_fact",
        "topic": "oven/2",
        "relation": "in",
        "to": "yard",
        "content": "Oven 2 stands in the yard. It has 210 °C.",
    },
    {"at": "2025-04-01", "op": "change_fact", "topic": "oven/1", "relation": "in", "to": "attic"},
    {"at": "2025-06-01", "op": "remember", "topic": "flour", "content": "Flour comes from Bree."},
    {"at": "2025-07-01", "op": "forget", "topic": "oven/1"},
]
HOW_HOT = {
    "id": "q1",
    "question": "How many degrees has oven 2?",
    "asked_at": "2025-08-01",
    "type": "current",
    "gold": ["oven/2@3"],
    "stale": ["oven/2@1", "oven/2@2"],
    "answer": ["210", "two hundred and ten"],
}
ASKED = [
    HOW_HOT,
    {**HOW_HOT, "id": "q2", "type": "as_of", "as_of": "2025-02-01", "gold": ["oven/2@1"]}
    | {"stale": [], "answer": "has: 220"},
    {**HOW_HOT, "id": "q3", "type": "unknown", "gold": [], "stale": [], "answer": ""}
    | {"question": "When does Quentin Marlowe arrive?"},
    {**HOW_HOT, "id": "q4", "type": "name", "gold": ["oven/1@1"], "answer": ["old"]}
    | {"question": "What do we know of oven 1?", "asked_at": "2025-05-01", "stale": []},
]


def write(path: Path, rows: list[Mapping[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def ovens(tmp_path: Path) -> Path:
    write(tmp_path / "ovens" / "events.jsonl", OVENS)
    write(tmp_path / "ovens" / "questions.jsonl", ASKED)
    return tmp_path / "ovens"


@pytest.fixture
def told(tmp_path: Path) -> Path:
    facts = [
        {"at": "2025-01-01", "source": "db07", "relation": "runs_on", "target": "rack 4"},
        {"at": "2025-05-01", "op": "change_fact", "source": "db07", "relation": "runs_on"}
        | {"target": "rack 9", "valid_from": "2025-04-01"},
        {"at": "2025-05-02", "source": "Mira", "relation": "leads", "target": "Atlas"}
        | {"valid_from": "2024-01-01", "valid_to": "2025-01-01"},
    ]
    asked = [
        {"id": "f1", "question": "Where does db07 run?", "asked_at": "2025-06-01", "type": "now"}
        | {"answer": ["rack 9"], "as_of": None},
        {"id": "f2", "question": "Where did db07 run?", "asked_at": "2025-06-01", "type": "as_of"}
        | {"answer": "rack 4", "as_of": "2025-02-01"},
    ]
    write(tmp_path / "told" / "facts.jsonl", [{"op": "relate", **one} for one in facts])
    write(tmp_path / "told" / "questions.jsonl", asked)
    return tmp_path / "told"


@pytest.fixture
def chats(tmp_path: Path) -> Path:
    texts = {"chat/a": "I bought a red bicycle.", "chat/b": "The soup needs salt.", "chat/c": " "}
    asked = {"question": "What did I buy?", "type": "user", "date": "2023-05-28T06:47"}
    days = [{"session": one, "date": "2023-05-24T01:00"} for one in (*texts, "chat/lost")]
    rows = [{**asked, "id": "q1", "gold": ["chat/a"], "haystack": days[:3]}]
    rows += [{**asked, "id": "q2", "gold": ["chat/a", "chat/lost"], "haystack": days}]
    rows += [{**asked, "id": "q3", "gold": [], "haystack": days}]
    write(tmp_path / "chats" / "questions.jsonl", rows)
    write(
        tmp_path / "chats" / "sessions.jsonl",
        [{"session": name, "text": text} for name, text in texts.items()],
    )
    return tmp_path / "chats"


def test_the_kind_of_a_set_shows_in_its_files(ovens: Path, told: Path, chats: Path) -> None:
    kinds = [load_set(one).kind for one in (ovens, told, chats)]
    assert kinds == ["everyday", "facts", "sessions"]
    assert len(load_set(ovens).questions) == 4, "a question without gold is one that counts"
    assert [one.id for one in load_set(chats).questions] == ["q1", "q2"], "here it is none"


def test_notes_are_measured_by_type_of_question(ovens: Path) -> None:
    rows = measure_everyday(load_set(ovens)).tables()["all"]
    assert list(rows) == ["as_of", "current", "name", "unknown", "answerable", "all"]
    assert (rows["answerable"]["n"], rows["all"]["n"]) == (3, 4)
    current = {"n": 1, "hit1": 1, "r5": 1, "stale": 0, "answered": 1}
    assert current.items() <= rows["current"].items()
    assert rows["as_of"]["hit1"] == 1, "asked as of February it is the first version"
    assert rows["name"]["hit1"] == 1, "it is forgotten only later"
    assert (rows["unknown"]["hit1"], rows["unknown"]["answered"]) == (None, 1)


def test_each_question_is_asked_before_what_came_later(ovens: Path) -> None:
    rows = measure_everyday(load_set(ovens)).tables()["all"]
    assert rows["name"]["hit1"] == 1, "in May oven 1 was not forgotten yet"
    seen = []
    for one, view in replay(
        read_events(ovens / "events.jsonl"), load_set(ovens).questions, encoder="minilm"
    ):
        seen.append((one.id, sum(1 for _ in view.topics())))
    assert seen[0] == ("q4", 2)


def test_a_change_of_what_nothing_held_begins_it(ovens: Path) -> None:
    asked = load_set(ovens).questions[:1]
    for _, view in replay(read_events(ovens / "events.jsonl"), asked, encoder="minilm"):
        (edge,) = view.at("2025-05-01").edges("attic")
        assert (edge.relation, edge.valid_from.isoformat()[:10]) == ("in", "2025-04-01")
        assert [one.version for one in view.history("oven/2")] == [1, 2, 3]


def test_stale_is_what_stands_before_the_first_gold(ovens: Path) -> None:
    wrong = {**HOW_HOT, "gold": ["flour@1"], "stale": ["oven/2@3"]}
    write(ovens / "questions.jsonl", [wrong])
    measured = measure_everyday(load_set(ovens))
    row = measured.tables()["all"]["current"]
    assert (row["hit1"], row["stale"]) == (0, 1)
    (miss,) = measured.misses("current")
    assert "oven/2@3" in str(miss)
    assert not measured.misses("name")


def test_told_facts_are_measured_by_what_is_said(told: Path) -> None:
    measured = measure_everyday(load_set(told))
    assert measured.columns == ("answered", "first", "words")
    assert list(measured.tables()["all"]) == ["as_of", "now", "all"]
    for one, view in replay(
        read_events(told / "facts.jsonl"), load_set(told).questions, encoder="minilm"
    ):
        runs = [edge.target.name for edge in view.edges("db07")]
        assert runs == (["rack 9"] if one.id == "f1" else ["rack 4"])
        assert not view.edges("Mira") or one.as_of, "that ended before it was told"


def test_sessions_are_looked_for_in_their_own_history(chats: Path) -> None:
    measured = measure_sessions(load_set(chats))
    tables = measured.tables()
    assert list(tables) == ["hybrid", "full", "recall"]
    for rows in tables.values():
        assert rows["user"] == {"n": 2, "any@5": 1.0, "all@5": 0.5}, "one gold session is lost"
    assert [one.question.id for one in measured.misses("all")] == ["q2"]


def test_an_answer_is_held_in_whatever_case_and_punctuation() -> None:
    assert holds("It moved to Rack-4, in May.", ["rack 4"])
    assert not holds("It moved to rack 5.", ["rack 4"])
    assert not holds("Anything.", [])


def test_rows_are_means_over_the_questions_that_have_the_column() -> None:
    kinds = {"a": {"hit1": 1.0, "words": 3}, "b": {"words": 6}, "c": {"hit1": 0, "words": 8}}
    outcomes = [
        Outcome(EvalQuestion(i, i, frozenset(), type=i), v, False) for i, v in kinds.items()
    ]
    rows = ByType("set", "everyday", ("hit1", "words"), {"all": outcomes}).plain()["tables"]["all"]
    assert rows["b"] == {"n": 1, "hit1": None, "words": 6}
    assert rows["all"] == {"n": 3, "hit1": 0.5, "words": 5.6667}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Forty topics of two notes, each with a question; a few that nothing answers."""
    events = [
        {"at": f"2025-0{half}-01", "op": "remember", "topic": f"t/{n}", "content": f"{n} is {half}"}
        for half in (1, 2)
        for n in range(40)
    ]
    asked = [
        {"id": f"q{n}", "question": f"What is {n}?", "asked_at": "2025-03-01", "type": "current"}
        | {"gold": [f"t/{n}@2", f"t/{n - n % 2}@2"], "stale": [f"t/{n}@1"], "answer": "2"}
        for n in range(40)
    ]
    asked += [{**one, "id": f"u{one['id']}", "type": "unknown", "gold": []} for one in asked[:8]]
    write(tmp_path / "many" / "events.jsonl", events)
    write(tmp_path / "many" / "questions.jsonl", asked)
    return tmp_path / "many"


def test_a_small_memory_has_whole_topics_and_the_questions_they_answer(many: Path) -> None:
    events, questions = read_events(many / "events.jsonl"), load_set(many).questions
    some, asked = draw(events, questions, 20, seed=3)
    assert len(some) == 20
    kept = {one.topic for one in some}
    assert len(kept) == 10, "with both notes of each"
    assert {one.rsplit("@", 1)[0] for question in asked for one in question.gold} <= kept
    answered = [one for one in questions if one.gold and {f"t/{one.id[1:]}@2"} < one.gold]
    assert 0 < sum(one in asked for one in answered) < len(answered)
    assert draw(events, questions, 20, seed=3) == (some, asked), "by its seed alone"
    assert draw(events, questions, 20, seed=4)[0] != some


def test_small_memories_are_drawn_until_enough_is_asked(many: Path) -> None:
    events, questions = read_events(many / "events.jsonl"), load_set(many).questions
    counts = [len(asked) for _, asked in draws(events, questions, 20)]
    assert 2 < len(counts) <= 20
    assert sum(counts[:-1]) < 120
    assert list(draws(events, questions, 80)) == [(events, questions)], "that is all of them"
    with pytest.raises(InvalidInput, match="at least one note"):
        next(draws(events, questions, 0))
    with pytest.raises(InvalidInput, match="No question"):
        list(draws(events, questions, 1))


@pytest.mark.parametrize(
    ("file", "row", "says"),
    [
        ("events.jsonl", {"at": "2025-01-01", "op": "recall"}, "needs an op: remember, relate"),
        ("events.jsonl", {"at": "2025-01-01", "op": "remember", "topic": "a"}, "without 'content'"),
        ("events.jsonl", {"op": "forget", "topic": "a"}, "needs a time as 'at'"),
        ("questions.jsonl", {**HOW_HOT, "asked_at": "someday"}, "needs a time as 'asked_at'"),
        ("questions.jsonl", {**HOW_HOT, "gold": None}, "a list of gold ids"),
        ("questions.jsonl", {**HOW_HOT, "haystack": ["chat/a"]}, "a haystack of sessions"),
    ],
)
def test_lines_that_cannot_be_read_are_named(ovens: Path, file: str, row: Any, says: str) -> None:
    write(ovens / file, [row])
    with pytest.raises(InvalidInput, match=f"{file}, line 1 .*{says}"):
        measure_everyday(load_set(ovens))


def test_only_a_corpus_has_a_ladder(ovens: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no passages: it is of everyday"):
        open_set(load_set(ovens), tmp_path / "cache").__enter__()


@pytest.fixture
def run(tmp_path: Path) -> Any:
    return lambda *words: run_hades("eval", *map(str, words))


@pytest.mark.slow
def test_the_command_prints_a_table_a_size(ovens: Path, tmp_path: Path, run: Any) -> None:
    shown = run(ovens, "--notes", "3,all", "--show", "name", "--report", tmp_path / "report")
    assert shown.exit_code == 0, shown.output
    lines = shown.stdout.splitlines()
    assert "ovens: 3 notes" in lines
    assert lines[lines.index("ovens: all") + 1].split()[:4] == ["type", "n", "hit1", "r5"]
    assert not any(line.startswith("q4 [name]") for line in lines), "it is no miss"
    page = (tmp_path / "report" / "ovens.md").read_text()
    assert "## 3 notes" in page
    assert "| current | 1 | 100.0 | 100.0 | 0.0 | 100.0 |" in page
    data = json.loads(run(ovens, "--limit", 1, "--show", "all", "--json").stdout)
    assert (data["dataset"], data["kind"], data["misses"]) == ("ovens", "everyday", [])
    assert data["tables"]["all"]["current"]["hit1"] == 1.0
    assert json.loads((tmp_path / "report" / "ovens.json").read_text())["kind"] == "everyday"


def test_options_of_other_kinds_are_refused(ovens: Path, told: Path, run: Any) -> None:
    for words in (
        (ovens, "--systems", "full"),
        (ovens, "--answers"),
        (ovens, "--notes", "few"),
        (ovens, "--notes", "0"),
        (told, "--notes", "10"),
    ):
        refused = run(*words)
        assert refused.exit_code == 2, refused.output
        assert refused.stderr.count("\n") == 1


def test_every_folder_below_that_is_a_set_is_found(
    ovens: Path, told: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "deep" / "er" / "corpus.jsonl", [])
    write(tmp_path / "deep" / "er" / "questions.jsonl", [])
    write(tmp_path / "papers" / "questions.jsonl", [])
    assert evaluate.sets_in(tmp_path) == [tmp_path / "deep" / "er", ovens, told]
    assert capsys.readouterr().out.strip() == "papers: skipped, there is no set in it"
    assert evaluate.sets_in(tmp_path / "nowhere") == []
