"""The catalogue of tables: the meaning of each column.

The steps in `steps/` create the tables; the catalogue adds what SQL does not say. Export, import,
copy, purge, check and the rights of roles in PostgreSQL follow from it, so a new table needs a step
and an entry here. Entries are in the order of loading: a table comes after those that its rows
belong to.

The SQL and the name of a column say most: a reference that is NOT NULL names the row that a row
belongs to; another reference is a link, which is emptied when its row is erased; `…_at` is a known
time, `valid_…` a valid time; a plain INTEGER is a count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from hades.domain.feedback import ACTOR_DAYS_AT_MOST, read_judgement
from hades.domain.graph import NodeKind
from hades.domain.hierarchy import read_details
from hades.domain.rules import CONTENT_BYTES_AT_MOST, clean_metadata, clean_tags
from hades.domain.times import to_micros
from hades.domain.weights import read_weighting
from hades.store.schema import STEPS, columns_of, statements

Range = tuple[float, float]


Role = Literal["", "itself", "owner", "link", "list", "number", "node", "derived", "known", "valid"]
"""The meaning of a number in a column.

- itself: the row; the database assigns the number.
- owner: the row that this row belongs to, and with which it is erased.
- link: another row. The column is emptied when that row is erased.
- list: a name in a list that all spaces share. An export contains the name.
- number: a row that need not exist.
- node: a node, of one of the kinds in `nodes`. This row is erased with it.
- derived: derived from other rows, and not exported.
- known, valid: a time.
"""


@dataclass(frozen=True)
class Column:
    """A column of a table, and the meaning of its values."""

    type: str
    """INTEGER, REAL, TEXT or BLOB."""
    range: Range | None = None
    """The least and the greatest number that an import may bring."""
    role: Role = ""
    target: str = ""
    """The table that the column refers to."""
    nodes: tuple[NodeKind, ...] = ()
    optional: bool = False
    indexed: bool = False
    """Whether indexes hold it as numbers of a fixed size: a BLOB has numbers of four bytes, and a
    role limited to some spaces must not write numbers beyond the range."""
    share_at_most: float | None = None
    """The most that one actor may add. An import is cut to this value."""
    quotes: bool = False
    """Whether the text may quote other rows of its space. Then a purge of those erases or empties
    it."""
    read: Callable[[str], object] | None = None
    """Reads the JSON of a text. It raises an error for a value that HADES does not write."""


@dataclass(frozen=True)
class Table:
    """A table, and how its rows are exported."""

    columns: Mapping[str, Column]
    key: tuple[str, ...]
    """Its rows are exported and copied in the order of these columns."""
    exported: bool = True
    shifted: bool = True
    """Whether it can be loaded into a memory in use. False if texts or digests contain numbers."""

    def having(self, *roles: Role) -> dict[str, Column]:
        """Return the columns that have one of these roles."""
        return {name: column for name, column in self.columns.items() if column.role in roles}


_ROW: Range = (1, (1 << 56) - 1)
"""The row ids that an import may bring. A larger id would not fit into the id of a node."""
_COUNT: Range = (0, (1 << 53) - 1)
_TIME: Range = (
    to_micros(datetime.min.replace(tzinfo=UTC)),
    to_micros(datetime.max.replace(tzinfo=UTC)),
)
_SQL = {
    columns_of(statement)[0]: statement
    for _, script in STEPS
    for statement in statements(script)
    if statement.startswith("CREATE TABLE")
}


def _column(name: str, definition: str) -> Column:
    """Return what a column holds, by its name and its definition in SQL."""
    type = definition.partition(" ")[0]
    target = definition.partition(" REFERENCES ")[2]
    optional = not re.search("NOT NULL|PRIMARY KEY", definition)
    if target in ("actors", "relations", "encoders"):
        return Column(type, _ROW, "list", target, optional=optional)
    if target:
        return Column(type, _ROW, "link" if optional else "owner", target)
    if name in ("id", "row"):
        return Column(type, _ROW, "itself")
    if time := re.fullmatch("(at|.*_at)|valid_.*", name):
        return Column(type, _TIME, "known" if time[1] else "valid")
    return Column(type, _COUNT if type == "INTEGER" else None)


def _table(
    table: str,
    /,
    *,
    key: tuple[str, ...] = (),
    exported: bool = True,
    shifted: bool = True,
    **overrides: Column,
) -> tuple[str, Table]:
    """Return a table by its SQL, with the columns described in `said`."""
    columns = {column: _column(column, text) for column, text in columns_of(_SQL[table])[1].items()}
    if many := re.search(r"PRIMARY KEY \(([^()]*)\)", _SQL[table]):
        key = tuple(many[1].split(", "))
    return table, Table(columns | overrides, key or (next(iter(columns)),), exported, shifted)


def _read_fields(text: str) -> object:
    return clean_metadata(json.loads(text), bytes_at_most=None)


_NODE = Column("INTEGER", (1 << 3, (1 << 59) - 1))
"""A node whose row may have been erased."""
_END = replace(_NODE, role="node", nodes=(NodeKind.TOPIC, NodeKind.ENTITY, NodeKind.CHUNK))
_DERIVED = Column("INTEGER", _COUNT, "derived")
_SMALL = Column("INTEGER", (0, (1 << 7) - 1))
_ORIGIN = replace(_SMALL, indexed=True)
_CHARACTERS = Column("INTEGER", (0, CONTENT_BYTES_AT_MOST))
_SHARE = Column("REAL", (0, 1))
_WEIGHT = Column("REAL", (0, 1e30), indexed=True)
_BELIEF = Column("REAL", (1e-9, 1e9))
_USEFUL = Column("REAL", (0, 1e9), share_at_most=1)
_NUMBERS = Column("BLOB", indexed=True)
_QUOTE = Column("TEXT", quotes=True)

TABLES = dict(
    (
        _table("migrations", exported=False),
        _table("actors", exported=False),
        _table("relations", exported=False),
        _table("encoders", exported=False),
        _table("spaces"),
        _table(
            "changes",
            shifted=False,
            space=Column("INTEGER", _ROW, "owner", "spaces"),
            subject=_NODE,
        ),
        _table("inverses"),
        _table("meta"),
        _table("entities", origin=_ORIGIN),
        _table("names"),
        _table(
            "topics",
            latest=replace(_DERIVED, range=_ROW),
            versions=_DERIVED,
            planned=replace(_DERIVED, range=(0, 1)),
            entity=Column("INTEGER", _ROW, "link", "entities"),
        ),
        _table("sources"),
        _table(
            "states",
            key=("topic", "version"),
            version=Column("INTEGER", (1, (1 << 31) - 1)),
            encoding=_SMALL,
            level=Column("INTEGER", (0, 3)),
            confidence=_SHARE,
            importance=_SHARE,
            tags=Column("TEXT", read=lambda text: clean_tags(json.loads(text))),
            metadata=Column("TEXT", read=_read_fields),
        ),
        _table("heads", exported=False),
        _table("pending", phase=_SMALL),
        _table(
            "uses",
            count=Column("INTEGER", _COUNT, share_at_most=ACTOR_DAYS_AT_MOST),
            last_used=Column("INTEGER", _TIME, "known"),
        ),
        _table("usefulness", useful=_USEFUL, useless=_USEFUL),
        _table("originals"),
        _table("archived", exported=False),
        _table("chunks", tokens=_CHARACTERS),
        _table(
            "placements",
            ordinal=Column("INTEGER", (0, (1 << 31) - 1), indexed=True),
            start=_CHARACTERS,
            end=_CHARACTERS,
        ),
        _table("presences"),
        _table("mentions", introduces=_ORIGIN, positions=_NUMBERS),
        _table("derived_edges", source=_END, target=_END, weight=_WEIGHT),
        _table(
            "matched",
            chunk=Column("INTEGER", _COUNT, "number", "chunks"),
            name=Column("INTEGER", _COUNT, "number", "names"),
        ),
        _table("merges"),
        _table(
            "edges",
            id=Column("INTEGER", _ROW, "number", "edges"),
            source=_END,
            target=_END,
            weight=_WEIGHT,
            superseded_by=Column("INTEGER", _ROW, "link", "edges"),
            belief_a=_BELIEF,
            belief_b=_BELIEF,
        ),
        _table("embeddings", node=replace(_END, nodes=tuple(NodeKind))),
        _table("hierarchies", details=Column("TEXT", read=read_details)),
        _table(
            "clusters",
            level=Column("INTEGER", (1, 2), indexed=True),
            label=_QUOTE,
            text=_QUOTE,
            centroid=_NUMBERS,
        ),
        _table("memberships", near=Column("REAL", (-1.001, 1.001))),
        _table("bridges", source=_END, node=_END, target=_END, weight=_WEIGHT),
        _table("purged", key=("change", "node"), shifted=False, node=_NODE),
        _table(
            "proposals",
            fields=replace(_QUOTE, read=_read_fields),
            confidence=_SHARE,
            threshold=_SHARE,
            why=_QUOTE,
        ),
        _table("idempotency", shifted=False, answer=replace(_QUOTE, read=json.loads)),
        _table(
            "query_logs",
            shifted=False,
            asker=_QUOTE,
            question=_QUOTE,
            shown=_QUOTE,
            ms=Column("REAL", (0, 1e12)),
        ),
        _table(
            "weight_snapshots",
            config=Column("TEXT", read=read_weighting),
            accuracy=_SHARE,
            accuracy_before=_SHARE,
        ),
        _table(
            "feedback",
            held_out=Column("INTEGER", (0, 1)),
            verdicts=Column("TEXT", read=read_judgement),
        ),
        _table("owed", exported=False),
    )
)
"""The tables by name."""
NODE_TABLES = dict(zip(NodeKind, ("topics", "entities", "chunks", "edges"), strict=True))
"""The table of each kind of node."""
COUNTED = {
    table: name
    for table, about in TABLES.items()
    if about.exported
    for name in about.having("itself")
}
"""For each table, the column whose numbers are never assigned twice."""


def quoted(columns: Iterable[str]) -> str:
    """Return the names of columns as SQL lists them."""
    return ", ".join(f'"{name}"' for name in columns)


def referring(target: str, role: Role) -> list[tuple[str, str]]:
    """Return (table, column) of all columns with this role for a table, the last table first."""
    return [
        (table, name)
        for table, about in reversed(TABLES.items())
        for name, column in about.having(role).items()
        if column.target == target
    ]
