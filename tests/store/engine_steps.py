"""Steps that are done to a memory, in this process or in another one, and what they gave."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import hades
from hades.domain.times import to_micros

Step = tuple[str, tuple[Any, ...], dict[str, Any]]
"""The name of a method, and what it is called with."""


class StepRunner:
    """Memories by their place, each opened at its first step, with the clock of the steps."""

    def __init__(self) -> None:
        self._memories: dict[str, hades.Memory] = {}
        self._micros = to_micros(datetime(2024, 1, 1, tzinfo=UTC))

    def run(self, place: str, micros: int, step: Step) -> Any:
        """Return what a step gave, as it can be compared: a result, or an error as text."""
        self._micros = micros
        if place not in self._memories:
            self._memories[place] = hades.open(place, clock=lambda: self._micros, actor="ann")
        name, arguments, named = step
        try:
            return _comparable(getattr(self._memories[place], name)(*arguments, **named))
        except hades.HadesError as error:
            return f"{type(error).__name__}: {error}"

    def close(self) -> None:
        """Close all memories."""
        while self._memories:
            self._memories.popitem()[1].close()


def _comparable(result: Any) -> Any:
    if not isinstance(result, hades.Recall):
        return result
    passages = [(one.id, one.chunk.text, round(one.score, 6)) for one in result.passages]
    return result.context, passages, [str(path) for path in result.paths], result.intent


_runner = StepRunner()


def run_here(place: str, micros: int, step: Step) -> Any:
    """Run a step with the runner of this process: what a pool of processes calls."""
    return _runner.run(place, micros, step)


def close_here() -> None:
    """Close the memories of this process."""
    _runner.close()
