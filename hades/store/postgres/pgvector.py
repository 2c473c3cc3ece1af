"""The nearest vectors by pgvector, for a memory that is larger than a process may hold.

`embeddings` gets a column that only PostgreSQL has: the vector of the whole as a halfvec, filled
by a trigger from the bytes that everybody writes. So nobody else has to know of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from hades.domain.graph import NodeKind
from hades.errors import HadesError, Unavailable
from hades.store.database import Database
from hades.store.records import Progress

LOOKED_AT = 400
"""Candidates of a scan of the index (hnsw.ef_search); that many hold the nearest 100."""
_FILLED_AT_ONCE = 2_000
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
"""Reads float16 numbers, the lower byte first: 0.4 ms a vector, where HNSW takes some more."""
_HALF = "CAST(v.half AS {at}.halfvec({dims}))"
_OF = "v.encoder = {encoder} AND v.node & 7 = {kind}"
_NEAREST = f"""
SELECT v.node >> 3 FROM embeddings v WHERE {_OF} AND {{seen}}
ORDER BY {_HALF} OPERATOR({{at}}.<=>) CAST(:vector AS {{at}}.halfvec({{dims}})) LIMIT :limit
"""
# OFFSET 0 keeps it a test of each row, in the order of the index.
_SEEN = {
    NodeKind.CHUNK: "EXISTS (SELECT 1 FROM presences p JOIN chunks c ON c.id = p.chunk "
    "JOIN topics t ON t.id = c.topic WHERE p.chunk = v.node >> 3 AND t.space = :space "
    "AND p.recorded_at <= :known AND p.valid_from <= :valid AND (t.kind = 'note' OR "
    "((p.retired_at IS NULL OR p.retired_at > :known) "
    "AND (p.valid_to IS NULL OR p.valid_to > :valid))) "
    "AND (CAST(:topics AS bigint[]) IS NULL OR c.topic = ANY(:topics)) OFFSET 0)",
    NodeKind.EDGE: "EXISTS (SELECT 1 FROM edges e WHERE e.id = v.node >> 3 AND e.space = :space "
    "AND e.recorded_at <= :known OFFSET 0)",
}
"""What may be found at a moment; of notes, also what they said earlier."""


class PgVector:
    """The index of one encoder's vectors."""

    def __init__(self, database: Database, encoder: str) -> None:
        self._database = database
        found = database.row("SELECT id, dims FROM encoders WHERE name = ?", encoder)
        at = database.value(
            "SELECT quote_ident(n.nspname) FROM pg_extension e "
            "JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'"
        )
        self._parts = {"encoder": found and found[0], "dims": found and found[1], "at": at}
        self._parts["schema"] = database.value("SELECT quote_ident(current_schema())")

    @property
    def is_ready(self) -> bool:
        """Whether questions can be asked: there are vectors, and their indexes are made."""
        if not all(self._parts.values()):
            return False
        return all(self._valid(self._name(kind)) for kind in _SEEN)

    def nearest(
        self,
        kind: NodeKind,
        vector: Sequence[float],
        limit: int,
        *,
        space: int,
        valid: int,
        known: int,
        topics: Sequence[int] | None = None,
    ) -> list[int]:
        """The nearest chunks or edges that may be found at a moment, best first.

        To be called inside a snapshot: the settings of the scan hold until its end.
        """
        self._database.row(
            "SELECT set_config('hnsw.ef_search', ?, true), "
            "set_config('hnsw.iterative_scan', 'strict_order', true)",
            str(max(LOOKED_AT, min(limit, 1_000))),
        )
        return self._database.column(
            _NEAREST.format(kind=int(kind), seen=_SEEN[kind], **self._parts),
            **{"vector": str([float(one) for one in vector]), "limit": limit, "space": space},
            **{"valid": valid, "known": known},
            **({"topics": None if topics is None else list(topics)} if kind == 2 else {}),
        )

    def build(self, on_progress: Progress | None = None) -> None:
        """Make the indexes, while others read and write; what is there already stays."""
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
        self._fill(on_progress)
        for kind in _SEEN:
            name, parts = self._name(kind), {**self._parts, "kind": int(kind)}
            if self._valid(name) is False:  # its making was interrupted
                self._database.run(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            half, of = _HALF.format(**parts), _OF.format(**parts)
            self._database.run(
                f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {name} ON embeddings USING hnsw "
                f"(({half}) {parts['at']}.halfvec_cosine_ops) WHERE {of}".replace("v.", "")
            )

    def _fill(self, on_progress: Progress | None) -> None:
        """Let the trigger see the vectors that were there before it."""
        done, total = 0, self._database.value("SELECT count(*) FROM embeddings WHERE half IS NULL")
        after = -1
        while done < total:
            last = self._database.value(
                "SELECT max(node) FROM (SELECT node FROM embeddings WHERE node > ? "
                "AND half IS NULL ORDER BY node LIMIT ?) s",
                *(after, _FILLED_AT_ONCE),
            )
            if last is None:
                break
            done += self._database.run(
                "UPDATE embeddings SET vector = vector "
                "WHERE node > ? AND node <= ? AND half IS NULL",
                *(after, last),
            )
            after = last
            if on_progress is not None:
                on_progress("filling the vector index", done, total)

    def _name(self, kind: NodeKind) -> str:
        return f"nearest_{self._parts['encoder']}_{int(kind)}"

    def _valid(self, name: str) -> bool | None:
        """Whether an index can be used; None when it is not there or is being made."""
        return self._database.value(
            "SELECT i.indisvalid FROM pg_index i WHERE i.indexrelid = to_regclass(?1) AND "
            "i.indexrelid NOT IN (SELECT index_relid FROM pg_stat_progress_create_index)",
            f"{self._parts['schema']}.{name}",
        )
