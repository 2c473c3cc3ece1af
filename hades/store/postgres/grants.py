"""Grant roles the right to read or write a memory in PostgreSQL.

A role for the whole memory has privileges on all tables. A role limited to some spaces has
privileges too, but row-level security shows it only the rows of its spaces. A row without a column
`space` is visible if the row that it belongs to is visible. The role sees nothing of other
spaces except the number and time of the last change and the numbers of erased nodes. Each row that
it writes must belong to a row of its own spaces.

Some rows make HADES act later, and the indexes read rows of all spaces together. So policies check
what a role limited to some spaces writes (docs/lab/security.md has the table): the server assigns
row numbers, its clock limits the times of changes, and numbers, vectors and positions must have
the size that the indexes expect.

All spaces share the numbers of actors and relations. A role sees those used in its own rows. To
write a row with another number, it must first give the name (`number_of_…`); otherwise it could
learn the names of others by trying numbers.
"""

from __future__ import annotations

from hashlib import md5
from typing import Any

import psycopg
from psycopg import Connection, sql

from hades.domain.graph import NodeKind
from hades.errors import Conflict, InvalidInput, NotFound
from hades.models.encoder import load_encoder
from hades.store.catalogue import COUNTED, NODE_TABLES, TABLES, quoted
from hades.store.owed import ARCHIVE
from hades.store.postgres.address import ServerAddress
from hades.store.postgres.database import MARKS_KEPT_S, TURN
from hades.store.postgres.faults import translated
from hades.store.records import EMBEDDED, SECRET

_SPACE = "space = ANY(%s)"


def _seen(table: str, column: str) -> str:
    """Return an SQL condition: the role sees the row of `table` whose id is in `column`."""
    return f"EXISTS (SELECT FROM {table} x WHERE x.id = {column})"


def _node(column: str, *kinds: NodeKind) -> str:
    """Return an SQL condition: the role sees the row of a node, which has one of the kinds."""
    cases = (f"WHEN {kind} THEN {_seen(NODE_TABLES[kind], f'{column} >> 3')}" for kind in kinds)
    return f"CASE {column} & 7 {' '.join(cases)} ELSE FALSE END"


def _known(table: str, column: str) -> str:
    """Return an SQL condition: the role uses this number already, or has given its name."""
    return f"(are_{table}_of({column}, %s) OR said_{table}({column}))"


def _conditions(table: str) -> dict[str, str]:
    """Return the SQL conditions, by column, of the rows that a role may write."""
    conditions = {}
    for name, column in TABLES[table].columns.items():
        own = f'{table}."{name}"'
        if column.target == "spaces":
            conditions[name] = _SPACE
        elif column.role == "owner":
            conditions[name] = _seen(column.target, own)
        elif column.role == "node":
            conditions[name] = _node(own, *column.nodes)
        elif column.target == "relations":
            conditions[name] = _known("relations", own)
        elif column.indexed and column.range:
            least, most = column.range
            conditions[name] = f"coalesce({own}, {least}) BETWEEN {least} AND {most}"
        elif column.indexed:
            conditions[name] = f"coalesce(octet_length({own}), 0) % 4 = 0"
    return conditions


def _rows(table: str) -> tuple[str, str]:
    """Return the rows that a role limited to some spaces reads, and those that it may write.

    It reads the rows of its spaces. Of a table without the column `space`, it reads the rows whose
    owners, or else whose nodes, it sees.
    """
    conditions = _conditions(table)
    about = TABLES[table]
    owners = about.having("owner") or about.having("node")
    seen = [conditions[name] for name in owners]
    read = _SPACE if "space" in owners else " AND ".join(seen) or "FALSE"
    written = [*conditions.values(), *_MORE.get(table, ())]
    return read, " AND ".join(written)


