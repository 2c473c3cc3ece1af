"""Exchange: export and import in formats that other tools read.

`jsonl` holds everything and comes back without loss. The others hold the graph as of
one moment: `node-link` (NetworkX and friends), `graphml` (Gephi, yEd), `arango`
(files for arangoimport) and `neo4j` (files for neo4j-admin import).
"""
