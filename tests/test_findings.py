"""What a careful reader once broke, each as a test that it stays repaired."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from damaging import edit

import hades
from tests.conftest import HeldClock


def _write_many(path: Path, name: str, count: int) -> None:
    with hades.open(path) as memory:
        for number in range(count):
            memory.remember(f"{name}/{number}", "x")


def _in_another_process(path: Path, name: str, count: int) -> None:
    worker = multiprocessing.get_context("spawn").Process(
        target=_write_many, args=(path, name, count)
    )
    worker.start()
    worker.join()
    assert worker.exitcode == 0


@pytest.mark.slow
def test_opening_a_file_twice_in_one_process_keeps_its_locks(path: Path) -> None:
    """Closing a descriptor drops POSIX locks: others then thought the file was nobody's."""
    memory = hades.open(path)
    memory.remember("first", "x")
    hades.open(path).close()
    _in_another_process(path, "b", 1)
    for number in range(20):
        memory.remember(f"a/{number}", "x")
    _in_another_process(path, "c", 20)
    memory.close()
    with hades.open(path) as again:
        assert len(again.topics("a/*")) == 20
        assert len(again.topics("c/*")) == 20


@pytest.mark.embedded("a client has no snapshots")
def test_a_write_inside_a_snapshot_is_refused_not_lost(memory: hades.Memory) -> None:
    with memory.snapshot(), pytest.raises(hades.InvalidInput, match="snapshot"):
        memory.remember("a", "x")
    assert memory.topics() == []


def test_a_failed_export_leaves_no_snapshot_open(memory: hades.Memory) -> None:
    class Full:
        def write(self, _text: str) -> None:
            raise OSError("no room")

    memory.remember("a", "x")
    with pytest.raises((hades.Unavailable, OSError), match="no room"):
        memory.export(Full())  # type: ignore[arg-type]
    assert memory.remember("log", "failed").version == 1


def test_purging_a_merged_name_purges_that_one(memory: hades.Memory) -> None:
    memory.relate("Jon Smith", "wrote", "p7")
    memory.relate("John Smith", "wrote", "p8")
    memory.merge("John Smith", "Jon Smith")
    memory.purge("Jon Smith")
    assert [str(e) for e in memory.edges()] == ["John Smith --[wrote]--> p8"]
    assert [e.name for e in memory.entities()] == ["John Smith", "p8"]


def test_purging_by_an_alias_takes_the_text_along(memory: hades.Memory) -> None:
    memory.relate("Ann", "r", "B")
    memory.remember("Ann", "private")
    memory.add_alias("Ann", "Annie")
    memory.purge("Annie")
    assert memory.topics() == []


@pytest.mark.slow
def test_purging_among_hundreds_leaves_no_byte(path: Path) -> None:
    with hades.open(path) as memory:
        with memory.batch():
            for number in range(300):
                memory.remember(f"person-{number:04}-xyzzy", f"secret-{number:04} " * 20)
            for number in range(0, 300, 7):
                memory.remember(f"person-{number:04}-xyzzy", f"secret-{number:04} edited " * 30)
        with memory.batch():
            for number in range(0, 300, 2):
                memory.purge(f"person-{number:04}-xyzzy")
        memory.remember("after", "the batch the file is wiped")
    left = path.read_bytes()
    for number in range(0, 300, 2):
        assert f"person-{number:04}-xyzzy".encode() not in left
        assert f"secret-{number:04}".encode() not in left


def test_forgetting_withdraws_plans(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "x")
    memory.remember("a", "secret plan", valid_from="in 2 weeks")
    before = clock.micros
    clock.tick(60)
    memory.forget("a")
    with pytest.raises(hades.NotFound):
        memory.at("in 3 weeks").get("a")
    known = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=before + 10)
    assert memory.at(valid="in 3 weeks", known=known).get("a").content == "secret plan"
    clock.tick(60)
    memory.remember("a", "again")
    assert memory.at("in 3 weeks").get("a").content == "again"
    assert memory.check() == []


def test_what_is_only_planned_can_be_forgotten(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "plan", valid_from="in 2 weeks")
    clock.tick(60)
    memory.forget("a")
    with pytest.raises(hades.NotFound):
        memory.at("in 3 weeks").get("a")


