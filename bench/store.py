"""The embedded store against bare sqlite3 and a dict: reading, writing, keeping history."""

from __future__ import annotations

import random
import re
import sqlite3
import tempfile
from functools import partial
from pathlib import Path

import hades
from bench.table import note, percentiles, seconds, show
from hades.domain.times import from_micros

VERSIONS = 10
START = 1_700_000_000_000_000
STEP = 60_000_000
LOOKS = 5_000
BATCH = 1_000
WORDS = re.findall(
    r"\w+",
    """memory graph topic state version edge path query recall plan budget token chunk entity
    index vector store cluster bridge reason time valid known change agent note design bug""",
)


class Ticking:
    """A clock that moves one step with every write."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += STEP
        return self.now


def _note_text(generator: random.Random, words: int = 25) -> str:
    return " ".join(generator.choices(WORDS, k=words))


class Bare:
    """The peer: one table, one statement a call, no checks, no history on two axes."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute(
            "CREATE TABLE states (topic TEXT, version INTEGER, valid_from INTEGER, content TEXT, "
            "PRIMARY KEY (topic, version)) WITHOUT ROWID"
        )

    def add(self, topic: str, version: int, valid_from: int, content: str) -> None:
        self.db.execute(
            "INSERT INTO states VALUES (?, ?, ?, ?)", (topic, version, valid_from, content)
        )

    def latest(self, topic: str) -> object:
        return self.db.execute(
            "SELECT version, valid_from, content FROM states WHERE topic = ? "
            "ORDER BY version DESC LIMIT 1",
            (topic,),
        ).fetchone()

    def as_of(self, asked: tuple[str, int]) -> object:
        return self.db.execute(
            "SELECT version, valid_from, content FROM states WHERE topic = ? AND valid_from <= ? "
            "ORDER BY version DESC LIMIT 1",
            asked,
        ).fetchone()


