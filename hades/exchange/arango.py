"""Files for arangoimport: one JSON-lines file per collection, and a script that loads them.

The collections are those of the HADES_KG graph: papers_raw (texts, not traversed), entities (with
topics), clusters, relations, cluster_edges, and collections that only a running system fills, which
are written empty so that they exist.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hades.domain.graph import Edge, Node
from hades.domain.plain import plain
from hades.exchange.snapshot import GraphSnapshot

DOCUMENTS = (
    "papers_raw",
    "entities",
    "clusters",
    "bridge_cache",
    "weight_config",
    "query_logs",
    "cluster_membership_journal",
)
EDGES = ("relations", "cluster_edges")


def write(graph: GraphSnapshot, folder: Path) -> None:
    """Write a JSON-lines file for every collection, and `import.sh`, into an existing folder."""
    nodes = list(graph.nodes())
    keys = {
        exported.node: f"{exported.node.kind[0]}_{place}"
        for place, exported in enumerate(nodes, start=1)
    }
    out_degree = Counter(edge.source for edge in graph.edges)
    files: dict[str, Iterable[dict[str, Any]]] = dict.fromkeys((*DOCUMENTS, *EDGES), ())
    files["papers_raw"] = (
        {"_key": keys[Node("topic", state.topic)], "name": state.topic, **plain(state)}
        for state in graph.states
    )
    files["entities"] = (
        {
            "_key": keys[exported.node],
            "name": exported.node.name,
            "name_lower": exported.node.name.lower(),
            "type": exported.kind,
            "aliases": list(exported.other_names),
            "summary": "",
            "layer": 0,
            "cluster_id": None,
            "prev_cluster_id": None,
            "deg_out": out_degree[exported.node],
        }
        for exported in nodes
    )
    files["relations"] = (
        _relation(edge, f"r_{edge.id}" if edge.id > 0 else f"s_{number}", keys)
        for number, edge in enumerate(graph.edges)
    )
    for name, rows in files.items():
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            for row in rows:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    (folder / "import.sh").write_text(_script(), encoding="utf-8")


def _relation(edge: Edge, key: str, keys: dict[Node, str]) -> dict[str, Any]:
    provenance = edge.provenance
    return {
        "_key": key,
        "_from": f"entities/{keys[edge.source]}",
        "_to": f"entities/{keys[edge.target]}",
        "type": edge.relation,
        "weight": edge.weight,
        "weight_components": dict(edge.components),
        "layer_bridge": False,
        "created": plain(edge.recorded_at),
        "valid_from": plain(edge.valid_from),
        "valid_to": plain(edge.valid_to),
        "evidence": edge.evidence,
        "provenance": {"doc": provenance.chunk, "span": [provenance.start, provenance.end]}
        if provenance
        else None,
    }


def _script() -> str:
    lines = [
        "#!/bin/sh",
        "# Loads this folder into ArangoDB. Pass server options through, for instance:",
        "#   sh import.sh --server.endpoint tcp://127.0.0.1:8529 --server.username root",
        "set -eu",
        'cd "$(dirname "$0")"',
    ]
    for name in DOCUMENTS + EDGES:
        kind = "edge" if name in EDGES else "document"
        lines.append(
            f"arangoimport --server.database arxiv_repository --create-database true "
            f"--collection {name} --create-collection true --create-collection-type {kind} "
            f'--type jsonl --on-duplicate replace --file {name}.jsonl "$@"'
        )
    return "\n".join(lines) + "\n"
