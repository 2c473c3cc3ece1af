"""Citus: many memories, each on one of several machines.

A memory is a schema, and Citus places whole schemas on workers (schema-based sharding). All tables
of a memory are on one worker, so statements, transactions and snapshots work as without Citus, and
processes connect to the coordinator as to a single server. One memory cannot be spread over
several machines (see docs/lab/scale.md).
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
    """Let Citus place a memory, if it has not yet. Return the worker that has it."""
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
