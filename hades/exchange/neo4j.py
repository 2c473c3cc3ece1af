"""Files for neo4j-admin import: nodes.csv and relationships.csv, and the command for them."""

from __future__ import annotations

import csv
import re
from pathlib import Path

from hades.domain.plain import plain
from hades.exchange.snapshot import GraphSnapshot

_COMMAND = """#!/bin/sh
# Loads this folder into a new Neo4j database (name it as the first argument).
set -eu
cd "$(dirname "$0")"
neo4j-admin database import full "${1:-hades}" \\
  --nodes=nodes.csv --relationships=relationships.csv --multiline-fields=true
"""


def write(graph: GraphSnapshot, folder: Path) -> None:
    """Write nodes.csv, relationships.csv and `import.sh` into an existing folder."""
    with (folder / "nodes.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerow(["id:ID", "name", "kind", "aliases:string[]", "text", ":LABEL"])
        for exported in graph.nodes():
            # The importer splits arrays at semicolons and has no way to escape one.
            aliases = ";".join(name.replace(";", ",") for name in exported.other_names)
            labels = exported.node.kind.capitalize()
            if exported.node.kind == "entity":
                labels += f";{_label(exported.kind)}"
            rows.writerow(
                [exported.id, exported.node.name, exported.kind, aliases, exported.text, labels]
            )
    ids = graph.ids()
    with (folder / "relationships.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_ALL)
        rows.writerow(
            (
                *(":START_ID", ":END_ID", ":TYPE", "edge:long"),
                *("weight:double", "evidence", "valid_from", "valid_to"),
            )
        )
        for edge in graph.edges:
            rows.writerow(
                (
                    ids[edge.source],
                    ids[edge.target],
                    edge.relation.upper(),
                    edge.id,
                    edge.weight,
                    edge.evidence,
                    plain(edge.valid_from),
                    plain(edge.valid_to) or "",
                )
            )
    (folder / "import.sh").write_text(_COMMAND, encoding="utf-8")


def _label(kind: str) -> str:
    words = re.findall(r"[^\W_]+", kind)
    return "".join(word.capitalize() for word in words) or "Entity"
