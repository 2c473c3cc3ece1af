"""A soak: hours of mixed load on a server that is stopped and killed meanwhile.

`make soak` runs two minutes on a file and two on PostgreSQL; `MINUTES=120` is for a release, and
`ENGINE=file` or `ENGINE=postgres` runs one of them; `PAUSE=0.5` lets each client wait so many
seconds between two calls, for a machine that has other work. It fails if a write that was answered
is missing, if a call fails other than for want of time, or if `check` reports damage. Memory and
times are printed for each third of the load between the restarts, to be judged by a reader: the set
of topics is bounded, so only versions grow. The server's processor time per call says whether calls
become slower, even if other work of the machine delays them.
"""

from __future__ import annotations

import itertools
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import psutil
from postgres_making import own_server
from process_making import Process, hades_serve

import hades

CLIENTS = 3
TOPICS = 200
FILES = 20
SAMPLE_EVERY_S = 2.0
RESTART_SHARE = 0.05
"""The part of the time before each restart."""
CALLS_AT_LEAST = 50
"""The fewest calls between two restarts, however slow the machine is."""
THINGS = ("cache", "parser", "scheduler", "index", "gateway", "queue", "ledger", "router")
STATES = ("rejected", "slow", "fixed", "viable", "flaky", "finished", "blocked", "measured")


@dataclass(frozen=True)
class Timed:
    """One call that was answered."""

    kind: str
    at: float
    ms: float


class Sample(NamedTuple):
    """What a server holds and has used at a moment."""

    at: float
    resident_mb: float
    own_mb: float
    """Resident memory without mapped files; the system can take those back."""
    processor_s: float


