"""Words and names answer before the vectors are made, by whoever makes them, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Semaphore, Thread

import pytest
from serve.rest_making import S, asking

import hades
from tests.shell import Shell

pytestmark = pytest.mark.workers

FILES = 300


class Endpoint(ThreadingHTTPServer):
    """An embeddings server that counts the texts it is sent, and answers when it may."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.sent: Counter[str] = Counter()
        self.may_answer = Semaphore(0)

    @property
    def setting(self) -> str:
        return f"openai:http://127.0.0.1:{self.server_port}/v1#mini"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["content-length"])))["input"]
        if len(texts) > 1:
            self.server.may_answer.acquire()
            self.server.sent.update(texts)
        vectors = [{"index": at, "embedding": [len(text), 1]} for at, text in enumerate(texts)]
        payload = json.dumps({"data": vectors}).encode()
        with suppress(BrokenPipeError):  # whoever asked was stopped
            self.send_response(200)
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.may_answer.release(1_000)
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    for number in range(FILES):
        (made / f"{number}.md").write_text(
            f"# Ferry {number}\n\nFerry {number} sails to Port Ellen at pier {number}.\n"
        )
    return made


def _hades(path: Path, endpoint: Endpoint, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hades", *words, "--memory", str(path)],
        env={**os.environ, "HADES_ENCODER": endpoint.setting},
        # A shell starts what runs in the background deaf to Ctrl-C, and so would this be.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come to that")


def _missing(path: Path, endpoint: Endpoint) -> int:
    """How many passages have no vector; -1 while there are none at all."""
    if not path.exists():
        return -1
    with hades.open(path, read_only=True, encoder=endpoint.setting) as memory:
        waits = memory.stats()
        return memory.unembedded if waits["chunks"] and waits["entities"] else -1


@pytest.mark.slow
def test_a_question_does_not_make_many_vectors(
    folder: Path, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hades.operations.indexing.EMBEDDED_AT_ONCE", FILES - 1)
    with hades.open(path) as memory:
        memory.ingest(folder, phases=("nodes", "chunks"))
        found = memory.recall("Where does Ferry 17 sail?")
        assert found.passages[0].chunk.topic.endswith("/17.md")
        (note,) = (one for one in found.reasons if one.reason is hades.Reason.NO_EMBEDDINGS)
        assert note.detail == "300 of 300 passages have no vector yet"
        assert memory.unembedded == FILES
        assert memory.search("Ferry 17 pier", limit=1)[0].chunk.topic.endswith("/17.md")
        memory.remember("note", "The harbour master is Ann Lee.")
        assert memory.recall("Who is the harbour master?").passages
        assert memory.unembedded == FILES + 1
        assert memory.index() == FILES + 1
        assert (memory.pending, memory.unembedded) == (0, 0)
        assert hades.Reason.NO_EMBEDDINGS not in {
            one.reason for one in memory.recall("Ferry").reasons
        }


@pytest.mark.slow
def test_stopped_it_keeps_its_vectors_and_goes_on(
    folder: Path, path: Path, endpoint: Endpoint
) -> None:
    running = _hades(path, endpoint, "ingest", str(folder))
    _until(lambda: _missing(path, endpoint) == FILES)
    with hades.open(path, read_only=True, encoder=endpoint.setting) as memory:
        assert memory.search("pier 17", retriever="words")[0].chunk.topic.endswith("/17.md")
        assert memory.mentions("Port Ellen")
    endpoint.may_answer.release(2)
    _until(lambda: _missing(path, endpoint) == FILES - 128)
    running.send_signal(signal.SIGINT)
    endpoint.may_answer.release()  # for the batch under way, which is lost
    told = running.communicate(timeout=60)[1]
    assert running.returncode != 0
    assert f"{FILES - 128} passages have no vector yet: `hades index` continues" in told
    endpoint.sent.clear()
    endpoint.may_answer.release(10)
    again = _hades(path, endpoint, "index")
    said = again.communicate(timeout=60)
    assert again.returncode == 0, said
    assert set(endpoint.sent.values()) == {1}
    assert len(endpoint.sent) == FILES - 128
    assert _missing(path, endpoint) == 0


@pytest.mark.slow
def test_two_processes_share_the_work_on_one_folder(
    folder: Path, path: Path, endpoint: Endpoint
) -> None:
    both = [_hades(path, endpoint, "ingest", str(folder)) for _ in range(2)]
    _until(lambda: _missing(path, endpoint) == FILES)
    endpoint.may_answer.release(100)
    for one in both:
        said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    assert len(endpoint.sent) == FILES
    assert set(endpoint.sent.values()) == {1}
    with hades.open(path, encoder=endpoint.setting) as memory:
        found = memory.stats()
        assert (found["topics"], found["states"], found["chunks"]) == (FILES, FILES, FILES)
        assert (memory.pending, memory.unembedded) == (0, 0)


def test_a_server_answers_while_it_makes_vectors(
    folder: Path, path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hades.operations.indexing.EMBEDDED_AT_ONCE", 10)
    with hades.open(path, encoder=endpoint.setting) as memory:
        memory.ingest(folder, phases=("nodes", "chunks", "edges"))
    with asking(path, encoder=endpoint.setting) as ask:
        found = ask.post(f"{S}/recall", {"question": "Where does Ferry 17 sail?"}).json()
        assert found["passages"][0]["chunk"]["topic"].endswith("/17.md")
        assert f"{FILES} of {FILES} passages have no vector yet" in str(found["reasons"])
        endpoint.may_answer.release(10)  # the question began to make them
        _until(lambda: _missing(path, endpoint) == 0)


def test_a_failed_or_dry_run_makes_no_memory(tmp_path: Path, folder: Path) -> None:
    shell = Shell(tmp_path / "none.hades")
    shell.refused("ingest", str(tmp_path / "nowhere"))
    shell("ingest", str(folder), "--dry-run")
    assert not list(tmp_path.glob("none.hades*"))
