"""Write groups: writes that belong together, made in one commit, and how they are undone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from hades.domain.graph import Edge
from hades.domain.times import iso
from hades.errors import NotFound
from hades.memory import Memory
from hades.operations.declare import OPERATIONS, Role
from hades.serve.rest.operations import checked, run

NamedWrite = tuple[str, Mapping[str, Any]]
"""An operation and its arguments. Without arguments, it gets the number of the proposal that the
previous write made."""
_BACK: Mapping[str, Callable[[Mapping[str, Any]], NamedWrite]] = {
    "alias": lambda fields: ("split", {"name": fields["alias"]}),
    "name": lambda fields: ("rename", {"name": fields["new_name"], "new_name": fields["name"]}),
}
"""For each kind of proposal that changes a name, the write that undoes it."""


@dataclass(frozen=True, slots=True)
class WriteGroup:
    """Writes that belong together, and the topics and entities that they are about."""

    about: Sequence[str]
    writes: Sequence[NamedWrite]

    @property
    def role(self) -> Role:
        """The role that a caller needs for all of the writes."""
        return max((OPERATIONS[name].role for name, _ in self.writes), default=Role.WRITER)

    def make(self, memory: Memory) -> WriteGroup:
        """Do the writes, all or none, and return the change that undoes them.

        That change takes back edges and versions of the topics and entities concerned, names, and
        decisions on proposals. A name that became an entity stays an entity.
        """
        undo: list[NamedWrite] = []
        with memory.batch():
            edges, versions, kinds = _standing(memory, self.about)
            result: Any = None
            for name, given in self.writes:
                operation = OPERATIONS[name]
                arguments = checked(operation, given or {"proposal": result.id})
                result = run(operation, memory, arguments)
                if name in ("approve", "reject"):
                    undo.append(("reopen", {"proposal": result.id}))
                if name == "approve" and result.kind in _BACK:
                    undo.append(_BACK[result.kind](result.fields))
            after, last, others = _standing(memory, self.about)
        undo += [("withdraw", {"topic": topic, "version": version})
                 for topic, version in last.items() - versions.items()]  # fmt: skip
        undo += [("set_kind", {"name": name, "kind": kind})
                 for name, kind in kinds.items() - others.items() if name in others]  # fmt: skip
        undo += [("unrelate", {"source": id, "mistake": True}) for id in after.keys() - edges]
        undo += [
            ("relate", {**fact, "create": True})
            for id, fact in edges.items()
            if after.get(id) != fact
        ]
        return WriteGroup(self.about, undo)


def fact_of(edge: Edge) -> dict[str, Any]:
    """Return an edge as the arguments of `relate`."""
    return {
        "source": edge.source.name,
        "relation": edge.relation,
        "target": edge.target.name,
        "weight": edge.weight,
        "evidence": edge.evidence,
        "valid_from": iso(edge.valid_from),
        "valid_to": None if edge.valid_to is None else iso(edge.valid_to),
        "metadata": dict(edge.metadata),
    }


def _standing(
    memory: Memory, names: Sequence[str]
) -> tuple[dict[int, Any], dict[str, int], dict[str, str]]:
    """Return three mappings for names: the edges about them that somebody wrote, by number; the
    last versions of those that are topics; and the kinds of those that are entities."""
    edges: dict[int, Any] = {}
    versions: dict[str, int] = {}
    kinds: dict[str, str] = {}
    for name in names:
        with suppress(NotFound):
            told = memory.edges(name, all=True)
            edges |= {edge.id: fact_of(edge) for edge in told if edge.id > 0}
            versions[name] = memory.history(name)[-1].version
        with suppress(NotFound):
            kinds[name] = memory.entity(name).kind
    return edges, versions, kinds
