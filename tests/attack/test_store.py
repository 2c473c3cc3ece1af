"""The store under attack: purges that are cut short, and what is left beside the file."""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

sys.path.append(str(Path(__file__).parents[1] / "serve"))

from process_making import hades_serve

import hades

pytestmark = pytest.mark.durable

LONG = os.environ.get("HADES_ATTACK") == "long"
KILLS = 500 if LONG else 20
UPLOADS_KILLED = 20 if LONG else 1
SECRET = "xyzzyplugh"


def _said_in(folder: Path) -> list[str]:
    """The files in which the secret stands."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [path.name for path in files if SECRET.encode() in path.read_bytes()]


def _remember(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("person", f"The password is {SECRET}. " + "And more. " * 500)
        memory.remember("other", "Nothing of it. " * 500)
        memory.relate("person", "told", f"Agent {SECRET}", evidence=f"said {SECRET}")
        memory.search("password", retriever="words")


# Kills


@pytest.mark.slow
def test_no_kill_leaves_erased_text_unsaid() -> None:
    harness = Path(__file__).parent / "kills.py"
    done = subprocess.run(
        [sys.executable, str(harness), str(KILLS)], capture_output=True, text=True, check=True
    )
    print(done.stdout)
    for deed, seen in json.loads(done.stdout).items():
        assert seen.keys() <= {"kills", "steps"}, (deed, seen)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(UPLOADS_KILLED))
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_killed_while_files_are_sent(path: Path, number: int) -> None:
    """What it left is named, and goes with the next purge, though no server is started again."""
    _remember(path)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name in range(300):
            text = f"A file that says {SECRET}. ".encode() * 50
            info = tarfile.TarInfo(f"sent/{name}.md")
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text))
    with hades_serve(path, "--no-tcp") as server:

        def send() -> None:
            headers = {"content-type": "application/x-tar"}
            with server.client() as client, suppress(httpx.TransportError):  # it is killed
                client.post("/v1/spaces/default/jobs", content=packed.getvalue(), headers=headers)

        sending = threading.Thread(target=send)
        sending.start()
        uploads = path.with_name(f"{path.name}.uploads")
        while not (uploads.exists() and any(uploads.iterdir())) and sending.is_alive():
            time.sleep(0.001)
        time.sleep(random.Random(number).uniform(0, 0.5))
        server.stop(signal.SIGKILL)
        sending.join()
    left = list(uploads.rglob("*.md"))
    with hades.open(path, read_only=True) as memory:
        named = [problem.where for problem in memory.check()]
    assert not left or any(str(uploads) in where for where in named)
    with hades.open(path) as memory:
        with memory.batch():
            for topic in ["person", *(topic.name for topic in memory.topics("*sent*"))]:
                memory.purge(topic)
        assert memory.check() == []
    assert _said_in(path.parent) == []


# What keeps a purge from being finished


def test_a_purge_that_a_reader_puts_off_is_owed(path: Path) -> None:
    _remember(path)
    with (
        hades.open(path, busy_timeout_s=0.1) as memory,
        hades.open(path, read_only=True) as reader,
    ):
        with reader.snapshot():
            reader.get("person")
            assert memory.purge("person")["wiped"] == 0
            (problem,) = memory.check()
            assert problem.what.startswith("erased text may still be there: its log")
            assert _said_in(path.parent)
        assert memory.purge("person") == {"wiped": 1}
        assert reader.check() == []
        assert _said_in(path.parent) == []
        with pytest.raises(hades.NotFound):
            memory.purge("person")


def test_what_is_owed_is_done_when_the_memory_is_opened(path: Path) -> None:
    _remember(path)
    with (
        hades.open(path, busy_timeout_s=0.1) as memory,
        hades.open(path, read_only=True) as reader,
        reader.snapshot(),
    ):
        reader.get("person")
        memory.purge("person")
    with hades.open(path) as memory:
        assert memory.check() == []
        assert _said_in(path.parent) == []


ON_A_FULL_DISK = """
import resource, signal, sys
import hades
with hades.open(sys.argv[1]) as memory:
    memory.remember("small", "one page more")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
    assert memory.purge("person")["wiped"] == 0
    (problem, *_) = memory.check()
    assert "still has to be rewritten" in problem.what, problem
    assert memory.purge("person")["wiped"] == 0
"""


@pytest.mark.slow
def test_a_purge_on_a_full_disk_is_owed(path: Path) -> None:
    _remember(path)
    with hades.open(path) as memory, memory.batch():
        for number in range(300):
            memory.remember(f"ballast/{number}", random.Random(number).randbytes(4000).hex())
    done = subprocess.run(
        [sys.executable, "-c", ON_A_FULL_DISK, str(path), str(path.stat().st_size // 2)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "no room left on the disk" in done.stderr
    with hades.open(path) as memory:
        assert memory.check() == []
    assert _said_in(path.parent) == []


def test_a_purge_through_a_link(path: Path, tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "real.hades"
    real.parent.mkdir()
    _remember(real)
    path.symlink_to(real)
    with hades.open(path) as memory:
        assert memory.search("password", retriever="words")
        assert memory.purge("person")["wiped"] == 1
    assert _said_in(tmp_path) == []
    assert sorted(one.name for one in tmp_path.iterdir()) == ["elsewhere", path.name]


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A folder that any user can write to."""
    folder = Path(tempfile.mkdtemp(prefix="hades-shelf-"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
def test_an_index_that_may_not_be_removed_is_owed(shelf: Path) -> None:
    path = shelf / "notes.hades"
    _remember(path)
    path.chmod(0o666)
    child = os.fork()
    if child == 0:
        os.setgid(65534)
        os.setuid(65534)
        with hades.open(path) as memory:
            os._exit(memory.purge("person")["wiped"])
    assert os.waitpid(child, 0)[1] == 0
    with hades.open(path, read_only=True) as memory:
        (problem,) = memory.check()
        assert "the indexes beside it" in problem.what
    with hades.open(path) as memory:
        assert memory.check() == []
    assert _said_in(shelf) == []


@pytest.mark.parametrize(
    "left",
    [
        "notes.hades.uploads/x/sent.md",
        ".copy.hades.0123456789ab.draft/copy.hades",
    ],
)
def test_what_a_killed_process_left_is_named_and_goes(path: Path, left: str) -> None:
    _remember(path)
    file = path.parent / left
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SECRET)
    with hades.open(path) as memory:
        (problem,) = memory.check()
        assert Path(problem.where) in (file, file.parent)
        assert memory.repair() == []
        assert not file.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(SECRET)
        assert memory.purge("person")["wiped"] == 1
    assert _said_in(path.parent) == []


def test_what_somebody_is_at_work_on_is_left_alone(path: Path, tmp_path: Path) -> None:
    _remember(path)
    with hades.open(path) as memory:
        seen = []

        def look(_what: str, _done: int, _total: int) -> None:
            with hades.open(path, read_only=True) as other:
                seen.extend(other.check())
            memory.inside.store.database.path.stat()

        memory.backup(tmp_path / "copy.hades", look)
        assert seen == []


def test_purge_leaves_what_is_not_ours_in_the_folder_of_indexes(path: Path) -> None:
    _remember(path)
    elsewhere = path.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "thesis.txt").write_text("Years of work.")
    index = path.with_name(f"{path.name}.index")
    shutil.rmtree(index, ignore_errors=True)
    index.symlink_to(elsewhere)
    with hades.open(path) as memory:
        memory.recall("anything")
        memory.purge(memory.topics()[0].name)
        assert not memory.check()
    assert {one.name for one in elsewhere.iterdir()} == {"lock", "thesis.txt"}
