"""A client and what can happen between it and its server."""

from __future__ import annotations

import functools
import gc
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from serving import Server

import hades
from tests.callers import caller

LEAKS = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""httpcore 1.0 leaves a unix socket that nobody listens at to the garbage collector."""


@pytest.fixture(autouse=True)
def _collect_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """What a test marked `LEAKS` leaves is collected before the next one begins."""
    yield
    if request.node.get_closest_marker("filterwarnings"):
        gc.collect()


@pytest.fixture
def client(server: Server, path: Path) -> Iterator[hades.Memory]:
    with server.serving(path), hades.open(server.address) as opened:
        yield opened


def test_several_threads_share_a_client(client: hades.Memory) -> None:
    def write(number: int) -> int:
        client.remember(f"notes/{number % 5}", f"said {number}")
        return len(client.get(f"notes/{number % 5}").content)

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(write, range(40)))
    assert sum(topic.versions for topic in client.topics()) == 40
    assert client.change == 40


def test_a_batch_is_of_its_thread_alone(client: hades.Memory) -> None:
    def names() -> list[str]:
        return [topic.name for topic in client.topics()]

    with ThreadPoolExecutor(1) as other:
        with client.batch():
            client.remember("a", "one")
            other.submit(client.remember, "b", "two").result()
            assert names() == ["b"]  # what the batch collects is not sent yet
        assert names() == ["a", "b"]


def test_several_threads_have_batches_of_their_own(client: hades.Memory) -> None:
    def write(number: int) -> None:
        with client.batch():
            client.remember(f"a{number}", "x")
            client.remember(f"b{number}", "x")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, range(3)))
    assert len(client.topics()) == 6


def test_a_batch_is_all_or_nothing(client: hades.Memory) -> None:
    with pytest.raises(ZeroDivisionError), client.batch():  # noqa: PT012
        client.remember("a", "one")
        raise ZeroDivisionError
    with pytest.raises(hades.Conflict, match="version"), client.batch():  # noqa: PT012
        client.remember("a", "one")
        client.remember("b", "two", expect_version=7)
    with pytest.raises(hades.InvalidInput, match="confidence"), client.batch():  # noqa: PT012
        client.remember("a", "one")
        client.remember("b", "two", confidence=7)
    assert client.topics() == []


def test_a_batch_is_of_one_space(client: hades.Memory) -> None:
    client.create_space("work")
    work = client.in_space("work")
    with client.batch():
        client.remember("a", "one")
        with pytest.raises(hades.InvalidInput, match="one space"):
            work.remember("b", "two")
        with pytest.raises(hades.InvalidInput, match="not inside"):
            client.create_space("more")
    assert [topic.name for topic in client.topics()] == ["a"]


def test_a_batch_that_grows_too_long_says_so_at_once(client: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="10,000 writes"), client.batch():  # noqa: PT012
        for number in range(10_001):
            client.remember(f"n{number}", "x")
    assert client.topics() == []


def test_a_batch_in_a_batch_is_a_part_of_it(client: hades.Memory) -> None:
    with client.batch():
        client.remember("a", "one")
        with client.batch():
            client.remember("b", "two")
        with pytest.raises(ZeroDivisionError), client.batch():  # noqa: PT012
            client.remember("c", "three")
            raise ZeroDivisionError
    assert [topic.name for topic in client.topics()] == ["a", "b"]


def test_a_batch_needs_the_role_of_each_of_its_writes(client: hades.Memory, server: Server) -> None:
    client.remember("a", "one")
    server.caller = caller("eve", "writer")
    with pytest.raises(hades.Denied, match="needs the role admin"), client.batch():  # noqa: PT012
        client.remember("b", "two")
        client.purge("a")
    assert [topic.name for topic in client.topics()] == ["a"]


def test_what_nothing_found_says_is_told_over_the_wire_too(client: hades.Memory) -> None:
    client.remember("design/approach_x", "Approach X is viable.")
    assert (
        str(client.ask("Is approach X viable?")) == "design/approach_x: Approach X is viable. [1]"
    )
    unknown = client.ask("Is approach Y viable?")
    assert unknown.unsaid == ("approach Y",)
    assert str(unknown).startswith("Nothing found says anything about “approach Y”. Closest:\n")


def test_a_question_is_answered_alike_here_and_there(
    client: hades.Memory, server: Server, path: Path
) -> None:
    client.remember("server/db07", "It runs PostgreSQL 15.", valid_from="2025-01-10")
    client.remember("server/db07", "It runs PostgreSQL 16.", valid_from="2025-05-03")
    client.relate("server/db07", "runs_on", "rack 2", valid_from="2024-06-01")
    client.change_fact("server/db07", "runs_on", to="rack 4", at="2025-05-03")
    client.warm()
    asked = (
        ("Where does db07 run?", {}),
        ("Where did db07 run in March 2025?", {}),
        ("What changed at db07?", {"since": "2025-05", "until": "2025-06"}),
    )
    remote = [client.ask(question, **options) for question, options in asked]
    with hades.open(path, read_only=True) as memory:
        memory.warm()
        local = [memory.ask(question, **options) for question, options in asked]
    for here, there in zip(local, remote, strict=True):
        assert replace(there, recall=here.recall) == here
        spent = {name: getattr(here.recall, name) for name in ("ms", "telemetry", "conveyance")}
        assert replace(there.recall, **spent) == here.recall
    now, then, changed = remote
    assert "server/db07 runs on rack 4, since 3 May 2025 [F1]" in str(now)
    assert str(then).startswith("server/db07 runs on rack 2, from 1 June 2024 to 3 May 2025 [F1]")
    assert str(then.recall.time) == "in March 2025: 1 to 31 March 2025"
    assert changed.recall.wants is hades.Wants.HAPPENINGS
    assert any(one.superseded for one in client.recall("Which PostgreSQL has db07?").passages)


def test_a_question_inside_a_batch_is_refused_as_in_a_memory(client: hades.Memory) -> None:
    with client.batch():
        for call in (
            lambda: client.search("anything"),
            lambda: client.resolve(),
            lambda: client.index(),
            lambda: client.ingest(__file__),
        ):
            with pytest.raises(hades.InvalidInput, match="not inside"):
                call()


def test_a_client_names_no_ray_cluster_to_a_server(client: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="ingests without Ray"):
        client.ingest(__file__, ray="127.0.0.1:6379")


def test_long_lists_come_whole(client: hades.Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.client.client.PAGE", 7)
    names = [f"n{number:02}" for number in range(23)]
    with client.batch():
        for name in names:
            client.remember(name, "a note")
            client.relate("hub", "knows", name, kind="person")
            client.propose(name, content="perhaps", confidence=0.1)
    assert [one.name for one in client.topics()] == names
    assert [one.name for one in client.topics(after="n08", limit=9)] == names[9:18]
    assert [one.target.name for one in client.edges()] == names
    assert [one.fields["topic"] for one in client.proposals("all")] == names
    assert [one.id for one in client.proposals(after=20, limit=2)] == [21, 22]
    assert len(client.log(100)) == 3 * 23


def test_relative_times_are_by_the_clock_of_the_server(
    server: Server, path: Path, clock: Callable[[], int]
) -> None:
    with server.serving(path, clock), hades.open(server.address) as client:
        client.remember("a", "one", valid_from="yesterday")
        view = client.at("yesterday")
        assert str(view.as_of.valid) == "2023-12-31 00:00:00+00:00"
        assert view.get("a").content == "one"
        with pytest.raises(hades.InvalidInput, match="Cannot read the time"):
            client.at("whenever")


# What goes wrong


@LEAKS
def test_a_server_that_was_restarted_is_found_again(tmp_path: Path) -> None:
    server = Server(tmp_path / "own.sock")
    with server.serving(tmp_path / "m.hades"):
        server.start()
        with hades.open(server.address) as client:
            client.remember("a", "one")
            server.stop()
            again = threading.Timer(0.2, server.start)
            again.start()
            try:
                assert client.remember("a", "two").version == 2
                assert client.get("a").content == "two"
            finally:
                again.join()
                server.stop()


@LEAKS
def test_a_server_that_is_gone_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(hades.Unavailable, match=r"No server answers at unix:///.*hades serve"):
        hades.open(f"unix://{tmp_path}/none.sock")
    with pytest.raises(hades.Unavailable, match="No server answers"):
        hades.open("http://127.0.0.1:9")
    server = Server(tmp_path / "own.sock")
    with server.serving(tmp_path / "m.hades"):
        server.start()
        with hades.open(server.address, retries=1) as client:
            server.stop()
            for call in (lambda: client.get("a"), lambda: client.remember("a", "one")):
                with pytest.raises(hades.Unavailable, match="No server answers"):
                    call()


def test_whoever_may_not_is_denied_with_the_same_sentence(
    client: hades.Memory, server: Server
) -> None:
    client.remember("a", "one")
    server.caller = caller("eve", "reader")
    assert client.get("a").content == "one"
    with pytest.raises(hades.Denied, match="needs the role writer: yours is reader"):
        client.remember("a", "two")
    server.caller = caller("eve", "reader", "other")
    with pytest.raises(hades.Denied, match="may not use the space 'default'"):
        hades.open(server.address)


def test_a_client_opened_for_reading_sends_no_write(client: hades.Memory, server: Server) -> None:
    client.remember("a", "one")
    with hades.open(server.address, read_only=True) as reader:
        assert reader.get("a").content == "one"
        for write in (
            lambda: reader.remember("a", "two"),
            lambda: reader.batch(),
            lambda: reader.drop_space("default"),
            lambda: reader.in_space("default").forget("a"),
        ):
            with pytest.raises(hades.Denied, match="reading only"):
                write()


def test_what_is_no_server_of_ours_is_told() -> None:
    for status, error in (("200 OK", hades.Unavailable), ("404 No", hades.NotFound)):
        answer = f"HTTP/1.1 {status}\r\nContent-Length: 5\r\n\r\nhello".encode()
        with _answering(answer) as address, pytest.raises(error, match="not as HADES does"):
            hades.open(address)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://", "not an address"),
        ("http://host:99999", "Port"),
        ("http://host/?q=1", "not an address"),
        ("unix://here.sock", "full path"),
        ("ftp://host", "neither a file nor a database"),
    ],
)
def test_a_wrong_address_is_told(address: str, says: str) -> None:
    with pytest.raises(hades.InvalidInput, match=says):
        hades.open(address)


def test_what_is_the_servers_to_say_is_refused(server: Server) -> None:
    for given in ({"actor": "bob"}, {"encoder": "minilm"}, {"clock": lambda: 0}):
        with pytest.raises(hades.InvalidInput, match="leave"):
            hades.open(server.address, **given)


# A write is done once


class Lossy:
    """Stands between a client and a server, and loses the answers to the next `lose` requests."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.address = f"unix://{folder}/lossy.sock"
        self.lose = 0
        self.lost = 0
        self._server = server
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(f"{folder}/lossy.sock")
        self._listening.listen()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join()

    def _run(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            # A client that has read what it needs hangs up while the server still writes.
            with near, socket.socket(socket.AF_UNIX) as far, suppress(ConnectionError):
                far.connect(str(self._server))
                self._pass_on(near, far)

    def _pass_on(self, near: socket.socket, far: socket.socket) -> None:
        is_losing = False
        while True:
            ready, _, _ = select.select([near, far], [], [])
            for source in ready:
                data = source.recv(65_536)
                if not data:
                    return
                if source is near:
                    # What is left of an answer from before is passed on: it is not the next one.
                    is_losing = self.lose > 0
                elif is_losing:
                    self.lose -= 1
                    self.lost += 1
                    return
                (far if source is near else near).sendall(data)


@pytest.fixture
def lossy(tmp_path: Path, server: Server, path: Path) -> Iterator[Lossy]:
    with server.serving(path):
        between = Lossy(tmp_path, Path(server.address.removeprefix("unix://")))
        yield between
        between.close()


def test_a_write_whose_answer_was_lost_is_not_done_twice(lossy: Lossy) -> None:
    with hades.open(lossy.address) as client:
        client.remember("a", "one")
        lossy.lose = 2
        state = client.remember("a", "two", expect_version=1)
        assert lossy.lost == 2
        assert state.version == 2
        assert [one.content for one in client.history("a")] == ["one", "two"]
        lossy.lose = 1
        client.create_space("work")
        lossy.lose = 1
        client.forget("a")
        assert [change.action for change in client.log()] == ["forget", "remember", "remember"]


def test_a_write_that_never_gets_an_answer_is_given_up(lossy: Lossy) -> None:
    with hades.open(lossy.address, retries=2) as client:
        lossy.lose = 99
        with pytest.raises(hades.Unavailable, match="broke off"):
            client.remember("a", "one")
        assert lossy.lost == 3
        lossy.lose = 0
        assert len(client.history("a")) == 1


def test_a_batch_whose_answer_was_lost_is_done_once(lossy: Lossy) -> None:
    with hades.open(lossy.address) as client:
        with client.batch():
            client.remember("a", "one")
            client.remember("a", "two")
            lossy.lose = 1
        assert [one.content for one in client.history("a")] == ["one", "two"]


def test_a_write_that_took_too_long_is_asked_about_with_its_own_key(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = []
    propose = hades.Memory.propose

    @functools.wraps(propose)
    def slow(*args: Any, **kwargs: Any) -> Any:
        tries.append(1)
        time.sleep(1.5)
        return propose(*args, **kwargs)

    monkeypatch.setattr(hades.Memory, "propose", slow)
    with server.serving(path, timeout_s=1), hades.open(server.address) as client:
        made = client.propose("ann", relation="knows", target="bob", confidence=0.3)
        assert [one.id for one in client.proposals()] == [made.id]
    assert tries == [1]


def test_work_whose_answer_was_lost_is_begun_once(lossy: Lossy, tmp_path: Path) -> None:
    (tmp_path / "facts.csv").write_text("subject,predicate,object\nann,knows,bob\n")
    with hades.open(lossy.address) as opened:
        opened.create_space("lost-answers")
        client = opened.in_space("lost-answers")
        for begin in (client.resolve, lambda: client.import_triples(tmp_path / "facts.csv")):
            lossy.lose = 1
            begin()
            assert lossy.lose == 0
        jobs = client._connection.get("spaces", "lost-answers", "jobs")["items"]
    assert [job["kind"] for job in jobs] == ["triples", "resolve"]


@contextmanager
def _answering(answer: bytes) -> Iterator[str]:
    """Something that says the same whatever it is asked."""
    with socket.socket(socket.AF_INET) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()

        def run() -> None:
            near, _ = listening.accept()
            with near:
                near.recv(65_536)
                near.sendall(answer)

        thread = threading.Thread(target=run)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def test_a_brief_is_the_same_from_afar(client: hades.Memory) -> None:
    client.remember("infra/queue", "We chose Redis streams.", tags=["decision"])
    brief = client.brief("infra", budget=500)
    assert isinstance(brief, hades.Brief)
    assert [line.cite for line in brief.decisions] == ["infra/queue@1"]
    assert "We chose Redis streams. [infra/queue@1]" in brief.text
