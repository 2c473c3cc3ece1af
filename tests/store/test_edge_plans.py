"""The edges of one node are found by that node, not by reading the whole space."""

from __future__ import annotations

import hades


def test_a_node_s_edges_are_found_by_index(memory: hades.Memory) -> None:
    with memory.batch():
        for number in range(50):
            memory.relate("hub", "knows", f"Friend {number}")
    engine = memory._store.database  # type: ignore[attr-defined]
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