_NEXT = "= (SELECT coalesce(max(number), 0) + 1 FROM last_change)"
_LAST = "(SELECT coalesce(max(at), 0) FROM last_change)"
_LATEST = f"greatest({_LAST} + 1, 1000000 * extract(epoch FROM clock_timestamp()))"
"""The latest time allowed for a new change: the server's clock, or 1 µs after the last change."""
_MARK = f"starts_with(key, '{EMBEDDED}@' || md5(current_user) || ':')"
_HISTORY = r"substring(key, '^history:(\d+):')::bigint = ANY(%s)"
_HIDDEN = ("history:", EMBEDDED, SECRET)
_SHARED = " AND ".join(f"NOT starts_with(key, '{start}')" for start in _HIDDEN)
_OWED_WORK = "split_part(what, '@', 1) IN ('file', 'log', 'indexes', 'leftovers')"
_OWED_OBJECTS = _seen("topics", f"substring(what, '^{ARCHIVE}[0-9a-f]+/([0-9]+)/')::bigint")
_OWED = f"({_OWED_WORK} AND split_part(what, '@', 2) = md5(current_user)) OR {_OWED_OBJECTS}"
_ALL = "ALL"

_MORE = {
    "topics": (
        f"(entity IS NULL OR {_seen('entities', 'entity')})",
        "(latest IS NULL OR is_state_of(latest, id))",
    ),
    # The name of an object contains a topic number. The state must belong to that topic.
    "archived": (
        "EXISTS (SELECT FROM states x WHERE x.id = state "
        "AND split_part(object, '/', 2) = x.topic::text)",
    ),
    # The beliefs of an edge share its id, which is the row of the first.
    "edges": ('(id IN (0, "row") OR is_edge_in(id, space))',),
    "clusters": ("(parent IS NULL OR is_cluster_of(parent, hierarchy))",),
    "embeddings": (
        "EXISTS (SELECT FROM encoders x WHERE x.id = encoder AND octet_length(vector) > 0 "
        "AND octet_length(vector) % (2 * x.dims) = 0)",
    ),
}
"""Further SQL conditions for the rows that a role writes, by table."""
_SHARED_BY_SPACES: dict[str, dict[str, tuple[str, str]]] = {
    "migrations": {"SELECT": ("TRUE", "")},
    "inverses": {"SELECT": ("TRUE", "")},
    "encoders": {"SELECT": ("TRUE", "")},
    "spaces": {"SELECT": ("id = ANY(%s)", "")},
    "meta": {"SELECT": (_SHARED, ""), _ALL: (f"{_HISTORY} OR {_MARK}", "")},
    "actors": {"SELECT": ("are_actors_of(id, %s)", "")},
    "relations": {"SELECT": ("are_relations_of(id, %s)", "")},
    "changes": {
        "SELECT": (_SPACE, ""),
        "INSERT": (
            "",
            f"{_SPACE} AND number {_NEXT} AND at > {_LAST} AND at <= {_LATEST} "
            f"AND {_known('actors', 'actor')} "
            f"AND (subject IS NULL OR {_node('subject', *NodeKind)} OR is_erased(subject))",
        ),
    },
    # The node must still exist: a missing number may belong to an open transaction of another role.
    "purged": {
        "SELECT": ("TRUE", ""),
        "INSERT": ("", f"change {_NEXT} AND {_node('node', *NodeKind)}"),
    },
    # A role with DELETE on a table may lock it, which every writer must do.
    "commits": {
        "SELECT": ("writer = current_user", ""),
        "INSERT": ("", "writer = current_user"),
        "DELETE": (f"writer = current_user AND at < now() - interval '{MARKS_KEPT_S} s'", ""),
    },
    # Only a role that may rewrite the tables deletes the row that asks for it.
    "owed": {
        "SELECT": (_OWED, ""),
        "INSERT": ("", _OWED),
        "UPDATE": (_OWED, ""),
        "DELETE": (f"({_OWED}) AND NOT starts_with(what, 'file')", ""),
    },
}
"""The policies of tables that all spaces share."""
_POLICIES = {table: {_ALL: _rows(table)} for table in TABLES} | _SHARED_BY_SPACES
"""By table and command: the rows that a role limited to some spaces reads, and those that it may
write (if empty, the same). It has no rights on other tables."""

