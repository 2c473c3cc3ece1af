"""Open a memory in PostgreSQL: create its tables, or migrate them."""

from __future__ import annotations

from dataclasses import replace

import psycopg
from psycopg import Connection, sql

from hades.breaker import breaker_of
from hades.domain.times import Clock
from hades.errors import NotFound, Unavailable
from hades.store.postgres.address import ServerAddress, read_server_address
from hades.store.postgres.database import TURN, PostgresDatabase
from hades.store.postgres.dialect import defined, rewrite
from hades.store.postgres.faults import translated
from hades.store.schema import STEPS, run_steps, steps_done

_COMMITS = """
CREATE TABLE IF NOT EXISTS commits (
  mark BIGINT NOT NULL,
  at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
  writer TEXT NOT NULL DEFAULT current_user
)
"""
"""The table that writers lock. It has the marks of commits, of the last hour at least."""
_MADE_MEANWHILE = (
    psycopg.errors.UniqueViolation,
    psycopg.errors.DuplicateTable,
    psycopg.errors.DuplicateObject,
)


def open_server(
    place: str, *, create: bool, read_only: bool, busy_timeout_s: float, clock: Clock
) -> PostgresDatabase:
    """Open the memory at an address; migrate an older one. With `create`, make it if missing."""
    address = read_server_address(place)
    with translated(address.shown), _connected(address) as connection:
        migrations = _migrations(connection, address.schema)
        if not migrations and (read_only or not create):
            raise NotFound(
                f"There is no memory at {address.shown}: remember something first, or make one "
                "with `hades db init`."
            )
        done = steps_done(address.shown, migrations) if migrations else 0
        writable = not done or _may_write(connection, address.schema)
        if done != len(STEPS):
            if read_only or not writable:
                raise Unavailable(
                    f"{address.shown} was written by an older HADES: open it for writing once, as "
                    "`hades warm` does, which brings it up to date."
                )
            migrate(connection, address, clock)
        if done:
            address = replace(address, sees=_sees(connection, address.schema))
    return PostgresDatabase(
        address,
        read_only=read_only or not writable,
        busy_timeout_s=busy_timeout_s,
        clock=clock,
    )


def _connected(address: ServerAddress) -> Connection[tuple[object, ...]]:
    with breaker_of(address.server).guard(), translated(address.shown):
        return psycopg.connect(address.conninfo, autocommit=True)


def _migrations(
    connection: Connection[tuple[object, ...]], schema: str
) -> list[tuple[object, ...]]:
    """Return number and name of the steps that were run in a schema; none where it is missing."""
    table = f'"{schema}".migrations'
    row = connection.execute("SELECT to_regclass(%s)", [table]).fetchone()
    if not row or row[0] is None:
        return []
    rows = sql.SQL("SELECT number, name FROM {}.migrations ORDER BY number")
    return connection.execute(rows.format(sql.Identifier(schema))).fetchall()


def _may_write(connection: Connection[tuple[object, ...]], schema: str) -> bool:
    """Return whether this user may write here. Nobody may write to a standby."""
    row = connection.execute(
        "SELECT NOT pg_is_in_recovery() AND has_table_privilege(%s, 'INSERT')",
        [f'"{schema}".changes'],
    ).fetchone()
    return bool(row and row[0])


def _sees(connection: Connection[tuple[object, ...]], schema: str) -> str:
    """Return a mark of the role and the spaces it sees, or "" if it sees all."""
    row = connection.execute(
        "SELECT md5(current_user) || ':' || md5(string_agg(rows, ' ' ORDER BY rows)) FROM ("
        "SELECT pg_get_expr(polqual, polrelid) AS rows FROM pg_policy WHERE polrelid = %(table)s"
        "::regclass AND EXISTS (SELECT FROM unnest(polroles) r WHERE pg_has_role(r, 'MEMBER'))) p "
        "HAVING row_security_active(%(table)s) AND NOT coalesce(bool_or(rows = 'true'), FALSE)",
        {"table": f'"{schema}".topics'},
    ).fetchone()
    return str(row[0]) if row and row[0] else ""


def migrate(
    connection: Connection[tuple[object, ...]], address: ServerAddress, clock: Clock
) -> None:
    """Run the missing steps. Processes that start together run them one after another."""
    try:
        with connection.transaction():
            _migrate(connection, address.schema, clock)
    except _MADE_MEANWHILE:  # another process made the schema and its tables
        with connection.transaction():
            _migrate(connection, address.schema, clock)


def _migrate(connection: Connection[tuple[object, ...]], schema: str, clock: Clock) -> None:
    name_of_schema = sql.Identifier(schema)
    if not _migrations(connection, schema):
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name_of_schema))
    connection.execute(sql.SQL("SET LOCAL search_path TO {}").format(name_of_schema))
    connection.execute(_COMMITS)
    connection.execute(TURN)
    done = len(_migrations(connection, schema))
    run_steps(
        lambda text, *values: connection.execute(
            (rewrite(text) if values else text).encode(), values or None
        ),
        defined,
        done,
        clock(),
    )
    if 0 < done < len(STEPS):
        from hades.store.postgres.grants import renew

        renew(connection, schema)
    if not done:
        connection.execute(
            "CREATE VIEW last_change AS SELECT number, at FROM changes ORDER BY number DESC LIMIT 1"
        )
