"""Learning from feedback: the query log, verdicts, weight snapshots, beliefs, usefulness."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from shell import Shell

import hades
from hades.domain.feedback import JudgedPath, JudgedStep, Judgement, Verdict
from hades.domain.graph import MENTIONED
from hades.domain.weights import SHIPPED, Weighting
from hades.index import graph_cache
from hades.lifecycle.learning import learn
from hades.store import query_log
from tests.conftest import HeldClock

QUESTION = "Why was approach X rejected?"


def tell(memory: hades.Memory) -> None:
    memory.remember(
        "design/approach_x", "Approach X was rejected because of Bug Y. Ann Lee decided it."
    )
    memory.remember("bugs/bug_y", "Bug Y crashes the parser of Approach X when input is empty.")
    memory.remember("people/ann", "Ann Lee rejected the approach because it was slow.")
    memory.relate("design/approach_x", "rejected_because", "Bug Y")


DAY_S = 86_400
EMPLOYER = "Where does Maya work?"


def extracted(memory: hades.Memory) -> hades.Edge:
    """Extract a fact from a note, and return its edge."""
    memory.remember("people/maya", "Maya works at Acme.")
    memory.extract()
    (edge,) = [fact.edge for fact in memory.recall(EMPLOYER).facts]
    return edge


def prefer_second_path(
    memory: hades.Memory, times: int, clock: HeldClock | None = None
) -> list[hades.Feedback]:
    """Say of the same paths that the second one was right, again and again; with a clock, daily."""
    first, second = (str(path) for path in memory.recall(QUESTION).paths[:2])
    given = []
    for _ in range(times):
        found = memory.recall(QUESTION)
        numbers = {str(path): f"path:{number}" for number, path in enumerate(found.paths, 1)}
        given.append(memory.feedback(found.id, used=[numbers[second]], rejected=[numbers[first]]))
        if clock is not None:
            clock.tick(DAY_S)
    return given


def test_a_recall_is_logged_with_what_it_showed(memory: hades.Memory) -> None:
    tell(memory)
    found = memory.recall(QUESTION)
    (logged,) = memory.query_log()
    assert (logged.id, logged.question, logged.ms) == (found.id, QUESTION, found.ms)
    assert logged.passages == tuple(passage.id for passage in found.passages)
    assert [path.text for path in logged.paths] == [
        path.told(snippets=False) for path in found.paths
    ]
    assert logged.facts == (found.facts[0].edge.id,)
    assert logged.asker
    assert memory.recall(QUESTION).id != found.id  # a kept answer is another recall


def test_useful_states_gain_and_useless_ones_lose(memory: hades.Memory) -> None:
    tell(memory)
    found = memory.recall(QUESTION)
    places = {passage.chunk.topic: str(n) for n, passage in enumerate(found.passages, 1)}
    done = memory.feedback(
        found.id, useful=[places["design/approach_x"]], useless=[places["people/ann"]]
    )
    assert (done.counted, done.pairs, done.snapshot) == (2, 0, 0)
    assert memory.get("design/approach_x").usefulness == pytest.approx(1 / 3)
    assert memory.get("people/ann").usefulness == pytest.approx(-1 / 3)
    again = memory.recall(QUESTION)
    assert {passage.id for passage in again.passages} == {p.id for p in found.passages}
    gains = {passage.chunk.topic: passage.strength for passage in again.passages}
    strong, weak = gains["design/approach_x"], gains["people/ann"]
    assert strong is not None
    assert weak is not None
    assert strong.gain > 0 > weak.gain


def test_verdicts_on_facts_change_the_belief_in_extracted_edges(
    memory: hades.Memory, clock: HeldClock
) -> None:
    edge = extracted(memory)
    clock.tick(60)
    memory.feedback(memory.recall(EMPLOYER).id, rejected=["fact:1"])
    doubted = memory.edge(edge.id)[-1].belief
    assert (doubted.a, doubted.b) == (edge.belief.a, edge.belief.b + 0.5)
    clock.tick(DAY_S)
    memory.feedback(memory.recall(EMPLOYER).id, used=["fact:1"])
    assert memory.edge(edge.id)[-1].belief.mean > doubted.mean
    then = memory.at(known=edge.recorded_at).edge(edge.id)
    assert then[-1].belief == edge.belief


def test_one_actor_moves_an_extracted_edge_once_a_day_and_on_four_days(
    memory: hades.Memory, clock: HeldClock
) -> None:
    edge = extracted(memory)
    for _ in range(6):
        for _ in range(5):
            clock.tick(60)
            memory.feedback(memory.recall(EMPLOYER).id, rejected=["fact:1"])
        clock.tick(DAY_S)
    doubted = memory.edge(edge.id)[-1].belief
    assert (doubted.a, doubted.b) == (edge.belief.a, edge.belief.b + 4 * 0.5)


def test_no_verdict_moves_a_told_fact(memory: hades.Memory, clock: HeldClock) -> None:
    tell(memory)
    edge = memory.recall(QUESTION).facts[0].edge
    for _ in range(5):
        clock.tick(DAY_S)
        found = memory.recall(QUESTION)
        done = memory.feedback(found.id, rejected=["fact:1", "path:1"])
        assert done.counted == 2
    assert [belief.belief for belief in memory.edge(edge.id)] == [edge.belief]


def test_the_last_verdict_of_each_actor_on_a_state_counts(memory: hades.Memory) -> None:
    tell(memory)
    for useful in (True, True, True, False):
        found = memory.recall(QUESTION)
        topics = [passage.chunk.topic for passage in found.passages]
        number = [str(topics.index("bugs/bug_y") + 1)]
        if useful:
            memory.feedback(found.id, useful=number)
            assert memory.get("bugs/bug_y").usefulness == pytest.approx(1 / 3)
        else:
            memory.feedback(found.id, useless=number)
            assert memory.get("bugs/bug_y").usefulness == pytest.approx(-1 / 3)


def test_an_actor_teaches_a_space_four_times_a_day(memory: hades.Memory, clock: HeldClock) -> None:
    tell(memory)
    given = prefer_second_path(memory, 6)
    assert [done.limited for done in given] == [False] * 4 + [True] * 2
    assert "1 pair of paths not learned from: an actor teaches 4 times a day" in str(given[-1])
    (learning,) = memory.weight_snapshots()
    assert (learning.updates, learning.tested) == (3, 1)
    clock.tick(DAY_S)
    assert not prefer_second_path(memory, 1)[0].limited


def test_one_feedback_moves_each_parameter_by_one_step() -> None:
    steps = tuple(JudgedStep(relation, None, None) for relation in ("mentioned in",))
    used = [JudgedPath(n, Verdict(True), -2.0, (JudgedStep("next", None, None),)) for n in range(9)]
    rejected = [JudgedPath(n, Verdict(False), -1.0, steps) for n in range(9, 18)]
    learned = learn(SHIPPED, Judgement({}, (*used, *rejected)))
    assert learned.boosts["mentioned in"] == pytest.approx(math.exp(-0.05), abs=1e-6)
    before, after = MENTIONED, learned.beliefs["mentioned in"]
    assert sum(after) == pytest.approx(before.a + before.b + 0.5, abs=1e-3)


def test_pairs_of_paths_teach_a_snapshot_that_is_adopted_when_it_wins(
    memory: hades.Memory, clock: HeldClock
) -> None:
    tell(memory)
    before = memory.recall(QUESTION)
    assert memory.weights() == SHIPPED.parameters()
    assert memory.weight_snapshots() == []
    clock.tick(60)
    given = prefer_second_path(memory, 20, clock)
    assert [done.held_out for done in given[:4]] == [False, False, False, True]
    assert given[0].pairs == 1
    after = memory.recall(QUESTION)
    assert [str(path) for path in after.paths] == [str(path) for path in before.paths[::-1]]
    adopted = [done for done in given if done.adopted]
    assert len(adopted) == 1  # later updates order no more pairs rightly
    (used, *_) = [row for row in memory.weight_snapshots() if row.id == adopted[0].snapshot]
    assert (used.accuracy or 0) > (used.accuracy_before or 0)
    assert {change.parameter for change in memory.weights_diff(0, used.id)} >= {
        "boost mentioned in",
        "belief mentioned in",
    }
    # What was known before is answered by the weights of then.
    then = memory.at(known="2024-01-01T00:00:30")
    assert then.weights() == SHIPPED.parameters()
    assert [str(path) for path in then.recall(QUESTION).paths] == [
        str(path) for path in before.paths
    ]


def test_every_fourth_feedback_with_pairs_is_held_out(
    memory: hades.Memory, clock: HeldClock
) -> None:
    tell(memory)
    held_out = []
    for _ in range(8):  # verdicts on passages or a single path order nothing, so they cannot test
        assert not memory.feedback(memory.recall(QUESTION).id, useful=["1"]).held_out
        assert not memory.feedback(memory.recall(QUESTION).id, used=["path:1"]).held_out
        (done,) = prefer_second_path(memory, 1, clock)
        held_out.append(done.held_out)
    assert held_out == [False, False, False, True] * 2


def test_a_rollback_brings_back_any_snapshot(memory: hades.Memory, clock: HeldClock) -> None:
    tell(memory)
    before = memory.recall(QUESTION)
    prefer_second_path(memory, 20, clock)
    learned, number = memory.weights(), memory.weight_snapshots()[0].id
    clock.tick()
    back = memory.weights_rollback(0)
    assert back.adopted_at is not None
    assert memory.weights() == SHIPPED.parameters()
    again = memory.recall(QUESTION)
    assert [(str(p), p.score) for p in again.paths] == [(str(p), p.score) for p in before.paths]
    clock.tick()
    assert memory.weights_rollback(number).parent == number
    assert memory.weights() == learned
    assert memory.weights_diff(number) == []


def test_citations_of_an_answer_are_feedback(memory: hades.Memory) -> None:
    tell(memory)
    found = memory.recall(QUESTION)
    done = memory.feedback(found.id, answer="Because of Bug Y [2], [F1], in 2019 (19) (path 2).")
    assert done.counted == 5  # and what was passed over: [1] and path 1
    assert done.pairs == 1
    cited, passed_over = found.passages[1].chunk.topic, found.passages[0].chunk.topic
    assert memory.get(cited).usefulness == pytest.approx(1 / 3)
    assert memory.get(passed_over).usefulness == pytest.approx(-0.2)


def test_a_verdict_counts_once(memory: hades.Memory) -> None:
    tell(memory)
    found = memory.recall(QUESTION)
    memory.feedback(found.id, useful=["1"], used=["path:1"])
    change = memory.change
    again = memory.feedback(found.id, useful=["1"], used=["path:1"])
    assert (again.counted, memory.change) == (0, change)
    assert memory.feedback(found.id, useful=["1", "2"]).counted == 1


def test_what_cannot_be_meant_is_refused_and_changes_nothing(memory: hades.Memory) -> None:
    tell(memory)
    found = memory.recall(QUESTION)
    memory.create_space("other")
    other, change = memory.in_space("other"), None
    memory.feedback(found.id, used=["path:1"])
    change = memory.change
    for refused, words in (
        (lambda: other.feedback(found.id, used=["path:1"]), "no recall"),
        (lambda: memory.feedback("nothing", used=["path:1"]), "no recall"),
        (lambda: memory.feedback(found.id, used=["path:99"]), "no path 99"),
        (lambda: memory.feedback(found.id, useful=["9999"]), "no passage 9999"),
        (lambda: memory.feedback(found.id, useful=["1"], useless=["1"]), "both good and bad"),
        (lambda: memory.feedback(found.id, rejected=["path:1"]), "called good before"),
        (lambda: memory.feedback(found.id, used=["path:x"]), "not a number"),
        (lambda: memory.feedback(found.id), "Say what was good"),
        (lambda: memory.feedback(found.id, answer="No citation."), "cites nothing that was shown"),
        (lambda: memory.feedback(found.id, used=["path:1"] * 101), "at most 100"),
        (lambda: memory.weights_rollback(77), "no weight snapshot 77"),
        (lambda: memory.weights_diff(77), "no weight snapshot 77"),
    ):
        with pytest.raises(hades.HadesError, match=words):
            refused()
    assert memory.change == change
    assert memory.query_log(1)[0].id == found.id
    assert other.query_log() == []
    assert other.weight_snapshots() == []


@pytest.mark.embedded("a client cannot load a file into the memory of another server")
def test_an_export_and_a_copy_have_everything(
    memory: hades.Memory, tmp_path: Path, clock: HeldClock
) -> None:
    tell(memory)
    prefer_second_path(memory, 20, clock)
    memory.feedback(memory.recall(QUESTION).id, useful=["1"])
    memory.inside.store.query_log.write()
    exported = tmp_path / "all.jsonl"
    memory.export(exported)
    with hades.open(tmp_path / "new.hades", clock=clock) as new:
        new.import_(exported)
        assert new.weights() == memory.weights()
        assert new.weight_snapshots() == memory.weight_snapshots()
        assert new.query_log() == memory.query_log()
        assert new.get("design/approach_x") == memory.get("design/approach_x")
        new.export(tmp_path / "again.jsonl")
        assert (tmp_path / "again.jsonl").read_text() == exported.read_text()
    with hades.open(tmp_path / "used.hades", clock=clock) as used:
        used.remember("a note", "of this memory")
        used.import_(exported, into="brought")
        brought = used.in_space("brought")
        assert brought.weights() == memory.weights()
        assert brought.query_log() == []  # its numbers are of the other memory
        used.drop_space("brought")
        tables = ("query_logs", "feedback", "weight_snapshots", "usefulness")
        assert all(not used.inside.store.database.rows(f"SELECT * FROM {one}") for one in tables)
        assert used.check() == []


@pytest.mark.parametrize("field", ["config", "verdicts"])
def test_a_damaged_record_is_not_imported(path: Path, tmp_path: Path, field: str) -> None:
    exported = tmp_path / "all.jsonl"
    with hades.open(path) as memory:
        tell(memory)
        prefer_second_path(memory, 2)
        memory.export(exported)
    text = exported.read_text()
    wrong = text.replace(f'"{field}": "{{', f'"{field}": "[{{')
    assert wrong != text
    exported.write_text(wrong)
    with hades.open(tmp_path / "new.hades") as new:
        with pytest.raises(hades.HadesError):
            new.import_(exported)
        assert new.weight_snapshots() == []


def test_learned_priors_act_in_edges_walks_and_saved_graphs(
    path: Path, tmp_path: Path, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_cache, "SAVED_FROM_MENTIONS", 0)
    source = tmp_path / "ways.py"
    source.write_text("def load():\n    return parse()\n\n\ndef parse():\n    return 1\n")

    def weights(view: hades.View) -> tuple[float, float]:
        (edge,) = view.edges("ways.load", relation="calls")
        with view.inside.engine.query_context(view.inside.scope()) as query:
            return edge.weight, round(float(query.graph.stated.weights.sum()), 4)

    with hades.open(path, clock=clock) as memory:
        memory.ingest(source)
        memory.index()
        shipped = weights(memory)
        clock.tick(60)
        with memory.inside.write("test") as write:
            learned = Weighting(priors={**SHIPPED.priors, "calls": 1.1})
            memory.inside.store.weights.add(write, memory.inside.space_id, learned, adopted=True)
        changed = weights(memory)
        assert changed[0] > shipped[0]
        assert changed[1] > shipped[1]
        assert weights(memory.at(known="2024-01-01T00:00:30")) == shipped
    with hades.open(path, clock=clock) as memory:
        assert weights(memory) == changed
        memory.weights_rollback(0)
    with hades.open(path, clock=clock) as memory:
        assert weights(memory) == shipped


# The log itself, on a file


def test_a_purge_leaves_no_byte_of_the_log(path: Path, clock: HeldClock) -> None:
    with hades.open(path, clock=clock) as memory, hades.open(path, clock=clock) as other:
        tell(memory)
        memory.remember("people/zarathustra", "Zarathustra hates Approach X.")
        memory.recall("What does Zarathustra hate?")
        memory.inside.store.query_log.write()
        other.recall("Does Zarathustra know Approach X?")  # waits in the other process
        clock.tick()
        memory.purge("people/zarathustra")
        assert memory.query_log() == []
    with hades.open(path, clock=clock) as memory:
        assert memory.query_log() == []
    for file in path.parent.rglob("*"):
        assert not file.is_file() or b"arathustra" not in file.read_bytes(), file


def test_the_log_is_bounded_and_can_be_switched_off(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADES_QUERY_LOG", "3")
    with hades.open(path) as memory:
        tell(memory)
        ids = [memory.recall(QUESTION).id for _ in range(5)]
        change = memory.change
    with hades.open(path) as memory:
        assert [query.id for query in memory.query_log()] == ids[:1:-1]
        assert memory.change == change
    with hades.open(path, read_only=True) as memory:
        assert memory.recall(QUESTION).id == ""
    monkeypatch.setenv("HADES_QUERY_LOG", "0")
    with hades.open(path) as memory:
        assert memory.recall(QUESTION).id == ""
        assert len(memory.query_log()) == 3


def test_of_many_waiting_entries_the_latest_are_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(query_log, "WAITING_AT_MOST", 2)
    monkeypatch.setattr(query_log, "WRITTEN_FROM_ENTRIES", 2)
    with hades.open(path) as memory, hades.open(path) as other:
        tell(memory)
        memory.recall(QUESTION)  # which indexes the notes
        with other.batch():  # nothing can be written while another process writes
            other.remember("more", "Something else.")
            ids = [memory.recall(QUESTION).id for _ in range(4)]
        assert [query.id for query in memory.query_log()] == ids[:1:-1]


def test_by_command(path: Path) -> None:
    shell = Shell(path)
    with hades.open(path) as memory:
        tell(memory)
    found = shell.json("recall", QUESTION)
    assert found["id"] in shell("query-log")
    counted = shell(
        "feedback", found["id"], "--used", "P1", "--rejected", "(P2)", "--useless", "[3]"
    )
    assert "3 verdicts counted, 1 pair of paths to learn from; shipped weights" in counted
    assert "nothing new" in shell("feedback", found["id"], "--used", "path:1")
    assert {"prior refers_to", "tau_days cites"} <= set(shell.json("weights", "show"))
    assert "prior refers_to" in shell("weights", "show")
    assert "seconds" not in shell("weights", "show")
    assert shell("weights", "diff").strip() == "no difference"
    number = shell.json("weights", "rollback", "0")["id"]
    assert shell.json("weights", "snapshots")[-1]["id"] == number
    assert "no path 9" in shell.refused("feedback", found["id"], "--used", "path:9")
