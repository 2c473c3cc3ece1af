"""What was just written is found at once; a closed memory writes nothing more."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.index.space_words import MERGED_FROM, SpaceWords

THINGS = ("pump", "valve", "rocket", "crew", "engine", "tank", "launch pad")
QUESTIONS = ("Who checked the pump?", "What about the launch pad and the tank?", "Ada Byron")


def words_of(memory: hades.Memory) -> SpaceWords:
    return memory.inside.finder.indexes.space_words


def merged(memory: hades.Memory) -> None:
    """Wait until what is beside the index was merged into it."""
    if thread := words_of(memory)._merging:
        thread.join()


def ranks(memory: hades.Memory) -> list[dict[str, float]]:
    """Of each question: the best passages with their scores."""
    return [{hit.chunk.topic: hit.score for hit in memory.rank(q, limit=10)} for q in QUESTIONS]


def noted(memory: hades.Memory, count: int) -> None:
    with memory.batch():
        for n in range(count):
            memory.remember(f"log/{n}", f"Day {n}: we checked the {THINGS[n % 7]} with Ada Byron.")


@pytest.mark.parametrize("is_merged", [False, True])
def test_answers_after_writes_are_those_of_indexes_made_anew(path: Path, is_merged: bool) -> None:
    with hades.open(path) as memory:
        noted(memory, MERGED_FROM + 6)
        ranks(memory)
        memory.remember("log/3", "Day 3: the crew was ill, and nobody checked anything.")
        memory.forget("log/5")
        ranks(memory)
        memory.remember("new", "Grace Hopper checked the pump on the launch pad.")
        found = ranks(memory)
        if is_merged:
            merged(memory)
            found = ranks(memory)
        memory.backup(path.with_name("copy.hades"))
    with hades.open(path.with_name("copy.hades")) as anew:
        for one, other in zip(found, ranks(anew), strict=True):
            assert one == pytest.approx(other, rel=0.02)


def test_another_process_takes_over_what_was_merged(path: Path) -> None:
    with hades.open(path) as memory, hades.open(path) as other:
        noted(memory, MERGED_FROM)
        assert ranks(memory) == ranks(other)
        memory.remember("new", "Grace Hopper checked the pump.")
        ranks(memory)
        merged(memory)
        assert not words_of(memory).of(1, *memory.inside.store.changefeed.revision()).recent
        other.remember("newer", "Grace Hopper flew home.")
        assert "newer" in {hit.chunk.topic for hit in other.search("Grace Hopper")}
        for one, another in zip(ranks(memory), ranks(other), strict=True):
            assert one == pytest.approx(another, rel=0.02)


def test_a_merge_that_comes_too_late_writes_nothing_that_was_purged(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("secret", "The xyzzyplugh opens the door.")
        memory.recall("door")
        words = words_of(memory)
        held = words._open[1]
        assert held.words.saying("xyzzyplugh")
        memory.purge("secret")
        words._merge(1, held)
    for file in path.parent.rglob("*"):
        assert not file.is_file() or b"xyzzyplugh" not in file.read_bytes()


def test_no_thread_merges_words_after_close(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    merging, go_on = threading.Event(), threading.Event()
    written = SpaceWords._written

    def slow(self: SpaceWords, *of: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():
            merging.set()
            go_on.wait(60)
        return written(self, *of)

    monkeypatch.setattr(SpaceWords, "_written", slow)
    memory = hades.open(path)
    for number in range(MERGED_FROM + 2):
        memory.remember(f"note/{number}", f"The code of locker {number} is {number * 7919}.")
        if number % 40 == 39:
            memory.search("code of the locker")
    memory.search("code of the locker")
    assert merging.wait(60)
    closing = threading.Thread(target=memory.close)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive(), "it waits for the merge"
    go_on.set()
    closing.join(60)
    assert not closing.is_alive()
