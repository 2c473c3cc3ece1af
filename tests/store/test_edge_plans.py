"""The edges of one node are found by that node, not by reading the whole space."""

from __future__ import annotations

import pytest

import hades


def test_a_node_s_edges_are_found_by_index(memory: hades.Memory) -> None:
    with memory.batch():
        for number in range(50):
            memory.relate("hub", "knows", f"Friend {number}")
    engine = memory.inside.store.database  # type: ignore[attr-defined]
    asked: list[str] = []
    engine.connection.set_trace_callback(asked.append)
    memory.edges("hub")
    memory.edges("Friend 7", relation="knows", direction="in")
    memory.relate("hub", "knows", "Friend 7", evidence="again")
    engine.connection.set_trace_callback(None)
    plans = [
        " ".join(row[3] for row in engine.rows(f"EXPLAIN QUERY PLAN {sql}"))
        for sql in asked
        if "FROM edges e JOIN" in sql and "e.source IN" in sql
    ]
    assert len(plans) >= 2
    assert not [plan for plan in plans if "edges_space" in plan]


@pytest.mark.slow
def test_one_more_edge_of_a_hub_reads_as_much_as_the_first(memory: hades.Memory) -> None:
    """Steps of SQLite's machine, which are the same on every processor."""
    engine = memory.inside.store.database  # type: ignore[attr-defined]
    steps: list[int] = []
    engine.connection.set_progress_handler(lambda: steps.append(1) and None, 100)

    def taken(first: int) -> int:
        steps.clear()
        with memory.batch():
            for number in range(first, first + 100):
                memory.relate(f"Friend {number}", "knows", "hub")
                memory.relate("hub", "likes", f"Friend {number}")
        return len(steps)

    few = [taken(0), taken(100)][1]
    with memory.batch():
        for number in range(200, 1_000):
            memory.relate(f"Friend {number}", "knows", "hub")
            memory.relate("hub", "likes", f"Friend {number}")
    many = taken(1_000)
    engine.connection.set_progress_handler(None, 0)
    assert many < 1.5 * few
