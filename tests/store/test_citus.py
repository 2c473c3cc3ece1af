"""A memory that Citus placed; the contract of Memory runs on one too where there is Citus."""

from __future__ import annotations

import pytest

import hades
from hades.store.postgres.distribute import distribute


def test_a_memory_is_placed_once(citus: str) -> None:
    place = distribute(citus)
    assert distribute(citus) == place
    with hades.open(citus) as memory:
        memory.remember("notes/citus", "Placed on a worker.")
        assert memory.get("notes/citus").content == "Placed on a worker."


def test_memories_lie_on_different_workers(citus: str) -> None:
    places = {distribute(citus)}
    for number in range(3):
        other = f"{citus}_{number}"
        hades.open(other).close()
        places.add(distribute(other))
    assert len(places) > 1


def test_without_citus_it_says_so(postgres: str) -> None:
    with pytest.raises(hades.Unavailable, match="has no Citus"):
        distribute(postgres)
