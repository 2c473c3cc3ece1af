"""Files for Neo4j: nodes.csv, relationships.csv, the command that loads them, and indexes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hades.domain.plain import plain
from hades.exchange.elements import ExportedEdge, ExportedNode
from hades.exchange.snapshot import GraphSnapshot

_COMMAND = """#!/bin/sh
# Loads this folder into a new Neo4j database (name it as the first argument). When the database
# runs, create its indexes: cypher-shell --database NAME --file create.cypher
set -eu
cd "$(dirname "$0")"
neo4j-admin database import full "${1:-hades}" \\
  --nodes=nodes.csv --relationships=relationships.csv --multiline-fields=true
"""
_LABELS = ("Topic", "Chunk", "Entity", "Cluster")
_INDEXES = (
    *(
        f"CREATE CONSTRAINT {label.lower()}_id IF NOT EXISTS FOR (n:{label}) REQUIRE n.id IS UNIQUE"
        for label in _LABELS
    ),
    *(
        f"CREATE INDEX {label.lower()}_name IF NOT EXISTS FOR (n:{label}) ON (n.name)"
        for label in _LABELS
    ),
    "CREATE INDEX entity_kind IF NOT EXISTS FOR (n:Entity) ON (n.kind)",
    "CREATE FULLTEXT INDEX entities_view IF NOT EXISTS FOR (n:Entity) "
    "ON EACH [n.name, n.aliases, n.summary]",
    "CREATE FULLTEXT INDEX texts_view IF NOT EXISTS FOR (n:Topic|Chunk) ON EACH [n.name, n.text]",
)
_NODE_COLUMNS = (
    *("id:ID", "name", "kind", "aliases:string[]", "text", "summary", "frequency:long"),
    *("deg_out:long", "layer:long", "cluster_id", "prev_cluster_id", "embedding:float[]", ":LABEL"),
)
_EDGE_COLUMNS = (
    *(":START_ID", ":END_ID", ":TYPE", "edge:long", "weight:double", "sim:double", "count:long"),
    *("layer_bridge:boolean", "positions:long[]", "evidence", "valid_from", "valid_to"),
)


def write(graph: GraphSnapshot, folder: Path) -> None:
    """Write the CSV files, `import.sh` and `create.cypher` into an existing folder."""
    nodes = (_of_node(node) for node in graph.nodes())
    _write_csv(folder / "nodes.csv", _NODE_COLUMNS, nodes)
    edges = (_of_edge(graph, exported) for exported in graph.edges())
    _write_csv(folder / "relationships.csv", _EDGE_COLUMNS, edges)
    (folder / "import.sh").write_text(_COMMAND, encoding="utf-8")
    indexes = [*_INDEXES]
    if graph.embeddings and graph.dimensions:
        indexes += [
            f"CREATE VECTOR INDEX {label.lower()}_embedding IF NOT EXISTS FOR (n:{label}) "
            "ON (n.embedding) OPTIONS {indexConfig: {`vector.dimensions`: "
            f"{graph.dimensions}, `vector.similarity_function`: 'cosine'}}}}"
            for label in ("Chunk", "Entity")
        ]
    statements = "".join(f"{statement};\n" for statement in indexes)
    (folder / "create.cypher").write_text(statements, encoding="utf-8")


def _write_csv(path: Path, columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(rows)


def _of_node(node: ExportedNode) -> tuple[Any, ...]:
    # The importer splits arrays at semicolons and has no way to escape one.
    aliases = ";".join(name.replace(";", ",") for name in node.other_names)
    name = node.cluster.label if node.cluster else node.node.name
    labels = node.node.kind.capitalize()
    if node.node.kind == "entity":
        labels += f";{_label(node.kind)}"
    return (
        *(node.id, name, node.kind, aliases, node.text, node.summary),
        node.entity.frequency if node.entity else "",
        "" if node.chunk or node.cluster else node.out_degree,
        *(node.layer, node.place.cluster_id or "", node.place.prev_cluster_id or ""),
        ";".join(map(str, node.embedding or ())),
        labels,
    )


def _of_edge(graph: GraphSnapshot, exported: ExportedEdge) -> tuple[Any, ...]:
    edge = exported.edge
    return (
        *(graph.id_of(edge.source), graph.id_of(edge.target), edge.relation.upper()),
        *(edge.id, edge.weight, "" if exported.sim is None else exported.sim),
        *(exported.facts.get("count", ""), str(exported.layer_bridge).lower()),
        ";".join(map(str, exported.facts.get("positions", ()))),
        *(edge.evidence, plain(edge.valid_from), plain(edge.valid_to) or ""),
    )


def _label(kind: str) -> str:
    words = re.findall(r"[^\W_]+", kind)
    return "".join(word.capitalize() for word in words) or "Entity"
