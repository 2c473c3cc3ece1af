"""A query that runs: the spaces it looks at and how much of its budget is left."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field

from strawberry.types import Info

from hades.errors import InvalidInput, Unavailable
from hades.memory import View
from hades.serve.auth.caller import Caller, Role, record_call
from hades.serve.executor import Executor

ITEMS_AT_MOST = 10_000
"""Items of all lists in one answer; a question counts as `ITEMS_PER_QUESTION`."""
ITEMS_PER_QUESTION = 200
"""Searching, recalling or finding paths takes about as long as reading so many items."""
CHARACTERS_AT_MOST = 20_000_000
"""Of contents in one answer: `first` says how many there are, not how long they are."""
SECONDS_AT_MOST = 10.0
WORK_SECONDS_AT_MOST = 2.0
"""Of the thread that reads: so a field costs what it reads, also where it gives little back. An
item takes about 0.1 ms, so `ITEMS_AT_MOST` fit in."""


@dataclass(slots=True)
class RunningQuery:
    """What the fields of one query share."""

    executor: Executor
    caller: Caller
    memory: View
    snapshot: ExitStack
    """The one moment that a query without questions sees."""
    _views: dict[str | int, View] = field(default_factory=dict)
    _items_left: int = field(default_factory=lambda: ITEMS_AT_MOST)
    _characters_left: int = field(default_factory=lambda: CHARACTERS_AT_MOST)
    _until: float = field(default_factory=lambda: time.monotonic() + SECONDS_AT_MOST)
    _work_until: float = field(default_factory=lambda: time.thread_time() + WORK_SECONDS_AT_MOST)

    def open(self, key: str | int, space: str, as_of: str | None, known_at: str | None) -> View:
        """A space as of a moment, for a field at the root; Denied if it is not the caller's."""
        self.caller.require(Role.READER, space)
        record_call(space, writes=False)
        view = self.memory.in_space(space)
        if as_of is not None or known_at is not None:
            view = view.at(as_of, known=known_at)
        self._views[key] = view
        return view

    def view(self, info: Info[RunningQuery, None]) -> View:
        """The view of the root field that this field is below; refused when time is up."""
        if time.thread_time() > self._work_until:
            raise InvalidInput(f"The query used {WORK_SECONDS_AT_MOST:g} s of work: ask for less.")
        if time.monotonic() > self._until:
            raise Unavailable(f"The query took longer than {SECONDS_AT_MOST:g} s: ask for less.")
        path = info.path
        while path.prev is not None:
            path = path.prev
        return self._views[path.key]

    def indexed_view(self, info: Info[RunningQuery, None]) -> View:
        """The same for a question. It uses the indexes, which move on: the snapshot ends."""
        view = self.view(info)
        self.snapshot.close()
        self.take(ITEMS_PER_QUESTION)
        if self.memory.in_space(view.space)._is_behind():
            self.executor.index_now(view.space)
        return view

    def take(self, items: int = 0, characters: int = 0) -> None:
        """Take from the budget of the answer; InvalidInput when it is used up."""
        self._items_left -= items
        self._characters_left -= characters
        if self._items_left < 0:
            raise InvalidInput(
                f"The query asks for more than {ITEMS_AT_MOST:,} items "
                f"(a question counts as {ITEMS_PER_QUESTION}): give a smaller `first`."
            )
        if self._characters_left < 0:
            raise InvalidInput(
                f"The answer has more than {CHARACTERS_AT_MOST:,} characters: ask for less."
            )