@dataclass
class Soak:
    """What the clients share: where the server is, what it acknowledged and how long it took."""

    folder: Path
    address: str
    can_backup: bool
    pause_s: float
    states: dict[tuple[str, int], str] = field(default_factory=dict)
    """The text of each topic and version that was acknowledged."""
    edges: dict[int, tuple[str, str]] = field(default_factory=dict)
    timed: list[Timed] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    """Calls that a running server had no time for."""
    interrupted: Counter[str] = field(default_factory=Counter)
    """Calls during a restart."""
    running: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)
    restarts: int = 0

    def client(self, number: int) -> None:
        """Make random calls, one after the other, until the time is over."""
        chance = random.Random(number)
        calls: dict[str, tuple[int, Callable[[hades.Memory, random.Random], None]]] = {
            "remember": (30, self._remember),
            "relate": (10, self._relate),
            "recall": (25, lambda memory, chance: _said(memory.recall(_question(chance)))),
            "ask": (15, lambda memory, chance: _said(memory.ask(_question(chance)))),
            "get": (10, lambda memory, chance: _said(memory.history(_topic(chance)))),
        }
        if number == 0:  # one client looks after the memory, as an operator does
            calls |= {"ingest": (4, self._ingest), "promote": (4, self._promote)}
            calls |= {"consolidate": (1, lambda memory, _: _said(memory.consolidate()))}
            calls |= {"organise": (1, lambda memory, _: _said(memory.organise()))}
            calls |= {"backup": (1, self._backup)}
        shares = [share for share, _ in calls.values()]
        memory: hades.Memory | None = None
        while not self.over.is_set():
            (kind,) = chance.choices(list(calls), shares)
            restarts, began = self.restarts, time.monotonic()
            try:
                memory = memory or hades.open(self.address)
                calls[kind][1](memory, chance)
            except hades.NotFound as error:
                if kind not in ("get", "promote"):  # their topic may not be written yet
                    self._failed(kind, restarts, error)
            except Exception as error:
                self._failed(kind, restarts, error)
            else:
                ended = time.monotonic()
                self.timed.append(Timed(kind, ended, 1000 * (ended - began)))
            self.over.wait(self.pause_s)
        if memory is not None:
            memory.close()

    def _failed(self, kind: str, restarts: int, error: Exception) -> None:
        if self.restarts != restarts or not self.running.is_set():
            self.interrupted[kind] += 1
            self.running.wait(60)
        elif isinstance(error, hades.Unavailable):
            self.refused[f"{kind}: {error}"] += 1
        else:
            self.failures.append(f"{kind}: {type(error).__name__}: {error}")
            self.over.wait(0.5)

    def _remember(self, memory: hades.Memory, chance: random.Random) -> None:
        topic, text = _topic(chance), _text(chance)
        days = chance.choice([0, 0, chance.randrange(1, 15)])  # days that are over get summaries
        state = memory.remember(topic, text, valid_from=f"{days} days ago" if days else None)
        self.states[topic, state.version] = text

    def _relate(self, memory: hades.Memory, chance: random.Random) -> None:
        source, target = _topic(chance), _topic(chance)
        edge = memory.relate(source, "depends_on", target, evidence=_text(chance))
        self.edges[edge.id] = (source, target)

    def _promote(self, memory: hades.Memory, chance: random.Random) -> None:
        done = memory.promote(_topic(chance), reason=_text(chance))
        self.states[done.state.topic, done.state.version] = done.state.content

    def _ingest(self, memory: hades.Memory, chance: random.Random) -> None:
        source = self.folder / "docs"
        source.mkdir(exist_ok=True)
        texts = {f"{number}.md": _text(chance) for number in range(FILES)}
        for name, text in texts.items():
            (source / name).write_text(text)
        summary = memory.ingest(source)
        assert not summary.skipped, summary.skipped
        for name, text in texts.items():
            state = memory.get(f"docs/{name}")
            assert state.content == text, f"docs/{name} has another text than its file"
            self.states[state.topic, state.version] = text

    def _backup(self, memory: hades.Memory, chance: random.Random) -> None:
        """Take a backup and look into it; PostgreSQL has its own, so there export instead."""
        target = self.folder / ("backup.hades" if self.can_backup else "export.jsonl")
        known = dict(self.states)
        if not self.can_backup:
            memory.export(target)
        else:
            memory.backup(target)
            with hades.open(target, read_only=True) as copy:
                for topic, version in chance.sample(sorted(known), min(20, len(known))):
                    text = copy.get(topic, version).content
                    assert text == known[topic, version], f"the backup lacks {topic}@{version}"
        for left in self.folder.glob(f"{target.name}*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    def sample(self, server: Process) -> None:
        """Note the memory and the processor time of the server."""
        process = psutil.Process(server.process.pid)
        used = process.cpu_times()
        held = process.memory_info()
        own = held.rss - held.shared
        processor_s = used.user + used.system
        self.samples.append(Sample(time.monotonic(), held.rss / 2**20, own / 2**20, processor_s))

    def lost(self, memory: hades.Memory) -> list[str]:
        """List the acknowledged writes that are missing or different."""
        found: dict[tuple[str, int], str | None] = {}
        for topic in sorted({topic for topic, _ in self.states}):
            found |= {(topic, state.version): state.content for state in memory.history(topic)}
        lost = [f"{key[0]}@{key[1]}" for key, text in self.states.items() if found.get(key) != text]
        ends = {edge.id: (edge.source.name, edge.target.name) for edge in memory.edges(all=True)}
        return lost + [f"edge {id_}" for id_, known in self.edges.items() if ends.get(id_) != known]


def _topic(chance: random.Random) -> str:
    return f"notes/{chance.randrange(TOPICS)}"


def _text(chance: random.Random) -> str:
    thing, other = chance.sample(THINGS, 2)
    number = chance.randrange(10**6)
    return f"The {thing} is {chance.choice(STATES)} because of the {other}. Run {number} shows it."


def _question(chance: random.Random) -> str:
    return f"Why is the {chance.choice(THINGS)} {chance.choice(STATES)}?"


def _said(answer: object) -> None:
    assert str(answer)


def soak(folder: Path, place: Path | str, minutes: float, pause_s: float) -> Soak:
    """Load a server for some minutes; two restarts before and two after the measured load."""
    whole_s = 60 * minutes
    brief_s = RESTART_SHARE * whole_s
    lives = [
        (brief_s, signal.SIGTERM),
        (brief_s, signal.SIGKILL),
        (whole_s - 4 * brief_s, signal.SIGKILL),
        (brief_s, signal.SIGTERM),
        (brief_s, signal.SIGTERM),
    ]
    state = Soak(folder, f"unix://{folder / 'admin.sock'}", isinstance(place, Path), pause_s)
    clients = [threading.Thread(target=state.client, args=(n,)) for n in range(CLIENTS)]
    for number, (seconds, how) in enumerate(lives):
        with hades_serve(place, "--no-tcp", folder=folder) as server:
            _wait_until_ready(server)
            state.running.set()
            if number == 0:
                for thread in clients:
                    thread.start()
            if number == 2:
                state.timed.clear()
                state.samples.clear()
            until, before = time.monotonic() + seconds, len(state.timed)
            while time.monotonic() < until or len(state.timed) < before + CALLS_AT_LEAST:
                if number == 2:
                    state.sample(server)
                time.sleep(min(SAMPLE_EVERY_S, seconds / 10))
            if number == 2:
                measured = list(state.timed)
            if number == len(lives) - 1:
                state.over.set()
                for thread in clients:
                    thread.join()
                with hades.open(state.address) as memory:
                    state.failures += [f"lost: {one}" for one in state.lost(memory)]
                    state.failures += [f"check: {one}" for one in memory.check()]
            state.restarts += 1
            state.running.clear()
            server.stop(how)
    state.timed = measured
    with hades.open(place) as memory:  # and what the file or the database itself says
        state.failures += [f"lost from the store: {one}" for one in state.lost(memory)]
        state.failures += [f"check of the store: {one}" for one in memory.check()]
    return state


def _wait_until_ready(server: Process) -> None:
    with server.client("ro") as client:
        while client.get("/readyz").status_code != 200:
            time.sleep(0.1)


def report(engine: str, state: Soak) -> None:
    """Print memory and times for each third, and what was written."""
    first, last = state.samples[0].at, state.samples[-1].at

    def third(at: float) -> int:
        return min(2, int(3 * (at - first) / (last - first)))

    print(f"\n{engine:<22}{'calls':>7}{'first third':>16}{'second third':>16}{'last third':>16}")
    thirds = [[sample for sample in state.samples if third(sample.at) == n] for n in range(3)]
    for what, column in (("server memory, MB", 1), ("without mapped files, MB", 2)):
        held = [sum(sample[column] for sample in part) / len(part) for part in thirds]
        print(f"{what:<29}{''.join(f'{mb:>16.0f}' for mb in held)}")
    calls = Counter(third(timed.at) for timed in state.timed)
    used = [part[-1].processor_s - part[0].processor_s for part in thirds]
    cells = "".join(f"{1000 * s / max(1, calls[n]):>16.0f}" for n, s in enumerate(used))
    print(f"{'processor ms a call':<29}{cells}")
    kinds = sorted({timed.kind for timed in state.timed})
    for kind in kinds:
        own = [timed for timed in state.timed if timed.kind == kind]
        parts = [sorted(timed.ms for timed in own if third(timed.at) == n) for n in range(3)]
        cells = "".join(f"{_shown(part):>16}" for part in parts)
        print(f"{kind + ', p50/p95 ms':<22}{len(own):>7}{cells}")
    cut = ", ".join(f"{count} {kind}" for kind, count in sorted(state.interrupted.items()))
    print(f"{len(state.states)} states and {len(state.edges)} edges acknowledged; ", end="")
    print(f"{state.restarts - 1} restarts interrupted {cut or 'nothing'}.")
    for refusal, times in state.refused.items():
        print(f"refused {times} times: {refusal}")
    for failure, times in itertools.islice(Counter(state.failures).items(), 20):
        print(f"FAILED {times} times: {failure}")
    print(f"{len(state.failures)} failures." if state.failures else "Nothing lost, check is clean.")


def _shown(ms: list[float]) -> str:
    return f"{ms[len(ms) // 2]:.0f}/{ms[int(0.95 * len(ms))]:.0f}" if ms else "–"


def main(minutes: float, pause_s: float, engines: list[str]) -> int:
    """Run the engines one after the other; return the exit code."""
    failed = False
    for engine in engines:
        with ExitStack() as stack:
            scratch = tempfile.TemporaryDirectory(prefix="hades-soak-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(scratch))
            place: Path | str = folder / "soak.hades"
            if engine == "postgres":
                data = tempfile.TemporaryDirectory(prefix="hades-pg-", ignore_cleanup_errors=True)
                place = stack.enter_context(own_server(Path(stack.enter_context(data)))).address
            state = soak(folder, place, minutes, pause_s)
        report(engine, state)
        failed = failed or bool(state.failures)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]))
