"""The tables of a memory, made by numbered steps.

Each step runs once, in order, inside one transaction, and is recorded in the table `migrations`.
A released step is never edited: the next change is the next number. The scripts are in the SQL
of SQLite. `postgres/dialect.py` rewrites them for PostgreSQL.

Times are microseconds since 1970, UTC; an open end is NULL. A node of the graph is
one integer, its row id shifted left by three with its kind (see NodeKind) in the low
bits, so that edges join topics, entities and chunks alike without a table of nodes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hades.errors import Unavailable

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at INTEGER NOT NULL
);

CREATE TABLE actors (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- The change log and the audit log are one: who did what, when, under which number.
-- The subject is a node, so that a purged name does not stay here.
CREATE TABLE changes (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  actor INTEGER NOT NULL REFERENCES actors,
  action TEXT NOT NULL,
  space INTEGER,
  subject INTEGER
);

CREATE TABLE spaces (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL
);

-- `latest` points at the state with the greatest valid_from. It is current truth
-- unless `planned`: then it was recorded before it came true, and time decides.
CREATE TABLE topics (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  name TEXT NOT NULL,
  latest INTEGER,
  versions INTEGER NOT NULL DEFAULT 0,
  planned INTEGER NOT NULL DEFAULT 0,
  entity INTEGER,
  kind TEXT NOT NULL DEFAULT 'note',
  title TEXT,
  UNIQUE (space, name)
);
CREATE INDEX topics_entity ON topics (entity) WHERE entity IS NOT NULL;

-- Where ingested topics come from: an unchanged source costs a hash.
CREATE TABLE sources (
  topic INTEGER PRIMARY KEY REFERENCES topics,
  root TEXT NOT NULL,
  fingerprint BLOB NOT NULL
);
CREATE INDEX sources_root ON sources (root);

-- Append-only. `depth` is how many deltas lie between this body and a whole copy;
-- no encoding means the topic was forgotten. A plan is retired when its topic is
-- forgotten before it comes true.
CREATE TABLE states (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  topic INTEGER NOT NULL REFERENCES topics,
  version INTEGER NOT NULL,
  valid_from INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  retired_at INTEGER,
  change INTEGER NOT NULL,
  depth INTEGER NOT NULL DEFAULT 0,
  encoding INTEGER,
  level INTEGER NOT NULL DEFAULT 0,
  confidence REAL NOT NULL DEFAULT 1,
  importance REAL,
  tags TEXT,
  metadata TEXT,
  digest BLOB,
  body BLOB
);
CREATE UNIQUE INDEX states_version ON states (topic, version);
CREATE INDEX states_valid ON states (topic, valid_from, version);

-- The whole content of a topic's latest state, when that state is stored as a delta.
CREATE TABLE heads (topic INTEGER PRIMARY KEY REFERENCES topics, body BLOB NOT NULL);

-- States that still have to be cut, embedded or linked, with what the reader said of them.
CREATE TABLE pending (
  state INTEGER PRIMARY KEY REFERENCES states,
  phase INTEGER NOT NULL,
  outline BLOB
);

-- A chunk is a part of a topic's text, whichever of its states it stands in: known by the
-- hash of its heading and text, so that an edit elsewhere in the text leaves it alone.
-- Its text is a slice of a state and is not stored twice.
CREATE TABLE chunks (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  topic INTEGER NOT NULL REFERENCES topics,
  digest BLOB NOT NULL,
  tokens INTEGER NOT NULL,
  change INTEGER NOT NULL,
  heading TEXT,
  UNIQUE (topic, digest)
);
CREATE INDEX chunks_change ON chunks (change);

-- Where a chunk stands in a state.
CREATE TABLE placements (
  state INTEGER NOT NULL REFERENCES states,
  ordinal INTEGER NOT NULL,
  chunk INTEGER NOT NULL REFERENCES chunks,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  PRIMARY KEY (state, ordinal)
) WITHOUT ROWID;
CREATE INDEX placements_chunk ON placements (chunk);

-- When a chunk is part of its topic, on both axes; a row a belief, as with edges.
CREATE TABLE presences (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk INTEGER NOT NULL REFERENCES chunks,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  recorded_at INTEGER NOT NULL,
  retired_at INTEGER,
  change INTEGER NOT NULL
);
CREATE INDEX presences_chunk ON presences (chunk);
CREATE INDEX presences_change ON presences (change);

-- An identifier or the full name of a symbol of code is known by its very letters, in
-- backticks: _load is not load. The origin says how a name was found; 0 is a user's word.
CREATE TABLE entities (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  kind TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  change INTEGER NOT NULL,
  summary TEXT,
  origin INTEGER NOT NULL DEFAULT 0,
  UNIQUE (space, key)
);
CREATE INDEX entities_change ON entities (change);

-- Every name an entity goes by.
CREATE TABLE names (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  entity INTEGER NOT NULL REFERENCES entities,
  key TEXT NOT NULL,
  name TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  retired_at INTEGER,
  change INTEGER NOT NULL
);
CREATE INDEX names_key ON names (key);
CREATE INDEX names_entity ON names (entity);

CREATE TABLE merges (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  entity INTEGER NOT NULL REFERENCES entities,
  target INTEGER NOT NULL REFERENCES entities,
  recorded_at INTEGER NOT NULL,
  retired_at INTEGER,
  change INTEGER NOT NULL
);
CREATE INDEX merges_space ON merges (space);

-- Every place where a text says a name. Which of them count at a time, and which is the
-- longest, is decided when the graph is read. `introduces` is the origin of a name that
-- this very chunk brought in: an entity lives as long as one of these does.
CREATE TABLE mentions (
  chunk INTEGER NOT NULL REFERENCES chunks,
  entity INTEGER NOT NULL REFERENCES entities,
  introduces INTEGER,
  positions BLOB,
  change INTEGER NOT NULL,
  PRIMARY KEY (chunk, entity)
) WITHOUT ROWID;
CREATE INDEX mentions_entity ON mentions (entity);
CREATE INDEX mentions_change ON mentions (change);

-- How far names and chunks have been matched: all chunks up to one, all names up to one.
CREATE TABLE matched (
  space INTEGER PRIMARY KEY REFERENCES spaces,
  chunk INTEGER NOT NULL,
  name INTEGER NOT NULL
);

CREATE TABLE relations (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE inverses (relation TEXT PRIMARY KEY, inverse TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO inverses VALUES
  ('rejected_because', 'viable_after_fix'),
  ('blocked_by', 'enabled_by'),
  ('contradicts', 'supports');

-- Edges that somebody wrote. An edge keeps its id; each belief about it is a row. Changing
-- an edge retires its row and writes the next, so that both time axes can be asked.
CREATE TABLE edges (
  row INTEGER PRIMARY KEY AUTOINCREMENT,
  id INTEGER NOT NULL,
  space INTEGER NOT NULL REFERENCES spaces,
  source INTEGER NOT NULL,
  relation INTEGER NOT NULL REFERENCES relations,
  target INTEGER NOT NULL,
  weight REAL NOT NULL DEFAULT 1,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER,
  recorded_at INTEGER NOT NULL,
  retired_at INTEGER,
  superseded_by INTEGER,
  change INTEGER NOT NULL,
  belief_a REAL NOT NULL DEFAULT 1,
  belief_b REAL NOT NULL DEFAULT 1,
  evidence TEXT,
  components TEXT,
  metadata TEXT
);
CREATE INDEX edges_id ON edges (id);
-- Before a fact is written, this index tells whether it is known, also at a hub.
CREATE INDEX edges_source ON edges (source, relation, target);
CREATE INDEX edges_target ON edges (target, relation);
CREATE INDEX edges_space ON edges (space);
CREATE INDEX edges_change ON edges (change);

-- Edges derived from a text; each holds as long as the chunk it was read in is there.
CREATE TABLE derived_edges (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk INTEGER NOT NULL REFERENCES chunks,
  source INTEGER NOT NULL,
  relation INTEGER NOT NULL REFERENCES relations,
  target INTEGER NOT NULL,
  weight REAL NOT NULL DEFAULT 1,
  change INTEGER NOT NULL,
  evidence TEXT,
  components TEXT,
  UNIQUE (chunk, source, relation, target)
);
CREATE INDEX derived_edges_source ON derived_edges (source);
CREATE INDEX derived_edges_target ON derived_edges (target);
CREATE INDEX derived_edges_change ON derived_edges (change);

CREATE TABLE encoders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dims INTEGER NOT NULL);

CREATE TABLE embeddings (
  node INTEGER NOT NULL,
  encoder INTEGER NOT NULL REFERENCES encoders,
  change INTEGER NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (node, encoder)
) WITHOUT ROWID;
CREATE INDEX embeddings_change ON embeddings (encoder, change);

-- What was erased for good, by node alone: derived indexes must drop it too.
CREATE TABLE purged (change INTEGER NOT NULL, node INTEGER NOT NULL);
CREATE INDEX purged_change ON purged (change);

-- Changes that wait for somebody's approval, and what became of them. `fields` are the
-- arguments of the method that applies it.
CREATE TABLE proposals (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  kind TEXT NOT NULL,
  fields TEXT NOT NULL,
  confidence REAL NOT NULL,
  threshold REAL NOT NULL,
  status TEXT NOT NULL,
  actor INTEGER NOT NULL REFERENCES actors,
  at INTEGER NOT NULL,
  decided_by INTEGER REFERENCES actors,
  decided_at INTEGER,
  why TEXT,
  change INTEGER NOT NULL
);
CREATE INDEX proposals_status ON proposals (space, status);

-- What was answered to a write that may be sent again. Keys and requests are kept as
-- digests, so that a purged name does not stay in them.
CREATE TABLE idempotency (
  space INTEGER NOT NULL REFERENCES spaces,
  actor INTEGER NOT NULL REFERENCES actors,
  key_digest BLOB NOT NULL,
  request_digest BLOB NOT NULL,
  at INTEGER NOT NULL,
  answer TEXT NOT NULL,
  PRIMARY KEY (space, actor, key_digest)
) WITHOUT ROWID;
CREATE INDEX idempotency_at ON idempotency (at);

-- What is still to be done after something was erased or restored. The mark is another one
-- each time, so that whoever has done it does not delete what was owed meanwhile.
CREATE TABLE owed (what TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;

-- How often questions used a state, and when last. It says nothing of the world, so it is
-- written without a change.
CREATE TABLE uses (
  state INTEGER PRIMARY KEY REFERENCES states,
  count INTEGER NOT NULL,
  last_used INTEGER NOT NULL
);

-- What a summary was made of.
CREATE TABLE originals (
  summary INTEGER NOT NULL REFERENCES states,
  state INTEGER NOT NULL REFERENCES states,
  PRIMARY KEY (summary, state)
) WITHOUT ROWID;
CREATE INDEX originals_state ON originals (state);

-- States whose body was moved out to the archive, and the object it lies in.
CREATE TABLE archived (state INTEGER PRIMARY KEY REFERENCES states, object TEXT NOT NULL);
CREATE INDEX archived_object ON archived (object)
"""