def test_a_left_over_log_is_not_replayed_into_a_new_memory(path: Path) -> None:
    Path(f"{path}-wal").write_bytes(b"old pages")
    with pytest.raises(hades.Conflict, match="left from a memory"):
        hades.open(path)


def test_damage_is_not_exported_as_truth(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "short")
    edit(path, "UPDATE states SET body = 'shirt'")
    with hades.open(path) as memory, pytest.raises(hades.Corrupt):
        memory.export(tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_into_takes_one_space_only(memory: hades.Memory, tmp_path: Path) -> None:
    memory.remember("a", "x")
    memory.create_space("private")
    memory.in_space("private").remember("b", "y")
    memory.export(tmp_path / "all.jsonl")
    with pytest.raises(hades.InvalidInput, match="Several spaces"):
        memory.import_(tmp_path / "all.jsonl", into="third")
    assert [s.name for s in memory.spaces()] == ["default", "private"]


def test_a_restored_memory_gives_out_no_number_twice(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory:
        memory.backup(tmp_path / "b.hades")
        memory.create_space("b")
        old = memory.in_space("b")
        memory.relate("A", "r", "x")
        memory.relate("B", "r", "y")
        memory.merge("A", "B")
        assert len(memory.edges("A")) == 2
        change = memory.change
        memory.restore(tmp_path / "b.hades")
        assert memory.change > change
        assert memory.log()[0].action == "restore"
        memory.create_space("c")
        memory.in_space("c").remember("secret of c", "x")
        with pytest.raises(hades.NotFound):
            old.topics()
        memory.relate("A", "r", "x")
        memory.relate("B", "r", "y")
        assert len(memory.edges("A")) == 1


def test_reading_a_dropped_space_is_an_error(memory: hades.Memory) -> None:
    memory.create_space("b")
    space = memory.in_space("b")
    memory.drop_space("b")
    for read in (space.topics, space.edges, space.entities, space.stats, space.log):
        with pytest.raises(hades.NotFound):
            read()


def test_restoring_waits_for_a_writer_then_says_so(path: Path, tmp_path: Path) -> None:
    with hades.open(path, busy_timeout_s=0.3) as memory, hades.open(path) as other:
        memory.remember("a", "x")
        memory.backup(tmp_path / "b.hades")
        with other.batch():
            other.remember("b", "y")
            with pytest.raises(hades.Unavailable, match="writing"):
                memory.restore(tmp_path / "b.hades")
        with memory.batch(), pytest.raises(hades.InvalidInput, match="inside a batch"):
            memory.restore(tmp_path / "b.hades")
        assert memory.get("b").content == "y"


def test_a_finished_thread_leaves_no_file_open(memory: hades.Memory) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not show open files")
    memory.remember("a", "x")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        thread = threading.Thread(target=memory.get, args=("a",))
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before + 4


def test_a_state_replaced_from_its_start_never_held(memory: hades.Memory) -> None:
    memory.remember("a", "x", valid_from="2024")
    memory.remember("a", "y", valid_from="2024")
    first, second = memory.history("a")
    assert first.valid_to == first.valid_from
    assert second.valid_to is None


def test_an_edge_ends_once(memory: hades.Memory) -> None:
    memory.relate("a", "r", "b", valid_from="2020")
    memory.unrelate(1, at="2023")
    with pytest.raises(hades.Conflict, match="ended already"):
        memory.unrelate(1)
    with pytest.raises(hades.InvalidInput, match="mistake"):
        memory.unrelate(1, at="2019")
    with pytest.raises(hades.InvalidInput, match="which relation"):
        memory.unrelate("a")
    assert len(memory.at("2022").edges()) == 1


def test_a_fact_changed_in_the_past_leaves_the_present(memory: hades.Memory) -> None:
    memory.relate("a", "r", "b", valid_from="2020")
    memory.change_fact("a", "r", to="c", at="2023")
    memory.change_fact("a", "r", to="d", at="2021")
    holds = lambda time: [e.target.name for e in memory.at(time).edges("a")]  # noqa: E731
    assert [holds(t) for t in ("2020-06", "2022", "2023-06")] == [["b"], ["d"], ["c"]]
    assert [e.target.name for e in memory.edges("a")] == ["c"]


def test_learning_of_an_earlier_start_stretches_the_edge(memory: hades.Memory) -> None:
    first = memory.relate("a", "r", "b", valid_from="2021")
    assert memory.relate("a", "r", "b", valid_from="2020").id == first.id
    assert memory.relate("a", "r", "b", valid_from="2019", valid_to="2020-06").id == first.id
    assert len(memory.edges("a", all=True)) == 1
    assert len(memory.at("2019-06").edges("a")) == 1


def test_exclusive_holds_also_for_what_is_known(memory: hades.Memory, clock: HeldClock) -> None:
    memory.relate("a", "r", "b")
    clock.tick()
    memory.relate("a", "r", "c")
    clock.tick()
    memory.relate("a", "r", "b", exclusive=True)
    assert [e.target.name for e in memory.edges("a")] == ["b"]


def test_saying_more_of_an_edge_keeps_the_rest(memory: hades.Memory) -> None:
    memory.relate("a", "r", "b", weight=0.3, metadata={"j": 0})
    edge = memory.relate("a", "r", "b", evidence="more", metadata={"k": 1})
    assert (edge.weight, edge.evidence, dict(edge.metadata)) == (0.3, "more", {"j": 0, "k": 1})
    assert memory.relate("x", "r", "y", weight=0).weight == 0


def test_names_that_only_look_alike_stay_apart(memory: hades.Memory) -> None:
    for names in (("C", "C++", "C#"), ("が", "か"), ("की", "का"), ("a+b", "a-c")):
        memory.create_space(names[0])
        space = memory.in_space(names[0])
        for name in names:
            space.relate(name, "is", "language")
        assert {e.name for e in space.entities()} == {*names, "language"}


def test_a_topic_spelled_otherwise_still_has_its_entitys_edges(memory: hades.Memory) -> None:
    memory.relate("Ann", "works_at", "Acme")
    memory.remember("ann", "a person")
    assert len(memory.edges("ann")) == 1


def test_forgetting_leaves_what_it_was_merged_with(memory: hades.Memory) -> None:
    memory.relate("Ann", "r", "x")
    memory.relate("Annette", "works_at", "Acme")
    memory.merge("Annette", "Ann")
    memory.remember("Ann", "text")
    memory.forget("Ann")
    assert [str(e) for e in memory.edges()] == ["Annette --[works_at]--> Acme"]


def test_line_ends_are_a_difference(memory: hades.Memory) -> None:
    memory.remember("a", "x\ny")
    memory.remember("a", "x\r\ny\n")
    assert memory.diff("a").text


def test_the_known_axis_holds_for_names_and_edges(memory: hades.Memory, clock: HeldClock) -> None:
    edge = memory.relate("Ann", "r", "x", valid_from="2023")
    clock.set("2024-03-01")
    memory.add_alias("Ann", "Annie")
    memory.unrelate(edge.id)
    then = memory.at(known="2024-02-01")
    with pytest.raises(hades.NotFound):
        then.edges("Annie")
    assert then.entities("Ann")[0].aliases == ()
    (belief,) = then.edge(edge.id)
    assert belief.retired_at is None
    with pytest.raises(hades.NotFound):
        memory.at("2024-02-01").when_changed("Ann", "r")


@pytest.mark.embedded("a client has no snapshots")
def test_the_users_own_errors_pass_through_a_batch(memory: hades.Memory) -> None:
    with pytest.raises(FileNotFoundError), memory.batch():
        Path("/nonexistent/file").read_text()
    with pytest.raises(UnicodeDecodeError), memory.snapshot():
        b"\xff".decode()


STRANGE_INPUT: list[Callable[[Any], object]] = [
    lambda m: m.get("\udcff"),
    lambda m: m.get(["a"]),
    lambda m: m.get("a", 1 << 70),
    lambda m: m.get("a", "1"),
    lambda m: m.topics("\udcff"),
    lambda m: m.topics(limit=1 << 70),
    lambda m: m.log(1 << 70),
    lambda m: m.log("x"),
    lambda m: m.edge(1 << 70),
    lambda m: m.in_space("\udcff"),
    lambda m: m.at(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))),
    lambda m: m.remember("a", "x", tags=5),
    lambda m: m.remember("a", "x", expect_version="1"),
    lambda m: m.relate("a", "r", "b", kind=None),
    lambda m: m.merge("\udcff", "a"),
    lambda m: hades.open("nul\0path"),
    lambda m: hades.open("~nosuchuser123/x.hades"),
    lambda m: hades.open("x" * 5000),
]


