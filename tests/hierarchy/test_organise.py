"""`organise`: clusters of passages, kept up to date, as of any time."""

from __future__ import annotations

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from notes_making import members_by_cluster, remember_subjects
from word_encoder import write_word_encoder

import hades
from hades.domain.graph import NodeKind
from hades.domain.hierarchy import are_distant
from hades.domain.times import NOW
from hades.hierarchy import clustering
from hades.index.hierarchy import HierarchyCache
from hades.operations.hierarchy import _indexes
from tests.conftest import HeldClock
from tests.shell import run_hades


@pytest.fixture
def organised(memory: hades.Memory) -> hades.Memory:
    remember_subjects(memory)
    memory.organise()
    return memory


def test_passages_of_one_subject_are_one_cluster(organised: hades.Memory) -> None:
    assert sorted(members_by_cluster(organised).values(), key=str) == [
        {"boats"},
        {"bread"},
        {"stars"},
    ]
    report = organised.hierarchy()
    current = report.current
    assert current is not None
    assert (current.chunks, current.clusters, current.skipped) == (21, 3, 0)
    assert current.seed == 7
    assert current.parameters["min_cluster_size"] == 3
    assert {"scikit-learn", "igraph", "algorithm"} <= current.versions.keys()
    low = [cluster for cluster in report.clusters if cluster.level == 1]
    bread = next(cluster for cluster in low if cluster.label.startswith("bread"))
    shown = organised.clusters(bread.id)
    assert all("[bread/" in line for line in bread.summary.splitlines())
    assert bread.summary.splitlines()
    assert shown.members[0].nearness >= shown.members[-1].nearness
    parent = next(cluster for cluster in report.clusters if cluster.id == bread.parent)
    assert bread.id in {cluster.id for cluster in organised.clusters(parent.id).children}
    assert parent.level == 2


@pytest.mark.slow
def test_the_same_passages_give_the_same_clusters_on_any_number_of_threads(
    organised: hades.Memory, path: Path
) -> None:
    before = [(c.label, c.summary, c.size) for c in organised.hierarchy().clusters]
    organised.organise()
    assert [(c.label, c.summary, c.size) for c in organised.hierarchy().clusters] == before
    store = organised.inside.store.hierarchies
    first, second = (store.centroids(number) for number in (1, 2))
    assert [row[3] for row in first] == [row[3] for row in second]
    code = (
        f"import hades\nwith hades.open({str(path)!r}) as memory:\n"
        "    memory.organise()\n"
        "    print([(c.label, c.summary, c.size) for c in memory.hierarchy().clusters])"
    )
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "HADES_THREADS"), "1")
    environment = {"PATH": "", "PYTHONPATH": ":".join(sys.path), **threads}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(before)


def test_a_new_passage_joins_at_once_and_many_make_it_due(organised: hades.Memory) -> None:
    organised.remember("boats/new", "The new ferry is a fast ship that sails in a storm.")
    organised.index()
    cluster = next(c for c in organised.hierarchy().clusters if c.level == 1 and "boat" in c.label)
    members = {member.cite: member for member in organised.clusters(cluster.id).members}
    assert "boats/new@1#0" in members
    report = organised.hierarchy().current
    assert report is not None
    assert report.drift is not None
    assert (report.drift.joined, report.drift.due) == (1, "")
    again = organised.organise(if_due=True)
    assert (again.made, again.hierarchy) == (False, report)
    for number in range(5):
        organised.remember(f"wine/{number}", f"The vineyard of {number} pressed red grapes.")
    organised.forget("boats/new")
    organised.index()
    report = organised.hierarchy().current
    assert report is not None
    assert report.drift is not None
    assert (report.drift.joined, report.drift.gone) == (6, 1)
    assert "came or went" in report.drift.due
    assert any("organise" in finding.advice for finding in organised.quality().findings)
    assert organised.organise(if_due=True).made
    assert organised.hierarchy().current.drift.due == ""  # type: ignore[union-attr]


