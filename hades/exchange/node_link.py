"""Node-link JSON: `nodes` and `edges`, each with an id, a type and metadata.

Chunks are `{"id", "type": "chunk", "metadata": {"text", "file_path", …}}`, entities
`{"id", "type": "entity", "entity_type", "metadata": {"canonical_name", "aliases", …}}`,
edges `{"source", "target", "type", "metadata"}`. Topics are nodes of type `topic` with
their content in the metadata. An edge that is `derived` follows from the texts: an import leaves it
out, because it reads the texts again.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from hades.domain.plain import one_line, plain
from hades.domain.topics import State
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from hades.exchange.elements import ExportedEdge, ExportedNode
    from hades.exchange.snapshot import GraphSnapshot

REASON_CHARACTERS_AT_MOST = 200
_STATE_FIELDS = ("tags", "confidence", "importance", "valid_from")
_OF_A_TEXT = ("text", *(column.name for column in fields(State)))
_EDGE_FIELDS = ("strength", "evidence", "valid_from", "valid_to")
_OF_AN_EDGE = (
    "source",
    "target",
    "key",
    "type",
    "weight",
    "derived",
    "sim",
    "layer_bridge",
    "metadata",
)
"""Fields that are read by name; all others become metadata."""


def write(graph: GraphSnapshot, file: TextIO) -> None:
    """Write the graph as one JSON object, a node or an edge per line."""
    file.write('{"directed": true, "multigraph": true, "graph": {"name": "HADES_KG"},\n')
    _write_list(file, "nodes", (_node(node) for node in graph.nodes()))
    file.write(",\n")
    _write_list(file, "edges", (_edge(graph, exported) for exported in graph.edges()))
    file.write("}\n")


def _write_list(file: TextIO, name: str, items: Iterator[dict[str, Any]]) -> None:
    file.write(f'"{name}": [')
    for number, item in enumerate(items):
        file.write(("," if number else "") + "\n" + json.dumps(item, ensure_ascii=False))
    file.write("\n]")


def _node(node: ExportedNode) -> dict[str, Any]:
    about: dict[str, Any] = {"id": node.id, "type": node.node.kind, "name": node.node.name}
    metadata: dict[str, Any] = {}
    if node.state:
        about["kind"] = node.kind
        metadata = plain(node.state)
    elif node.chunk:
        metadata = {
            "text": node.chunk.text,
            "file_path": node.chunk.topic,
            "chunk_index": node.chunk.ordinal,
            "heading": node.chunk.heading,
        }
    elif node.entity:
        about["entity_type"] = node.kind.upper()
        metadata = {
            "canonical_name": node.node.name,
            "aliases": list(node.other_names),
            "frequency": node.entity.frequency,
            "summary": node.summary,
            "deg_out": node.out_degree,
        }
    elif node.cluster:
        metadata = {
            "label": node.cluster.label,
            "summary": node.summary,
            "level": node.layer,
            "size": node.cluster.size,
        }
    if node.place.cluster_id:
        about["cluster_id"] = node.place.cluster_id
        about["prev_cluster_id"] = node.place.prev_cluster_id
    if node.embedding is not None:
        about["embedding"] = node.embedding
    return {**about, "metadata": metadata}


def _edge(graph: GraphSnapshot, exported: ExportedEdge) -> dict[str, Any]:
    edge = exported.edge
    return {
        "source": graph.id_of(edge.source),
        "target": graph.id_of(edge.target),
        "key": edge.id or edge.relation,
        "type": edge.relation,
        "derived": exported.derived,
        "sim": exported.sim,
        "layer_bridge": exported.layer_bridge,
        "metadata": {
            **edge.metadata,
            **exported.facts,
            "strength": edge.weight,
            "evidence": edge.evidence,
            "valid_from": plain(edge.valid_from),
            "valid_to": plain(edge.valid_to),
        },
    }


@dataclass(frozen=True, slots=True)
class Read:
    """The topics, entities and edges of a node-link file."""

    texts: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The state of each topic: content, tags, metadata, …"""
    aliases: dict[str, list[str]] = field(default_factory=dict)
    """The aliases of each entity."""
    kinds: dict[str, str] = field(default_factory=dict)
    """The kind of each entity."""
    edges: list[dict[str, Any]] = field(default_factory=list)
    """source, relation, target, weight, evidence, valid_from, valid_to, metadata."""


def read(path: Path) -> Read:
    """Read a node-link file of any tool. A chunk whose topic is not in it becomes a topic."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}.") from error
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise InvalidInput(f"{path} is not node-link JSON: it has no list of nodes.")
    links = data.get("edges") or data.get("links") or []
    if not isinstance(links, list):
        raise InvalidInput(f"{path} is not node-link JSON: its edges are not a list.")
    result = Read()
    names: dict[Any, str] = {}
    for number, node in enumerate(data["nodes"]):
        try:
            names[node["id"]] = _take_node(result, node)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidInput(f"{path}: node {number} lacks {short_reason(error)}.") from error
    for number, edge in enumerate(links):
        try:
            if edge.get("derived") is not True:
                result.edges.append(_take_edge(edge, names))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise InvalidInput(
                f"{path}: edge {number} is wrong or lacks {short_reason(error)}."
            ) from error
    return result


def short_reason(error: Exception) -> str:
    """Return an error as one line: it may quote a value of the file, of any length."""
    return one_line(str(error)[:REASON_CHARACTERS_AT_MOST])


def _take_node(result: Read, node: dict[str, Any]) -> str:
    metadata = node.get("metadata") or {}
    kind = node.get("type", "entity")
    if kind == "cluster" and str(node["id"]).startswith("cluster:"):
        return str(node["id"])  # `organise` makes clusters again
    if kind in ("topic", "chunk"):
        name = str(node.get("name") or node["id"])
        if kind == "chunk" and metadata.get("file_path") in result.texts:
            return str(metadata["file_path"])
        text = metadata.get("content", metadata.get("text"))
        if str(text or "").strip():
            state = {key: metadata.get(key) for key in _STATE_FIELDS}
            others = metadata.get("metadata") if kind == "topic" else None
            state["metadata"] = others or _others(metadata, _OF_A_TEXT)
            result.texts[name] = {**state, "content": str(text)}
        return name
    name = str(metadata.get("canonical_name") or node.get("name") or node["id"])
    result.aliases[name] = [str(alias) for alias in metadata.get("aliases") or []]
    result.kinds[name] = str(node.get("entity_type") or (kind, "concept")[kind == "entity"]).lower()
    return name


def _take_edge(edge: dict[str, Any], names: dict[Any, str]) -> dict[str, Any]:
    metadata = {**_others(edge, _OF_AN_EDGE), **(edge.get("metadata") or {})}
    strength = metadata.get("strength", edge.get("weight", 1.0))
    return {
        "source": names[edge["source"]],
        "relation": str(edge.get("type", "related_to")),
        "target": names[edge["target"]],
        "weight": min(1.0, max(0.0, float(strength))),
        "evidence": str(metadata.get("evidence") or ""),
        "valid_from": metadata.get("valid_from"),
        "valid_to": metadata.get("valid_to"),
        "metadata": _others(metadata, _EDGE_FIELDS),
    }


def _others(values: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in known}
