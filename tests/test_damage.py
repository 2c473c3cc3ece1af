"""Bad files and bad disks: a clear error, and nothing made worse."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from damaging import edit

import hades
from hades.store import schema
from hades.store.sqlite import opening
from tests.shell import run_hades

pytestmark = pytest.mark.durable


Contents = dict[str, str]


@pytest.fixture(scope="session")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Contents]:
    """A memory with 60 topics, and what they contain."""
    path = tmp_path_factory.mktemp("filled") / "notes.hades"
    contents = {}
    with hades.open(path) as memory, memory.batch():
        for number in range(60):
            text = "\n".join(f"line {line} of {number}" for line in range(40))
            for version in range(4):
                contents[f"topic/{number}"] = text + f"\nversion {version}"
                memory.remember(f"topic/{number}", contents[f"topic/{number}"])
            memory.relate(f"topic/{number}", "next", f"topic/{number + 1}")
    return path, contents


@pytest.fixture
def contents(path: Path, filled_once: tuple[Path, Contents]) -> Contents:
    """Make `path` a copy of a memory with 60 topics; return what they contain."""
    made, contents = filled_once
    shutil.copyfile(made, path)
    return contents


@pytest.mark.parametrize(
    "content", [b"just some text, not ours at all", b"PK\x03\x04" * 50, os.urandom(5000)]
)
def test_a_file_that_is_not_ours_is_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(hades.InvalidInput, match="not a HADES memory"):
        hades.open(path)
    assert path.read_bytes() == content
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_another_programs_sqlite_file_is_left_alone(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE precious (data)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(hades.InvalidInput, match="another program"):
        hades.open(path)
    assert path.read_bytes() == before


def test_an_empty_file_is_not_taken_for_a_memory(path: Path) -> None:
    path.touch()
    with pytest.raises(hades.Corrupt, match="empty"):
        hades.open(path)
    assert path.stat().st_size == 0


@pytest.mark.parametrize(
    "migrations",
    [
        "UPDATE migrations SET name = 'the first shape'",
        "UPDATE migrations SET number = number + 60",
        "INSERT INTO migrations VALUES (99, 'a later step', 0)",
        "DELETE FROM migrations",
    ],
)
@pytest.mark.usefixtures("contents")
def test_a_file_with_other_tables(path: Path, migrations: str) -> None:
    edit(path, migrations)
    before = path.read_bytes()
    with pytest.raises(hades.Unavailable, match=r"another version of HADES.*export.*import"):
        hades.open(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("share", [0.999, 0.7, 0.3, 0.05])
@pytest.mark.usefixtures("contents")
def test_a_truncated_file(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))
    before = path.read_bytes()
    with pytest.raises(hades.Corrupt, match="cut short"):
        hades.open(path)
    assert path.read_bytes() == before


@pytest.mark.slow
def test_flipped_bits_are_noticed_or_harmless(
    path: Path, contents: Contents, tmp_path: Path
) -> None:
    """Whatever bit flips: the right content, or a HadesError; never a wrong content."""
    original = path.read_bytes()
    generator = random.Random(7)
    noticed = 0
    for round_ in range(80):
        damaged = bytearray(original)
        for _ in range(8):
            damaged[generator.randrange(len(damaged))] ^= 1 << generator.randrange(8)
        victim = tmp_path / f"flipped{round_}.hades"
        victim.write_bytes(damaged)
        try:
            with hades.open(victim) as memory:
                for topic, content in contents.items():
                    try:
                        assert memory.get(topic).content == content
                        memory.history(topic)
                        memory.edges(topic)
                    except hades.HadesError:
                        noticed += 1
                memory.check()
                noticed += _reading_all(memory, tmp_path)
        except hades.HadesError:
            noticed += 1
        for left in tmp_path.glob("flipped*"):
            left.unlink()
    assert noticed > 10


def _reading_all(memory: hades.Memory, folder: Path) -> int:
    """Read everything there is; how many of the ways to do so noticed the damage."""
    target = folder / "flipped.export"
    readings: list[Callable[[], object]] = [
        memory.topics,
        memory.entities,
        memory.edges,
        memory.spaces,
        memory.stats,
        memory.log,
        lambda: memory.export(target),
        lambda: memory.export(folder / "flipped.json", "node-link"),
    ]
    noticed = 0
    for read in readings:
        try:
            read()
        except hades.HadesError:
            noticed += 1
            assert read is not readings[-2] or not target.exists()
    return noticed


DAMAGE_TO_RECORDS = [
    "UPDATE states SET valid_from = 1 << 62 WHERE id = 42",
    "UPDATE states SET tags = '{nonsense' WHERE id = 42",
    "UPDATE states SET topic = 4711 WHERE id = 42",
    "UPDATE states SET body = zeroblob(30) WHERE id = 42",
    "UPDATE edges SET recorded_at = 'never' WHERE id = 5",
    "UPDATE changes SET at = 1 << 62 WHERE number = 5",
]


@pytest.mark.usefixtures("contents")
def test_an_export_of_a_damaged_memory_is_refused_in_one_sentence(
    path: Path, tmp_path: Path
) -> None:
    original = path.read_bytes()
    target = tmp_path / "all.jsonl"
    for damage in ("a name that is no text", *DAMAGE_TO_RECORDS):
        path.write_bytes(original)
        if damage in DAMAGE_TO_RECORDS:
            edit(path, damage)
        else:
            path.write_bytes(original.replace(b"topic/7", b"topic\xff7"))
        done = run_hades("export", str(target), "--memory", str(path))
        assert done.exit_code == 2, damage
        assert done.stderr.startswith("hades: "), damage
        assert done.stderr.count("\n") == 1, damage
        assert "hades check" in done.stderr, damage
        assert not list(tmp_path.glob("*all.jsonl*")), damage


@pytest.mark.usefixtures("contents")
def test_a_damaged_content_is_named_by_check(path: Path) -> None:
    edit(path, "UPDATE states SET body = zeroblob(30) WHERE id = 42")
    with hades.open(path) as memory:
        (problem,) = [p for p in memory.check() if "@" in p.where]
        assert problem.where.startswith("topic/10@")
        assert "restore" in problem.repair
        with pytest.raises(hades.Corrupt):
            memory.history("topic/10")
        assert memory.get("topic/11").content


DAMAGE_TO_MEND = [
    "UPDATE topics SET latest = (SELECT min(id) FROM states WHERE topic = topics.id) WHERE id = 3",
    "UPDATE topics SET versions = 9 WHERE id = 3",
    "UPDATE topics SET planned = 1 WHERE id = 3",
    "DELETE FROM heads WHERE topic = 3",
    "UPDATE heads SET body = 'nonsense' WHERE topic = 3",
    "INSERT OR REPLACE INTO heads VALUES (12345, 'stray')",
    "UPDATE edges SET superseded_by = 4711 WHERE id = 1",
    "INSERT INTO originals (summary, state) VALUES (12345, 1)",
    "UPDATE topics SET entity = 12345 WHERE id = 3",
]


@pytest.mark.parametrize("damage", DAMAGE_TO_MEND)
def test_what_is_derived_can_be_mended(path: Path, contents: Contents, damage: str) -> None:
    edit(path, damage)
    with hades.open(path) as memory:
        problems = memory.check()
        assert problems
        assert all("--repair" in p.repair for p in problems)
        assert memory.repair() == []
        assert {t: memory.get(t).content for t in contents} == contents


DAMAGE_TO_EDGES = {
    "UPDATE edges SET target = 99999 << 3 WHERE id = 5": "target is gone",
    "UPDATE edges SET source = (99999 << 3) | 1 WHERE id = 5": "source is gone",
    "UPDATE edges SET valid_to = valid_from - 1 WHERE id = 5": "ends before it begins",
}


@pytest.mark.parametrize(("damage", "says"), DAMAGE_TO_EDGES.items())
@pytest.mark.usefixtures("contents")
def test_a_damaged_edge_is_named_and_can_be_taken_out(path: Path, damage: str, says: str) -> None:
    edit(path, damage)
    with hades.open(path) as memory:
        (problem,) = memory.check()
        assert (says in problem.what, problem.where) == (True, "edge 5")
        memory.unrelate(5, mistake=True)
        assert memory.check() == [] or says == "ends before it begins"


TO_A_FULL_DISK = """
import resource, signal, sys
import hades
if sys.argv[2] == "limit":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))
memory = hades.open(sys.argv[1])
written = 0
try:
    for number in range(10_000):
        memory.remember(f"topic/{number}", " ".join(map(str, range(number, number + 2000))))
        written = number + 1
