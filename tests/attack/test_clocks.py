"""Clocks that jump: a date 50 years ahead does not carry the memory along."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hades


def test_a_jump_of_the_clock_is_refused(path: Path, clock: Any) -> None:
    with hades.open(path, clock=clock) as memory:
        memory.remember("a", "one")
        clock.set("2074-01-01")
        with pytest.raises(hades.Unavailable, match="says 2074-01-01, 50 years after the last"):
            memory.remember("a", "two")
        (problem,) = memory.check()
        assert "set the clock right" in problem.repair
        clock.set("2024-01-02")
        assert memory.check() == []
        assert memory.remember("a", "two").recorded_at.year == 2024


def test_a_memory_that_was_not_used_for_decades_goes_on(path: Path, clock: Any) -> None:
    with hades.open(path, clock=clock) as memory:
        memory.remember("a", "one")
        clock.set("2054-01-01")
        assert memory.repair() == []
        assert memory.remember("a", "two").recorded_at.year == 2054


def test_a_memory_with_a_wrong_date_is_named(path: Path, clock: Any) -> None:
    with hades.open(path, clock=clock) as memory:
        clock.set("2040-01-01")  # within the bound
        memory.remember("late", "Bob leads.")
        clock.set("2024-01-05")
        memory.remember("after", "Dan leads.")
        assert memory.get("after").recorded_at.year == 2040
        for problems in (memory.check(), memory.repair()):
            (problem,) = problems
            assert "dated 2040-01-01" in problem.what
            assert "restore a backup" in problem.repair


def test_an_export_of_the_future_is_refused(path: Path, clock: Any, tmp_path: Path) -> None:
    clock.set("2040-01-01")
    with hades.open(path, clock=clock) as memory:
        memory.remember("a", "one")
        memory.export(tmp_path / "all.jsonl")
    clock.set("2024-01-01")
    with (
        hades.open(tmp_path / "other.hades", clock=clock) as other,
        pytest.raises(hades.InvalidInput, match="dated later than the clock"),
    ):
        other.import_(tmp_path / "all.jsonl")
