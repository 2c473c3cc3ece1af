"""Citus: one memory of many, each on a machine of its own.

A memory is a schema, and Citus places whole schemas on workers (schema-based sharding). All
tables of one lie together, so every statement, transaction and snapshot is what it is without
Citus, and every process talks to the coordinator as it would to a single server. What this
does not do is to spread one memory over several machines (see docs/lab/scale.md).
"""

from __future__ import annotations

import psycopg
from psycopg.rows import scalar_row

from hades.errors import NotFound, Unavailable
from hades.store.postgres.address import read_server_address
from hades.store.postgres.faults import translated

_PLACE = """
SELECT nodename || ':' || nodeport FROM citus_shards
WHERE table_name = (%s || '.topics')::regclass LIMIT 1
"""


def distribute(place: str) -> str:
    """Let Citus place a memory; the worker it lies on. To do it again changes nothing."""
    address = read_server_address(place)
    with (
        translated(address.shown),
        psycopg.connect(address.conninfo, autocommit=True, row_factory=scalar_row) as connection,
    ):
        run = connection.execute
        if not run("SELECT 1 FROM pg_extension WHERE extname = 'citus'").fetchone():
            raise Unavailable(
                f"{address.shown} has no Citus: install it, then CREATE EXTENSION citus there and "
                "on its workers."
            )
        if not run("SELECT to_regclass(%s)", [f"{address.schema}.topics"]).fetchone():
            raise NotFound(f"There is no memory at {address.shown}: `hades db init` makes one.")
        done = "SELECT 1 FROM citus_schemas WHERE schema_name = %s::regnamespace"
        if not run(done, [address.schema]).fetchone():
            run("SELECT citus_schema_distribute(%s::regnamespace)", [address.schema])
        return str(run(_PLACE, [address.schema]).fetchone())
