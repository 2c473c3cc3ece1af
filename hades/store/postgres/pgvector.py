"""Nearest vectors by pgvector, for a memory that is larger than a process may hold.

In PostgreSQL `embeddings` gets a column with the vector of the whole chunk as a halfvec. A trigger
fills it from the stored bytes, so that writers need not know of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hades.domain.graph import NodeKind
from hades.errors import HadesError, Unavailable
from hades.store.database import Database
from hades.store.records import Progress

LOOKED_AT = 400
"""Candidates of an index scan (hnsw.ef_search). This many contain the nearest 100."""
_FILLED_AT_ONCE = 2_000 << 3
_COLUMN = """
ALTER TABLE embeddings ADD COLUMN IF NOT EXISTS half {at}.halfvec;
CREATE OR REPLACE FUNCTION fill_half() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  size integer := (SELECT dims FROM {schema}.encoders WHERE id = NEW.encoder);
  made real[] := array_fill(0::real, ARRAY[size]);
  n integer;
BEGIN
  FOR i IN 0..size - 1 LOOP
    n := get_byte(NEW.vector, 2 * i) | (get_byte(NEW.vector, 2 * i + 1) << 8);
    made[i + 1] := (CASE WHEN n < 32768 THEN 1 ELSE -1 END) * CASE
      WHEN (n >> 10) & 31 = 0 THEN (n & 1023) * power(2::float8, -24)
      ELSE (1024 + (n & 1023)) * power(2::float8, ((n >> 10) & 31) - 25) END;
  END LOOP;
  NEW.half := CAST(made AS {at}.halfvec);
  RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER fill_half BEFORE INSERT OR UPDATE ON embeddings
FOR EACH ROW EXECUTE FUNCTION fill_half()
"""
"""The trigger reads little-endian float16 numbers, in 0.4 ms per vector."""
_INDEX = f"""
CREATE INDEX CONCURRENTLY IF NOT EXISTS {{name}} ON embeddings
USING hnsw ((CAST(half AS {{at}}.halfvec({{dims}}))) {{at}}.halfvec_cosine_ops)
WHERE encoder = {{encoder}} AND node & 7 = {NodeKind.CHUNK}
"""
# OFFSET 0 makes PostgreSQL test each row in the order of the index.
_NEAREST = f"""
SELECT node >> 3 FROM embeddings v WHERE encoder = {{encoder}} AND node & 7 = {NodeKind.CHUNK}
AND EXISTS (
  SELECT 1 FROM presences p JOIN chunks c ON c.id = p.chunk JOIN topics t ON t.id = c.topic
  WHERE p.chunk = v.node >> 3 AND t.space = ?2 AND p.valid_from <= ?3 AND p.recorded_at <= ?4
    AND (t.kind = 'note' OR ((p.valid_to IS NULL OR p.valid_to > ?3)
      AND (p.retired_at IS NULL OR p.retired_at > ?4)))
    AND (CAST(?5 AS bigint[]) IS NULL OR c.topic = ANY(CAST(?5 AS bigint[]))) OFFSET 0)
ORDER BY CAST(half AS {{at}}.halfvec({{dims}}))
  OPERATOR({{at}}.<=>) CAST(?1 AS {{at}}.halfvec({{dims}})) LIMIT ?6
"""


class PgVector:
    """The index of one encoder's vectors of chunks."""

    def __init__(self, database: Database, encoder: str) -> None:
        self._database = database
        row = database.row(
            "SELECT quote_ident(current_schema()), (SELECT quote_ident(n.nspname) "
            "FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace "
            "WHERE x.extname = 'vector'), e.id, e.dims, 'nearest_' || e.id "
            "FROM encoders e WHERE e.name = ?",
            encoder,
        )
        names = ("schema", "at", "encoder", "dims", "name")
        self._parts = dict(zip(names, row or (None,) * 5, strict=True))

    @property
    def is_ready(self) -> bool:
        """Whether the index is complete and can be used."""
        return bool(self._valid())

    def nearest(
        self,
        vector: Sequence[float],
        limit: int,
        space: int,
        valid: int,
        known: int,
        topics: Sequence[int] | None,
    ) -> list[int]:
        """Return the nearest chunks at a moment, best first; earlier chunks of notes included.

        Call it inside a snapshot, because its settings last until the end of a transaction.
        """
        self._database.row(
            "SELECT set_config('hnsw.ef_search', ?, true), "
            "set_config('hnsw.iterative_scan', 'strict_order', true)",
            str(LOOKED_AT),
        )
        asked = str([float(number) for number in vector])
        among = None if topics is None else list(topics)
        return self._database.column(
            _NEAREST.format(**self._parts), asked, space, valid, known, among, limit
        )

    def build(self, on_progress: Progress | None = None) -> None:
        """Make the index, or its missing parts, while others read and write."""
        if self._parts["encoder"] is None:
            return
        if self._parts["at"] is None:
            try:
                self._database.run("CREATE EXTENSION vector SCHEMA public")
            except HadesError as error:
                raise Unavailable(
                    f"{self._database.place} has no pgvector, which a memory larger than "
                    "`memory_mb` needs: install it there and run CREATE EXTENSION vector."
                ) from error
            self._parts["at"] = "public"
        self._database.run(_COLUMN.format(**self._parts))
        last = self._database.value("SELECT coalesce(max(node), 0) FROM embeddings")
        for first in range(0, last + 1, _FILLED_AT_ONCE):  # rows older than the trigger
            self._database.run(
                "UPDATE embeddings SET vector = vector "
                "WHERE node >= ? AND node < ? AND half IS NULL",
                first,
                first + _FILLED_AT_ONCE,
            )
            if on_progress is not None:
                on_progress("filling the vector index", first, last)
        if self._valid() is False:  # building it was interrupted
            self._database.run("DROP INDEX CONCURRENTLY IF EXISTS {name}".format(**self._parts))
        self._database.run(_INDEX.format(**self._parts))

    def _valid(self) -> bool | None:
        """Return whether the index can be used, or None if it is missing or being made."""
        is_valid: bool | None = self._database.value(
            "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(?1) AND "
            "i.indexrelid NOT IN (SELECT index_relid FROM pg_stat_progress_create_index)",
            f"{self._parts['schema']}.{self._parts['name']}",
        )
        return is_valid
