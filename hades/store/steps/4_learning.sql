-- The last questions and what they showed, for feedback. Written without a change. `recall` is the
-- id of the recall, `asker` the actor.
CREATE TABLE query_logs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  recall TEXT NOT NULL,
  at INTEGER NOT NULL,
  asker TEXT,
  question TEXT NOT NULL,
  shown TEXT NOT NULL,
  ms REAL NOT NULL
);
CREATE UNIQUE INDEX query_logs_recall ON query_logs (space, recall);

-- Verdicts on recalls. They contain relations and numbers, but no names and no texts, so that a
-- purge need not read them. `held_out` ones test snapshots and teach nothing.
CREATE TABLE feedback (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  recall TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor INTEGER NOT NULL REFERENCES actors,
  held_out INTEGER NOT NULL,
  verdicts TEXT NOT NULL,
  snapshot INTEGER REFERENCES weight_snapshots,
  change INTEGER NOT NULL
);
CREATE INDEX feedback_recall ON feedback (space, recall);

-- Learned parameters of edge weights, whole. The one in force was adopted last. One that was never
-- adopted and is newer than that still learns.
CREATE TABLE weight_snapshots (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  started_from INTEGER REFERENCES weight_snapshots,
  config TEXT NOT NULL,
  updates INTEGER NOT NULL,
  tested INTEGER NOT NULL DEFAULT 0,
  accuracy REAL,
  accuracy_before REAL,
  recorded_at INTEGER NOT NULL,
  adopted_at INTEGER,
  change INTEGER NOT NULL
);
CREATE INDEX weight_snapshots_space ON weight_snapshots (space, adopted_at);

-- How much feedback found a state useful, and useless.
CREATE TABLE usefulness (
  state INTEGER PRIMARY KEY REFERENCES states,
  useful REAL NOT NULL,
  useless REAL NOT NULL
)
