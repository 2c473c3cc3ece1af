"""A running query: the views it reads and what is left of its budget."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass, field

from strawberry.types import Info

from hades.errors import InvalidInput, Unavailable
from hades.memory import View
from hades.operations.indexing import is_behind
from hades.serve.auth.caller import Caller, Role, record_call
from hades.serve.executor import Executor

ITEMS_AT_MOST = 10_000
"""The most items of all lists in one answer; a question counts as `ITEMS_PER_QUESTION` items."""
ITEMS_PER_QUESTION = 200
"""A search, a recall or finding paths takes about as long as reading this many items."""
CHARACTERS_AT_MOST = 20_000_000
"""The most characters of all texts in one answer, since `first` does not limit their length."""
SECONDS_AT_MOST = 10.0
WORK_SECONDS_AT_MOST = 2.0
"""The most processor time of a query, for fields that read much and return little. An item takes
about 0.1 ms, so `ITEMS_AT_MOST` fit in."""


@dataclass(slots=True)
class RunningQuery:
    """State that the fields of one query share."""

    executor: Executor
    caller: Caller
    memory: View
    snapshot: ExitStack
    """Closes the snapshot that the query reads until its first question."""
    _views: dict[str | int, View] = field(default_factory=dict)
    _items_left: int = field(default_factory=lambda: ITEMS_AT_MOST)
    _characters_left: int = field(default_factory=lambda: CHARACTERS_AT_MOST)
    _until: float = field(default_factory=lambda: time.monotonic() + SECONDS_AT_MOST)
    _work_until: float = field(default_factory=lambda: time.thread_time() + WORK_SECONDS_AT_MOST)

    def open(self, key: str | int, space: str, as_of: str | None, known_at: str | None) -> View:
        """Return a view of a space, and keep it for the root field `key`; may raise Denied."""
        self.caller.require(Role.READER, space)
        record_call(space, writes=False)
        view = self.memory.in_space(space)
        if as_of is not None or known_at is not None:
            view = view.at(as_of, known=known_at)
        self._views[key] = view
        return view

    def view(self, info: Info[RunningQuery, None]) -> View:
        """Return the view of this field's root field; raise if the query's time is up."""
        if time.thread_time() > self._work_until:
            raise InvalidInput(f"The query used {WORK_SECONDS_AT_MOST:g} s of work: ask for less.")
        if time.monotonic() > self._until:
            raise Unavailable(f"The query took longer than {SECONDS_AT_MOST:g} s: ask for less.")
        path = info.path
        while path.prev is not None:
            path = path.prev
        return self._views[path.key]

    def indexed_view(self, info: Info[RunningQuery, None]) -> View:
        """Index new writes, end the snapshot (it has no indexes), and return the field's view."""
        view = self.view(info)
        self.snapshot.close()
        self.take(ITEMS_PER_QUESTION)
        if is_behind(self.memory.in_space(view.space).inside):
            self.executor.index_now(view.space)
        return view

    def take(self, items: int = 0, characters: int = 0) -> None:
        """Subtract from the answer's budget; raise InvalidInput if the budget is exceeded."""
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
