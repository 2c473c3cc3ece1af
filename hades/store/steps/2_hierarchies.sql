-- Hierarchies that `organise` made. At most one of a space holds at a known time. `details` is
-- JSON: how it was made.
CREATE TABLE hierarchies (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  encoder TEXT NOT NULL,
  details TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  retired_at INTEGER,
  change INTEGER NOT NULL
);
CREATE INDEX hierarchies_space ON hierarchies (space);

-- Clusters of level 1 have chunks as members, those of level 2 are parents of clusters. The
-- centroid is a float32 vector of length 1. Purging a member empties label and text.
CREATE TABLE clusters (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  hierarchy INTEGER NOT NULL REFERENCES hierarchies,
  level INTEGER NOT NULL,
  parent INTEGER REFERENCES clusters,
  label TEXT NOT NULL,
  text TEXT NOT NULL,
  centroid BLOB NOT NULL
);
CREATE INDEX clusters_hierarchy ON clusters (hierarchy);

-- When a chunk was a member of a cluster, by known time. Rows are never changed but to retire
-- them, so this is also the journal of memberships. `near` is the cosine to the centroid.
CREATE TABLE memberships (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  chunk INTEGER NOT NULL REFERENCES chunks,
  cluster INTEGER NOT NULL REFERENCES clusters,
  near REAL NOT NULL,
  recorded_at INTEGER NOT NULL,
  retired_at INTEGER,
  change INTEGER NOT NULL
);
CREATE INDEX memberships_chunk ON memberships (chunk);
CREATE INDEX memberships_cluster ON memberships (cluster);
CREATE INDEX memberships_change ON memberships (change)