except hades.Unavailable as error:
    assert "no room" in str(error), error
print(written)
assert memory.get("topic/0").content.startswith("0 1 2 3")
try:
    memory.remember("one more", "".join(map(chr, range(32, 55_000))) * 10)
except hades.Unavailable:
    pass
else:
    raise SystemExit("the disk was not full")
assert memory.check() == []
"""


def _on_a_full_disk(path: Path, how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", TO_A_FULL_DISK, str(path), how], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    written = int(done.stdout)
    assert written > 10
    with hades.open(path) as memory:
        assert memory.check() == []
        assert len(memory.topics()) == written


def test_a_file_that_may_not_grow(path: Path) -> None:
    _on_a_full_disk(path, "limit")


def test_a_full_disk(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted here")
    try:
        _on_a_full_disk(disk / "m.hades", "disk")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.slow
@pytest.mark.usefixtures("contents")
def test_an_export_to_a_full_disk_is_one_sentence(path: Path) -> None:
    program = "from hades.cli import app; app()"
    export = [sys.executable, "-c", program, "export", "-", "--memory", str(path)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(export, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "hades: The export cannot be written: No space left on device.\n"


def _as_nobody(path: Path) -> str:
    """What an unprivileged process is told; it forks, so that it need not load anything."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing was refused"
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            with hades.open(path) as memory:
                assert memory.get("a").content == "one"
                assert memory.at("now").get("a").content == "one"
                memory.remember("a", "two")
        except hades.HadesError as error:
            said = f"{type(error).__name__}: {error}"
        except BaseException as error:
            said = f"not clear: {error!r}"
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    os.waitpid(child, 0)
    with os.fdopen(read) as pipe:
        return pipe.read()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Path]:
    """A folder that any user can reach."""
    folder = Path(tempfile.mkdtemp(prefix="hades-shelf-"))
    folder.chmod(0o755)
    with hades.open(folder / "m.hades") as memory:
        memory.remember("a", "one")
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.parametrize("folder_mode", [0o555, 0o777])
def test_a_read_only_file_can_be_read_and_says_no_to_writing(shelf: Path, folder_mode: int) -> None:
    path = shelf / "m.hades"
    path.chmod(0o444)
    shelf.chmod(folder_mode)
    before = path.read_bytes()
    assert _as_nobody(path).startswith("Denied: ")
    assert path.read_bytes() == before


def test_a_file_nobody_may_read(shelf: Path) -> None:
    (shelf / "m.hades").chmod(0)
    assert _as_nobody(shelf / "m.hades").startswith("Denied: ")


def test_a_folder_nobody_may_write(shelf: Path) -> None:
    shelf.chmod(0o555)
    assert _as_nobody(shelf / "new.hades").startswith("Denied: ")


def test_a_file_of_an_older_version_is_brought_up_to_date(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "one")
    step = "CREATE TABLE later (number INTEGER); INSERT INTO later VALUES (7)"
    steps = [*opening.STEPS, ("a later step", step)]
    for module in (opening, schema):
        monkeypatch.setattr(module, "STEPS", steps)
    with pytest.raises(hades.Unavailable, match="older HADES: open it for writing once"):
        hades.open(path, read_only=True)
    for _ in range(2):
        with hades.open(path) as memory:
            database = memory.inside.store.database
            assert database.rows("SELECT number FROM later") == [(7,)]
            steps = database.rows("SELECT number, name FROM migrations ORDER BY number")
            assert steps[-1] == (len(opening.STEPS), "a later step")
            assert memory.get("a").content == "one"
            assert memory.check() == []
