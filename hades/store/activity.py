"""Activity: the topics and edges that changed last."""

from __future__ import annotations

from collections.abc import Sequence

from hades.domain.graph import SIMILAR_TO, NodeKind
from hades.domain.summaries import KIND
from hades.domain.times import FOREVER, AsOf
from hades.domain.topics import DEFAULT_IMPORTANCE
from hades.store.database import Glob, StorePart, believed
from hades.store.edges import touching
from hades.store.states import STATE_THEN, read_tags
from hades.store.summaries import StateOfPeriod

_BELOW = "(t.name = :topic OR t.name GLOB :below OR :topic IS NULL)"

_KIND_CHOSEN = {None: "", True: "AND t.kind = :note ", False: "AND t.kind <> :note "}


class Activity(StorePart):
    """Reads the last changes, in the order of valid time."""

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
        """Return topics, no summaries, by the time of their last state, the latest first.

        `topic` restricts them to a topic and those below it. With `marks`, only topics are
        returned whose name contains one of these texts or whose tags do. `notes` chooses notes, or
        all other topics. `since` and `until` bound the time of the last state.
        """
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
            "AND s.valid_from >= :since AND s.valid_from < :until "
            f"{f'AND ({marked})' if marked else ''} "
            "ORDER BY s.valid_from DESC, s.id DESC LIMIT :limit",
            space=space,
            **self._database.named_moment(as_of),
            past=not as_of.is_now,
            summary=KIND,
            note="note",
            usual=DEFAULT_IMPORTANCE,
            since=since,
            until=until,
            limit=limit,
            **_below(topic),
            **by_name,
        )
        return [StateOfPeriod._make((*row[:-1], read_tags(row[-1]))) for row in rows]

    def edges(
        self, space: int, as_of: AsOf, limit: int, nodes: Sequence[int] | None = None
    ) -> list[int]:
        """Return the ids of written edges that began or ended last, the latest first.

        `nodes` restricts them to edges of these nodes. `similar_to` edges are left out.
        """
        near = f"AND {touching('e', 'both')} " if nodes is not None else ""
        return self._database.column(
            "SELECT e.id FROM edges e JOIN relations r ON r.id = e.relation AND r.name <> :alike "
            f"WHERE {'+' * bool(near)}e.space = :space AND {believed('e', ':known')} "
            f"AND e.valid_from <= :valid {near}"
            "ORDER BY CASE WHEN e.valid_to <= :valid THEN e.valid_to ELSE e.valid_from END DESC, "
            "e.id DESC LIMIT :limit",
            space=space,
            alike=SIMILAR_TO,
            **self._database.named_moment(as_of),
            nodes=list(nodes or ()),
            limit=limit,
        )

    def nodes(self, space: int, topic: str, limit: int) -> list[int]:
        """Return the nodes of a topic and the topics below it, and of the entities they are of."""
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
