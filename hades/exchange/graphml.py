"""GraphML: the graph for Gephi, yEd, NetworkX and igraph."""

from __future__ import annotations

import html
import re
from typing import TextIO

from hades.domain.plain import plain
from hades.exchange.snapshot import GraphSnapshot

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters XML 1.0 cannot hold; they become the replacement character."""

_KEYS = {
    "node": {"kind": "string", "name": "string", "text": "string", "aliases": "string"},
    "edge": {
        "relation": "string",
        "weight": "double",
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
        file.write(f'<node id="{_clean(node.id)}">')
        _data(file, "node", "kind", node.kind)
        _data(file, "node", "name", node.node.name)
        _data(file, "node", "text", node.text)
        _data(file, "node", "aliases", "; ".join(node.other_names))
        file.write("</node>\n")
    ids = graph.ids()
    for edge in graph.edges:
        source, target = _clean(ids[edge.source]), _clean(ids[edge.target])
        file.write(f'<edge id="e{edge.id}" source="{source}" target="{target}">')
        for name in _KEYS["edge"]:
            value = plain(getattr(edge, name))
            _data(file, "edge", name, None if value is None else str(value))
        file.write("</edge>\n")
    file.write("</graph>\n</graphml>\n")


def _data(file: TextIO, domain: str, name: str, value: str | None) -> None:
    if value:
        file.write(f'<data key="{domain}_{name}">{_clean(value)}</data>')


def _clean(text: str) -> str:
    return html.escape(_NOT_XML.sub("\ufffd", text))
