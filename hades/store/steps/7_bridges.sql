-- Bridges: two chunks of distant communities and a name that both mention (`source`, `node`,
-- `target` are nodes), found from the chunk that is a member of `cluster`. They are precomputed:
-- `refresh_bridges` replaces those of the clusters that changed since `change`.
CREATE TABLE bridges (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  space INTEGER NOT NULL REFERENCES spaces,
  cluster INTEGER NOT NULL REFERENCES clusters,
  source INTEGER NOT NULL,
  node INTEGER NOT NULL,
  target INTEGER NOT NULL,
  weight REAL NOT NULL,
  change INTEGER NOT NULL
);
CREATE INDEX bridges_cluster ON bridges (cluster);
CREATE INDEX bridges_source ON bridges (source);
CREATE INDEX bridges_node ON bridges (node);
CREATE INDEX bridges_target ON bridges (target)
