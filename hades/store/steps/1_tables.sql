CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE migrations (
  number INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at INTEGER NOT NULL
);

CREATE TABLE actors (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- The change log, which is also the audit log. The subject is a node, so that a purged name
-- does not stay here.
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

-- The sources of ingested topics. The fingerprint tells whether a source has changed.
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

-- States that wait to be cut, embedded or linked, with the outline of their reader.
CREATE TABLE pending (
  state INTEGER PRIMARY KEY REFERENCES states,
  phase INTEGER NOT NULL,
  outline BLOB
);

-- A chunk is a part of a topic's text. It may be in several states: the hash of its heading and
-- text identifies it, so an edit elsewhere keeps it. Its text is a slice of a state's content.
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

-- The places of chunks in states, in characters.
CREATE TABLE placements (
  state INTEGER NOT NULL REFERENCES states,
  ordinal INTEGER NOT NULL,
  chunk INTEGER NOT NULL REFERENCES chunks,
  start INTEGER NOT NULL,
  "end" INTEGER NOT NULL,
  PRIMARY KEY (state, ordinal)
) WITHOUT ROWID;
CREATE INDEX placements_chunk ON placements (chunk);

-- When a chunk is part of its topic, on both time axes. Each row is a belief, as with edges.
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

-- The key of an identifier or of the full name of a symbol of code has its exact letters, in
-- backticks: _load is not load. The origin says how a name was found; 0: a user gave it.
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

-- All names of entities.
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

-- All places where a text contains a name. Which of them count at a moment, and which is the
-- longest, is decided when the graph is read. `introduces` is the origin of a name that this
-- chunk introduces: an entity exists as long as one such chunk holds.
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

-- Progress of matching: all chunks up to `chunk` were matched with all names up to `name`.
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

-- Written edges. An edge keeps its id; each belief about it is a row. Changing an edge retires
-- its row and adds another, so that both time axes can be queried.
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
-- Finds whether a fact is known before it is written, quickly also at a hub.
CREATE INDEX edges_source ON edges (source, relation, target);
CREATE INDEX edges_target ON edges (target, relation);
CREATE INDEX edges_space ON edges (space);
CREATE INDEX edges_change ON edges (change);

-- Edges derived from a text. Each holds as long as the chunk it was read in.
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

-- Erased nodes, which derived indexes must drop too.
CREATE TABLE purged (change INTEGER NOT NULL, node INTEGER NOT NULL);
CREATE INDEX purged_change ON purged (change);

-- Changes that wait for approval, and their decisions. `fields` are the arguments of the
-- method that applies the change.
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

-- Answers to writes that may be sent again. Keys and requests are digests, so that a purged
-- name does not stay here.
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

-- Work that is left after an erasure or a restore. Each write of a row has a new mark, so that
-- a process that has done the work does not delete a row written meanwhile.
CREATE TABLE owed (what TEXT PRIMARY KEY, mark TEXT NOT NULL) WITHOUT ROWID;

-- How often questions used a state, and when last. Uses are written without a change, because
-- indexes do not need them.
CREATE TABLE uses (
  state INTEGER PRIMARY KEY REFERENCES states,
  count INTEGER NOT NULL,
  last_used INTEGER NOT NULL
);

-- The states that a summary was made from.
CREATE TABLE originals (
  summary INTEGER NOT NULL REFERENCES states,
  state INTEGER NOT NULL REFERENCES states,
  PRIMARY KEY (summary, state)
) WITHOUT ROWID;
CREATE INDEX originals_state ON originals (state);

-- States whose body was moved to the archive, with the object that holds it.
CREATE TABLE archived (state INTEGER PRIMARY KEY REFERENCES states, object TEXT NOT NULL);
CREATE INDEX archived_object ON archived (object)
