"""Empty memories in PostgreSQL, copied from a template database or emptied after another test.

Making the tables of a memory takes a third of a second, copying a database that has them a tenth,
and deleting the rows that a test left a hundredth.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from urllib.parse import urlsplit

import psycopg

import hades
from hades.domain.times import Clock
from hades.store.records import ANSWERS_SECRET

SCHEMA = "hades"
UNTOUCHED = "untouched"
"""The schema of copies of the rows that an empty memory has."""
REUSED_AT_MOST = 50
"""Deleted rows stay in the files of a database until it is dropped."""
_DISCONNECT = """
SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_DEFINED = """
SELECT concat(
  (SELECT string_agg(concat_ws(' ', oid, relname, relnamespace, relowner, relacl, relrowsecurity,
    relforcerowsecurity, reloptions), ',' ORDER BY oid) FROM pg_class WHERE oid >= 16384),
  (SELECT string_agg(concat_ws(' ', attrelid, attname, atttypid, attnotnull, attacl), ','
    ORDER BY attrelid, attnum) FROM pg_attribute WHERE attrelid >= 16384),
  (SELECT string_agg(concat_ws(' ', oid, nspname, nspowner, nspacl), ',' ORDER BY oid)
    FROM pg_namespace WHERE oid >= 16384 AND nspname !~ 'temp'),
  (SELECT string_agg(pg_policy::text, ',' ORDER BY oid) FROM pg_policy),
  (SELECT string_agg(pg_proc::text, ',' ORDER BY oid) FROM pg_proc WHERE oid >= 16384),
  (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_constraint),
  (SELECT string_agg(concat_ws(' ', oid, tgenabled), ',' ORDER BY oid) FROM pg_trigger),
  (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_extension),
  (SELECT string_agg(oid::text, ',' ORDER BY oid) FROM pg_publication),
  (SELECT string_agg(pg_default_acl::text, ',' ORDER BY oid) FROM pg_default_acl),
  (SELECT string_agg(pg_statistic_ext::text, ',' ORDER BY oid) FROM pg_statistic_ext),
  (SELECT string_agg(s::text, ',') FROM pg_db_role_setting s JOIN pg_database d
    ON d.oid = s.setdatabase WHERE datname = current_database()),
  (SELECT concat_ws(' ', datdba, datacl, datconnlimit) FROM pg_database
    WHERE datname = current_database()))
"""
"""Everything that is defined in a database, apart from rows: what a test changed shows here."""


class PostgresTemplate:
    """A database with the tables of an empty memory; only the process that made it copies it."""

    def __init__(self, server: str, name: str, clock: Clock) -> None:
        self._server, self._name = server, name
        self._numbers = count()
        self._emptied: list[tuple[str, str, int]] = []
        """Copies for the next tests: name, what was defined at first, number of uses."""
        with psycopg.connect(server, autocommit=True) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):
                connection.execute(f"ALTER SYSTEM SET {setting} = off".encode())
            connection.execute("SELECT pg_reload_conf()")
            connection.execute(f"CREATE DATABASE {name}".encode())
        hades.open(self._address(name, SCHEMA), clock=clock).close()
        with psycopg.connect(self._address(name), autocommit=True) as inside:
            self._reset = _reset_of(inside)

    @contextmanager
    def copied(self) -> Iterator[str]:
        """The address of an empty memory in a database that no other test uses now.

        Its schema has a name of its own: tests name roles, which all databases share, after it.
        """
        copy, defined, uses = self._emptied.pop() if self._emptied else self._new()
        yield self._address(copy, copy)
        if uses < REUSED_AT_MOST:
            with psycopg.connect(self._address(copy), autocommit=True) as inside:
                inside.execute(_DISCONNECT)
                if _defined(inside) == defined:
                    inside.execute(self._reset.replace(f"{SCHEMA}.", f"{copy}.").encode())
                    secret = [secrets.token_hex(8), secrets.token_hex(32), ANSWERS_SECRET]
                    inside.execute(
                        f"UPDATE {copy}.meta SET value = CASE key WHEN 'generation' THEN %s "
                        "WHEN %s THEN %s ELSE value END".encode(),
                        [secret[0], secret[2], secret[1]],
                    )
                    self._emptied.append((copy, defined, uses + 1))
                    return
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {copy} WITH (FORCE)".encode())

    def _new(self) -> tuple[str, str, int]:
        copy = f"{self._name}_{next(self._numbers)}"
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {copy} TEMPLATE {self._name}".encode())
        with psycopg.connect(self._address(copy), autocommit=True) as inside:
            inside.execute(f"ALTER SCHEMA {SCHEMA} RENAME TO {copy}".encode())
            return copy, _defined(inside), 0

    def _address(self, database: str, schema: str = "") -> str:
        parts = urlsplit(self._server)
        query = f"{parts.query}&schema={schema}" if schema else parts.query
        return parts._replace(path=f"/{database}", query=query.lstrip("&")).geturl()


def _reset_of(inside: psycopg.Connection) -> str:
    """Return the SQL that makes a memory as empty as this one; copy the rows that it needs."""
    tables = _column(inside, "SELECT tablename FROM pg_tables WHERE schemaname = %s")
    sequences = _column(inside, "SELECT sequencename FROM pg_sequences WHERE schemaname = %s")
    inside.execute(f"CREATE SCHEMA {UNTOUCHED}".encode())
    reset = ["SET session_replication_role = replica"]  # no foreign key is checked
    reset += [f"DELETE FROM {SCHEMA}.{table}" for table in tables]
    for table in tables:
        if inside.execute(f"SELECT 1 FROM {SCHEMA}.{table} LIMIT 1".encode()).fetchone():
            inside.execute(f"CREATE TABLE {UNTOUCHED}.{table} AS TABLE {SCHEMA}.{table}".encode())
            reset.append(f"INSERT INTO {SCHEMA}.{table} TABLE {UNTOUCHED}.{table}")
    for sequence in sequences:
        state = f"SELECT last_value, is_called FROM {SCHEMA}.{sequence}"
        last, called = inside.execute(state.encode()).fetchone() or (1, False)
        reset.append(f"SELECT setval('{SCHEMA}.{sequence}', {last}, {called})")
    return "; ".join([*reset, "SET session_replication_role = origin"])


def _column(inside: psycopg.Connection, sql: str) -> list[str]:
    return [row[0] for row in inside.execute(sql.encode(), [SCHEMA])]


def _defined(inside: psycopg.Connection) -> str:
    row = inside.execute(_DEFINED).fetchone()
    return row[0] if row else ""
