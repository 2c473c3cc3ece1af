"""Asking as of any time and in any part of a memory, also while others write."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from making import T1, T2, remember_story

import hades
from tests.conftest import HeldClock

QUESTION = "Why don't we use approach X?"
UNHURRIED = {
    "budget": {"latency_ms": 60_000},
    **{part: {"timeout_ms": 60_000} for part in ("retriever", "graph", "reranker")},
}
"""On a busy machine paths may be left out for want of time."""


@pytest.fixture
def story(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    clock.set("2024-03-01")
    remember_story(memory)
    return memory


def topics(found: hades.Recall) -> list[str]:
    return [one.chunk.topic for one in found.passages if "history" not in one.parts]


def told(found: hades.Recall) -> str:
    return "\n".join(str(path) for path in found.paths)


# Approach X, rejected because of Bug Y, then viable


def test_now_it_is_viable_and_the_path_says_why(story: hades.Memory) -> None:
    found = story.recall(QUESTION, plan=UNHURRIED)
    assert found.passages[0].chunk.text == "Approach X is viable after the fix of Bug Y."
    assert "design/approach_x --[viable_after_fix" in told(found)
    assert "rejected_because" not in told(found)


@pytest.mark.parametrize("then", [T1, "2024-02-19"])
def test_then_it_was_rejected_and_the_path_says_why(story: hades.Memory, then: str) -> None:
    found = story.at(then).recall(QUESTION, plan=UNHURRIED)
    assert found.passages[0].chunk.text == "Considered approach X but rejected due to Bug Y."
    evidence = "Approach X rejected because it triggers Bug Y"
    assert f'design/approach_x --[rejected_because; "{evidence}"]--> bugs/bug_y' in told(found)
    assert "viable" not in found.context
    assert "rejected due to Bug Y" in str(story.at(then).ask(QUESTION))


def test_on_the_day_of_the_change_the_new_holds(story: hades.Memory) -> None:
    assert story.at(T2).recall(QUESTION).passages[0].chunk.version == 2


def test_what_was_known_differs_from_what_was_true(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-03-01")
    memory.remember("bridge", "The bridge over the Tagus opened in May.", valid_from="2024-01-01")
    clock.set("2024-04-01")
    memory.remember("bridge", "The bridge over the Tagus opened in June.", valid_from="2024-01-01")

    def said(view: hades.View) -> str:
        return view.recall("When did the bridge open?", plan={"history": 0}).passages[0].chunk.text

    assert "June" in said(memory)
    assert "June" in said(memory.at("2024-02-01"))
    assert "May" in said(memory.at("2024-02-01", known="2024-03-15"))
    assert "May" in said(memory.at(known="2024-03-15"))


def test_paths_and_neighbours_are_of_the_moment(story: hades.Memory) -> None:
    (best, *_) = story.at(T1).paths("design/approach_x", "bugs/bug_y")
    assert [step.relation for step in best.steps] == ["rejected_because"]
    assert "refactoring/q1" not in {
        one.node.name for one in story.at(T1).neighbours("design/approach_x", hops=2)
    }
    assert "refactoring/q1" in {one.node.name for one in story.neighbours("design/approach_x")}


# Earlier versions


def test_why_shows_what_was_said_before(story: hades.Memory) -> None:
    found = story.recall("Why was approach X rejected?")
    before = [one for one in found.passages if one.valid_to is not None]
    assert [one.id for one in before] == ["design/approach_x@1#0", "bugs/bug_y@1#0"]
    assert (f"{before[0].valid_from:%Y-%m-%d}", f"{before[0].valid_to:%Y-%m-%d}") == (T1, T2)
    assert f"design/approach_x@1, line 1, {T1} to {T2}" in found.context
    cited = {(one.topic, one.version) for one in found.citations if one.kind == "passage"}
    assert ("design/approach_x", 1) in cited
    (first, *_) = story.ask("Why was approach X rejected?").sentences
    assert first.text == (
        "design/approach_x: Considered approach X but rejected due to Bug Y. "
        "(from 10 January 2024 to 20 February 2024)"
    )
    assert found.passages[first.citation - 1].id == "design/approach_x@1#0"


def test_status_shows_first_what_holds_and_says_nothing_else(story: hades.Memory) -> None:
    for plan in (None, {"history": 9}):
        found = story.recall("What is the current status of approach X?", plan=plan)
        assert found.passages[0].chunk.text == "Approach X is viable after the fix of Bug Y."
        (before,) = [one for one in found.passages if one.id == "design/approach_x@1#0"]
        assert before.superseded
        assert not any("history" in one.parts for one in found.passages)
        assert "rejected" not in str(story.ask("What is the current status of approach X?"))


def test_then_there_was_no_earlier_version_and_no_later_one(story: hades.Memory) -> None:
    found = story.at(T1).recall("Why was approach X rejected?")
    assert {one.chunk.version for one in found.passages} == {1}


def test_history_is_within_its_number_and_the_budget(
    memory: hades.Memory, clock: HeldClock, tmp_path: Path
) -> None:
    log = tmp_path / "log.md"
    for day in range(1, 9):
        clock.set(f"2024-03-0{day}")
        log.write_text(f"The pump of Lisbon ran for {day} hours and then stopped.")
        memory.ingest(log)
    question = "When did the pump of Lisbon stop?"
    shown = [one.chunk.version for one in memory.recall(question, plan={"history": 3}).passages]
    assert shown == [8, 7, 6, 5]
    small = memory.recall(question, plan={"history": 7}, budget=70)
    assert small.tokens <= 70
    assert small.passages[0].chunk.version == 8
    assert hades.Reason.EVICTED in {note.reason for note in small.reasons}
    few = memory.recall(question, plan={"budget": {"docs_max": 2}, "history": 7})
    assert sum(stage.reads for stage in few.telemetry) == 2


def test_only_what_differs_is_shown_of_a_long_document(
    memory: hades.Memory, clock: HeldClock, tmp_path: Path
) -> None:
    manual = tmp_path / "manual.md"
    parts = [f"# Part {n}\n\n" + f"Sentence of part {n} about the pump. " * 30 for n in range(5)]
    clock.set("2024-03-01")
    manual.write_text("\n\n".join(parts))
    memory.ingest(manual)
    clock.set("2024-04-01")
    parts[3] = "# Part 3\n\nThe pump was replaced by gravity."
    manual.write_text("\n\n".join(parts))
    memory.ingest(manual)
    found = memory.recall("Why was the pump replaced?")
    (before,) = [one for one in found.passages if "history" in one.parts]
    assert before.chunk.heading == "Part 3"
    assert before.chunk.text not in memory.get("manual.md").content


def test_what_changed_last_comes_first_when_asked_for_the_recent(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-06-01")
    for month in (1, 5, 3):
        said = f"Ann visited the pump house in month {month}."
        memory.remember(f"visits/{month}", said, valid_from=f"2024-0{month}-01")
    memory.remember("door", "The door of the pump house is red.", valid_from="2024-01-01")
    memory.remember("lunch", "The soup was good.", valid_from="2024-03-01")
    found = memory.recall("What happened recently at the pump house?")
    assert found.intent is hades.Intent.RECENT
    assert found.passages[0].chunk.topic == "visits/5"
    recency = {one.chunk.topic: one.parts["recency"] for one in found.passages}
    assert (recency["visits/5"], recency["visits/3"], recency["visits/1"]) == (1.0, 0.5, 0.0)
    assert "recency" not in memory.recall("Who visited the pump house?").passages[0].parts


# EntityNames of notes


def test_a_note_without_a_heading_is_titled_by_its_name(memory: hades.Memory) -> None:
    for number in range(3):
        memory.remember(f"other/thing{number}", f"rain fell on the roof, hour {number}.")
    memory.remember("people/J. R. Smith", "it is not said here.")
    memory.remember("plans/Harbour 2.0", "windows\r\nlines\r\nhere.")
    memory.remember("design/approach_x", "nor is it here.")
    for topic, asked in (
        ("design/approach_x", "What is approach X?"),
        ("people/J. R. Smith", "Who is J. R. Smith?"),
        ("plans/Harbour 2.0", "What is Harbour 2.0?"),
    ):
        found = memory.recall(asked, plan={"final_context": 1})
        assert topics(found) == [topic]
        assert "names" in found.passages[0].retrievers


# Parts of a memory


def test_filters_by_tag_kind_and_glob(story: hades.Memory, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text('def reject():\n    """Why approach X was rejected."""\n')
    story.ingest(tmp_path / "x.py")
    assert set(topics(story.recall(QUESTION, tag="decision"))) == {"design/approach_x"}
    assert set(topics(story.recall(QUESTION, kind="code"))) == {"x.py"}
    assert set(topics(story.recall(QUESTION, glob="bugs/*"))) == {"bugs/bug_y"}
    assert "x.py" not in topics(story.recall(QUESTION, kind="note"))
    assert topics(story.at(T1).recall(QUESTION, glob="refactoring/*")) == []


def test_a_filter_also_narrows_paths_and_history(story: hades.Memory) -> None:
    found = story.recall("Why was approach X rejected?", glob="bugs/*")
    assert {one.chunk.topic for one in found.passages} == {"bugs/bug_y"}
    chunks = {node.name for path in found.paths for node in path.nodes if node.kind == "chunk"}
    assert all(name.startswith("bugs/") for name in chunks)


def test_another_space_is_never_seen(story: hades.Memory) -> None:
    story.create_space("work")
    work = story.in_space("work")
    work.remember("design/approach_x", "Approach X is the secret of work.")
    work.relate("design/approach_x", "kept_by", "The Board")
    for view in (story, story.at("2024-03-01")):
        found = view.recall(QUESTION)
        assert "secret" not in found.context
        assert "Board" not in told(found)
    assert topics(work.recall(QUESTION)) == ["design/approach_x"]
    assert "Bug Y" not in work.recall(QUESTION).context


def test_a_forgotten_topic_is_not_found_but_its_past_is(
    story: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-04-01")
    story.forget("design/approach_x")
    found = story.recall(QUESTION)
    assert "design/approach_x" not in {one.chunk.topic for one in found.passages}
    assert "design/approach_x" not in told(found)
    assert story.at("2024-03-01").recall(QUESTION).passages[0].chunk.topic == "design/approach_x"


def test_a_purged_topic_is_found_at_no_time(story: hades.Memory) -> None:
    story.recall(QUESTION)
    story.purge("design/approach_x")
    for view in (story, story.at(T1), story.at(known="2024-03-02")):
        assert "design/approach_x" not in {
            one.chunk.topic for one in view.recall(QUESTION).passages
        }


def test_a_handle_for_reading_answers_and_tells_what_waits(
    story: hades.Memory, place: str | Path, clock: HeldClock
) -> None:
    story.recall(QUESTION)
    story.remember("news", "Approach X was renamed.")
    with hades.open(place, read_only=True, clock=clock) as reader:
        found = reader.recall(QUESTION)
        assert found.passages[0].chunk.topic == "design/approach_x"
        assert "news" not in topics(found)
        assert hades.Reason.NOT_INDEXED in {note.reason for note in found.reasons}
        assert reader.paths("design/approach_x", "refactoring/q1")


# While others write


@pytest.mark.slow
def test_threads_ask_while_another_writes(story: hades.Memory) -> None:
    """Every answer is of one moment: whatever it names can be read, whatever it cites is there."""
    stop = threading.Event()

    def write() -> int:
        written = 0
        while not stop.is_set() and written < 60:
            story.remember(f"stream/{written}", f"# Stream {written}\n\nApproach X, day {written}.")
            story.relate(f"stream/{written}", "about", "design/approach_x")
            if written % 5 == 4:
                story.forget(f"stream/{written}")
            written += 1
        return written

    def ask() -> int:
        seen = 0
        for _ in range(12):
            found = story.recall(QUESTION)
            assert found.passages
            assert all(one.chunk.text for one in found.passages)
            shown = (*found.passages, *found.facts, *found.paths)
            assert len(found.citations) == len(shown)
            assert story.search(QUESTION, 3)
            assert story.neighbours("design/approach_x")
            seen = max(seen, len(found.passages))
        return seen

    with ThreadPoolExecutor(3) as pool:
        writer = pool.submit(write)
        askers = [pool.submit(ask) for _ in range(2)]
        try:
            assert all(asker.result() for asker in askers)
        finally:
            stop.set()
        assert writer.result()
    found = story.recall("What is Stream 0?", plan={"final_context": 1})
    assert topics(found) == ["stream/0"]


@pytest.mark.embedded("a query is a part of the engine")
def test_a_query_context_stays_as_it_was(story: hades.Memory) -> None:
    story.recall(QUESTION)
    engine, scope = story.inside.engine, story.inside.scope()
    with engine.query_context(scope) as query:
        before = query.words("approach X")
        with ThreadPoolExecutor(1) as pool:  # another thread: this one holds a snapshot

            def write() -> hades.Recall:
                for number in range(30):
                    story.remember(f"more/{number}", f"Approach X again, {number} times.")
                return story.recall(QUESTION)

            assert pool.submit(write).result().passages
        after = query.words("approach X")
        vector = engine.finder.encoder.encode(["approach X"])[0]
        assert before.tolist() == after.tolist()
        assert len(query.cosine(vector)) == len(query.mask) == len(before)
        assert set(story.inside.store.chunks.find(query.graph.chunks.tolist(), scope.as_of))


_WRITER = """
import sys, hades
with hades.open(sys.argv[1]) as memory:
    for number in range(15):
        memory.remember(f"other/{number}", f"# Other {number}\\n\\nApproach X from afar, {number}.")
        memory.recall("approach X")
"""


@pytest.mark.slow
def test_another_process_writes_meanwhile(tmp_path: Path) -> None:
    path = tmp_path / "shared.hades"
    with hades.open(path) as memory:
        remember_story(memory)
        other = subprocess.Popen([sys.executable, "-c", _WRITER, str(path)])
        while other.poll() is None:
            assert memory.recall(QUESTION).passages
        assert other.returncode == 0
        found = memory.recall("What is Other 14?", plan={"final_context": 1})
        assert topics(found) == ["other/14"]
