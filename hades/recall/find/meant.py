"""The node that a user means by a name, and the two that a question for a connection names."""

from __future__ import annotations

from contextlib import suppress

from hades.domain.graph import NodeKind
from hades.domain.question import Question
from hades.errors import NotFound
from hades.language import likeness
from hades.language.paper_ids import paper_id
from hades.language.words import words
from hades.recall.find.finder import Scope
from hades.store.database import intact
from hades.store.records import EdgeFilter
from hades.store.store import Store

NAMES_READ = 1_000
"""The most topics that are compared with an unknown name."""


def meant_node(store: Store, scope: Scope, name: str, what: str = "topic or entity") -> int:
    """Return the node that a user means by a name; raise NotFound if none or several fit.

    The name may also be the end of a symbol's name or of a file's path, or an arXiv id. `what` is
    the thing that an error says is missing.
    """
    space = scope.space
    as_of = scope.as_of
    known = store.entities.node(space, name, as_of)
    if known is None:
        paper = paper_id(name)
        known = store.entities.node(space, paper, as_of) if paper else None
        return _called(store, scope, name, what) if known is None else known
    if not NodeKind.ENTITY.has(known) or store.edges.find(
        space, EdgeFilter(node=known, limit=1), as_of
    ):
        return known
    # If exactly one symbol of code has this name, it is meant rather than a word of a text.
    symbols = store.derived_edges.called(space, name).values()
    full = {store.entities.node(space, own, as_of) for own in symbols if "." in own}
    return full.pop() or known if len(full) == 1 else known


def meant_topic(store: Store, scope: Scope, name: str) -> str:
    """Return the topic that a user means by a name; raise NotFound if none or several fit.

    As in `meant_node`, the end of a file's path is enough. A symbol means the file that has it.
    """
    if store.topics.exists(scope.space, name):
        return name
    node = meant_node(store, scope, name, "topic")
    if NodeKind.TOPIC.has(node):
        return store.entities.describe(node).name
    wanted = EdgeFilter(node=node, direction="in", relation="contains")
    stated = store.derived_edges.find(scope.space, wanted, scope.as_of)
    # A chunk is cited as `topic@version#number`.
    files = {edge.provenance.chunk.rpartition("@")[0] for edge in stated if edge.provenance}
    if len(files) == 1:
        return files.pop()
    near = did_you_mean(store, scope.space, name)
    raise NotFound(
        f"There is no topic {name!r}, only texts or facts that name it (see `mentions`, `edges`)."
        f"{near}"
    )


def did_you_mean(store: Store, space: int, name: str) -> str:
    """Return a question that has the names spelled most like this one; "" if none is near."""
    near = set[str]()
    for part in {part.lower() for word in words(name)[:4] for part in (word[:3], word[-3:])}:
        near |= {*store.topics.named(space, part, NAMES_READ)}
        near |= {*store.entities.spelled(space, part, NAMES_READ)}
    with intact("A name"):
        return likeness.did_you_mean(likeness.spelled_like(name, near))


def _called(store: Store, scope: Scope, name: str, what: str) -> int:
    """Return the only symbol or document whose name ends with `name`."""
    called = store.derived_edges.called(scope.space, name, ("code", "document"))
    if not called:
        raise NotFound(
            f"There is no {what} {name!r} in the space {scope.space_name!r}."
            + did_you_mean(store, scope.space, name)
        )
    if len(called) > 1:
        names = ", ".join(sorted(called.values())[:5])
        raise NotFound(f"{name!r} may mean {len(called)} things: {names} … Write more of the name.")
    return next(iter(called))


def connected_ends(store: Store, scope: Scope, question: Question) -> tuple[int, int] | None:
    """Return the two nodes whose connection a question asks for; None if one is not known."""
    for pair in question.pairs:
        with suppress(NotFound):
            first, second = (meant_node(store, scope, name) for name in pair)
            if first != second:
                return first, second
    return None
