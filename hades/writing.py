"""Writing: the methods of a memory that tell it something.

A part of `Memory`, kept in its own file: what is told by hand, a topic, a fact or a name at a
time, is here; what opens, takes in and keeps the whole is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import Any

from hades.domain.graph import Edge, FactChange, Resolution
from hades.domain.rules import (
    clean_content,
    clean_metadata,
    clean_name,
    clean_number,
    clean_share,
    clean_tags,
)
from hades.domain.times import NOW, TimeLike, from_micros
from hades.domain.trace import State
from hades.errors import Conflict, InvalidInput, NotFound
from hades.lifecycle import facts
from hades.store.records import Draft, EdgeDraft, EdgeFilter, Progress, Write
from hades.view import View


class Writing(View):
    """States, edges and entities of one space, told in somebody's name."""

    _actor: str

    def batch(self) -> AbstractContextManager[None]:
        """All writes inside become one commit: much faster, and all or nothing.

        >>> with memory.batch():                                # doctest: +SKIP
        ...     for name, text in notes: memory.remember(name, text)
        """
        return self._store.transaction()

    # States

    def remember(
        self,
        topic: str,
        content: str,
        *,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        valid_from: TimeLike | None = None,
        expect_version: int | None = None,
    ) -> State:
        """Write what is known of a topic now: a new state, unless nothing changed.

        Tags, metadata and importance carry over from the state before unless given.
        `valid_from` says since when it is true (default: now). `expect_version` makes
        it a Conflict when somebody else wrote first (0: the topic must be new).
        """
        draft = Draft(
            content=clean_content(content),
            tags=clean_tags(tags),
            metadata=clean_metadata(metadata),
            confidence=clean_share(confidence, "confidence"),
            importance=clean_share(importance, "importance"),
            valid_from=self._time(valid_from),
            expect_version=clean_number(expect_version, "expected version"),
        )
        clean_name(topic)
        with self._write("remember") as write:
            state, appended = self._store.topics.add(write, self._space_id, topic, draft)
            write.cancelled = not appended
        return state

    def forget(self, topic: str) -> State:
        """Let a topic be gone from now on, with its edges. Its history is kept."""
        clean_name(topic)
        with self._write("forget") as write:
            state, _ = self._store.topics.add(write, self._space_id, topic, Draft(content=None))
            for node in self._store.entities.own_nodes(self._space_id, topic):
                facts.end_edges_of(self._store, write, self._space_id, node, state.valid_from)
            return state

    def purge(self, name: str) -> dict[str, int]:
        """Erase a topic or entity everywhere, history and all that was derived from it.

        Takes as long as copying the file: it is written anew, so that no byte is left.
        Gives how many rows of each kind went, and `wiped`: 0 inside a batch, where that
        happens at its end, and while another process still reads old pages, which then go
        with the next purge or the last close. Names merged with this one stay.
        """
        clean_name(name)
        with self._write("purge") as write:
            gone = self._store.purge(write, self._space_id, name)
        wiped = self._store.wipe()
        self._drop_indexes()
        return {**gone, "wiped": int(wiped)}

    # Edges

    def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        weight: float | None = None,
        evidence: str = "",
        valid_from: TimeLike | None = None,
        valid_to: TimeLike | None = None,
        exclusive: bool = False,
        metadata: Mapping[str, Any] | None = None,
        kind: str = "concept",
    ) -> Edge:
        """Say that one thing stands in a relation to another, from now or `valid_from` on.

        A name that is no topic becomes an entity of that `kind`. The weight is 1 unless
        given. Saying a fact again updates what is said, and stretches it over the time
        said. An `exclusive` relation has one target at a time: the new fact ends the old.
        """
        for name, what in ((source, "topic"), (relation, "relation"), (target, "topic")):
            clean_name(name, what)
        clean_name(kind, "kind")
        weight = clean_share(weight, "weight")
        starts, ends = self._time(valid_from), self._time(valid_to)
        with self._write("relate") as write:
            draft = EdgeDraft(
                source=self._store.entities.ensure(write, self._space_id, source, kind),
                relation=relation,
                target=self._store.entities.ensure(write, self._space_id, target, kind),
                valid_from=starts,
                valid_to=ends,
                weight=weight,
                evidence=clean_content(evidence),
                metadata=clean_metadata(metadata) or {},
            )
            edge, is_news = facts.relate(
                self._store, write, self._space_id, draft, exclusive=exclusive
            )
            write.cancelled = not is_news
        return edge

    def unrelate(
        self,
        source: str | int,
        relation: str | None = None,
        target: str | None = None,
        *,
        at: TimeLike | None = None,
        mistake: bool = False,
    ) -> list[Edge]:
        """End the edges between two things, or one edge by its number, now or `at` a time.

        `mistake=True` says it was never true: from now on no time shows it.
        """
        ends = self._time(at)
        if not isinstance(source, int) and relation is None:
            raise InvalidInput("Say which relation ends, or give the number of an edge.")
        with self._write("unrelate") as write:
            if isinstance(source, int):
                edges = [self._store.edges.get(self._space_id, source)]
            else:
                edges = self._holding(source, relation, target)
            for edge in edges:
                when = ends or from_micros(write.at)
                if edge.valid_to is not None and edge.valid_to <= when and not (ends or mistake):
                    raise Conflict(f"Edge {edge.id} ended already: give `at` to say otherwise.")
                facts.unrelate(self._store, write, edge, when, mistake=mistake)
            write.subject = self._store.entities.node(self._space_id, edges[0].source.name, NOW)
        return [self._store.edges.beliefs(self._space_id, edge.id, NOW)[-1] for edge in edges]

    def change_fact(
        self,
        subject: str,
        relation: str,
        target: str | None = None,
        *,
        to: str | None = None,
        new_relation: str | None = None,
        content: str | None = None,
        evidence: str = "",
        at: TimeLike | None = None,
    ) -> FactChange:
        """A fact changed: close what no longer holds and open what holds instead.

        The subject's edges of that relation (to `target`, or to all) end; an edge of the
        inverse relation (`inverses`, or `new_relation`) begins, to `to` or to the old
        target; each old edge is superseded by the new one. `content` becomes the
        subject's new state. All in one write.
        """
        moment = self._time(at)
        if content is not None:
            clean_content(content)
        for name, what in ((relation, "relation"), (new_relation, "relation"), (to, "topic")):
            if name is not None:
                clean_name(name, what)
        with self._write("change_fact") as write:
            when = moment or from_micros(write.at)
            closing = self._holding(subject, relation, target, when)
            new_target = None
            if to is not None:
                new_target = self._store.entities.ensure(write, self._space_id, to, "concept")
            return facts.change_fact(
                self._store,
                write,
                self._space_id,
                subject,
                closing,
                at=when,
                to=new_target,
                new_relation=new_relation,
                content=content,
                evidence=clean_content(evidence),
            )

    def set_inverse(self, relation: str, inverse: str) -> None:
        """Say which relation takes over when a fact of this relation changes."""
        clean_name(relation, "relation")
        clean_name(inverse, "relation")
        with self._write("set_inverse") as write:
            self._store.edges.set_inverse(write, relation, inverse)

    # Entities

    def add_alias(self, name: str, alias: str) -> None:
        """Let an entity be found under another name too."""
        clean_name(name, "entity")
        clean_name(alias, "alias")
        with self._write("add_alias") as write:
            self._store.entities.add_alias(write, self._space_id, name, alias)

    def set_kind(self, name: str, kind: str) -> None:
        """Say what kind of thing an entity is: person, method, place …"""
        clean_name(name, "entity")
        clean_name(kind, "kind")
        with self._write("set_kind") as write:
            self._store.entities.set_kind(write, self._space_id, name, kind)

    def merge(self, keep: str, *others: str) -> None:
        """From now on the others are `keep`; `split` takes any of them out again."""
        if not others:
            raise InvalidInput("Name at least two entities to merge.")
        for name in (keep, *others):
            clean_name(name, "entity")
        with self._write("merge") as write:
            for other in others:
                self._store.entities.merge(write, self._space_id, keep, other)

    def split(self, name: str) -> None:
        """Undo a merge, or make an alias an entity of its own."""
        clean_name(name, "entity")
        with self._write("split") as write:
            self._store.entities.split(write, self._space_id, name)

    def resolve(self, *, dry_run: bool = False, on_progress: Progress | None = None) -> Resolution:
        """Find entities that are one under two spellings, and names near in meaning.

        Names spelled nearly alike are merged, where nothing speaks against it; `split` undoes
        it, and what was split is not merged again. Names near in meaning get an edge
        `similar_to`. Only the more frequent names and titles get a vector for that. A second
        run finds nothing to do; one that was stopped goes on. A `dry_run` writes nothing.
        """
        from hades.lifecycle.resolve import Resolver

        self._require_space()
        if self._store.in_transaction:
            raise InvalidInput("Resolve before or after a batch or snapshot, not inside it.")
        if not dry_run:
            self._index_pending(on_progress)
        finder = self._finder
        told = on_progress or (lambda _what, _done, _total: None)
        resolver = Resolver(
            self._store, self._space_id, self._actor, lambda: finder.encoder, told, dry_run
        )
        return resolver.run()

    # Inside

    def _drop_indexes(self) -> None:
        """Lose what was derived: segments and arrays keep what was purged until rewritten."""
        if self._store.in_transaction:
            self._store.afterwards(self._drop_indexes)
        if self._store.index_folder.exists():
            from hades.index.array_store import drop_files

            drop_files(self._store.index_folder)
        for engine in self._engines.values():
            engine.forget()

    @contextmanager
    def _write(self, action: str) -> Iterator[Write]:
        with self._store.write(self._actor, action, self._space_id) as write:
            if self._store.spaces.id(self._space) != self._space_id:
                raise NotFound(
                    f"The space {self._space!r} was dropped and made anew: open it again."
                )
            yield write

    def _holding(
        self,
        source: str,
        relation: str | None,
        target: str | None,
        at: datetime | None = None,
    ) -> list[Edge]:
        """The edges from one thing that hold now, or at a time; NotFound when there are none."""
        wanted = EdgeFilter(
            node=self._named_node(source),
            direction="out",
            relation=relation,
            target=None if target is None else self._named_node(target),
        )
        as_of = NOW if at is None else type(NOW)(valid=at)
        edges = self._store.edges.find(self._space_id, wanted, as_of)
        if not edges:
            what = f"{source} --[{relation or '*'}]--> {target or '*'}"
            raise NotFound(f"No such edge holds: {what}.")
        return edges