def test_strange_input_is_refused_in_our_words(memory: hades.Memory) -> None:
    for number, strange in enumerate(STRANGE_INPUT):
        with pytest.raises(hades.HadesError) as refusal:
            strange(memory)
        assert "damaged" not in str(refusal.value), number
        assert "closed" not in str(refusal.value), number


STRANGE_RECORDS = [
    '{"table": "states", "topic": 1, "version": 1, "content": 5}',
    '{"table": "topics", "id": 99999999999999999999, "space": 1, "name": "x"}',
    '{"table": "topics", "id": 1, "space": 1, "name": " "}',
    '{"table": "spaces", "id": 1, "name": "x", "created_at": ' + "[" * 5000,
]


def test_strange_records_are_refused(memory: hades.Memory, tmp_path: Path) -> None:
    space = '{"table": "spaces", "id": 1, "name": "default", "created_at": "2024-01-01T00:00:00Z"}'
    for record in STRANGE_RECORDS:
        (tmp_path / "x.jsonl").write_text(f'{{"hades": 2}}\n{space}\n{record}\n{{"end": 2}}\n')
        with pytest.raises(hades.InvalidInput):
            memory.import_(tmp_path / "x.jsonl")
    assert [one.name for one in memory.spaces()] == ["default"]
    assert memory.topics() == []


