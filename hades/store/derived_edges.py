"""Edges derived from texts: each holds as long as the chunk it was read in.

The edges `documents`, from prose to the symbols of code that it names, are here too. They are not
stored: they follow from the mentions, and hold while both the prose and the code do.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from hades.domain.graph import Edge, Node, NodeKind, Provenance
from hades.domain.times import DAY_MICROSECONDS, FOREVER, AsOf, from_micros, from_micros_or_none
from hades.domain.weights import SHIPPED, initial_weight
from hades.language.names import is_identifier, name_key, symbol_tail
from hades.store.chunks import Chunks
from hades.store.database import Database, believed, holds
from hades.store.edges import touching
from hades.store.entities import Entities
from hades.store.feedback import Weights
from hades.store.records import EdgeFilter, Write

DOCUMENTS = "documents"


class _Times(NamedTuple):
    """A stretch on both time axes; an open end is FOREVER."""

    valid_from: int
    valid_to: int
    recorded_at: int
    retired_at: int


def _times(alias: str) -> str:
    return (
        f"{alias}.valid_from, coalesce({alias}.valid_to, {FOREVER}), "
        f"{alias}.recorded_at, coalesce({alias}.retired_at, {FOREVER})"
    )


def _there(alias: str) -> str:
    """Return the SQL condition that a presence is believed, and holds unless :any is set."""
    return f"{believed(alias, ':known')} AND (:any OR ({holds(alias, ':valid')}))"


_WANTED = "= ANY(:nodes)"
_SELECT = f"""
SELECT l.id, l.source, r.name, l.target, l.weight, l.evidence, l.components, l.chunk, {_times("p")}
"""
_FROM = f"""
FROM derived_edges l JOIN relations r ON r.id = l.relation JOIN chunks c ON c.id = l.chunk
JOIN topics t ON t.id = c.topic JOIN presences p ON p.chunk = l.chunk
WHERE t.space = :space AND {_there("p")} AND (r.name = :relation OR :relation IS NULL)
"""
# Each row: the entity of a symbol (whole), the entity that a text names (called), and the chunk of
# code. An edge `coref` or `refers_to` joins the bare name of a symbol to its full name.
_SYMBOLS = """
WITH symbols AS (
  SELECT e.id AS whole, e.id AS called, m.chunk FROM entities e JOIN mentions m ON m.entity = e.id
  WHERE e.space = :space AND e.kind = 'code_symbol' AND m.introduces = 3 AND NOT EXISTS (
    SELECT 1 FROM derived_edges x JOIN relations r ON r.id = x.relation
    WHERE x.source = e.id << 3 | 1 AND x.chunk = m.chunk AND r.name IN ('coref', 'refers_to'))
  UNION
  SELECT l.target >> 3, l.source >> 3, l.chunk
  FROM derived_edges l JOIN relations r ON r.id = l.relation
  JOIN chunks c ON c.id = l.chunk JOIN topics t ON t.id = c.topic
  WHERE r.name IN ('coref', 'refers_to') AND l.source & 7 = 1 AND l.target & 7 = 1
    AND t.kind = 'code' AND t.space = :space)
"""
_NAMED = f"""
SELECT DISTINCT m.chunk, s.whole, e.name, {_times("p")}, {_times("q")}
FROM symbols s JOIN entities e ON e.id = s.whole
JOIN mentions m ON m.entity = s.called AND m.positions IS NOT NULL
JOIN chunks c ON c.id = m.chunk JOIN topics t ON t.id = c.topic AND t.kind != 'code'
JOIN presences p ON p.chunk = m.chunk JOIN presences q ON q.chunk = s.chunk
WHERE {_there("p")} AND {_there("q")}
"""
# Prose contains identifiers too: only those that code defines, calls or imports are symbols.
_CALLED = """
SELECT e.id << 3 | 1, e.name FROM entities e WHERE e.space = :space AND e.kind = 'code_symbol'
  AND (e.name LIKE :tail OR e.name LIKE :again) AND (
    EXISTS (SELECT 1 FROM mentions m WHERE m.entity = e.id AND m.introduces = 3)
    OR EXISTS (SELECT 1 FROM derived_edges l WHERE l.source = e.id << 3 | 1)
    OR EXISTS (SELECT 1 FROM derived_edges l WHERE l.target = e.id << 3 | 1))
