"""Node-link JSON: `nodes` and `edges`, each with an id, a type and metadata.

Chunks are `{"id", "type": "chunk", "metadata": {"text", "file_path", …}}`, entities
`{"id", "type": "entity", "entity_type", "metadata": {"canonical_name", "aliases", …}}`,
edges `{"source", "target", "type", "metadata"}`. Topics are nodes of type `topic` with
their content in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TextIO

from hades.domain.graph import Node
from hades.domain.plain import plain
from hades.domain.topics import State
from hades.errors import InvalidInput
from hades.exchange.snapshot import GraphSnapshot

_STATE_FIELDS = ("tags", "confidence", "importance", "valid_from")
_OF_A_TEXT = ("text", *(column.name for column in fields(State)))
_EDGE_FIELDS = ("strength", "evidence", "valid_from", "valid_to")
_OF_AN_EDGE = ("source", "target", "key", "type", "weight", "metadata")
"""Fields that are read by name; all others become metadata."""


def write(graph: GraphSnapshot, file: TextIO) -> None:
    """Write the graph as one JSON object."""
    ids = graph.ids()
    json.dump(
        {
            "directed": True,
            "multigraph": True,
            "graph": {"name": "HADES_KG"},
            "nodes": list(_nodes(graph, ids)),
            "edges": [_edge(edge, ids) for edge in graph.edges],
        },
        file,
        ensure_ascii=False,
        indent=1,
    )


def _nodes(graph: GraphSnapshot, ids: dict[Node, str]) -> Iterator[dict[str, Any]]:
    left = dict(ids)
    for state in graph.states:
        node = left.pop(Node("topic", state.topic))
        yield {"id": node, "type": "topic", "name": state.topic, "metadata": plain(state)}
    for chunk in graph.chunks:
        metadata = {
            "text": chunk.text,
            "file_path": chunk.topic,
            "chunk_index": chunk.ordinal,
            "heading": chunk.heading,
        }
        node = left.pop(Node("chunk", chunk.id))
        yield {"id": node, "type": "chunk", "name": chunk.id, "metadata": metadata}
    for entity in graph.entities:
        yield {
            "id": left.pop(Node("entity", entity.name)),
            "type": "entity",
            "entity_type": entity.kind.upper(),
            "name": entity.name,
            "metadata": {
                "canonical_name": entity.name,
                "aliases": [*entity.aliases, *entity.merged],
                "frequency": entity.frequency,
            },
        }
    for end, node in left.items():
        yield {"id": node, "type": end.kind, "name": end.name, "metadata": {}}


def _edge(edge: Any, ids: dict[Node, str]) -> dict[str, Any]:
    return {
        "source": ids[edge.source],
        "target": ids[edge.target],
        "key": edge.id,
        "type": edge.relation,
        "metadata": {
            **edge.metadata,
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
            raise InvalidInput(f"{path}: node {number} lacks {error}.") from error
    for number, edge in enumerate(links):
        try:
            result.edges.append(_take_edge(edge, names))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidInput(f"{path}: edge {number} is wrong or lacks {error}.") from error
    return result


def _take_node(result: Read, node: dict[str, Any]) -> str:
    metadata = node.get("metadata") or {}
    kind = node.get("type", "entity")
    if kind in ("topic", "chunk"):
        name = str(node.get("name") or node["id"])
        if kind == "chunk" and metadata.get("file_path") in result.texts:
            return str(metadata["file_path"])
        text = metadata.get("content", metadata.get("text"))
        if text is not None:
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
