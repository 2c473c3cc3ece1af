-- Uses and verdicts are kept by actor, so that one actor alone moves little. Rows from before have
-- no actor: they become the share of the first one.
ALTER TABLE uses RENAME TO uses_before;
ALTER TABLE usefulness RENAME TO usefulness_before;

-- On how many days the questions of an actor used a state (at most ACTOR_DAYS_AT_MOST), and when
-- last. Uses are written without a change, because indexes do not need them.
CREATE TABLE uses (
  state INTEGER NOT NULL REFERENCES states,
  actor INTEGER NOT NULL REFERENCES actors,
  count INTEGER NOT NULL,
  last_used INTEGER NOT NULL,
  PRIMARY KEY (state, actor)
) WITHOUT ROWID;
INSERT INTO uses (state, actor, count, last_used)
SELECT state, (SELECT min(id) FROM actors), CASE WHEN count < 4 THEN count ELSE 4 END, last_used
FROM uses_before;

-- The last verdict of an actor on a state: useful or useless, by how much.
CREATE TABLE usefulness (
  state INTEGER NOT NULL REFERENCES states,
  actor INTEGER NOT NULL REFERENCES actors,
  useful REAL NOT NULL,
  useless REAL NOT NULL,
  PRIMARY KEY (state, actor)
) WITHOUT ROWID;
INSERT INTO usefulness (state, actor, useful, useless)
SELECT state, (SELECT min(id) FROM actors),
  CASE WHEN useful > useless THEN 1 ELSE 0 END, CASE WHEN useful < useless THEN 1 ELSE 0 END
FROM usefulness_before;

DROP TABLE uses_before;
DROP TABLE usefulness_before;
CREATE INDEX feedback_actor ON feedback (space, actor, at)
