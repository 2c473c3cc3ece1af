"""Files for ArangoDB: one JSON-lines file per collection, a script that loads them, and create.js.

The collections are those of the graph HADES_KG of HiRAG × PathRAG: papers_raw (texts, not
traversed), entities (with papers and other topics), clusters, relations, cluster_edges, the journal
of memberships, bridge_cache, weight_config and query_logs. `chunks` and `mentions` are added, so
that passages are part of the graph.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, TextIO

from hades.domain.graph import Edge, Node
from hades.domain.hierarchy import Cluster, cluster_name
from hades.domain.plain import plain
from hades.domain.times import from_micros, from_micros_or_none
from hades.domain.weights import SHIPPED
from hades.exchange.clusters import DECIMALS
from hades.exchange.elements import ExportedEdge, ExportedNode
from hades.exchange.snapshot import PAPER, GraphSnapshot
from hades.store.bridges import Bridge
from hades.store.hierarchies import StoredMember

DATABASE = "arxiv_repository"
DOCUMENTS = (
    "papers_raw",
    "entities",
    "chunks",
    "clusters",
    "bridge_cache",
    "weight_config",
    "query_logs",
    "cluster_membership_journal",
)
EDGES = ("relations", "mentions", "cluster_edges")
GRAPH_NAME = "HADES_KG"
GRAPH = (
    {"collection": "relations", "from": ["entities"], "to": ["entities", "chunks"]},
    {"collection": "mentions", "from": ["chunks"], "to": ["entities"]},
    {"collection": "cluster_edges", "from": ["entities", "chunks", "clusters"], "to": ["clusters"]},
)
"""The edges of the graph. papers_raw is not in it, because papers are entities of type "paper"."""
INDEXES: dict[str, tuple[list[str], ...]] = {
    "entities": (["type"], ["layer"], ["cluster_id"], ["deg_out"], ["name_lower", "type"]),
    "relations": (["type"], ["layer_bridge"]),
    "clusters": (["level"], ["centroid_version"]),
    "chunks": (["doc"],),
}
"""The fields of the persistent indexes, by collection. An index of several fields is sparse."""
VIEW_NAME = "entities_view"
VIEW = {
    "links": {
        collection: {"fields": {field: {"analyzers": ["text_en"]} for field in fields}}
        for collection, fields in {
            "entities": ("name", "aliases", "summary"),
            "chunks": ("heading", "text"),
            "papers_raw": ("name",),
        }.items()
    }
}
_COLLECTIONS = {"chunk": "chunks", "cluster": "clusters"}
"""The collections of nodes other than entities."""
_MARK_BYTES = 8


def write(graph: GraphSnapshot, folder: Path) -> None:
    """Write the collections, `import.sh` and `create.js` into an existing folder."""
    with ExitStack() as stack:
        files: dict[str, TextIO] = {
            name: stack.enter_context(
                (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n")
            )
            for name in (*DOCUMENTS, *EDGES)
        }
        for name, row in rows(graph):
            files[name].write(json.dumps(row, ensure_ascii=False) + "\n")
    (folder / "import.sh").write_text(_SCRIPT, encoding="utf-8")
    script = Path(__file__).with_name("arango.js").read_text(encoding="utf-8")
    filled = {
        "DOCUMENTS": DOCUMENTS,
        "EDGES": EDGES,
        "GRAPH": GRAPH,
        "INDEXES": INDEXES,
        "VIEW_NAME": VIEW_NAME,
        "VIEW": VIEW,
        "DIMENSION": graph.dimensions if graph.embeddings else 0,
    }
    for name, value in filled.items():
        script = script.replace(f"${name};", f"{json.dumps(value)};")
    (folder / "create.js").write_text(script, encoding="utf-8")


def rows(graph: GraphSnapshot) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each document with the name of its collection."""
    keys = _Keys(graph)
    for node in graph.nodes():
        if node.state:
            yield "papers_raw", _raw(node, graph, keys)
        if node.chunk:
            yield "chunks", _chunk(node, keys)
        elif node.cluster:
            yield "clusters", _cluster(node.cluster, graph)
        elif not (node.state and keys.is_paper(node.node)):  # the paper is an entity of its title
            yield "entities", _entity(node, keys)
    for exported in graph.edges():
        row = _edge(exported, keys)
        if row["_from"] != row["_to"]:
            yield _edge_collection(exported), row
    for member, chunk in graph.clusters.journal():
        yield "cluster_membership_journal", _membership(member, chunk, keys)
    for number, (bridge, nodes) in enumerate(graph.bridges()):
        yield "bridge_cache", _bridge(number, bridge, nodes, keys)
    yield "weight_config", {"_key": "w_0", "id": 0, "parameters": SHIPPED.parameters()}
    for snapshot in graph.weight_snapshots():
        yield "weight_config", {"_key": f"w_{snapshot.id}", **plain(snapshot)}
    for query in graph.query_log():
        yield "query_logs", {"_key": query.id, **plain(query)}


