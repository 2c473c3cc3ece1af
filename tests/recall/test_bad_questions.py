"""Questions, plans and memories nobody hopes for: a clear error, or an answer with reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from making import remember_story

import hades
from tests.conftest import HeldClock

QUESTION = "Why was approach X rejected?"


def reasons(found: hades.Recall) -> set[hades.Reason]:
    return {note.reason for note in found.reasons}


# Questions


def test_an_empty_question_is_refused(story: hades.Memory) -> None:
    for empty in ("", "   ", "\n\t"):
        for call in (story.recall, story.ask, story.rank, story.search):
            with pytest.raises(hades.InvalidInput, match="question is empty"):
                call(empty)


def test_what_is_no_text_is_refused(story: hades.Memory) -> None:
    wrong: Any
    for wrong in (None, 7, ["why"], "a\ud800b"):
        with pytest.raises(hades.InvalidInput):
            story.recall(wrong)


def test_a_question_of_100_kilobytes_is_cut(story: hades.Memory) -> None:
    found = story.recall(QUESTION + " And so on and on?" * 5_400)
    assert hades.Reason.CUT_QUESTION in reasons(found)
    assert len(found.question) == 4_000
    assert found.passages[0].chunk.topic == "design/approach_x"
    assert found.tokens <= found.plan["budget"]["tokens"]


def test_a_question_that_says_nothing_gets_an_answer_with_reasons(story: hades.Memory) -> None:
    statement = "SELECT * FROM topics; --"
    for question in ("🌊🌊", "?!", "the of and", "\u200b?", "x" * 3_000, statement, "%_*"):
        found = story.recall(question)
        assert found.question == question
        assert found.reasons, question
        assert found.tokens <= found.plan["budget"]["tokens"], question
        story.ask(question)


def test_a_language_without_spaces(memory: hades.Memory) -> None:
    memory.remember("灯台/歴史", "富士灯台は1890年に建てられた。設計者は山田太郎である。")
    memory.remember("灯台/料理", "スープはおいしかった。")
    found = memory.recall("富士灯台はいつ建てられたか")
    assert found.passages[0].chunk.topic == "灯台/歴史"
    assert found.intent == "lookup"
    assert "富士灯台" in found.context


def test_a_very_long_word_is_cut_in_the_context(memory: hades.Memory) -> None:
    memory.remember("blob", "Approach X " + "QUJD" * 2_000)
    found = memory.recall(QUESTION, budget=60)
    assert found.tokens <= 60
    assert hades.Reason.BUDGET_EXHAUSTED in reasons(found) or hades.Reason.EVICTED in reasons(found)


# Plans


NO_PLANS: list[tuple[Any, str]] = [
    ({"hops": 2}, "no plan key 'hops'"),
    ({"graph": {"hop": 2}}, "no plan key 'graph.hop'"),
    ({"graph": 5}, "graph"),
    ({"retriever": {"retrievers": []}}, "retrievers"),
    ({"reranker": {"fusion": [2, 0, 0]}}, "fusion"),
    ({"reranker": {"fusion": [1, 0]}}, "fusion"),
    ({"queries": 2}, "no plan key 'queries'"),
    ({"retriever": {"retrievers": ["window"]}}, "retrievers"),
    ({"graph": {"damping": 1.5}}, "damping"),
    ({"budget": {"tokens": "many"}}, "tokens"),
    ({"final_context": None}, "final_context"),
    ("fast", "A plan is an object"),
    (["walk"], "A plan is an object"),
]


def test_a_plan_that_makes_no_sense_is_refused(story: hades.Memory) -> None:
    for plan, says in NO_PLANS:
        with pytest.raises(hades.InvalidInput, match=says):
            story.recall(QUESTION, plan=plan)


def test_a_budget_does_not_hide_a_plan_that_makes_no_sense(story: hades.Memory) -> None:
    plan: Any
    for plan in ("fast", ["walk"], {"budget": 5}):
        with pytest.raises(hades.InvalidInput, match="plan"):
            story.recall(QUESTION, plan=plan, budget=500)


def test_a_plan_that_contradicts_itself_is_made_consistent(story: hades.Memory) -> None:
    plan = {"final_context": 20, "reranker": {"m": 3}, "budget": {"docs_max": 2, "latency_ms": -5}}
    found = story.recall(QUESTION, plan=plan)
    assert found.plan["budget"] == {"docs_max": 2, "latency_ms": 1, "tokens": 5_000}
    assert found.plan["final_context"] == found.plan["reranker"]["m"] == 2
    clamped = {
        note.detail.split()[0] for note in found.reasons if note.reason is hades.Reason.CLAMPED
    }
    assert clamped >= {"final_context", "reranker.m", "retriever.k", "budget.latency_ms"}
    assert len(found.passages) <= 2


def test_an_option_that_makes_no_sense_is_refused(story: hades.Memory) -> None:
    wrong: dict[str, Any]
    for wrong in ({"mode": "fast"}, {"budget": 0}, {"kind": "poem"}, {"glob": ""}):
        with pytest.raises(hades.InvalidInput):
            story.recall(QUESTION, **wrong)


def test_a_filter_that_leaves_nothing(story: hades.Memory) -> None:
    for narrow in ({"glob": "nowhere/*"}, {"tag": "unheard-of"}, {"kind": "paper"}):
        found = story.recall(QUESTION, **narrow)
        assert not found.passages
        assert hades.Reason.NOTHING_FOUND in reasons(found)


# Memories


def test_an_unknown_space_is_an_error(story: hades.Memory) -> None:
    with pytest.raises(hades.NotFound):
        story.in_space("elsewhere")
    story.create_space("work")
    work = story.in_space("work")
    story.drop_space("work")
    with pytest.raises(hades.NotFound):
        work.recall(QUESTION)
    with pytest.raises(hades.NotFound):
        work.paths("a", "b")


def test_an_empty_memory_knows_nothing(memory: hades.Memory) -> None:
    found = memory.recall(QUESTION)
    assert (found.passages, found.paths, found.citations) == ((), (), ())
    assert reasons(found) >= {hades.Reason.NOTHING_KNOWN, hades.Reason.EMPTY_GRAPH}
    assert found.context.startswith("Question: ")
    assert not memory.ask(QUESTION).sentences


def test_before_anything_was_known(story: hades.Memory) -> None:
    for before in (story.at("1999"), story.at(known="1999")):
        found = before.recall(QUESTION)
        assert not found.passages
        assert hades.Reason.NOTHING_KNOWN in reasons(found)
        assert found.belief.mean == 0
        assert before.paths("design/approach_x", "bugs/bug_y") == []


def test_a_graph_without_edges(memory: hades.Memory) -> None:
    memory.remember("1", "nobody was rejected here")
    memory.remember("2", "and nothing happened there")
    found = memory.recall("who was rejected?")
    assert found.passages[0].chunk.topic == "1"
    assert not found.paths
    assert reasons(found) >= {hades.Reason.EMPTY_GRAPH, hades.Reason.NOTHING_NAMED}


@pytest.mark.slow
def test_one_name_in_hundreds_of_notes(memory: hades.Memory) -> None:
    """A name in every passage leads nowhere; what differs still decides."""
    page = "\n\n".join(f"# Day {n}\n\nApproach X was used on day number{n}." for n in range(300))
    memory.remember("diary", page)
    memory.remember("design/y", "# Approach Y\n\nApproach Y replaced Approach X in Lisbon.")
    found = memory.recall("Which approach replaced Approach X in Lisbon?")
    assert found.passages[0].chunk.topic == "design/y"
    assert found.telemetry[-1].found <= found.plan["final_context"]


@pytest.mark.slow
def test_one_topic_with_thousands_of_relations(memory: hades.Memory) -> None:
    memory.remember("hub", "Everything hangs on the hub.")
    with memory.batch():
        for number in range(3_000):
            memory.relate("hub", "holds", f"Thing{number} Part")
    memory.remember("leaf", "The leaf rests on Thing7 Part alone.")
    found = memory.recall("What does the hub hold that the leaf rests on?")
    assert {one.chunk.topic for one in found.passages} == {"hub", "leaf"}
    assert len(memory.neighbours("hub", 5)) == 5
    paths = memory.paths("hub", "leaf")
    assert str(paths[0]).startswith("hub --[holds]--> Thing7 Part")


def test_missing_embeddings(path: Path, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Approach X\n\nRejected because it triggers Bug Y.")
    with hades.open(path) as memory:
        memory.ingest(tmp_path / "a.md", phases=("nodes", "chunks"))
    with hades.open(path, read_only=True) as memory:
        found = memory.recall("why is it rejected, what triggers it?")
        assert found.passages[0].chunk.topic.endswith("a.md")
        assert reasons(found) >= {hades.Reason.NO_EMBEDDINGS, hades.Reason.NOT_INDEXED}


class Deaf:
    """An encoder whose server is down."""

    model, dims, max_tokens = "deaf", 8, 256

    def __init__(self) -> None:
        self.hears = False

    def encode(self, texts: list[str], on_progress: Any = None) -> Any:
        if not self.hears:
            raise hades.Unavailable("The encoder did not answer.")
        vectors = np.random.default_rng(1).random((len(texts), self.dims))
        return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def test_an_encoder_that_fails(
    path: Path, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.set("2024-03-01")
    encoder = Deaf()
    monkeypatch.setattr("hades.recall.find.finder.load_encoder", lambda _setting: encoder)
    with hades.open(path, clock=clock) as memory:
        encoder.hears = True
        remember_story(memory)
        memory.recall("Is approach X viable?")
        encoder.hears = False
        found = memory.recall(QUESTION)
        assert found.passages[0].chunk.topic == "design/approach_x"
        assert hades.Reason.ENCODER_FAILED in reasons(found)
        assert any("rejected due to Bug Y" in one.chunk.text for one in found.passages)

        memory.remember("later", "What cannot be encoded waits, and is told.")
        assert reasons(memory.recall(QUESTION)) >= {
            hades.Reason.ENCODER_FAILED,
            hades.Reason.NO_EMBEDDINGS,
        }
        encoder.hears = True
        assert not reasons(memory.recall(QUESTION)) & {
            hades.Reason.ENCODER_FAILED,
            hades.Reason.NO_EMBEDDINGS,
        }
