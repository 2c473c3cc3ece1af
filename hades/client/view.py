"""A remote view: `View` over a connection. What is read by name, as of one moment.

A `View` to whoever uses it: the same methods, arguments, results and errors. The server
does the work; `tests/client/test_surface.py` holds both to the same words.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO, TypeVar

from hades.client.connection import Connection
from hades.client.exploring import RemoteExploring
from hades.client.files import download_export
from hades.client.holds import hold
from hades.client.moments import said, sent
from hades.domain.graph import Edge, Entity, Mentioned, Related, Turn
from hades.domain.proposal import PROPOSAL_STATUSES, Proposal
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_name, clean_number
from hades.domain.times import AsOf, TimeLike
from hades.domain.trace import Change, Chunk, Diff, Space, State, Topic
from hades.errors import InvalidInput
from hades.store.records import Direction, Problem, Progress
from hades.view import View

Thing = TypeVar("Thing")

PAGE = 1_000
"""How much of a long list is fetched at once."""


class RemoteView(RemoteExploring, View):
    """One space of a memory behind a server as of one moment, read-only."""

    def __init__(self, connection: Connection, space: str, as_of: AsOf) -> None:
        self._connection = connection
        self._space = clean_name(space, "space")
        self.as_of = as_of

    def at(
        self,
        time: TimeLike | None = None,
        *,
        valid: TimeLike | None = None,
        known: TimeLike | None = None,
    ) -> RemoteView:
        """The same memory as of another time.

        A time in words (`yesterday`) is by the server's clock.
        """
        if time is not None and valid is not None:
            raise InvalidInput("Give `at` one valid time: either the first argument or valid=….")
        valid = valid if time is None else time
        if valid is None and known is None:
            raise InvalidInput("Say which time: at('2024-03'), at(valid=…) or at(known=…).")
        as_of = AsOf(self._moment(valid), self._moment(known))
        return RemoteView(self._connection, self._space, as_of)

    def in_space(self, name: str) -> RemoteView:
        """The same moment in another space."""
        other = RemoteView(self._connection, name, self.as_of)
        other._look()
        return other

    # States

    def get(self, topic: str, version: int | None = None) -> State:
        """The state of a topic: current, as of this view's time, or one version."""
        clean_number(version, "version", least=1)
        if not isinstance(topic, str):
            clean_name(topic)
        return rebuild(State, self._get("states", topic, version=version))

    def history(self, topic: str) -> list[State]:
        """Every state of a topic in the order they were recorded, forgetting included."""
        clean_name(topic)
        return self._listed(State, "history", topic)

    def diff(self, topic: str, before: int | None = None, after: int | None = None) -> Diff:
        """What changed between two versions; by default the last change."""
        if not isinstance(topic, str):
            clean_name(topic)
        for number in (before, after):
            clean_number(number, "version", least=1)
        return rebuild(Diff, self._get("diff", topic, before=before, after=after))

    def topics(
        self,
        glob: str | None = None,
        *,
        tag: str | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[Topic]:
        """The topics there are, by name; see `View.topics`."""
        clean_number(limit, "limit")
        for pattern in (glob, tag, after):
            if pattern is not None:
                clean_name(pattern, "pattern")
        times = {"since": sent(since), "until": sent(until)}
        return self._all(Topic, "topics", limit=limit, glob=glob, tag=tag, after=after, **times)

    # Edges and entities

    def edges(
        self,
        name: str | None = None,
        *,
        relation: str | None = None,
        direction: Direction = "both",
        all: bool = False,
    ) -> list[Edge]:
        """The edges that hold at this view's time, of one topic or entity or of all."""
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"A direction is out, in or both, not {direction!r}.")
        for given, what in ((name, "topic"), (relation, "relation")):
            if given is not None:
                clean_name(given, what)
        return self._all(
            Edge, "edges", name=name, relation=relation, direction=direction, all=bool(all)
        )

    def edge(self, edge: int) -> list[Edge]:
        """Everything believed about one edge up to this view's time, oldest first."""
        clean_number(edge, "edge")
        return self._listed(Edge, "edges", edge)

    def when_changed(self, name: str, before: str, after: str | None = None) -> Turn:
        """When one relation of a topic or entity gave way to another, most recently."""
        for relation in (before, after):
            if relation is not None:
                clean_name(relation, "relation")
        clean_name(name)
        return rebuild(Turn, self._get("when-changed", name, before=before, after=after))

    def entities(self, glob: str | None = None) -> list[Entity]:
        """The entities there are, by name, with their aliases and what was merged into them."""
        if glob is not None:
            clean_name(glob, "pattern")
        return self._all(Entity, "entities", glob=glob)

    def entity(self, name: str) -> Entity:
        """One entity, by any of its names."""
        return rebuild(Entity, self._get("entity", clean_name(name, "entity")))

    def related(self, name: str, limit: int = 20) -> list[Related]:
        """What is mentioned together with an entity at this view's time, most often first."""
        clean_number(limit, "limit")
        clean_name(name)
        return self._listed(Related, "related", name, limit=limit)

    def mentions(self, name: str, limit: int = 100) -> list[Mentioned]:
        """The passages that mention an entity by any of its names, and where they do."""
        clean_number(limit, "limit")
        clean_name(name)
        return self._listed(Mentioned, "mentions", name, limit=limit)

    def inverses(self) -> dict[str, str]:
        """Which relation takes over when a fact changes."""
        return dict(self._get("inverses"))

    def chunks(self, topic: str, version: int | None = None) -> list[Chunk]:
        """The passages of a topic's state, current or of one version."""
        if not isinstance(topic, str):
            clean_name(topic)
        return self._listed(Chunk, "chunks", topic, version=clean_number(version, "version"))

    def proposals(
        self, status: str | None = "waiting", *, after: int = 0, limit: int | None = None
    ) -> list[Proposal]:
        """Changes that wait for approval, or that were `applied` or `rejected`; None: all."""
        if status is not None and status not in PROPOSAL_STATUSES:
            known = ", ".join(PROPOSAL_STATUSES)
            raise InvalidInput(f"There is no status {status!r}: {known}.")
        clean_number(after, "number")
        clean_number(limit, "limit")
        return self._all(
            Proposal, "proposals", status=status or "all", after=after or None, limit=limit
        )

    # The memory as a whole

    def export(self, path: str | Path | TextIO, format: str = "jsonl") -> None:
        """Write the memory to a file, a folder or an open text file; see `View.export`.

        `jsonl` is the whole memory: a server gives it at its admin socket only.
        """
        download_export(self._connection, self._space, self.as_of, path, format)

    def spaces(self) -> list[Space]:
        """Every space of the memory that you may use."""
        return rebuild(list[Space], self._connection.get("spaces")["items"])

    def stats(self) -> dict[str, int]:
        """How much there is in this space, and how large the file is."""
        return dict(self._get("stats"))

    def log(self, limit: int = 20) -> list[Change]:
        """The last changes in this space, newest first: who did what, when."""
        clean_number(limit, "limit")
        return self._listed(Change, "log", limit=limit)

    def check(self, on_progress: Progress | None = None) -> list[Problem]:
        """Look for damage; each problem says where it is and its repair (admin socket)."""
        found = self._connection.ask("admin", "check", body={}, patient=True)
        return rebuild(list[Problem], found["items"])

    @property
    def pending(self) -> int:
        """How many states of this space wait to be indexed; the server does it."""
        return int(self._get("pending")["value"])

    @property
    def change(self) -> int:
        """The number of the last committed write."""
        return int(self._get("change")["value"])

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside sees one moment, whoever writes meanwhile.

        For this thread. The server ends it after ten silent seconds.
        """
        return hold(self._connection, self._space, "snapshot")

    # Inside

    def _look(self) -> None:
        """NotFound, Denied or Unavailable, now rather than with the first call."""
        self._get("change")

    def _listed(self, kind: type[Thing], *parts: str | int, **query: Any) -> list[Thing]:
        """A list that comes at once."""
        found: list[Thing] = rebuild(list[kind], self._get(*parts, **query)["items"])  # type: ignore[valid-type]
        return found

    def _all(
        self, kind: type[Thing], *parts: str, limit: int | None = None, **query: Any
    ) -> list[Thing]:
        """A list that comes page after page."""
        found: list[Thing] = []
        cursor = None
        while limit is None or len(found) < limit:
            at_most = PAGE if limit is None else min(PAGE, limit - len(found))
            page = self._get(*parts, **query, limit=at_most, cursor=cursor)
            found += rebuild(list[kind], page["items"])  # type: ignore[valid-type]
            cursor = page["next"]
            if cursor is None:
                break
        return found

    def _moment(self, time: TimeLike | None) -> datetime | None:
        """A time somebody said; words such as `yesterday` are by the server's clock."""
        if time is None:
            return None
        told = said(time)
        if told.fixed is not None:
            return told.fixed
        return rebuild(datetime, self._get("time", when=told.text)["time"])
