"""The node that a user means by a name, and the two that a question for a connection names."""

from __future__ import annotations

from contextlib import suppress

from hades.domain.graph import NodeKind
from hades.errors import NotFound
from hades.language.english.connections import connection_asked, spellings
from hades.language.names import paper_id
from hades.recall.find.finder import Scope
from hades.store.records import EdgeFilter
from hades.store.store import Store


def meant_node(store: Store, scope: Scope, name: str) -> int:
    """Return the node that a user means by a name; raise NotFound if none or several fit.

    The name may also be the end of a symbol's name or of a file's path, or an arXiv id.
    """
    space, as_of = scope.space, scope.as_of
    known = store.entities.node(space, name, as_of)
    if known is None:
        paper = paper_id(name)
        known = store.entities.node(space, paper, as_of) if paper else None
        return _called(store, scope, name) if known is None else known
    if not NodeKind.ENTITY.has(known) or store.edges.find(
        space, EdgeFilter(node=known, limit=1), as_of
    ):
        return known
    # If exactly one symbol of code has this name, it is meant rather than a word of a text.
    symbols = store.derived_edges.called(space, name).values()
    full = {store.entities.node(space, own, as_of) for own in symbols if "." in own}
    return full.pop() or known if len(full) == 1 else known


def _called(store: Store, scope: Scope, name: str) -> int:
    """Return the only symbol or document whose name ends with `name`."""
    called = store.derived_edges.called(scope.space, name, ("code", "document"))
    if not called:
        raise NotFound(f"There is no topic or entity {name!r} in the space {scope.space_name!r}.")
    if len(called) > 1:
        names = ", ".join(sorted(called.values())[:5])
        raise NotFound(f"{name!r} may mean {len(called)} things: {names} … Write more of the name.")
    return next(iter(called))


def connected_ends(store: Store, scope: Scope, question: str) -> tuple[int, int] | None:
    """Return the two nodes whose connection a question asks for; None if one is not known."""
    for pair in connection_asked(question):
        ends = [_meant(store, scope, name) for name in pair]
        if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
            return ends[0], ends[1]
    return None


def _meant(store: Store, scope: Scope, name: str) -> int | None:
    for spelling in spellings(name):
        with suppress(NotFound):
            return meant_node(store, scope, spelling)
    return None
