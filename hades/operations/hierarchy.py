"""The hierarchy of a space: clusters of passages, made by `organise` and read here."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from hades.domain.hierarchy import (
    Cluster,
    ClusterReport,
    Hierarchy,
    HierarchyReport,
    Member,
    Organisation,
    cluster_name,
    cluster_number,
)
from hades.domain.rules import clean_name, clean_number
from hades.domain.times import NOW, from_micros, from_micros_or_none
from hades.errors import Denied, InvalidInput, NotFound
from hades.operations.declare import Param, Role, operation
from hades.operations.indexing import index_pending
from hades.operations.inside import Inside
from hades.operations.parameters import DryRun, Limit, ModelName, whole_number
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.index.indexes import Indexes

BRIDGES = "refresh bridges"
"""How the change log names `refresh_bridges`."""
SIBLINGS = 5
SEED = 7
SEED_AT_MOST = 2**31 - 1
ClusterName = Annotated[
    str,
    Param(
        "The cluster, such as c_42.",
        example="c_42",
        characters=100,
        rule=partial(clean_name, what="cluster"),
    ),
]


@operation("POST", "/organise", role=Role.WRITER, command="organise", job=True, needs_space=True)
def organise(
    inside: Inside,
    *,
    if_due: Annotated[
        bool,
        Param("Do nothing unless the space has changed much since the last time.", "--if-due"),
    ] = False,
    restore: Annotated[
        int | None,
        whole_number("Bring this earlier hierarchy back.", "hierarchy", least=1, flag="--restore"),
    ] = None,
    seed: Annotated[
        int, Param("The seed of random choices.", "--seed", least=0, most=SEED_AT_MOST)
    ] = SEED,
    model: ModelName = None,
    dry_run: DryRun = False,
    on_progress: Progress | None = None,
) -> Organisation:
    """Organise the passages of a space into clusters.

    A cluster of level 1 contains passages that are similar in meaning or share names; a cluster of
    level 2 contains clusters of level 1. Each has a label and a summary, taken from phrases and
    sentences of its texts. With a `model`, the model writes the summary, and sentences that the
    texts do not support are dropped. The previous hierarchy stays readable as of its time, and
    `restore` brings it back. The same passages and seed give the same clusters.
    """
    from hades.hierarchy import organise as making
    from hades.hierarchy.clustering import load_libraries
    from hades.models.chat import open_chat_model

    begun = time.monotonic()
    _check_request(inside, restore, seed, alone=not (if_due or dry_run or model is not None))
    chat = None if model is None else open_chat_model(model)
    index_pending(inside, on_progress, for_question=False)
    current = _current(inside)
    due = "the space had no hierarchy"
    if current is not None and current.drift is not None:
        due = current.drift.due
    if if_due and not due:
        return Organisation(current, False, "the space has not changed much since")
    indexes = _indexes(inside, on_progress)
    if if_due and not indexes.visible(inside.space_id, NOW).any():
        return Organisation(current, False, "the space has no passages")
    if restore is not None:
        making.restore(inside.store, inside.space_id, inside.actor, indexes, restore)
        return Organisation(_current(inside), True, f"hierarchy {restore} was restored")
    load_libraries()
    report = on_progress or (lambda _what, _done, _total: None)
    run = making.Organiser(
        inside.store,
        inside.space_id,
        inside.actor,
        indexes,
        inside.finder.encoder,
        seed,
        report,
        chat,
    )
    planned = run.run(dry_run=dry_run)
    return Organisation(
        planned if dry_run else _current(inside),
        not dry_run,
        run.why or due,
        round(time.monotonic() - begun, 1),
        _peak_mb(),
        dry_run,
        run.usage,
    )


def _check_request(inside: Inside, restore: int | None, seed: int, *, alone: bool) -> None:
    """Refuse bad arguments and a read-only memory; `alone`: `restore` is the only argument."""
    if clean_number(seed, "seed") is None or seed > SEED_AT_MOST:
        raise InvalidInput(f"A seed is a whole number from 0 to {SEED_AT_MOST}.")
    if restore is not None and not alone:
        raise InvalidInput("An earlier hierarchy is brought back as it was: give `restore` alone.")
    if inside.store.read_only:
        raise Denied("The memory is open for reading only: it cannot be organised.")
    if restore is not None:
        known = inside.store.hierarchies.history(inside.space_id, NOW)
        ends = {hierarchy.id: hierarchy.until for hierarchy in known}
        if restore not in ends:
            lists = "`hades hierarchy --history` lists them"
            raise NotFound(f"There is no hierarchy {restore} in this space: {lists}.")
        if ends[restore] is None:
            raise InvalidInput(f"The hierarchy {restore} is the current one.")


@operation(
    "POST", "/bridges", role=Role.WRITER, command="refresh-bridges", long=True, needs_space=True
)
def refresh_bridges(inside: Inside, *, on_progress: Progress | None = None) -> dict[str, int]:
    """Store the best bridges of clusters that changed since last time.

    A bridge joins two passages of different clusters of level 2 by a rare name that both mention.
    `query_paths` and `recall` use the stored ones. Bridges that no longer hold are deleted.
    Return how many clusters were searched, and how many bridges were deleted and are stored.
    """
    from hades.recall.bridge_cache import held, hot_bridges

    index_pending(inside, on_progress, for_question=False)
    store = inside.store
    with inside.query_context(on_progress) as query:
        arrays = query.clusters()
        known = store.bridges.of_space(inside.space_id)
        if arrays is None:
            moved = list[int]()
            new = []
            gone = known
        else:
            moved = store.bridges.moved(inside.space_id, arrays.hierarchy.id)
            current = {*arrays.numbers.tolist()} - {*moved}
            gone = [row for row in known if row.cluster not in current or not held(query, row)]
            new = hot_bridges(query, arrays, map(arrays.numbers.tolist().index, moved))
    if gone or new:
        with store.transaction(), store.write(inside.actor, BRIDGES, inside.space_id) as write:
            store.bridges.replace(write, inside.space_id, gone, new)
    stored = len(known) - len(gone) + len(new)
    return {"searched": len(moved), "deleted": len(gone), "stored": stored}


@operation("GET", "/hierarchy", command="hierarchy", timed=True)
def hierarchy(
    inside: Inside,
    *,
    history: Annotated[bool, Param("List the earlier hierarchies too.", "--history")] = False,
) -> HierarchyReport:
    """Show the clusters of a space.

    `current.drift` says how far the space has moved from them, and whether organising is due.
    With `history`, the earlier hierarchies are listed too.
    """
    with inside.store.snapshot():
        inside.require_space()
        store = inside.store.hierarchies
        current = _current(inside)
        clusters = [] if current is None else store.clusters(current.id, inside.as_of)
        clusters.sort(key=lambda cluster: (-cluster.level, -cluster.size, _number(cluster.id)))
        earlier = store.history(inside.space_id, inside.as_of) if history else []
        return HierarchyReport(current, tuple(clusters), tuple(earlier))


@operation("GET", "/clusters/{cluster}", command="clusters", timed=True)
def clusters(
    inside: Inside,
    cluster: ClusterName,
    limit: Limit = 20,
    *,
    journal: Annotated[
        bool, Param("List all memberships it ever had, newest first.", "--journal")
    ] = False,
) -> ClusterReport:
    """Show a cluster: label, summary, parts, neighbours, members.

    `limit` is the number of members shown. With `journal`, former members are listed too, each with
    the cluster that it came from.
    """
    number = cluster_number(cluster)
    with inside.store.snapshot():
        inside.require_space()
        store = inside.store.hierarchies
        known = (
            None if number is None else store.hierarchy_of(inside.space_id, number, inside.as_of)
        )
        if number is None or known is None:
            raise NotFound(f"There is no cluster {cluster!r}: `hades hierarchy` lists them.")
        every = {item.id: item for item in store.clusters(known, inside.as_of)}
        own = every[cluster_name(number)]
        children = [item for item in every.values() if item.parent == own.id]
        rows = store.members(number, inside.as_of, limit, journal=journal)
        cites = inside.store.chunks.labels(
            [row.chunk for row in rows], *inside.store.moment(inside.as_of)
        )
        members = [
            Member(
                cites[row.chunk],
                round(row.near, 4),
                from_micros(row.recorded_at),
                None if row.previous is None else cluster_name(row.previous),
                from_micros_or_none(row.retired_at),
            )
            for row in rows
            if row.chunk in cites
        ]
        children.sort(key=lambda item: (-item.size, _number(item.id)))
        siblings = _siblings(inside, known, own, list(every.values()))
        return ClusterReport(own, tuple(children), tuple(siblings), tuple(members))


def _siblings(
    inside: Inside, hierarchy: int, own: Cluster, every: Sequence[Cluster]
) -> list[Cluster]:
    """Return the nearest clusters with the same parent, nearest first."""
    from hades.index.hierarchy import read_centroids
    from hades.index.vectors import product

    rows = inside.store.hierarchies.centroids(hierarchy)
    names = [cluster_name(row[0]) for row in rows]
    dims = max(len(row[3]) for row in rows) // 4
    centroids = read_centroids([row[3] for row in rows], dims)
    near = product(centroids, centroids[names.index(own.id)]).round(6).tolist()
    nearness = dict(zip(names, near, strict=True))
    others = [
        item
        for item in every
        if item.id != own.id and (item.level, item.parent) == (own.level, own.parent)
    ]
    others.sort(key=lambda item: (-nearness[item.id], _number(item.id)))
    return others[:SIBLINGS]


def _current(inside: Inside) -> Hierarchy | None:
    """Return the hierarchy at the moment of a view, with its drift."""
    store = inside.store.hierarchies
    current = store.current(inside.space_id, inside.as_of)
    if current is None:
        return None
    return replace(current, drift=store.drift(current, inside.finder.encoder.model, inside.as_of))


def _indexes(inside: Inside, on_progress: Progress | None) -> Indexes:
    with (
        ExitStack() as moment,
        inside.finder.caught_up(moment, inside.space_id, on_progress) as indexes,
    ):
        return indexes.snapshot()


def _number(name: str) -> int:
    return cluster_number(name) or 0


def _peak_mb() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak >> 20 if sys.platform == "darwin" else peak >> 10
