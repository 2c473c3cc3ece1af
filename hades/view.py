"""A view: a memory's space as of one moment, for reading.

`Memory` is the view of now, with the writing methods added. `view.at(...)` gives the
same memory as of another moment, with the same reading methods.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from hades.domain.compare import compare
from hades.domain.graph import Edge, Entity, Mentioned, NodeKind, Related, Turn
from hades.domain.names import characters_at
from hades.domain.proposal import PROPOSAL_STATUSES, Proposal
from hades.domain.rules import clean_name, clean_number
from hades.domain.times import AsOf, TimeLike, parse_time
from hades.domain.trace import Change, Chunk, Diff, Space, State, Topic
from hades.errors import InvalidInput, NotFound
from hades.exchange.snapshot import GraphSnapshot
from hades.exploring import Exploring
from hades.lifecycle import facts
from hades.store.edge_pages import FIRST, NO_LIMIT, Place, edges_after
from hades.store.records import Direction, EdgeFilter, Problem, Progress, TopicFilter
from hades.store.store import Store

if TYPE_CHECKING:
    from hades.recall.engine import RecallEngine


class View(Exploring):
    """One space of a memory as of one moment, read-only."""

    def __init__(
        self,
        store: Store,
        space: str,
        as_of: AsOf,
        encoder: str = "minilm",
        engines: dict[str, RecallEngine] | None = None,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._engines = {} if engines is None else engines
        """By encoder, shared by all views of a memory; made when first needed."""
        self._space = clean_name(space, "space")
        self._space_id = store.spaces.id(space)
        self.as_of = as_of

    @property
    def space(self) -> str:
        """The name of the space this view looks at."""
        return self._space

    def at(
        self,
        time: TimeLike | None = None,
        *,
        valid: TimeLike | None = None,
        known: TimeLike | None = None,
    ) -> View:
        """The same memory as of another time.

        `at("2024-03")` is how the world was then, by all we know today;
        `at(known="2024-03")` is what we knew then; `at(valid=…, known=…)` holds both.
        """
        if time is not None and valid is not None:
            raise InvalidInput("Give `at` one valid time: either the first argument or valid=….")
        valid = valid if time is None else time
        if valid is None and known is None:
            raise InvalidInput("Say which time: at('2024-03'), at(valid=…) or at(known=…).")
        as_of = AsOf(self._time(valid), self._time(known))
        return View(self._store, self._space, as_of, self._encoder, self._engines)

    def in_space(self, name: str) -> View:
        """The same moment in another space."""
        return View(self._store, name, self.as_of, self._encoder, self._engines)

    # States

    def get(self, topic: str, version: int | None = None) -> State:
        """The state of a topic: current, as of this view's time, or one version."""
        if version is not None:
            clean_number(version, "version", least=1)
            return self._store.topics.version(self._space_id, topic, version, self.as_of)
        if not isinstance(topic, str):
            clean_name(topic)
        return self._store.topics.state(self._space_id, topic, self.as_of)

    def history(self, topic: str, *, after: int = 0, limit: int | None = None) -> list[State]:
        """Every state of a topic in the order they were recorded, forgetting included.

        `limit` and `after` (the version of the last one seen) page through a long history.
        """
        clean_name(topic)
        clean_number(after, "version")
        clean_number(limit, "limit")
        with self._store.snapshot():
            states = list(self._store.topics.trace(self._space_id, topic, self.as_of))
        if not states:
            raise NotFound(f"There is no topic {topic!r} at that time.")
        later = [state for state in states if state.version > after]
        return later if limit is None else later[:limit]

    def diff(self, topic: str, before: int | None = None, after: int | None = None) -> Diff:
        """What changed between two versions; by default the last change."""
        after = self.get(topic).version if after is None else after
        before = max(after - 1, 1) if before is None else before
        return compare(self.get(topic, before), self.get(topic, after))

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
        """The topics there are, by name.

        `glob` as in `design/*`; `tag` one of the state's tags; `since`/`until` bound the
        valid time of the state; `after` and `limit` page through a long list.
        """
        clean_number(limit, "limit")
        for pattern in (glob, tag, after):
            if pattern is not None:
                clean_name(pattern, "pattern")
        self._require_space()
        wanted = TopicFilter(
            glob=glob,
            tag=tag,
            since=self._time(since),
            until=self._time(until),
            after=after,
            limit=limit,
        )
        return self._store.topics.topics(self._space_id, wanted, self.as_of)

    # Edges and entities

    def edges(
        self,
        name: str | None = None,
        *,
        relation: str | None = None,
        direction: Direction = "both",
        all: bool = False,
        after: Place | None = None,
        limit: int | None = None,
    ) -> list[Edge]:
        """The edges that hold at this view's time, of one topic or entity or of all.

        First those that were told (`relate`), then those that texts state: `contains`,
        `imports`, `cites` and the like hold as long as the passage they were read in, and
        `documents` leads from prose to the code it names. Their numbers are not above 0.
        `all=True` also gives those that no longer hold or do not hold yet. `limit` and
        `after` (the `place` of the last edge seen) page through a long list.
        """
        clean_number(limit, "limit")
        with self._store.snapshot():
            wanted = self._wanted_edges(name, relation, direction, all)
            if limit is not None or after is not None:
                most = NO_LIMIT if limit is None else limit
                return edges_after(
                    self._store, self._space_id, wanted, self.as_of, after or FIRST, most
                )
            told = self._store.edges.find(self._space_id, wanted, self.as_of)
            return told + self._store.derived_edges.find(self._space_id, wanted, self.as_of)

    def _wanted_edges(
        self, name: str | None, relation: str | None, direction: Direction, all: bool
    ) -> EdgeFilter:
        if direction not in ("out", "in", "both"):
            raise InvalidInput(f"A direction is out, in or both, not {direction!r}.")
        if relation is not None:
            clean_name(relation, "relation")
        self._require_space()
        node = None if name is None else self._named_node(name)
        return EdgeFilter(node=node, direction=direction, relation=relation, any_time=all)

    def edge(self, edge: int) -> list[Edge]:
        """Everything believed about one edge up to this view's time, oldest first."""
        clean_number(edge, "edge")
        return self._store.edges.beliefs(self._space_id, edge, self.as_of)

    def when_changed(self, name: str, before: str, after: str | None = None) -> Turn:
        """When one relation of a topic or entity gave way to another, most recently."""
        for relation in (before, after):
            if relation is not None:
                clean_name(relation, "relation")
        with self._store.snapshot():
            return facts.when_changed(
                self._store, self._space_id, self._named_node(name), before, after, self.as_of
            )

    def entities(
        self,
        glob: str | None = None,
        *,
        after: tuple[str, int] | None = None,
        limit: int | None = None,
    ) -> list[Entity]:
        """The entities there are, by name, with their aliases and what was merged into them.

        `limit` and `after` (name and id of the last one seen) page through a long list.
        """
        clean_number(limit, "limit")
        if glob is not None:
            clean_name(glob, "pattern")
        with self._store.snapshot():
            self._require_space()
            return self._store.entities.list(self._space_id, glob, self.as_of, after, limit)

    def entity(self, name: str) -> Entity:
        """One entity, by any of its names."""
        clean_name(name, "entity")
        with self._store.snapshot():
            self._require_space()
            return self._store.entities.get(self._space_id, name, self.as_of)

    def related(self, name: str, limit: int = 20) -> list[Related]:
        """What is mentioned together with an entity at this view's time, most often first."""
        clean_number(limit, "limit")
        self._index_pending(None)
        with self._store.snapshot():
            own, valid, known = self._own_entities(name)
            rows = self._store.mentions.together(own, valid, known, limit)
        return [Related(*row) for row in rows]

    def mentions(self, name: str, limit: int = 100) -> list[Mentioned]:
        """The passages that mention an entity by any of its names, and where they do."""
        clean_number(limit, "limit")
        self._index_pending(None)
        with self._store.snapshot():
            own, valid, known = self._own_entities(name)
            rows = self._store.mentions.mentions(own, valid, known, limit)
            chunks = self._store.chunks.find([chunk for chunk, _ in rows], self.as_of)
            return [
                Mentioned(
                    chunk=chunks[chunk],
                    line=self._store.chunks.line(chunk, chunks[chunk].start),
                    positions=tuple(characters_at(chunks[chunk].text, places)),
                )
                for chunk, places in rows
                if chunk in chunks
            ]

    def inverses(self) -> dict[str, str]:
        """Which relation takes over when a fact changes."""
        return self._store.edges.inverses()

    def chunks(self, topic: str, version: int | None = None) -> list[Chunk]:
        """The passages of a topic's state, current or of one version."""
        version = self.get(topic).version if version is None else version
        return self._store.chunks.chunks(self._space_id, topic, version)

    def proposals(
        self, status: str | None = "waiting", *, after: int = 0, limit: int | None = None
    ) -> list[Proposal]:
        """Changes that wait for approval, or that were `applied` or `rejected`; None: all.

        Oldest first and as they stand now, whatever this view's time. `after` and `limit`
        page through a long list.
        """
        if status is not None and status not in PROPOSAL_STATUSES:
            known = ", ".join(PROPOSAL_STATUSES)
            raise InvalidInput(f"There is no status {status!r}: {known}.")
        clean_number(after, "number")
        clean_number(limit, "limit")
        self._require_space()
        return self._store.proposals.find(self._space_id, status, after, limit)

    # The memory as a whole

    def export(self, path: str | Path | TextIO, format: str = "jsonl") -> None:
        """Write the memory to a file, a folder or an open text file.

        `jsonl` is everything in all spaces and at all times; `node-link`, `graphml`,
        `arango` and `neo4j` are this space's graph as of this view's time.
        """
        from hades.exchange import formats

        if format not in formats.FORMATS:
            raise InvalidInput(f"There is no format {format!r}: {', '.join(formats.FORMATS)}.")
        target = Path(path).expanduser() if isinstance(path, str | Path) else path
        if format in formats.GRAPH_FOLDERS:
            if not isinstance(target, Path):
                raise InvalidInput(f"The format {format} is a folder: give a path for it.")
            graph = self._graph()
            with formats.new_folder(target) as folder:
                formats.GRAPH_FOLDERS[format](graph, folder)
        elif isinstance(target, Path):
            with formats.new_file(target) as file:
                self._export_file(file, format)
        else:
            self._export_file(target, format)

    def spaces(self) -> list[Space]:
        """Every space of the memory."""
        return self._store.spaces.list()

    def stats(self) -> dict[str, int]:
        """How much there is in this space, and how large the file is."""
        with self._store.snapshot():
            self._require_space()
            return self._store.stats(self._space_id)

    def log(self, limit: int = 20) -> list[Change]:
        """The last changes in this space, newest first: who did what, when."""
        clean_number(limit, "limit")
        self._require_space()
        return self._store.log(self._space_id, limit)

    def check(self, on_progress: Progress | None = None) -> list[Problem]:
        """Look for damage; each problem says where it is and how to repair it."""
        return self._store.check(on_progress, repair=False)

    @property
    def pending(self) -> int:
        """How many states of this space wait to be indexed; a search for writing does it."""
        self._require_space()
        return self._store.chunks.pending_count(self._space_id)

    @property
    def change(self) -> int:
        """The number of the last committed write."""
        return self._store.change()

    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside sees one moment, whoever writes meanwhile."""
        return self._store.snapshot()

    # Inside

    def _export_file(self, file: TextIO, format: str) -> None:
        from hades.exchange import jsonl
        from hades.exchange.formats import GRAPH_FILES

        if format == "jsonl":
            if not self.as_of.is_now:
                raise InvalidInput("A jsonl export holds all times: export it without a time.")
            # Closed here, not when it is collected: it holds a snapshot open.
            with closing(self._store.dump()) as records:
                jsonl.write(records, file)
        else:
            GRAPH_FILES[format](self._graph(), file)

    def _graph(self) -> GraphSnapshot:
        with self._store.snapshot():
            states = [self.get(topic.name) for topic in self.topics()]
            return GraphSnapshot(
                states=states,
                chunks=[chunk for s in states for chunk in self.chunks(s.topic, s.version)],
                entities=self.entities(),
                edges=self.edges(),
            )

    def _time(self, time: TimeLike | None) -> datetime | None:
        return None if time is None else parse_time(time, self._store.now())

    def _own_entities(self, name: str) -> tuple[list[int], int, int]:
        """The entities a name stands for, and this view's moment."""
        nodes = self._store.entities.same_as(self._space_id, self._named_node(name), self.as_of)
        own = [node >> 3 for node in nodes if node & 7 == NodeKind.ENTITY]
        return own, *self._store.moment(self.as_of)
