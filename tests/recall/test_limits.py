"""The limits of a plan are hard, whatever the memory, the question and the clock."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import UNHURRIED

import hades
from hades.models.encoder import count_tokens
from hades.operations.indexing import catch_up
from hades.recall.find.candidates import choose_candidates
from hades.recall.find.seeds import start_encoding
from hades.recall.paths import neighbourhood
from hades.recall.plan import make_plan
from hades.recall.question.reading import read_question
from hades.recall.rank.rank_candidates import rank_candidates
from hades.recall.run import Run

NAMES = ("Ada Lovelace", "Bug Y", "Approach X", "Lisbon", "Harbour Board", "the sea")
QUESTIONS = (
    "Why was Approach X rejected?",
    "What changed recently in Lisbon?",
    "Who leads the Harbour Board that Ada Lovelace founded?",
    "status",
    "🌊 何ですか",
)
ARCS_A_HOP = 2
JUMPS_OF_A_UNIT = 6
"""The clock is read when a stage begins, at each of its retrievers or walks, and at its end."""
LATE_READINGS_A_STAGE = 6
TIMEOUTS = {
    "seeds": "retriever", "walk": "graph", "beam": "graph", "paths": "graph", "rank": "reranker",
}  # fmt: skip

notes = st.lists(
    st.tuples(st.integers(0, 5), st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)),
    max_size=7,
)
relations = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda two: two[0] != two[1]),
    max_size=4,
)
plans = st.fixed_dictionaries(
    {
        "retriever": st.fixed_dictionaries(
            {
                "k": st.integers(1, 8),
                "mmr": st.floats(0, 1),
                "retrievers": st.sets(
                    st.sampled_from(("meaning", "words", "names")), min_size=1
                ).map(tuple),
                "timeout_ms": st.integers(1, 3_000),
            }
        ),
        "graph": st.fixed_dictionaries(
            {
                "walk": st.booleans(),
                "beam_search": st.booleans(),
                "flow": st.booleans(),
                "hops": st.integers(0, 5),
                "fanout": st.integers(1, 3),
                "beam": st.integers(1, 16),
                "timeout_ms": st.integers(1, 3_000),
            }
        ),
        "reranker": st.fixed_dictionaries(
            {
                "on": st.booleans(),
                "m": st.integers(1, 24),
                "timeout_ms": st.integers(1, 3_000),
            }
        ),
        "final_context": st.integers(1, 20),
        "paths": st.integers(0, 20),
        "history": st.integers(0, 20),
        "budget": st.fixed_dictionaries(
            {
                "docs_max": st.sampled_from((1, 2, 3, 5, 160)),
                "latency_ms": st.sampled_from((1, 20, 200, 5_000)),
                "tokens": st.sampled_from((50, 60, 120, 5_000)),
            }
        ),
    }
)
asked = st.tuples(
    st.sampled_from(QUESTIONS), plans, st.lists(st.integers(0, 400), min_size=1, max_size=6)
)


class JumpingClock:
    """Each reading finds that some milliseconds have passed."""

    def __init__(self, jumps_ms: list[int]) -> None:
        self._jumps = cycle(jumps_ms)
        self.largest_ms = max(jumps_ms)
        self.readings: list[float] = []

    def __call__(self) -> float:
        before = self.readings[-1] if self.readings else 0.0
        self.readings.append(before + next(self._jumps) / 1000)
        return self.readings[-1]


@contextmanager
def remembering(
    texts: list[tuple[int, list[str]]], related: list[tuple[str, str]]
) -> Iterator[hades.Memory]:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as memory:
        for number, (topic, names) in enumerate(texts):
            memory.remember(
                f"notes/{NAMES[topic]}", f"# {names[0]}\n\nNote {number}: " + " met ".join(names)
            )
        for one, other in related:
            memory.relate(one, "knows", other)
        catch_up(memory.inside, None)
        yield memory


def recalled(memory: hades.Memory, question: str, plan: Any, clock: JumpingClock) -> hades.Recall:
    return memory.inside.engine.recall(
        memory.inside.scope(),
        question,
        budget=None,
        mode=None,
        plan=plan,
        on_progress=None,
        clock=clock,
    )


@given(notes, relations, st.lists(asked, min_size=2, max_size=4))
@settings(max_examples=12)
def test_no_run_exceeds_its_plan(
    texts: list[tuple[int, list[str]]],
    related: list[tuple[str, str]],
    questions: list[tuple[str, dict[str, Any], list[int]]],
) -> None:
    with remembering(texts, related) as memory:
        for question, wanted, jumps in questions:
            clock = JumpingClock(jumps)
            found = recalled(memory, question, wanted, clock)
            plan = hades.Plan.model_validate(found.plan)
            within_its_caps(found, plan)
            within_its_time(found, plan, clock)
            in_order(found)


def test_one_late_read_of_an_earlier_version_is_no_answer_and_no_error() -> None:
    plan = {"budget": {"docs_max": 1}, "reranker": {"timeout_ms": 1}}
    with remembering([(1, ["Bug Y", "Lisbon"]), (1, ["the sea"])], []) as memory:
        for jump in range(40):
            found = recalled(memory, "What changed in Lisbon?", plan, JumpingClock([jump, 1]))
            within_its_caps(found, hades.Plan.model_validate(found.plan))


def within_its_caps(found: hades.Recall, plan: hades.Plan) -> None:
    earlier = [one for one in found.passages if "history" in one.parts]
    assert len(found.passages) - len(earlier) <= plan.final_context
    assert len(earlier) <= plan.history
    assert len(found.paths) <= plan.paths
    longest = 1 + plan.graph.hops * ARCS_A_HOP  # the first from a name to its passage
    assert all(path.parts["nodes"] - 1 <= longest for path in found.paths)
    assert found.tokens == count_tokens([found.context])[0] <= plan.budget.tokens
    reads = {stage.stage: stage.reads for stage in found.telemetry}
    assert sum(reads.values()) <= plan.budget.docs_max
    assert len(found.passages) <= plan.budget.docs_max
    assert reads.get("beam", 0) <= plan.retriever.k + plan.graph.beam * plan.graph.hops * ARCS_A_HOP


def within_its_time(found: hades.Recall, plan: hades.Plan, clock: JumpingClock) -> None:
    """Every unit of work reads the clock: so few late readings are few late units."""
    limits = plan.model_dump()
    for stage in found.telemetry:
        part = TIMEOUTS.get(stage.stage)
        if part is not None:
            limit_ms = min(limits[part]["timeout_ms"], plan.budget.latency_ms)
            units = 2 if stage.stage == "walk" else 1  # the beam runs meanwhile
            assert stage.ms <= limit_ms + units * JUMPS_OF_A_UNIT * clock.largest_ms
    ends = clock.readings[0] + plan.budget.latency_ms / 1000
    late = sum(reading >= ends for reading in clock.readings)
    assert late <= LATE_READINGS_A_STAGE * len(found.telemetry)


def in_order(found: hades.Recall) -> None:
    scores = [one.score for one in found.passages]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len({one.id for one in found.passages}) == len(found.passages)


@given(notes, relations, plans)
@settings(max_examples=12)
def test_the_beam_and_the_ranker_keep_their_caps(
    texts: list[tuple[int, list[str]]], related: list[tuple[str, str]], wanted: dict[str, Any]
) -> None:
    plan, _ = make_plan(hades.Plan(), wanted)
    with (
        remembering(texts, related) as memory,
        memory.inside.engine.query_context(memory.inside.scope()) as query,
    ):
        run, engine = Run(plan), memory.inside.engine
        asked = read_question(QUESTIONS[0], query.valid)
        when = engine.time(run, memory.inside.scope(), query, asked, query.valid)
        encoding = start_encoding(run, engine.finder.encoder, asked.text)
        found = engine.find(run, query, asked, when, encoding)
        ranking = rank_candidates(run, found, engine.ranker, None, plan.reranker.m)
        with run.stage("rank") as stage:
            strong = choose_candidates(stage, found).strong
    assert len(ranking.numbers) <= plan.reranker.m
    assert len(run.seen) <= plan.budget.docs_max
    assert {*ranking.numbers.tolist(), *strong.tolist(), *found.beam.numbers} <= run.seen
    paths = [path.nodes for path in found.beam.paths]
    assert len(paths) <= plan.graph.beam
    assert len({nodes[0] for nodes in paths}) <= plan.retriever.k
    assert all(len(nodes) - 1 <= plan.graph.hops * ARCS_A_HOP for nodes in paths)
    continued = Counter(nodes[:-1] for nodes in paths if len(nodes) > 1)
    assert all(count <= plan.graph.fanout for count in continued.values())


OFF: dict[str, dict[str, Any]] = {
    "walk": {"graph": {"walk": False}},
    "beam": {"graph": {"beam_search": False}},
    "paths": {"graph": {"flow": False, "beam_search": False}},
    "rank": {"reranker": {"on": False}},
}
QUESTION = "Why was approach X rejected?"


def test_each_stage_can_be_switched_off(story: hades.Memory) -> None:
    for stage, plan in OFF.items():
        found = story.recall(QUESTION, plan=plan)
        told = [(note.stage, note.reason) for note in found.reasons]
        assert (stage, hades.Reason.SWITCHED_OFF) in told
        assert found.passages[0].chunk.topic == "design/approach_x", stage
        assert bool(found.paths) is (stage != "paths"), stage


def test_a_plan_made_in_python_is_clamped_as_well(story: hades.Memory) -> None:
    plan = hades.Plan(graph={"hops": 9}, final_context=500)
    assert (plan.graph.hops, plan.final_context) == (5, 400)
    found = story.recall(QUESTION, plan=plan, budget=100)
    clamps = [note.detail for note in found.reasons if note.reason is hades.Reason.CLAMPED]
    assert clamps == ["graph.hops 9 to 5", "final_context 500 to 400", "final_context 400 to 24"]
    raised = [note.detail for note in found.reasons if note.reason is hades.Reason.RAISED]
    assert raised == ["graph.hops 5 instead of 1", "final_context 24 instead of 8"]
    with pytest.raises(hades.InvalidInput, match="Did you mean 'graph"):
        hades.Plan(graph={"hop": 1})


PATHRAG_PLAN = {
    "q": 2,
    "retriever": {"k": 6, "mmr": 0.4, "timeout_ms": 200},
    "graph": {"hops": 1, "fanout": 2, "beam": 8, "timeout_ms": 500},
    "reranker": {"m": 20, "timeout_ms": 500},
    "final_context": 6,
    "budget": {"docs_max": 160, "latency_ms": 2000},
    "reasons": [],
}


def test_the_pathrag_plan_is_accepted_as_written(story: hades.Memory) -> None:
    found = story.recall(QUESTION, plan=PATHRAG_PLAN)
    told = [str(note) for note in found.reasons if note.stage == "plan"]
    assert told == ["plan: ignored (q has no effect)"]
    assert found.plan["final_context"] == 6
    assert hades.Plan(**PATHRAG_PLAN).reasons == ("plan: ignored (q has no effect)",)
    with pytest.raises(hades.InvalidInput, match="reasons"):
        story.recall(QUESTION, plan={"q": 2, "reasons": 5})


def test_every_cap_that_is_raised_is_reported(story: hades.Memory) -> None:
    plan = {
        "graph": {"hops": 2, "fanout": 9, "beam": 99},
        "retriever": {"k": 9},
        "reranker": {"m": 30},
        "final_context": 9,
        "budget": {"docs_max": 200, "latency_ms": 3_000},
    }
    found = story.recall(QUESTION, plan=plan)
    raised = [note.detail for note in found.reasons if note.reason is hades.Reason.RAISED]
    assert raised == [
        "graph.hops 2 instead of 1",
        "reranker.m 30 instead of 24",
        "final_context 9 instead of 8",
        "budget.docs_max 200 instead of 160",
        "budget.latency_ms 3000 instead of 2000",
    ]
    clamps = [note.detail for note in found.reasons if note.reason is hades.Reason.CLAMPED]
    assert clamps == ["retriever.k 9 to 8", "graph.fanout 9 to 3", "graph.beam 99 to 16"]


@pytest.mark.parametrize("mode", hades.Mode)
def test_other_modes_than_execution_raise_caps_and_say_so(
    story: hades.Memory, mode: hades.Mode
) -> None:
    found = story.recall("How is approach X connected with Bug Y?", mode=mode)
    raised = [note.detail for note in found.reasons if note.reason is hades.Reason.RAISED]
    assert bool(raised) is (mode is not hades.Mode.EXECUTION)


def test_the_beam_tells_its_paths_and_when_it_had_enough(memory: hades.Memory) -> None:
    for number, text in enumerate(
        ("Ada North was taught by Bela Winter.", "Bela Winter founded the Harbour Board.")
    ):
        memory.remember(f"doc/{number}", f"# Person {number}\n\n{text}", kind="document")
    plan = {**UNHURRIED, "graph": {"timeout_ms": 60_000, "flow": False}}
    found = memory.recall("What did the teacher of Ada North found?", plan=plan)
    assert "Bela Winter" in {node.name for path in found.paths for node in path.nodes}
    assert all(0 <= path.reliability <= 1 for path in found.paths)
    assert not memory.recall("Who?", plan={**plan, "paths": 0}).paths
    enough = memory.recall("Bela Winter founded the Harbour Board", plan=UNHURRIED)
    assert hades.Reason.COVERAGE_REACHED in {n.reason for n in enough.reasons if n.stage == "beam"}
    assert hades.Reason.COVERAGE_REACHED not in {note.reason for note in found.reasons}


def test_a_plan_object_with_a_budget(story: hades.Memory) -> None:
    found = story.recall(QUESTION, plan=hades.Plan(paths=1, final_context=2), budget=100)
    assert (found.plan["paths"], found.plan["budget"]["tokens"]) == (1, 100)
    assert len(found.paths) <= 1
    assert len(found.passages) <= 2
    assert found.tokens <= 100


def test_one_retriever_is_enough(story: hades.Memory) -> None:
    for retriever in ("meaning", "words", "names"):
        found = story.recall(QUESTION, plan={"retriever": {"retrievers": [retriever]}})
        assert found.passages[0].chunk.topic == "design/approach_x", retriever


def test_with_everything_off_the_retrievers_still_answer(story: hades.Memory) -> None:
    graph = {"walk": False, "beam_search": False, "flow": False, "hops": 0}
    plan = {"graph": graph, "reranker": {"on": False}, "paths": 0, "history": 0}
    found = story.recall(QUESTION, plan=plan)
    assert found.passages[0].chunk.topic == "design/approach_x"
    assert not found.paths
    off = {note.stage for note in found.reasons if note.reason is hades.Reason.SWITCHED_OFF}
    assert off == {"walk", "beam", "paths", "rank"}


def test_without_time_there_is_an_answer_by_words_and_a_reason(story: hades.Memory) -> None:
    story.recall(QUESTION)
    found = recalled(story, QUESTION, {"budget": {"latency_ms": 1}}, JumpingClock([50]))
    assert found.passages[0].chunk.topic == "design/approach_x"
    late = {note.stage for note in found.reasons if note.reason is hades.Reason.TIMEOUT}
    assert late >= {"seeds", "walk", "beam", "rank"}
    assert all(stage.early_stop for stage in found.telemetry if stage.stage in late)


def test_many_notes_without_a_single_name_are_ranked(memory: hades.Memory) -> None:
    with memory.batch():
        for number in range(30):
            memory.remember(f"{number}", f"it was {number} then.")
    assert memory.recall("what was it then?").passages


def test_a_search_that_left_nodes_out_says_so(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbourhood, "NODES_SEARCHED", 8)
    with memory.batch():
        for number in range(20):
            memory.relate(f"Item {number}", "part_of", "Left Hub")
            memory.relate(f"Thing {number}", "part_of", "Right Hub")
        memory.relate("Item 19", "touches", "Thing 19")
    with pytest.raises(hades.InvalidInput, match=r"nodes searched, and \d+ were left out: .* hops"):
        memory.paths("Left Hub", "Right Hub", hops=2)
    found = memory.ask("How is Left Hub connected with Right Hub?")
    assert "among the nodes searched" in " ".join(map(str, found.recall.reasons))