def _edge_collection(exported: ExportedEdge) -> str:
    kinds = exported.edge.source.kind, exported.edge.target.kind
    if "cluster" in kinds:
        return "cluster_edges"
    return "mentions" if kinds[0] == "chunk" else "relations"


@dataclass(frozen=True, slots=True)
class _Keys:
    """The `_key` and `_id` of documents. They stay the same from one export to the next."""

    graph: GraphSnapshot

    def is_paper(self, node: Node) -> bool:
        """Return whether a topic is a paper whose title is an entity: both are one document."""
        row = self.graph.topics.get(node.name) if node.kind == "topic" else None
        return bool(row and row.kind == PAPER and self.graph.subject_of(node.name))

    def key(self, node: Node) -> str:
        """Return the key of a node: `e_12`, `t_3`, or `c_3_0` for the first chunk of `t_3`."""
        if node.kind == "chunk":
            topic, _, ordinal = node.name.rpartition("#")
            row = self.graph.topics.get(topic.rpartition("@")[0])
            return f"c_{row.id}_{ordinal}" if row else _hashed(node)
        if node.kind == "cluster":
            return node.name
        if self.is_paper(node):
            node = self.graph.subject_of(node.name) or node
        number = self.graph.number_of(node)
        return _hashed(node) if number is None else f"{node.kind[0]}_{number}"

    def edge(self, edge: Edge) -> str:
        """Return the key of an edge: its number, or for a derived one its relation and its ends."""
        if edge.id:
            return f"r_{edge.id}" if edge.id > 0 else f"s_{-edge.id}"
        return f"{edge.relation}_{self.key(edge.source)}_{self.key(edge.target)}"

    def id(self, node: Node) -> str:
        """Return the id of a node, with its collection."""
        return f"{_COLLECTIONS.get(node.kind, 'entities')}/{self.key(node)}"

    def raw(self, topic: str) -> str | None:
        """Return the id of the raw record of a topic, or None."""
        row = self.graph.topics.get(topic)
        return f"papers_raw/t_{row.id}" if row else None


def _hashed(node: Node) -> str:
    """Return a key for a node that has no number in the store."""
    return f"x_{blake2b(str(node).encode(), digest_size=_MARK_BYTES).hexdigest()}"


def _raw(node: ExportedNode, graph: GraphSnapshot, keys: _Keys) -> dict[str, Any]:
    """Return the text and metadata of a topic."""
    return {
        "_key": f"t_{graph.topics[node.node.name].id}",
        "name": node.node.name,
        "entity": keys.id(node.node),
        "type": node.kind,
        **plain(node.state),
    }


def _chunk(node: ExportedNode, keys: _Keys) -> dict[str, Any]:
    chunk = node.chunk
    assert chunk is not None
    return {
        "_key": keys.key(node.node),
        "name": chunk.id,
        "doc": keys.raw(chunk.topic),
        "span": [chunk.start, chunk.end],
        "heading": chunk.heading,
        "text": chunk.text,
        "cluster_id": node.place.cluster_id,
        "prev_cluster_id": node.place.prev_cluster_id,
        **({} if node.embedding is None else {"embedding": node.embedding}),
    }