_ERASED = " ".join(
    f"WHEN {kind} THEN NOT EXISTS (SELECT FROM {table} WHERE {COUNTED[table]} = $1 >> 3) "
    f"AND $1 >> 3 <= (SELECT last_value FROM {table}_{COUNTED[table]}_seq)"
    for kind, table in NODE_TABLES.items()
)
_FUNCTIONS = {
    "is_state_of(BIGINT, BIGINT) RETURNS BOOLEAN STABLE": "SELECT EXISTS "
    "(SELECT FROM states WHERE id = $1 AND topic = $2)",
    "is_edge_in(BIGINT, BIGINT) RETURNS BOOLEAN STABLE": "SELECT EXISTS "
    '(SELECT FROM edges WHERE "row" = $1 AND space = $2)',
    "is_cluster_of(BIGINT, BIGINT) RETURNS BOOLEAN STABLE": "SELECT EXISTS "
    "(SELECT FROM clusters WHERE id = $1 AND hierarchy = $2)",
    "is_erased(BIGINT) RETURNS BOOLEAN STABLE": f"SELECT CASE $1 & 7 {_ERASED} END",
    "are_actors_of(BIGINT, BIGINT[]) RETURNS BOOLEAN STABLE": "SELECT EXISTS "
    "(SELECT FROM changes WHERE actor = $1 AND space = ANY($2))",
    "are_relations_of(BIGINT, BIGINT[]) RETURNS BOOLEAN STABLE": "SELECT EXISTS "
    "(SELECT FROM edges WHERE relation = $1 AND space = ANY($2)) OR EXISTS "
    "(SELECT FROM topics t JOIN chunks c ON c.topic = t.id JOIN derived_edges d ON d.chunk = c.id "
    "WHERE t.space = ANY($2) AND d.relation = $1)",
    **{
        f"number_of_{table}(TEXT) RETURNS BIGINT": f"INSERT INTO {table} (name) SELECT $1 "
        f"WHERE NOT EXISTS (SELECT FROM {table} WHERE name = $1); SELECT set_config("
        f"'hades.{table}', concat_ws(chr(1), current_setting('hades.{table}', TRUE), $1), TRUE); "
        f"SELECT id FROM {table} WHERE name = $1"
        for table in ("actors", "relations")
    },
    **{
        f"said_{table}(BIGINT) RETURNS BOOLEAN STABLE": f"SELECT EXISTS (SELECT FROM {table} "
        f"WHERE id = $1 AND name = ANY(string_to_array(current_setting('hades.{table}', TRUE), "
        "chr(1))))"
        for table in ("actors", "relations")
    },
}
"""Functions that run with the rights of the owner. They reveal nothing but numbers."""
_INDEXES = {
    "changes_space_actor": "changes (space, actor)",
    "edges_space_relation": "edges (space, relation)",
}
_RIGHTS = {
    "ALL": "SELECT, DELETE, INSERT ({columns}), UPDATE ({columns})",
    "UPDATE": "UPDATE (mark)",
}
"""The privileges that a policy for a command needs. For commands that are not listed, the privilege
has the command's name."""
_MAY_PASS = """
SELECT r.rolname FROM pg_roles r WHERE pg_has_role(%s, r.oid, 'MEMBER') AND (r.rolsuper
OR r.rolbypassrls OR r.oid = (SELECT relowner FROM pg_class WHERE oid = 'topics'::regclass))
"""
_HELD = """
SELECT c.relname, p.polname, p.polcmd = '*', pg_get_expr(p.polqual, p.polrelid) FROM pg_policy p
JOIN pg_class c ON c.oid = p.polrelid JOIN pg_roles r ON p.polroles = ARRAY[r.oid]
WHERE c.relnamespace = current_schema::text::regnamespace AND r.rolname = %s
AND starts_with(p.polname, 'hades_')
"""
_GRANTED = """
SELECT DISTINCT r.rolname FROM pg_policy p JOIN pg_class c ON c.oid = p.polrelid
JOIN pg_roles r ON p.polroles = ARRAY[r.oid]
WHERE c.relnamespace = current_schema::text::regnamespace AND starts_with(p.polname, 'hades_')
ORDER BY r.rolname
"""
_WAIT_MS = 10_000


def _written(table: str) -> str:
    """Return the columns of a table that a role limited to some spaces may fill.

    It must not choose the numbers that the server assigns: a number could be of an erased row, or
    the next one for another role.
    """
    columns = TABLES[table].columns.items()
    return quoted(name for name, column in columns if column.role != "itself")