STRANGE_GRAPHS = [
    '{"nodes": [{"id": 1}], "edges": 5}',
    '{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": 1, "weight": "abc"}]}',
    "[" * 5000,
]


def test_strange_graphs_are_refused(memory: hades.Memory, tmp_path: Path) -> None:
    for graph in STRANGE_GRAPHS:
        (tmp_path / "x.json").write_text(graph)
        with pytest.raises(hades.InvalidInput):
            memory.import_(tmp_path / "x.json")
    assert memory.entities() == []


def test_a_terminal_without_unicode_still_shows_everything(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("u", "ünïcödé 🜏")
    done = subprocess.run(
        [sys.executable, "-c", "from hades.cli import main; main()", "get", "u", "-m", str(path)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"\\xfc" in done.stdout


def test_settings_apply_where_no_path_is_given(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hades.open(path) as memory:
        memory.create_space("work")
    monkeypatch.setenv("HADES_PATH", str(path))
    monkeypatch.setenv("HADES_SPACE", "work")
    monkeypatch.setenv("HADES_ACTOR", "robot")
    with hades.open() as memory:
        memory.remember("a", "x")
        assert memory.space == "work"
        assert memory.log()[0].actor == "robot"


def test_a_jsonl_export_of_one_moment_is_refused(memory: hades.Memory, tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="all times"):
        memory.at("now").export(tmp_path / "x.jsonl")


def test_metadata_has_a_depth_that_can_be_shown(memory: hades.Memory) -> None:
    def nested(depth: int) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for _ in range(depth - 1):
            value = {"a": value}
        return value

    memory.remember("fits", "x", metadata=nested(64))
    for write in (
        lambda: memory.remember("a", "x", metadata=nested(65)),
        lambda: memory.relate("a", "r", "b", metadata=nested(300)),
        lambda: memory.propose("a", content="x", metadata=nested(300)),
    ):
        with pytest.raises(hades.InvalidInput, match=r"nested|JSON"):
            write()
    assert [topic.name for topic in memory.topics()] == ["fits"]
    assert memory.get("fits").metadata == nested(64)


def test_what_is_no_name_or_number_is_refused(memory: hades.Memory) -> None:
    memory.remember("5", "x")
    memory.relate("a", "r", "b")
    for wrong in (
        lambda: memory.remember(5, "y"),  # type: ignore[arg-type]
        lambda: memory.forget(True),  # type: ignore[arg-type]
        lambda: memory.edge("1"),  # type: ignore[arg-type]
        lambda: memory.edge(-1),
        lambda: memory.subgraph(["a"]),  # type: ignore[arg-type]
        lambda: memory.unrelate(True),
        lambda: memory.log(None),  # type: ignore[arg-type]
        lambda: memory.topics(after=""),
    ):
        with pytest.raises(hades.InvalidInput):
            wrong()
    with pytest.raises(hades.NotFound):
        memory.history("nobody", limit=0)
    assert memory.get("5").content == "x"
