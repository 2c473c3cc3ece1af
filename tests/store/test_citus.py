"""A memory that Citus placed; the contract of Memory runs on one too where there is Citus."""

from __future__ import annotations

import hades
from tests.shell import Shell


def _placed(address: str) -> str:
    """Have Citus place a memory; the worker on which it lies."""
    return str(Shell(address).json("db", "distribute")["worker"])


def test_a_memory_is_placed_once(citus: str) -> None:
    place = _placed(citus)
    assert _placed(citus) == place
    with hades.open(citus) as memory:
        memory.remember("notes/citus", "Placed on a worker.")
        assert memory.get("notes/citus").content == "Placed on a worker."


def test_memories_lie_on_different_workers(citus: str) -> None:
    places = {_placed(citus)}
    for number in range(3):
        other = f"{citus}_{number}"
        hades.open(other).close()
        places.add(_placed(other))
    assert len(places) > 1


def test_without_citus_it_says_so(postgres: str) -> None:
    assert "has no Citus" in Shell(postgres).refused("db", "distribute")