def grant(address: ServerAddress, role: str, right: str, space: str | None) -> list[str]:
    """Let a role read or write the whole memory, or one more space. Return the names of its spaces.

    `right` is "read", "write" or "none", which revokes all. A role limited to some spaces has
    the same right in all of them: another right raises Conflict.
    """
    with translated(address.shown), psycopg.connect(address.conninfo) as connection:
        return _Role(connection, address.schema, role).grant(right, space)


def renew(connection: Connection[Any], schema: str) -> None:
    """Give the roles of a memory their rights on the tables that a migration added."""
    for (role,) in connection.execute(_GRANTED).fetchall():
        _Role(connection, schema, role).renew()


class _Role:
    """The rights of a role in one schema, changed in one transaction."""

    def __init__(self, connection: Connection[Any], schema: str, role: str) -> None:
        self._connection = connection
        self._names = {"schema": sql.Identifier(schema), "role": sql.Identifier(role)}
        self._role = role
        self._run("SET LOCAL search_path TO {schema}")
        connection.execute(f"SET LOCAL lock_timeout TO {_WAIT_MS}")
        connection.execute(TURN)

    def grant(self, right: str, space: str | None) -> list[str]:
        rows = self._connection.execute
        if not rows("SELECT 1 FROM pg_roles WHERE rolname = %s", [self._role]).fetchone():
            raise NotFound(f"There is no role {self._role!r}: make it with CREATE ROLE.")
        held = self._held()
        if space is None and right != "none" and any(which != "true" for *_, which in held):
            raise Conflict(
                f"{self._role!r} is limited to some spaces: revoke them with --none first."
            )
        spaces = [] if space is None else self._spaces(right, space, held)
        self._take_back(held)
        if right != "none" and space is None:
            self._give_all(right)
        elif right != "none":
            self._number_encoder()
            self._give(right, spaces)
        names = rows(
            "SELECT name FROM spaces WHERE id = ANY(%s) OR %s ORDER BY name",
            [spaces, space is None and right != "none"],
        )
        return [name for (name,) in names]

    def renew(self) -> None:
        """Give the role the rights that it has, on all tables."""
        held = self._held()
        limits = [(writes, which) for table, _, writes, which in held if table == "topics"]
        right = "write" if any(writes for writes, _ in limits) else "read"
        spaces = self._held_spaces(held)
        self._take_back(held)
        if any(which == "true" for _, which in limits):
            self._give_all(right)
        elif spaces:
            self._give(right, spaces)

    def _spaces(self, right: str, space: str, held: list[Any]) -> list[int]:
        """Return the spaces that the role has, and this one."""
        rows = self._connection.execute
        if over := rows(_MAY_PASS, [self._role]).fetchone():
            raise InvalidInput(
                f"Row-level security does not apply to {self._role!r}, which is or may become "
                f"{over[0]!r}: use a separate role for each space."
            )
        row = rows("SELECT id FROM spaces WHERE name = %s", [space]).fetchone()
        if row is None:
            raise NotFound(f"There is no space {space!r}: create it with `hades spaces create`.")
        for table, _, writes, which in held:
            if table == "topics" and which != "true" and writes != (right == "write"):
                raise Conflict(
                    f"{self._role!r} has spaces to {'write' if writes else 'read'} only: take "
                    "them back with --none first, or use another role."
                )
        return sorted({row[0], *self._held_spaces(held)})

    def _held(self) -> list[Any]:
        """Return the policies of the role: table, name, whether it writes, condition."""
        return self._connection.execute(_HELD, [self._role]).fetchall()

    def _held_spaces(self, held: list[Any]) -> list[int]:
        """Return the spaces that the role is limited to, read from its policy for `topics`."""
        mine = "SELECT id FROM (SELECT id, id AS space FROM spaces) s WHERE "
        limits = [which for table, _, _, which in held if table == "topics" and which != "true"]
        return [space for rows in limits for (space,) in self._connection.execute(mine + rows)]

    def _take_back(self, held: list[Any]) -> None:
        for table, name, _, _ in held:
            self._run("DROP POLICY {name} ON {table}", table=table, name=name)
        for things in ("TABLES", "SEQUENCES", "FUNCTIONS"):
            self._run(f"REVOKE ALL ON ALL {things} IN SCHEMA {{schema}} FROM {{role}}")
        self._run("REVOKE ALL ON SCHEMA {schema} FROM {role}")
        self._run("ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} REVOKE ALL ON TABLES FROM {role}")

    def _give_all(self, right: str) -> None:
        """Grant privileges on all tables, including future ones, and all rows."""
        rights = "SELECT, INSERT, UPDATE, DELETE" if right == "write" else "SELECT"
        self._run("GRANT USAGE ON SCHEMA {schema} TO {role}")
        self._run(f"GRANT {rights} ON ALL TABLES IN SCHEMA {{schema}} TO {{role}}")
        self._run(
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA {{schema}} GRANT {rights} ON TABLES TO {{role}}"
        )
        if right == "write":
            self._run("GRANT SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA {schema} TO {role}")
        for table in _POLICIES:
            self._policy(table, "all", "ALL" if right == "write" else "SELECT", "TRUE", "")

    def _give(self, right: str, spaces: list[int]) -> None:
        """Grant privileges on the tables that have policies, and the rows of some spaces."""
        self._separate_spaces()
        self._run("GRANT USAGE ON SCHEMA {schema} TO {role}")
        self._run("GRANT SELECT ON last_change TO {role}")
        for signature in _FUNCTIONS:
            if right == "write" or "BOOLEAN" in signature:
                name = signature.partition(" RETURNS")[0]
                self._run(f"GRANT EXECUTE ON FUNCTION {name} TO {{role}}")
        mine = f"ARRAY{spaces}::bigint[]"
        for table, policies in _POLICIES.items():
            for name, (using, check) in policies.items():
                if right == "write":
                    rows = using.replace("%s", mine), check.replace("%s", mine)
                    self._policy(table, name, name, *rows)
                    rights = _RIGHTS.get(name, name)
                    if name == _ALL:
                        rights = rights.format(columns=_written(table))
                    self._run(f"GRANT {rights} ON {table} TO {{role}}")
                elif using:
                    self._policy(table, name, "SELECT", using.replace("%s", mine), "")
            self._run(f"GRANT SELECT ON {table} TO {{role}}")

    def _separate_spaces(self) -> None:
        """Create what roles limited to some spaces need: functions, indexes, security."""
        for signature, body in _FUNCTIONS.items():
            self._run(
                f"CREATE OR REPLACE FUNCTION {signature} LANGUAGE sql SECURITY DEFINER "
                f"SET search_path = {{schema}}, pg_temp AS $body${body}$body$"
            )
        self._run("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA {schema} FROM PUBLIC")
        for name, columns in _INDEXES.items():
            self._run(f"CREATE INDEX IF NOT EXISTS {name} ON {columns}")
        for table in _POLICIES:
            self._run(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")

    def _number_encoder(self) -> None:
        """Register the encoder of the memory and its vector size.

        All spaces share them, so a role limited to some spaces must not register another size.
        """
        rows = self._connection.execute
        row = rows("SELECT value FROM meta WHERE key = 'encoder'").fetchone()
        encoder = load_encoder(row[0]) if row else load_encoder()
        if not rows("SELECT 1 FROM encoders WHERE name = %s", [encoder.model]).fetchone():
            values = [encoder.model, encoder.dims]
            rows("INSERT INTO encoders (name, dims) VALUES (%s, %s)", values)

    def _policy(self, table: str, name: str, command: str, using: str, check: str) -> None:
        rows = (f"USING ({using})" if using else "") + (f" WITH CHECK ({check})" if check else "")
        name = f"hades_{name}_{md5(self._role.encode()).hexdigest()}".lower()
        self._run(f"CREATE POLICY {name} ON {table} FOR {command} TO {{role}} {rows}")

    def _run(self, text: str, **names: str) -> None:
        known = self._names | {name: sql.Identifier(value) for name, value in names.items()}
        self._connection.execute(sql.SQL(text).format(**known))