def _cluster(cluster: Cluster, graph: GraphSnapshot) -> dict[str, Any]:
    hierarchy = graph.clusters.hierarchy
    centroid = graph.clusters.centroids.get(cluster.id)
    return {
        "_key": cluster.id,
        "level": cluster.level,
        "label": cluster.label,
        "summary": cluster.summary,
        "size": cluster.size,
        "parent": cluster.parent,
        "centroid": None if centroid is None else centroid.astype(float).round(6).tolist(),
        "centroid_version": f"v{hierarchy.id}" if hierarchy else None,
        "cluster_params": graph.clusters.parameters,
    }


def _entity(node: ExportedNode, keys: _Keys) -> dict[str, Any]:
    return {
        "_key": keys.key(node.node),
        "name": node.node.name,
        "name_lower": node.node.name.lower(),
        "type": node.kind,
        "aliases": list(node.other_names),
        "summary": node.summary,
        "layer": node.layer,
        "cluster_id": node.place.cluster_id,
        "prev_cluster_id": node.place.prev_cluster_id,
        "deg_out": node.out_degree,
        **({} if node.embedding is None else {"embedding": node.embedding}),
    }


def _membership(row: StoredMember, chunk: str | None, keys: _Keys) -> dict[str, Any]:
    return {
        "_key": f"j_{row.id}",
        "chunk": keys.id(Node("chunk", chunk)) if chunk else None,
        "cluster_id": cluster_name(row.cluster),
        "prev_cluster_id": row.previous and cluster_name(row.previous),
        "sim": round(row.near, DECIMALS),
        "joined": plain(from_micros(row.recorded_at)),
        "left": plain(from_micros_or_none(row.retired_at)),
    }


def _bridge(number: int, bridge: Bridge, nodes: Sequence[Node], keys: _Keys) -> dict[str, Any]:
    source, _, target = nodes
    return {
        "_key": f"b_{number}",
        "path": [keys.id(node) for node in nodes],
        "weight": bridge.weight,
        "cluster_id": cluster_name(bridge.cluster),
        "provenance": [keys.id(source), keys.id(target)],
        "change": bridge.change,
    }


def _edge(exported: ExportedEdge, keys: _Keys) -> dict[str, Any]:
    edge = exported.edge
    source = edge.provenance
    return {
        "_key": keys.edge(edge),
        "_from": keys.id(edge.source),
        "_to": keys.id(edge.target),
        "type": edge.relation,
        "weight": edge.weight,
        "weight_components": dict(edge.components),
        "layer_bridge": exported.layer_bridge,
        "sim": exported.sim,
        "created": plain(edge.recorded_at),
        "valid_from": plain(edge.valid_from),
        "valid_to": plain(edge.valid_to),
        "evidence": edge.evidence,
        "provenance": {
            "doc": keys.raw(source.chunk.rpartition("@")[0]),
            "chunk": keys.id(Node("chunk", source.chunk)),
            "span": [source.start, source.end],
        }
        if source
        else None,
        **exported.facts,
    }


_SCRIPT = "\n".join(
    [
        "#!/bin/sh",
        "# Loads this folder into ArangoDB and creates the graph HADES_KG with its indexes. Pass",
        "# server options through, for instance:",
        "#   sh import.sh --server.endpoint tcp://127.0.0.1:8529 --server.username root",
        "set -eu",
        'cd "$(dirname "$0")"',
        *(
            f"arangoimport --server.database {DATABASE} --create-database true "
            f"--collection {name} --create-collection true "
            f"--create-collection-type {'edge' if name in EDGES else 'document'} "
            f'--type jsonl --on-duplicate replace --file {name}.jsonl "$@"'
            for name in (*DOCUMENTS, *EDGES)
        ),
        f'arangosh --server.database {DATABASE} --javascript.execute create.js "$@"\n',
    ]
)
