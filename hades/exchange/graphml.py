"""GraphML: the graph for Gephi, yEd, NetworkX and igraph."""

from __future__ import annotations

import html
import re
from typing import Any, TextIO

from hades.domain.plain import plain
from hades.exchange.elements import ExportedEdge, ExportedNode
from hades.exchange.snapshot import GraphSnapshot

_NOT_XML = "\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff"
"""Characters XML 1.0 cannot hold; they become the replacement character."""
_SPECIAL = re.compile(f"[&<>\"'{_NOT_XML}]")

_KEYS = {
    "node": {
        "type": "string",
        "kind": "string",
        "name": "string",
        "text": "string",
        "aliases": "string",
        "summary": "string",
        "frequency": "int",
        "deg_out": "int",
        "layer": "int",
        "cluster_id": "string",
        "prev_cluster_id": "string",
    },
    "edge": {
        "number": "long",
        "relation": "string",
        "weight": "double",
        "sim": "double",
        "layer_bridge": "boolean",
        "count": "int",
        "positions": "string",
        "evidence": "string",
        "valid_from": "string",
        "valid_to": "string",
    },
}


def write(graph: GraphSnapshot, file: TextIO) -> None:
    """Write the graph as GraphML. Characters that XML cannot hold become U+FFFD."""
    file.write('<?xml version="1.0" encoding="UTF-8"?>\n')
    file.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for domain, keys in _KEYS.items():
        for name, kind in keys.items():
            key = f'id="{domain}_{name}" for="{domain}"'
            file.write(f'<key {key} attr.name="{name}" attr.type="{kind}"/>\n')
    file.write('<graph id="HADES_KG" edgedefault="directed">\n')
    for node in graph.nodes():
        file.write(f'<node id="{_clean(node.id)}">{_data("node", _of_node(node))}</node>\n')
    for number, exported in enumerate(graph.edges(), start=1):
        source, target = (graph.id_of(end) for end in (exported.edge.source, exported.edge.target))
        ends = f'source="{_clean(source)}" target="{_clean(target)}"'
        file.write(f'<edge id="e{number}" {ends}>{_data("edge", _of_edge(exported))}</edge>\n')
    file.write("</graph>\n</graphml>\n")


def _of_node(node: ExportedNode) -> dict[str, Any]:
    return {
        "type": node.node.kind,
        "kind": node.kind,
        "name": node.cluster.label if node.cluster else node.node.name,
        "text": node.text or None,
        "aliases": "; ".join(node.other_names) or None,
        "summary": node.summary or None,
        "frequency": node.entity.frequency if node.entity else None,
        "deg_out": None if node.chunk or node.cluster else node.out_degree,
        "layer": node.layer,
        "cluster_id": node.place.cluster_id,
        "prev_cluster_id": node.place.prev_cluster_id,
    }


def _of_edge(exported: ExportedEdge) -> dict[str, Any]:
    edge = exported.edge
    return {
        "number": edge.id or None,
        "relation": edge.relation,
        "weight": edge.weight,
        "sim": exported.sim,
        "layer_bridge": str(exported.layer_bridge).lower(),
        "count": exported.facts.get("count"),
        "positions": " ".join(map(str, exported.facts.get("positions", ()))) or None,
        "evidence": edge.evidence or None,
        "valid_from": plain(edge.valid_from),
        "valid_to": plain(edge.valid_to),
    }


def _data(domain: str, values: dict[str, Any]) -> str:
    return "".join(
        f'<data key="{domain}_{name}">{_clean(value) if isinstance(value, str) else value}</data>'
        for name, value in values.items()
        if value is not None
    )


def _clean(text: str) -> str:
    return _SPECIAL.sub(_escaped, text)


def _escaped(character: re.Match[str]) -> str:
    return html.escape(character[0]) if character[0].isprintable() else "\ufffd"