def test_earlier_hierarchies_stay_readable_and_come_back(
    organised: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-02-01")
    organised.remember("bread/new", "The bread of the new baker has a dark crust.")
    organised.organise()
    clock.set("2024-03-01")
    then = organised.at(known="2024-01-15").hierarchy()
    now = organised.hierarchy(history=True)
    assert then.current is not None
    assert now.current is not None
    assert (then.current.id, now.current.id) == (1, 2)
    assert [known.id for known in now.history] == [2, 1]
    assert members_by_cluster(organised.at(known="2024-01-15")).keys() == {"c_3", "c_4", "c_5"}
    organised.organise(restore=1)
    back = organised.hierarchy().current
    assert back is not None
    assert (back.id, back.restored_from) == (3, 1)
    assert sum(c.size for c in organised.hierarchy().clusters if c.level == 1) == 22
    bread = next(c for c in organised.hierarchy().clusters if "bread" in c.label)
    moved = organised.clusters(bread.id, journal=True).members
    assert {member.previous for member in moved} != {None}
    for wrong, error in ((99, hades.NotFound), (3, hades.InvalidInput), (0, hades.InvalidInput)):
        with pytest.raises(error):
            organised.organise(restore=wrong)
    assert organised.hierarchy().current == back


def test_what_was_purged_is_in_no_cluster(organised: hades.Memory, path: Path) -> None:
    organised.remember("stars/comet", "The comet Zyxwvut passes the star this winter.")
    organised.remember("stars/moon", "The comet Zyxwvut hides behind the moon.")
    organised.organise()
    organised.purge("stars/comet")
    organised.purge("stars/moon")
    report = organised.hierarchy()
    assert report.current is not None
    assert report.current.drift is not None
    assert "purged" in report.current.drift.due
    assert "" in {cluster.label for cluster in report.clusters}
    organised.close()
    for file in path.parent.iterdir():
        if file.is_file():
            assert b"yxwvut" not in file.read_bytes().lower(), file
    with hades.open(path) as memory:
        assert memory.organise(if_due=True).made
        assert "" not in {cluster.label for cluster in memory.hierarchy().clusters}


def test_questions_read_it_as_arrays(organised: hades.Memory) -> None:
    cache = HierarchyCache(organised.inside.store)
    indexes, space = _indexes(organised.inside, None), organised.inside.space_id
    arrays = cache.at(indexes, space, NOW)
    assert arrays is not None
    assert cache.at(indexes, space, NOW) is arrays
    low = arrays.at_level(1)
    assert sorted(len(arrays.members(int(cluster))) for cluster in low) == [7, 7, 7]
    assert np.allclose(np.linalg.norm(arrays.centroids, axis=1), 1)
    assert len(set(arrays.group_of(np.arange(21)).tolist())) == 2
    assert are_distant(1, 2)
    assert not are_distant(None, 2)
    organised.remember("boats/new", "The new ferry is a fast ship.")
    organised.index()
    organised.purge("bread/0")
    later = cache.at(_indexes(organised.inside, None), space, NOW)
    assert later is not None
    sizes = {int(n): len(later.members(at)) for at, n in enumerate(later.numbers.tolist())}
    assert sorted(sizes[int(number)] for number in later.numbers[low]) == [6, 7, 8]
    assert cache.at(indexes, 99, NOW) is None


def test_each_space_has_its_own(organised: hades.Memory) -> None:
    organised.create_space("other")
    other = organised.in_space("other")
    assert other.hierarchy().current is None
    other.remember("one", "A single note.")
    other.organise()
    assert [(c.level, c.size) for c in other.hierarchy().clusters] == [(2, 1), (1, 1)]
    with pytest.raises(hades.NotFound):
        other.clusters("c_3")
    organised.drop_space("other")
    assert organised.inside.store.database.value("SELECT count(*) FROM hierarchies") == 1
    assert organised.hierarchy().current is not None


@pytest.mark.parametrize("count", [1, 2, 9])
def test_few_and_identical_passages_are_one_cluster(memory: hades.Memory, count: int) -> None:
    for number in range(count):
        memory.remember("same" if count == 9 and number < 5 else f"n/{number}", "Tea is ready.")
    made = memory.organise().hierarchy
    assert made is not None
    assert (made.clusters, made.groups) == (1, 1)


def test_what_cannot_be_organised_is_said(memory: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="nothing to organise"):
        memory.organise()
    done = memory.organise(if_due=True)  # as a nightly job does
    assert (done.made, done.hierarchy, done.why) == (False, None, "the space has no passages")
    memory.remember("tea", "Tea is ready.")
    with memory.batch(), pytest.raises(hades.InvalidInput, match="not inside"):
        memory.organise()
    for wrong in ({"seed": -1}, {"seed": 2**40}, {"restore": 1, "dry_run": True}):
        with pytest.raises(hades.InvalidInput):
            memory.organise(**wrong)
    for name in ("tea", "c_", "c_1", "c_" + "9" * 40, "c_²"):
        with pytest.raises(hades.NotFound):
            memory.clusters(name)
    assert memory.organise(dry_run=True).hierarchy is not None
    assert memory.hierarchy().current is None


def test_a_vector_that_is_not_a_number_is_skipped_and_counted(memory: hades.Memory) -> None:
    remember_subjects(memory)
    memory.index()
    model, dims = memory.inside.finder.encoder.model, memory.inside.finder.encoder.dims
    broken = np.full(dims, np.nan, np.float16).tobytes()
    with memory.inside.write("test") as write:
        node = NodeKind.CHUNK.node(1)
        memory.inside.store.chunks.put_vectors(write, model, dims, [(node, broken)])
    made = memory.organise().hierarchy
    assert made is not None
    assert (made.chunks, made.skipped) == (20, 1)


def test_another_encoder_makes_it_due_and_nothing_joins(
    organised: hades.Memory, tmp_path: Path
) -> None:
    organised.reembed(f"folder:{write_word_encoder(tmp_path / 'words')}")
    report = organised.hierarchy().current
    assert report is not None
    assert report.drift is not None
    assert "encoder" in report.drift.due
    organised.remember("boats/new", "The new ferry is a fast ship.")
    organised.index()
    assert organised.hierarchy().current.drift.joined == 0  # type: ignore[union-attr]
    assert (
        HierarchyCache(organised.inside.store).at(_indexes(organised.inside, None), 1, NOW) is None
    )
    assert organised.organise(if_due=True).made


def test_without_the_libraries_the_reason_is_one_sentence(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.split(".")[0] in ("igraph", "sklearn"):
            raise ImportError(name)
        return real(name, *more)

    memory.remember("tea", "Tea is ready.")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(hades.Unavailable, match=r"pip install .*\[organise\]"):
        memory.organise()
    assert memory.hierarchy().current is None


@pytest.mark.parametrize("step", ["load_libraries", "cluster"])
def test_a_purge_meanwhile_is_told_in_one_sentence(
    organised: hades.Memory, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    call = getattr(clustering, step)

    def purge_first(*arguments: Any) -> Any:
        organised.purge("bread/0")
        return call(*arguments)

    monkeypatch.setattr(clustering, step, purge_first)
    with pytest.raises(hades.Conflict, match=r"purged while .* organise again"):
        organised.organise()
    monkeypatch.undo()
    assert organised.organise().made


def test_exports_and_backups_keep_it(organised: hades.Memory, path: Path, tmp_path: Path) -> None:
    shown = organised.hierarchy()
    organised.export(tmp_path / "all.jsonl")
    organised.backup(tmp_path / "backup.hades")
    organised.close()
    with hades.open(tmp_path / "backup.hades") as memory:
        assert memory.hierarchy() == shown
    with hades.open(tmp_path / "imported.hades") as memory:
        memory.import_(tmp_path / "all.jsonl")
        assert memory.hierarchy() == shown
        memory.create_space("beside")
    with hades.open(tmp_path / "used.hades") as memory:
        memory.remember("tea", "Tea is ready.")
        memory.organise()
        memory.import_(tmp_path / "all.jsonl", into="imported")
        inside = memory.in_space("imported")
        assert sorted(members_by_cluster(inside).values(), key=str) == [
            {"boats"},
            {"bread"},
            {"stars"},
        ]
        assert not memory.check()
    with hades.open(path, read_only=True) as memory:
        assert memory.hierarchy() == shown
        with pytest.raises(hades.Denied):
            memory.organise()


def test_the_commands_show_it(organised: hades.Memory, path: Path) -> None:
    organised.close()
    for line, part in (
        (["organise"], "21 passages, 3 clusters of level 1, 2 of level 2"),
        (["hierarchy", "--history"], "until"),
        (["clusters", "c_9"], "members:"),
    ):
        done = run_hades(*line, "-m", str(path))
        assert done.exit_code == 0, done.output
        assert part in done.output
