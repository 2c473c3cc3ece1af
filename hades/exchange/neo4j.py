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
_NODE_COLUMNS = {
    "id": ":ID",
    "name": "",
    "kind": "",
    "aliases": ":string[]",
    "text": "",
    "summary": "",
    "frequency": ":long",
    "deg_out": ":long",
    "layer": ":long",
    "cluster_id": "",
    "prev_cluster_id": "",
    "embedding": ":float[]",
}
"""The properties of a node, and the types that neo4j-admin reads behind their names."""
_EDGE_COLUMNS = {
    "edge": ":long",
    "weight": ":double",
    "sim": ":double",
    "count": ":long",
    "layer_bridge": ":boolean",
    "positions": ":long[]",
    "evidence": "",
    "valid_from": "",
    "valid_to": "",
}


def write(graph: GraphSnapshot, folder: Path) -> None:
    """Write the CSV files, `import.sh` and `create.cypher` into an existing folder."""
    columns = [f"{name}{type}" for name, type in _NODE_COLUMNS.items()]
    nodes = ([*_cells(node_properties(node)), ";".join(labels(node))] for node in graph.nodes())
    _write_csv(folder / "nodes.csv", [*columns, ":LABEL"], nodes)
    columns = [f"{name}{type}" for name, type in _EDGE_COLUMNS.items()]
    edges = (
        [
            graph.id_of(exported.edge.source),
            graph.id_of(exported.edge.target),
            relationship(exported),
            *_cells(edge_properties(exported)),
        ]
        for exported in graph.edges()
    )
    _write_csv(folder / "relationships.csv", [":START_ID", ":END_ID", ":TYPE", *columns], edges)
    (folder / "import.sh").write_text(_COMMAND, encoding="utf-8")
    statements = "".join(f"{statement};\n" for statement in indexes(graph))
    (folder / "create.cypher").write_text(statements, encoding="utf-8")


def indexes(graph: GraphSnapshot) -> list[str]:
    """Return the statements that create constraints and indexes where they are missing."""
    statements = [*_INDEXES]
    if graph.embeddings and graph.dimensions:
        statements += [
            f"CREATE VECTOR INDEX {label.lower()}_embedding IF NOT EXISTS FOR (n:{label}) "
            "ON (n.embedding) OPTIONS {indexConfig: {`vector.dimensions`: "
            f"{graph.dimensions}, `vector.similarity_function`: 'cosine'}}}}"
            for label in ("Chunk", "Entity")
        ]
    return statements


def labels(node: ExportedNode) -> list[str]:
    """Return the labels of a node: what it is, and the kind of an entity."""
    label = node.node.kind.capitalize()
    return [label, _label(node.kind)] if node.node.kind == "entity" else [label]


def node_properties(node: ExportedNode) -> dict[str, Any]:
    """Return the properties of a node; those without a value are None."""
    return {
        "id": node.id,
        "name": node.cluster.label if node.cluster else node.node.name,
        "kind": node.kind,
        "aliases": list(node.other_names),
        "text": node.text,
        "summary": node.summary,
        "frequency": node.entity.frequency if node.entity else None,
        "deg_out": None if node.chunk or node.cluster else node.out_degree,
        "layer": node.layer,
        "cluster_id": node.place.cluster_id,
        "prev_cluster_id": node.place.prev_cluster_id,
        "embedding": node.embedding,
    }


def relationship(exported: ExportedEdge) -> str:
    """Return the type of the relationship that an edge becomes."""
    return exported.edge.relation.upper()


def edge_properties(exported: ExportedEdge) -> dict[str, Any]:
    """Return the properties of an edge; those without a value are None."""
    edge = exported.edge
    return {
        "edge": edge.id,
        "weight": edge.weight,
        "sim": exported.sim,
        "count": exported.facts.get("count"),
        "layer_bridge": exported.layer_bridge,
        "positions": list(exported.facts.get("positions", ())),
        "evidence": edge.evidence,
        "valid_from": plain(edge.valid_from),
        "valid_to": plain(edge.valid_to),
    }


def _write_csv(path: Path, columns: list[str], rows: Iterator[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(columns)
        writer.writerows(rows)


def _cells(properties: dict[str, Any]) -> Iterator[Any]:
    for value in properties.values():
        if isinstance(value, list):
            # The importer splits arrays at semicolons and has no way to escape one.
            yield ";".join(str(item).replace(";", ",") for item in value)
        elif isinstance(value, bool):
            yield str(value).lower()
        else:
            yield "" if value is None else value


def _label(kind: str) -> str:
    words = re.findall(r"[^\W_]+", kind)
    return "".join(word.capitalize() for word in words) or "Entity"
