"""Warming: what a first question would wait for is done beforehand."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

import hades
from hades.graph import ppr
from tests.shell import run_hades

pytestmark = pytest.mark.encoder


def test_a_warm_memory_answers_as_a_cold_one_does(tmp_path: Path) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        memory.remember("ferry", "The Aurora sails from Turku. It was built in 1987.")
        memory.remember("turku", "Turku is a city in Finland.")
        cold = memory.recall("Where does the Aurora sail from?")
        told: list[str] = []
        spent = memory.warm(lambda what, _done, _of: told.append(what))
        warm = memory.recall("Where does the Aurora sail from?")
        assert list(spent) == ["kernels", "encoder", "indexes"]
        assert told[0] == "warming kernels"
        assert ppr.kernel.is_ready() is (find_spec("numba") is not None)
        assert (warm.context, warm.passages) == (cold.context, cold.passages)


def test_the_command_warms_without_a_memory_and_makes_none(tmp_path: Path) -> None:
    path = tmp_path / "none.hades"
    done = run_hades("warm", "--memory", str(path))
    assert done.exit_code == 0
    assert "kernels" in done.output
    assert not path.exists()