STEPS: list[tuple[str, str]] = [("the tables of the first release", _TABLES)]
"""Name and script of each migration, numbered from 1."""


def steps_done(place: str, migrations: Sequence[Sequence[object]]) -> int:
    """Return how many steps a memory has seen, or refuse one whose steps are unknown here.

    `migrations` are the numbers and names that the memory recorded, in order.
    """
    known = [(number, name) for number, (name, _) in enumerate(STEPS, start=1)]
    if not migrations or [tuple(row) for row in migrations] != known[: len(migrations)]:
        raise Unavailable(
            f"{place} was written by another version of HADES, whose tables differ: run "
            "`hades export` with that version, and `hades import` what it wrote with this one."
        )
    return len(migrations)


def statements(script: str) -> list[str]:
    """The single statements of a script, so that they can share one transaction."""
    code = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("--"))
    return [part.strip() for part in code.split(";") if part.strip()]


def columns_of(statement: str) -> tuple[str, dict[str, str]]:
    """Return the table that a statement creates, and its columns with the type of each."""
    table = re.match(r"CREATE TABLE (\w+) \((.*)\)", statement, re.S)
    if table is None:
        return "", {}
    return table[1], dict(re.findall(r'(?:^|,)\s*"?(\w+)"? (INTEGER|REAL|TEXT|BLOB)\b', table[2]))


COLUMNS = dict(
    columns_of(statement)
    for _, script in STEPS
    for statement in statements(script)
    if statement.startswith("CREATE TABLE")
)
"""By table: its columns, and the type of each."""
COUNTED = dict(re.findall(r"CREATE TABLE (\w+) \(\s+(\w+) INTEGER PRIMARY KEY AUTO", _TABLES))
"""By table: its column of numbers that are given out once and never again."""
