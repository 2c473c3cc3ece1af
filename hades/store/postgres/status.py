"""The status of a memory in PostgreSQL and of its server."""

from __future__ import annotations

from typing import Any

from hades.domain.graph import NodeKind
from hades.store.postgres.database import PostgresDatabase

_FACTS = {
    "server": "current_setting('server_version')",
    "extensions": "(SELECT json_object_agg(extname, extversion) FROM pg_extension)",
    "replication": "CASE WHEN pg_is_in_recovery() THEN 'replica' ELSE 'primary' END",
    "behind_s": "CASE WHEN pg_is_in_recovery() THEN "
    "extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float END",
    "replicas": "(SELECT count(*) FROM pg_stat_replication)",
    "connections": "(SELECT count(*) FROM pg_stat_activity WHERE datname = current_database())",
    "connections_at_most": "current_setting('max_connections')::int",
    "writers_waiting": "(SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
    "WHERE d.datname = current_database() AND l.relation = 'commits'::regclass "
    "AND NOT l.granted)",
    "user": "current_user::text",
    "schema_version": "(SELECT max(number) FROM migrations)",
    "pending": "(SELECT count(*) FROM pending)",
    "without_vectors": "(SELECT coalesce(json_object_agg(e.name, (SELECT count(*) FROM chunks c "
    "WHERE NOT EXISTS (SELECT FROM embeddings v WHERE v.encoder = e.id "
    f"AND v.node = c.id << 3 | {NodeKind.CHUNK}))), '{{}}') FROM encoders e)",
    "granted": "(SELECT coalesce(json_object_agg(r.rolname, CASE p.polcmd WHEN '*' THEN 'write' "
    "ELSE 'read' END || CASE pg_get_expr(p.polqual, p.polrelid) WHEN 'true' THEN '' "
    "ELSE ', some spaces' END), '{}') FROM pg_policy p JOIN pg_roles r "
    "ON r.oid = ANY(p.polroles) WHERE p.polrelid = 'topics'::regclass)",
}
_TABLES = """
SELECT c.relname::text, greatest(c.reltuples, s.n_live_tup, 0)::bigint,
pg_total_relation_size(c.oid) FROM pg_class c LEFT JOIN pg_stat_all_tables s ON s.relid = c.oid
WHERE c.relnamespace = current_schema::text::regnamespace AND c.relkind IN ('r', 'p')
ORDER BY 3 DESC, 1
"""


def status(database: PostgresDatabase) -> dict[str, Any]:
    """Return facts about the server, connections, sizes of tables, and indexing progress.

    The numbers of rows are the server's estimates, because counting takes long.
    """
    facts = ", ".join(_FACTS.values())
    with database.snapshot():
        tables = database.rows(_TABLES)
        return {
            "address": database.place,
            **dict(zip(_FACTS, database.row(f"SELECT {facts}"), strict=True)),
            "change": database.change(),
            "bytes": sum(size for _, _, size in tables),
            "tables": {table: {"rows": rows, "bytes": size} for table, rows, size in tables},
        }
