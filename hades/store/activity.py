"""Activity: the topics and edges that changed last.

Lists as of now are cached in the process, so that a call after a write reads only the rows that the
write touched.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from hades.domain.graph import SIMILAR_TO, NodeKind
from hades.domain.summaries import KIND
from hades.domain.times import FOREVER, AsOf
from hades.domain.topics import DEFAULT_IMPORTANCE
from hades.store.database import Database, Glob, StorePart, believed, holds
from hades.store.edges import touching
from hades.store.kept_lists import KeptLists, ListReader, Stand
from hades.store.states import STATE_THEN, read_tags
from hades.store.summaries import StateOfPeriod

_BELOW = "(t.name = :topic OR t.name GLOB :below OR :topic IS NULL)"

_KIND_CHOSEN = {None: "", True: "AND t.kind = :note ", False: "AND t.kind <> :note "}


class Activity(StorePart):
    """Reads the last changes, in the order of valid time."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._lists = KeptLists(database)

    def topics(
        self,
        space: int,
        as_of: AsOf,
        limit: int,
        *,
        topic: str | None = None,
        marks: Sequence[str] = (),
        notes: bool | None = None,
        since: int = -FOREVER,
        until: int = FOREVER,
    ) -> list[StateOfPeriod]:
        """Return topics without summaries, ordered by the time of their last state, the latest
        first.

        `topic` restricts them to a topic and those below it. With `marks`, only topics with one of
        these texts in their name or tags are returned. `notes` chooses notes, or all other topics.
        `since` and `until` bound the time of the last state.
        """
        read = partial(self._topics, space, as_of, topic, tuple(marks), notes, since, until)
        if not as_of.is_now or (since, until) != (-FOREVER, FOREVER):
            return read(limit, None)
        reader = ListReader(
            read=read,
            touched=partial(self._topics_touched, space),
            until=partial(self._next_plan, space),
            id_of=lambda row: row.topic,
            key=lambda row: (row.valid_from, row.id),
        )
        name = ("topics", space, topic, tuple(marks), notes, limit)
        return self._lists.first(name, limit, self._database.moment(as_of)[0], reader)

    def _topics(
        self,
        space: int,
        as_of: AsOf,
        topic: str | None,
        marks: Sequence[str],
        notes: bool | None,
        since: int,
        until: int,
        limit: int,
        names: Collection[str] | None,
    ) -> list[StateOfPeriod]:
        by_name = {f"mark_{chr(97 + n)}": f"%{mark}%" for n, mark in enumerate(marks)}
        marked = " OR ".join(
            f"lower({column}) LIKE :{name}" for name in by_name for column in ("t.name", "s.tags")
        )
        rows = self._database.rows(
            "SELECT s.id, t.name, s.version, s.valid_from, t.kind, "
            "CASE WHEN s.encoding IS NULL THEN 1 ELSE 0 END, coalesce(s.importance, :usual), "
            "s.tags FROM topics t JOIN states s "
            f"ON s.id = CASE WHEN t.planned = 1 OR :past THEN {STATE_THEN} ELSE t.latest END "
            f"WHERE t.space = :space AND t.kind <> :summary AND {_BELOW} "
            f"{_KIND_CHOSEN[notes]}"
            f"{'' if names is None else 'AND t.name = ANY(:names) '}"
            "AND s.valid_from >= :since AND s.valid_from < :until "
            f"{f'AND ({marked})' if marked else ''} "
            "ORDER BY s.valid_from DESC, s.id DESC LIMIT :limit",
            space=space,
            **self._database.named_moment(as_of),
            past=not as_of.is_now,
            summary=KIND,
            note="note",
            usual=DEFAULT_IMPORTANCE,
            names=list(names or ()),
            since=since,
            until=until,
            limit=limit,
            **_below(topic),
            **by_name,
        )
        return [StateOfPeriod._make((*row[:-1], read_tags(row[-1]))) for row in rows]

    def _topics_touched(self, space: int, stand: Stand, _now: int) -> set[str] | None:
        """Return the topics with a state after a stand; None if one of them has a planned state."""
        rows = self._database.rows(
            "SELECT DISTINCT t.name, t.planned FROM states s JOIN topics t ON t.id = s.topic "
            "WHERE s.id > ? AND +t.space = ?",
            stand.state,
            space,
        )
        return None if any(planned for _, planned in rows) else {name for name, _ in rows}

    def _next_plan(self, space: int, now: int) -> int:
        """Return when the next planned state begins."""
        begins = self._database.number(
            "SELECT min(s.valid_from) FROM topics t JOIN states s ON s.topic = t.id "
            "WHERE t.space = ? AND t.planned = 1 AND s.valid_from > ?",
            space,
            now,
        )
        return FOREVER if begins is None else begins

    def edges(
        self, space: int, as_of: AsOf, limit: int, nodes: Sequence[int] | None = None
    ) -> list[int]:
        """Return the ids of written edges that began or ended last, the latest first.

        `nodes` restricts them to edges of these nodes. `similar_to` edges are left out.
        """
        read = partial(self._edges, space, as_of, nodes)
        if nodes is not None:
            return [id_ for id_, _ in read(limit, None)]
        return self._first_edges(("edges", space, limit), read, space, as_of, limit)

    def edges_of(self, space: int, as_of: AsOf, relation: str, limit: int) -> list[int]:
        """Return the ids of the written edges of a relation that hold, the last written first."""
        read = partial(self._of_relation, space, as_of, relation)
        return self._first_edges(("edges", space, relation, limit), read, space, as_of, limit)

    def _first_edges(
        self, name: tuple[Any, ...], read: Any, space: int, as_of: AsOf, limit: int
    ) -> list[int]:
        """Return the ids of the first edges that `read` finds. A list as of now is cached by
        `name`."""
        if not as_of.is_now:
            return [id_ for id_, _ in read(limit, None)]
        reader = ListReader(
            read=read,
            touched=partial(self._edges_touched, space),
            until=partial(self._next_boundary, space),
            id_of=lambda row: row[0],
            key=lambda row: (row[1], row[0]),
        )
        now = self._database.moment(as_of)[0]
        return [id_ for id_, _ in self._lists.first(name, limit, now, reader)]

    def _edges(
        self,
        space: int,
        as_of: AsOf,
        nodes: Sequence[int] | None,
        limit: int,
        ids: Collection[int] | None,
    ) -> list[Any]:
        """Return edges as (id, when it began or ended last)."""
        near = f"AND {touching('e', 'both')} " if nodes is not None else ""
        near += "AND e.id = ANY(:ids) " if ids is not None else ""
        changed_at = "CASE WHEN e.valid_to <= :valid THEN e.valid_to ELSE e.valid_from END"
        return self._database.rows(
            f"SELECT e.id, {changed_at} "
            "FROM edges e JOIN relations r ON r.id = e.relation AND r.name <> :alike "
            f"WHERE {'+' * bool(near)}e.space = :space AND {believed('e', ':known')} "
            f"AND e.valid_from <= :valid {near}"
            f"ORDER BY {changed_at} DESC, e.id DESC LIMIT :limit",
            space=space,
            alike=SIMILAR_TO,
            **self._database.named_moment(as_of),
            nodes=list(nodes or ()),
            ids=list(ids or ()),
            limit=limit,
        )

    def _of_relation(
        self, space: int, as_of: AsOf, relation: str, limit: int, ids: Collection[int] | None
    ) -> list[Any]:
        """Return edges of a relation as (id, 0)."""
        return self._database.rows(
            f"SELECT e.id, 0 FROM edges e WHERE {'+' * (ids is not None)}e.space = :space "
            "AND e.relation = (SELECT id FROM relations WHERE name = :relation) "
            f"{'' if ids is None else 'AND e.id = ANY(:ids) '}"
            f"AND {believed('e', ':known')} AND {holds('e', ':valid')} "
            "ORDER BY e.id DESC LIMIT :limit",
            space=space,
            relation=relation,
            **self._database.named_moment(as_of),
            ids=list(ids or ()),
            limit=limit,
        )

    def _edges_touched(self, space: int, stand: Stand, now: int) -> set[int] | None:
        """Return the edges written after a stand; None if one of them changes by time alone."""
        rows = self._database.rows(
            "SELECT id, valid_from, coalesce(valid_to, 0) FROM edges "
            "WHERE change > ? AND +space = ?",
            stand.change,
            space,
        )
        return None if any(max(times) > now for _, *times in rows) else {row[0] for row in rows}

    def _next_boundary(self, space: int, now: int) -> int:
        """Return when the next written edge begins or ends."""
        times = self._database.row(
            "SELECT min(CASE WHEN valid_from > :now THEN valid_from END), "
            "min(CASE WHEN valid_to > :now THEN valid_to END) "
            "FROM edges WHERE space = :space AND retired_at IS NULL",
            space=space,
            now=now,
        )
        return min((time for time in times if time is not None), default=FOREVER)

    def nodes(self, space: int, topic: str, limit: int) -> list[int]:
        """Return the nodes of a topic and the topics below it, and of the entities that are their
        subjects."""
        rows = self._database.rows(
            f"SELECT t.id, t.entity FROM topics t WHERE t.space = :space AND {_BELOW} "
            "ORDER BY t.name LIMIT :limit",
            space=space,
            limit=limit,
            **_below(topic),
        )
        topics = [NodeKind.TOPIC.node(row) for row, _ in rows]
        return topics + [NodeKind.ENTITY.node(entity) for _, entity in rows if entity is not None]


def _below(topic: str | None) -> dict[str, str | None]:
    """Return the values for `_BELOW`: a topic, and a pattern for the names below it."""
    if topic is None:
        return {"topic": None, "below": None}
    escaped = "".join(f"[{sign}]" if sign in "*?[" else sign for sign in topic)
    return {"topic": topic, "below": Glob(f"{escaped}/*")}