UNION SELECT e.id << 3 | 1, CAST(:name AS TEXT) FROM entities e
JOIN derived_edges l ON l.target = e.id << 3 | 1 JOIN relations r ON r.id = l.relation
WHERE e.space = :space AND e.key = :key AND r.name IN ('calls', 'imports')
UNION SELECT t.id << 3, t.name FROM topics t
WHERE t.space = :space AND t.name LIKE :tail AND t.kind = ANY(:kinds)
"""
# A paper and its title are one thing, and so are a file of code and its module: the edges of one
# are the edges of the other.
_OWN_NAMES = """
SELECT DISTINCT t.id << 3, t.name, t.kind, e.id << 3 | 1, e.name
FROM entities e JOIN mentions m ON m.entity = e.id JOIN chunks c ON c.id = m.chunk
JOIN topics t ON t.id = c.topic
WHERE e.kind IN ('paper', 'code_symbol')
  AND ((t.kind = 'paper' AND m.introduces = 1) OR (t.kind = 'code' AND m.introduces = 3))
"""
_FOLDER_FILE = re.compile(r"(?:/(?:__init__|index|mod|lib))?\.\w+$")
_PROSE = f"(c.topic << 3) {_WANTED} OR (m.chunk << 3 | 2) {_WANTED}"
_OF_SYMBOL = f"(s.whole << 3 | 1) {_WANTED}"
_DOCUMENTING = {
    "out": f" AND ({_PROSE})",
    "in": f" AND {_OF_SYMBOL}",
    "both": f" AND ({_PROSE} OR {_OF_SYMBOL})",
}


class DerivedEdges:
    """Edges that texts state, and edges that follow from mentions."""

    def __init__(
        self, database: Database, entities: Entities, chunks: Chunks, weights: Weights
    ) -> None:
        self._database = database
        self._entities = entities
        self._chunks = chunks
        self._weights = weights

    def find(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[Edge]:
        """Return the derived edges that pass a filter, as of a moment.

        Stored edges come first, in the order of ingestion, then the edges `documents`.
        """
        return [edge for _, edge in self.placed(space, wanted, as_of)]

    def placed(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[tuple[int, Edge]]:
        """Return the same edges as `find`, each as (chunk, edge)."""
        return self.page(space, wanted, as_of)[0] + self.documents(space, wanted, as_of)

    def called(self, space: int, name: str, kinds: Sequence[str] = ("code",)) -> dict[int, str]:
        """Map the nodes of symbols and files whose name is `name`, or ends with it, to their full
        names."""
        if not name or "\\" in name:
            return {}
        values = {"space": space, "name": name, "key": name_key(name), "kinds": list(kinds)}
        rows = self._database.rows(_CALLED, **values, tail=f"%{name}", again=f"%{name}#%")
        return {node: own for node, own in rows if _ends_with(node, own, name)}

    def symbols_of(self, topics: Sequence[int]) -> list[int]:
        """Return the nodes of the symbols that files of code (given as nodes) contain."""
        return self._database.column(
            "SELECT DISTINCT l.target FROM chunks c JOIN derived_edges l ON l.chunk = c.id "
            "JOIN relations r ON r.id = l.relation WHERE r.name = 'contains' AND c.topic = ANY(?)",
            [node >> 3 for node in topics],
        )

    def subjects_of(self, topics: Sequence[int]) -> list[tuple[int, int]]:
        """Return (topic id, node) for the nodes at which edges stated in the topics' texts begin.

        The node with the most edges of a topic comes first.
        """
        rows = self._database.rows(
            "SELECT c.topic, l.source FROM chunks c JOIN derived_edges l ON l.chunk = c.id "
            "WHERE c.topic = ANY(?) GROUP BY c.topic, l.source ORDER BY count(*) DESC, l.source",
            list(topics),
        )
        return [(topic, node) for topic, node in rows]

    def page(
        self, space: int, wanted: EdgeFilter, as_of: AsOf
    ) -> tuple[list[tuple[int, Edge]], int | None]:
        """Return a page of (chunk, edge) that texts state, and `beyond` for the next, or None."""
        ends = "" if wanted.node is None else f" AND {touching('l', wanted.direction)}"
        values = self._values(space, wanted, as_of)
        sql = f"{_SELECT}{_FROM}{ends}"
        keys = list[int]()
        if wanted.limit is not None:
            keys = self._database.column(
                f"SELECT DISTINCT l.id {_FROM}{ends} AND l.id > :beyond ORDER BY l.id LIMIT :limit",
                **values,
            )
            sql += " AND l.id = ANY(:keys)"
        rows = self._database.rows(f"{sql} ORDER BY l.id, p.id", **values, keys=keys)
        edges = self._edges(space, rows, as_of, any_time=wanted.any_time)
        return edges, keys[-1] if len(keys) == wanted.limit else None

    def between(
        self, space: int, pairs: Collection[tuple[int, int]], as_of: AsOf
    ) -> dict[tuple[int, int], list[Edge]]:
        """Return the edges that texts state from the first node of each pair to the second."""
        same = {node: self.nodes(space, [node], as_of) for pair in pairs for node in pair}
        values = self._values(space, EdgeFilter(), as_of)
        for at, side in enumerate(("nodes", "targets")):
            values[side] = sorted({node for pair in pairs for node in same[pair[at]]})
        sql = f"{_SELECT}{_FROM} AND {touching('l', 'out')} AND l.target = ANY(:targets)"
        rows = self._database.rows(f"{sql} ORDER BY l.id", **values)
        ends = {-row[0]: (row[1], row[3]) for row in rows}
        edges = self._edges(space, rows, as_of, any_time=False)
        return {
            pair: [
                edge
                for _, edge in edges
                if ends[edge.id][0] in same[pair[0]] and ends[edge.id][1] in same[pair[1]]
            ]
            for pair in pairs
        }

    def parts(self, space: int, ids: Sequence[int], at: datetime) -> dict[int, dict[str, float]]:
        """Return the parts of stored edges' weights at a time, without the prior, by number."""
        values = self._values(space, EdgeFilter(any_time=True), AsOf(at, None))
        rows = self._database.rows(f"{_SELECT}{_FROM} AND l.id = ANY(:ids)", **values, ids=ids)
        known: dict[int, dict[str, float]] = {}
        for number, _, relation, _, weight, _, components, _, first, *_ in rows:
            parts = json.loads(components) if components else {}
            aged = SHIPPED.aged(
                relation, weight, parts, (values["valid"] - first) / DAY_MICROSECONDS
            )
            names = ("sim", "evidence", "freshness")
            known[number] = {name: aged.components[name] for name in names if name in parts}
        return {number: parts for number, parts in known.items() if parts}

    def is_documented(self, chunk: int, entity: int) -> bool:
        """Return whether a chunk is prose and names an entity that is a symbol of code."""
        name = self._database.value(
            "SELECT e.name FROM entities e, chunks c JOIN topics t ON t.id = c.topic "
            "WHERE e.id = ? AND e.kind = 'code_symbol' AND c.id = ? AND t.kind != 'code'",
            entity,
            chunk,
        )
        return (
            name is not None and _where_said(self._chunks.texts([chunk])[chunk], name) is not None
        )

    def add(
        self,
        write: Write,
        chunk: int,
        source: int,
        relation: str,
        target: int,
        *,
        weight: float,
        evidence: str,
        components: Mapping[str, float],
        instead_of: float | None = None,
    ) -> None:
        """Write an edge that a text states. Update a known one if its weight is `instead_of`."""
        self._database.run(
            "INSERT INTO derived_edges "
            "(chunk, source, relation, target, weight, change, evidence, components) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (chunk, source, relation, target) "
            "DO UPDATE SET weight = excluded.weight, change = excluded.change, "
            "components = excluded.components WHERE derived_edges.weight = ?",
            chunk,
            source,
            self._database.relation_id(relation),
            target,
            weight,
            write.change,
            evidence or None,
            json.dumps(dict(components)) if components else None,
            instead_of,
        )

    def documents(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[tuple[int, Edge]]:
        """Return the edges `documents`, from prose to code, each as (chunk, edge)."""
        if wanted.relation not in (None, DOCUMENTS):
            return []
        values = self._values(space, wanted, as_of)
        sql = _SYMBOLS + _NAMED
        if wanted.node is not None:
            sql += _DOCUMENTING[wanted.direction]
        rows = self._database.rows(sql, **values)
        texts = self._chunks.texts(sorted({row[0] for row in rows}))
        labels = self._labels((row[0] for row in rows), as_of, any_time=wanted.any_time)
        edges: dict[tuple[int, int, _Times], Edge] = {}
        meant = _meant(rows, texts)
        weights = self._weights.in_force(space, as_of)
        rivals = Counter((chunk, symbol_tail(name)) for chunk, name in meant)
        for chunk, symbol, name, *times in sorted(rows):
            span = meant.get((chunk, name))
            both = _overlap(_Times(*times[:4]), _Times(*times[4:]))
            if span is None or both is None:
                continue
            named = texts[chunk][span[0] : span[1]]
            # A bare name that several symbols share is less certain.
            certainty = 1.0 if named == name else 1 / rivals[chunk, symbol_tail(name)]
            days = (values["valid"] - both.valid_from) / DAY_MICROSECONDS
            weight = initial_weight(DOCUMENTS, certainty=certainty)
            weight = weights.aged(DOCUMENTS, weight.value, weight.components, days)
            label = labels.get(chunk, f"(chunk {chunk})")
            edges[chunk, symbol, both] = _edge(
                0,
                (Node("chunk", label), DOCUMENTS, Node("entity", name)),
                both,
                weight=weight.value,
                evidence=named,
                components=weight.components,
                provenance=Provenance(label, *span),
            )
        return [(chunk, edge) for (chunk, *_), edge in edges.items()]

    def _values(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> dict[str, Any]:
        return {
            "space": space,
            **self._database.named_moment(as_of),
            "any": wanted.any_time,
            "relation": wanted.relation,
            "nodes": self.nodes(space, (wanted.node, *wanted.also), as_of),
            "beyond": wanted.beyond,
            "limit": wanted.limit,
        }

    def nodes(self, space: int, wanted: Iterable[int | None], as_of: AsOf) -> list[int]:
        """Return nodes, the nodes merged with them, and the topics or modules that mean the
        same."""
        given = [node for node in wanted if node is not None]
        key = ("nodes", space, as_of, *given)
        return self._database.shared(key, lambda: self._same_nodes(space, given, as_of))

    def _same_nodes(self, space: int, given: Sequence[int], as_of: AsOf) -> list[int]:
        nodes = [same for node in given for same in self._entities.same_as(space, node, as_of)]
        entities = [node >> 3 for node in nodes if node & 7 == NodeKind.ENTITY]
        subject_of = "SELECT id << 3 FROM topics WHERE entity = ANY(?)"
        nodes += self._database.column(subject_of, entities)
        topics = [node >> 3 for node in nodes if node & 7 == NodeKind.TOPIC]
        rows = self._database.rows(f"{_OWN_NAMES} AND t.id = ANY(?)", topics) if topics else []
        if entities:
            rows += self._database.rows(f"{_OWN_NAMES} AND e.id = ANY(?)", entities)
        for topic, path, kind, entity, name in rows:
            # A method may have the name of its file. So a bare name means a module only if the
            # caller asks.
            is_asked = symbol_tail(name) != name or entity in given or topic in given
            if kind == "paper" or (is_asked and _is_module(path, name)):
                nodes += [topic, entity]
        return list(dict.fromkeys(nodes))

    def _edges(
        self, space: int, rows: Sequence[Any], as_of: AsOf, *, any_time: bool
    ) -> list[tuple[int, Edge]]:
        if not rows:
            return []
        ends = {end for row in rows for end in (row[1], row[3])}
        described = self._entities.meant(space, ends, as_of)
        labels = self._labels((row[7] for row in rows), as_of, any_time=any_time)
        texts = self._chunks.texts(sorted(labels))
        valid = self._database.moment(as_of)[0]
        edges = []
        weights = self._weights.in_force(space, as_of)
        for number, source, relation, target, weight, evidence, components, chunk, *times in rows:
            if relation == "coref" and described[source] == described[target]:
                continue  # both ends are shown as one entity
            start, end = _stating(
                texts.get(chunk, ""),
                relation,
                evidence or "",
                target=described[target].name,
                source=described[source].name,
            )
            parts = json.loads(components) if components else {}
            aged = weights.aged(relation, weight, parts, (valid - times[0]) / DAY_MICROSECONDS)
            edge = _edge(
                -number,
                (described[source], relation, described[target]),
                _Times(*times),
                weight=aged.value,
                evidence=evidence or "",
                components=aged.components,
                provenance=Provenance(labels.get(chunk, f"(chunk {chunk})"), start, end),
            )
            edges.append((chunk, edge))
        return edges

    def _labels(self, chunks: Iterable[int], as_of: AsOf, *, any_time: bool) -> dict[int, str]:
        valid, known = self._database.moment(as_of)
        return self._chunks.labels(chunks, FOREVER if any_time else valid, known)


def _ends_with(node: int, own: str, name: str) -> bool:
    """Return whether `name` is the name of a symbol or file (`own`), or its last parts."""
    own = own.partition("#")[0] if node & 7 else own
    joints = ".:/" if node & 7 else "/"
    return own == name or (own.endswith(name) and own[-len(name) - 1] in joints)


def _is_module(path: str, name: str) -> bool:
    """Return whether a symbol is the module of a file: `a.b` of `src/a/b.py`."""
    stem = _FOLDER_FILE.sub("", path)
    steps = name.replace("::", "/").replace(".", "/")
    return f"/{stem}".endswith(f"/{steps}")


def _edge(number: int, ends: tuple[Node, str, Node], times: _Times, **further: Any) -> Edge:
    source, relation, target = ends
    return Edge(
        id=number,
        source=source,
        relation=relation,
        target=target,
        valid_from=from_micros(times.valid_from),
        valid_to=from_micros_or_none(None if times.valid_to == FOREVER else times.valid_to),
        recorded_at=from_micros(times.recorded_at),
        **further,
    )


def _overlap(prose: _Times, code: _Times) -> _Times | None:
    """Return the stretch in which both hold and are believed, or None."""
    both = _Times(
        max(prose.valid_from, code.valid_from),
        min(prose.valid_to, code.valid_to),
        max(prose.recorded_at, code.recorded_at),
        min(prose.retired_at, code.retired_at),
    )
    empty = both.valid_from >= both.valid_to or both.recorded_at >= both.retired_at
    return None if empty else both


def _meant(rows: Sequence[Any], texts: dict[int, str]) -> dict[tuple[int, str], tuple[int, int]]:
    """Map (chunk, symbol name) to the span (start, end) in which the chunk names the symbol."""
    spans = {(row[0], row[2]): _where_said(texts.get(row[0], ""), row[2]) for row in rows}
    return {named: span for named, span in spans.items() if span is not None}


def _stating(text: str, relation: str, evidence: str, target: str, source: str) -> tuple[int, int]:
    """Return the span that states an edge: its evidence, else the name of an end, else all."""
    called = f"{evidence}(" if evidence and relation == "calls" else ""
    for name in filter(None, (called, evidence, target, symbol_tail(target), source)):
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            edges = (text[max(0, at - 1) : at], name[0]), (name[-1], text[end : end + 1])
            # Skip a part of a longer word.
            if not any(all(c.isalnum() or c == "_" for c in both) for both in edges):
                return at, at + len(name.removesuffix("("))
            at = text.find(name, at + 1)
    return 0, len(text)


def _where_said(text: str, symbol: str) -> tuple[int, int] | None:
    """Return the first span of a text that names a symbol of code, or None."""
    for form in spellings(symbol):
        if match := form.search(text):
            return match.span()
    return None


@lru_cache(maxsize=4_096)
def spellings(symbol: str) -> tuple[re.Pattern[str], ...]:
    """Return patterns for the full name and the bare name of a symbol.

    A bare name that is a plain word must be written as code: `name(` or in backticks.
    """
    tail = symbol_tail(symbol)
    forms = [rf"(?<![\w.]){re.escape(symbol)}(?!\w)"] if tail != symbol else []
    bare = re.escape(tail)
    if is_identifier(tail):
        forms.append(rf"(?<!\w){bare}(?!\w)")
    else:
        forms.append(rf"(?<!\w){bare}(?=\()|(?<=`){bare}(?=`)")
    return tuple(re.compile(form) for form in forms)
