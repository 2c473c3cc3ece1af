"""Reading: one query under way, and the space and moment each part of it looks at."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from hades.domain.answer import Recall
from hades.domain.trace import State
from hades.errors import InvalidInput, Unavailable
from hades.serve.auth.caller import Caller, Role
from hades.view import View

SECONDS_AT_MOST = 10.0
CHARACTERS_AT_MOST = 20_000_000
"""Of contents in one answer: `first` says how many there are, not how long they are."""


class Room:
    """How much of contents an answer may still hold."""

    def __init__(self) -> None:
        self._left = CHARACTERS_AT_MOST

    def take(self, characters: int) -> None:
        """Take some of it; InvalidInput when there is no more."""
        self._left -= characters
        if self._left < 0:
            raise InvalidInput(
                f"The answer holds more than {CHARACTERS_AT_MOST:,} characters: ask for less."
            )


@dataclass(frozen=True, slots=True)
class At:
    """A space as of a moment, read until the time of the query is up."""

    _view: View
    until: float
    room: Room

    @property
    def view(self) -> View:
        """The view to read from; Unavailable when the query took too long."""
        if time.monotonic() > self.until:
            raise Unavailable(f"The query took longer than {SECONDS_AT_MOST:g} s: ask for less.")
        return self._view

    def shown(self, state: State) -> State:
        """A state whose content goes into the answer, if there is room for it."""
        self.room.take(len(state.content))
        return state


@dataclass(frozen=True, slots=True)
class Reading:
    """What the fields of one query share."""

    caller: Caller
    memory: View
    told: Callable[[Recall], Recall]
    """Tells whoever counts answers."""
    until: float = field(default_factory=lambda: time.monotonic() + SECONDS_AT_MOST)
    room: Room = field(default_factory=Room)

    def at(self, space: str, as_of: str | None, known_at: str | None) -> At:
        """A space as of a moment, if this caller may see it."""
        self.caller.require(Role.READER, space)
        view = self.memory.in_space(space)
        if as_of is not None or known_at is not None:
            view = view.at(as_of, known=known_at)
        return At(view, self.until, self.room)