def _look_ups(folder: Path, sizes: list[int]) -> None:
    generator = random.Random(1)
    clock = Ticking()
    memory = hades.open(folder / "looks.hades", clock=clock)
    bare = Bare(folder / "looks.sqlite")
    plain: dict[str, str] = {}
    rows = []
    topics = 0
    for size in sizes:
        fill = 0.0
        while topics < size // VERSIONS:
            names = [
                f"project/{n % 97}/topic {n}" for n in range(topics, topics + BATCH // VERSIONS)
            ]
            texts = [[_note_text(generator) for _ in range(VERSIONS)] for _ in names]

            def write(names: list[str] = names, texts: list[list[str]] = texts) -> None:
                with memory.batch():
                    for name, versions in zip(names, texts, strict=True):
                        for text in versions:
                            memory.remember(name, text)

            fill += seconds(write)
            bare.db.execute("BEGIN")
            for name, versions in zip(names, texts, strict=True):
                trace = memory.history(name)
                for state, text in zip(trace, versions, strict=True):
                    moment = int(state.valid_from.timestamp() * 1_000_000)
                    bare.add(name, state.version, moment, text)
                plain[name] = versions[-1]
            bare.db.execute("COMMIT")
            topics += len(names)
            note(f"filling: {topics * VERSIONS:,} of {sizes[-1]:,} states")
        asked = [f"project/{n % 97}/topic {n}" for n in generator.choices(range(topics), k=LOOKS)]
        moments = [
            int(memory.get(name, generator.randint(1, VERSIONS)).valid_from.timestamp() * 1e6) + 1
            for name in asked
        ]
        views = [memory.at(from_micros(moment)) for moment in moments]
        pairs = list(zip(views, asked, strict=True))
        ours = percentiles(memory.get, asked)
        ours_then = percentiles(lambda pair: pair[0].get(pair[1]), pairs)
        peer = percentiles(bare.latest, asked)
        peer_then = percentiles(bare.as_of, zip(asked, moments, strict=True))
        dict_ = percentiles(plain.__getitem__, asked)
        for what, mine, theirs in (("latest", ours, peer), ("as of", ours_then, peer_then)):
            rows.append(
                (
                    f"{size:,}",
                    what,
                    f"{mine[0]:.1f} / {mine[1]:.1f}",
                    f"{theirs[0]:.1f} / {theirs[1]:.1f}",
                    f"{mine[0] / theirs[0]:.1f}×",
                    f"{dict_[0]:.2f}",
                )
            )
    note("")
    show(
        "Look-ups, µs p50 / p99 (aim ≤ 50 µs, ≤ 4×)",
        ("states", "look-up", "Memory", "bare sqlite3", "ratio", "dict p50"),
        rows,
    )
    memory.close()
    bare.db.close()


def _writes(folder: Path, sizes: list[int]) -> None:
    generator = random.Random(2)
    memory = hades.open(folder / "writes.hades", clock=Ticking())
    bare = Bare(folder / "writes.sqlite")
    rows = []
    number = 0

    def names(count: int) -> list[tuple[str, str]]:
        nonlocal number
        number += count
        return [(f"t/{n}", _note_text(generator)) for n in range(number - count, number)]

    def ours(items: list[tuple[str, str]], batched: bool) -> None:
        if batched:
            with memory.batch():
                ours(items, batched=False)
        else:
            for name, text in items:
                memory.remember(name, text)

    def theirs(items: list[tuple[str, str]], batched: bool) -> None:
        if batched:
            bare.db.execute("BEGIN")
        for name, text in items:
            bare.add(name, 1, START, text)
        if batched:
            bare.db.execute("COMMIT")

    for size in sizes:
        while number < size:
            items = names(min(10_000, size - number))
            ours(items, batched=True)
            theirs(items, batched=True)
            note(f"filling: {number:,} of {sizes[-1]:,} states")
        for what, batched, count in (("one by one, durable", False, 500), ("batched", True, 5_000)):
            items = names(count)
            mine = seconds(partial(ours, items, batched))
            peer = seconds(partial(theirs, items, batched))
            rate = f"{count / mine:,.0f}", f"{count / peer:,.0f}"
            rows.append((f"{size:,}", what, *rate, f"{mine / peer:.1f}×"))
    note("")
    show("Writes a second", ("states before", "how", "Memory", "bare sqlite3", "time ratio"), rows)
    memory.close()
    bare.db.close()


def _history(folder: Path, documents: int, versions_each: list[int]) -> None:
    rows = []
    for versions in versions_each:
        generator = random.Random(3)
        memory = hades.open(folder / f"history{versions}.hades", clock=Ticking())
        bare = Bare(folder / f"history{versions}.sqlite")
        start_bytes = (folder / f"history{versions}.hades").stat().st_size
        for number in range(documents):
            lines = [_note_text(generator, 9) for _ in range(100)]
            with memory.batch():
                bare.db.execute("BEGIN")
                for version in range(1, versions + 1):
                    lines[generator.randrange(100)] = _note_text(generator, 9)
                    memory.remember(f"doc/{number}", "\n".join(lines))
                    bare.add(f"doc/{number}", version, START, "\n".join(lines))
                bare.db.execute("COMMIT")
            note(f"writing history: {number + 1} of {documents} documents")
        names = [f"doc/{n}" for n in generator.choices(range(documents), k=300)]
        numbers = (1, versions // 2, min(64, versions))
        old = [percentiles(partial(memory.get, version=n), names) for n in numbers]
        newest = percentiles(memory.get, names)
        for rewrite in memory.inside.store.database.maintain().values():
            rewrite()
        bare.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ours = (folder / f"history{versions}.hades").stat().st_size - start_bytes
        theirs = (folder / f"history{versions}.sqlite").stat().st_size
        rows.append(
            (
                f"{documents} × {versions}",
                f"{ours / 1e6:.1f} MB",
                f"{theirs / 1e6:.1f} MB",
                f"{1 - ours / theirs:.1%}",
                *(f"{found[0]:.0f}" for found in (*old, newest)),
            )
        )
        memory.close()
        bare.db.close()
    note("")
    show(
        "History of 1-line edits of 100-line documents (aim ≥ 95 % saved); µs p50 to rebuild",
        (
            *("documents × versions", "HADES", "every version whole", "saved"),
            *("oldest", "middle", "longest chain", "latest"),
        ),
        rows,
    )


def run(*, small: bool) -> None:
    """Measure the store."""
    print("## Store\n")
    sizes = [1_000, 10_000] if small else [10_000, 100_000]
    with tempfile.TemporaryDirectory() as folder:
        _look_ups(Path(folder), sizes)
        _writes(Path(folder), sizes)
        _history(Path(folder), 10 if small else 50, [20, 100, 1000])
