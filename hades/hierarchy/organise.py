"""Organising: make the hierarchy of a space, or bring an earlier one back.

Clusters, labels and summaries are prepared from a snapshot, outside a transaction, and written in
one transaction. A chunk that was added meanwhile joins the nearest cluster; if something was purged
meanwhile, nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from hades.domain.answer import Usage
from hades.domain.graph import NodeKind, row_of
from hades.domain.hierarchy import HIGH, LOW, Hierarchy
from hades.domain.times import NOW, from_micros
from hades.errors import Conflict, InvalidInput
from hades.graph.arrays import Floats, Ints
from hades.hierarchy import clustering
from hades.hierarchy.joining import join_chunks
from hades.hierarchy.labels import CentralText, ModelSummaries, described
from hades.index.indexes import Indexes
from hades.models.chat import ChatModel
from hades.models.encoder import Encoder
from hades.store.hierarchies import ClusterDraft
from hades.store.records import Progress
from hades.store.store import Store

ACTION = "organise"
"""The action in the change log."""
CENTRAL_TEXTS = 30
"""How many texts of a cluster, the most central ones, its label and summary are taken from."""
NAME_MENTIONS_AT_MOST = 8
"""A name that more chunks mention does not link them."""
NAME_UNITS = 512
EDGE_UNITS = 512
"""Weights of a shared name (divided among the chunks that share it) and of an edge, in units in
which a cosine of 1 has the weight 1024."""
_PURGED = "Something was purged while the clusters were made: organise again."


@dataclass(slots=True)
class Organiser:
    """One run of organising over one space, as of the change of `indexes`."""

    store: Store
    space: int
    actor: str
    indexes: Indexes
    encoder: Encoder
    seed: int
    report: Progress
    model: ChatModel | None = None
    usage: Usage | None = None
    why: str = ""
    """Why the model did not write the last summary."""

    def run(self, *, dry_run: bool = False) -> Hierarchy:
        """Make a hierarchy. Return how it was made; a dry run only counts the clusters."""
        mask = self.indexes.visible(self.space, NOW)
        numbers, codes = self.indexes.coded(mask)
        usable = codes.any(axis=1)
        skipped = int((~usable).sum())
        numbers = numbers[usable]
        codes = codes[usable]
        if not len(numbers):
            raise InvalidInput("There is nothing to organise: no passage has a vector.")
        chunks = self.indexes.chunks["id"][numbers]
        links = self._links(chunks, self.indexes.chunks["topic"][numbers])
        settings = clustering.ClusterSettings.of_size(len(codes))
        made = clustering.cluster(
            codes, links, self._sources(chunks), self.seed, settings, self.report
        )
        details: dict[str, Any] = {
            "seed": self.seed,
            "parameters": asdict(settings),
            "versions": clustering.versions(),
            "revision": self.indexes.change,
            "chunks": len(chunks),
            "clusters": len(made.centroids),
            "groups": len(made.group_centroids),
            "skipped": skipped,
            # A sum of whole numbers does not depend on its order.
            "nearness": round(int(np.rint(made.near * 1e6).sum()) / len(chunks) / 1e6, 6),
        }
        if not dry_run:
            by_model = ModelSummaries(self.model)
            drafts = self._drafts(made, chunks, by_model)
            if by_model.written and self.model is not None:
                details["by"] = self.model.name
            self.usage = by_model.usage
            self.why = by_model.why
            self._write(details, drafts, made, chunks)
        return Hierarchy(0, from_micros(self.store.now()), None, self.indexes.encoder, **details)

    def _links(self, chunks: Ints, topics: Ints) -> Ints:
        """Return the relations between chunks, by position: two positions and a weight."""
        store = self.store.hierarchies
        named = _joined(store.shared_names(self.space, 2, NAME_MENTIONS_AT_MOST))
        named = named[np.isin(named[:, 1], chunks)]
        at = np.searchsorted(chunks, named[:, 1])
        links = _pairs(named[:, 0], at)
        # The first chunk of a topic stands for the topic.
        topic_ids, firsts = np.unique(topics, return_index=True)
        rows = self.store.changefeed.since("subjects", 0)
        subjects = {entity: topic for topic, entity in rows}
        place = dict(zip(topic_ids.tolist(), firsts.tolist(), strict=True))
        of_chunk = dict(zip(chunks.tolist(), range(len(chunks)), strict=True))

        def position(node: int) -> int | None:
            if NodeKind.CHUNK.has(node):
                return of_chunk.get(row_of(node))
            row = row_of(node)
            return place.get(row if NodeKind.TOPIC.has(node) else subjects.get(row, 0))

        ends = [
            (source, target, EDGE_UNITS)
            for rows in store.stated_ends(self.space)
            for source, target in ((position(node) for node in nodes) for nodes in rows)
            if source is not None and target is not None and source != target
        ]
        return np.concatenate([links, np.array(ends, np.int64).reshape(-1, 3)])

    def _sources(self, chunks: Ints) -> list[Ints]:
        """Return the numbers of the topic of each chunk and, for source code, of its package."""
        rows = self.store.chunks.sources(chunks.tolist())
        if len(rows) < len(chunks):
            raise Conflict(_PURGED)
        topics = [rows[chunk][0] for chunk in chunks.tolist()]
        packages = [
            topic.rpartition("/")[0] if rows[chunk][1] == "code" else str(chunk)
            for topic, chunk in zip(topics, chunks.tolist(), strict=True)
        ]
        return [np.unique(names, return_inverse=True)[1] for names in (topics, packages)]

    def _drafts(
        self, made: clustering.Clustering, chunks: Ints, by_model: ModelSummaries
    ) -> list[ClusterDraft]:
        """Return the clusters to write, those of level 2 first."""
        levels = (
            (HIGH, made.group_centroids, made.group_of[made.cluster_of], made.group_near),
            (LOW, made.centroids, made.cluster_of, made.near),
        )
        drafts = list[ClusterDraft]()
        total = len(made.centroids) + len(made.group_centroids)
        for level, centroids, cluster_of, near in levels:
            central = [chunks[rows].tolist() for rows in _central(cluster_of, near)]
            texts = described(self._texts(central), centroids, self.encoder, by_model)
            for cluster, (label, summary) in enumerate(texts):
                parent = int(made.group_of[cluster]) if level == LOW else None
                centroid = centroids[cluster].tobytes()
                drafts.append(ClusterDraft(level, parent, label, summary, centroid))
                self.report("describing clusters", len(drafts), total)
        return drafts

    def _texts(self, clusters: Sequence[Sequence[int]]) -> list[list[CentralText]]:
        wanted = sorted({chunk for own in clusters for chunk in own})
        texts = self.store.chunks.texts(wanted, lost_ok=True)
        sources = self.store.chunks.sources(wanted)
        cites = self.store.chunks.labels(wanted, *self.store.moment(NOW))
        return [
            [
                CentralText(
                    cites[chunk],
                    sources[chunk][2],
                    texts[chunk].replace("\x00", ""),
                    sources[chunk][1] == "code",
                )
                for chunk in own
                if chunk in texts and chunk in cites
            ]
            for own in clusters
        ]

    def _write(
        self,
        details: dict[str, Any],
        drafts: Sequence[ClusterDraft],
        made: clustering.Clustering,
        chunks: Ints,
    ) -> None:
        store = self.store.hierarchies
        encoder = self.indexes.encoder
        since = int(details["revision"])
        with self.store.transaction():
            if store.purged_since(since):
                raise Conflict(_PURGED)
            with self.store.write(self.actor, ACTION, self.space) as write:
                _, numbers = store.put(write, self.space, encoder, details, drafts)
                low = numbers[len(made.group_centroids) :]
                members = zip(
                    chunks.tolist(), made.cluster_of.tolist(), made.near.tolist(), strict=True
                )
                store.join(write, [(chunk, low[at], near) for chunk, at, near in members])
            late = store.embedded_since(self.space, encoder, since)
            _join_late(self.store, self.actor, self.space, self.indexes, late)


def restore(store: Store, space: int, actor: str, indexes: Indexes, hierarchy: int) -> None:
    """Bring an earlier hierarchy back; chunks that it did not have join the nearest clusters."""
    numbers, _ = indexes.coded(indexes.visible(space, NOW))
    chunks = indexes.chunks["id"][numbers].tolist()
    with store.transaction():
        with store.write(actor, ACTION, space) as write:
            store.hierarchies.restore(write, space, hierarchy)
        _join_late(store, actor, space, indexes, chunks)


def _join_late(
    store: Store, actor: str, space: int, indexes: Indexes, chunks: Sequence[int]
) -> None:
    """Add chunks in a change of their own, so that they count as joined after `organise`."""
    if chunks:
        with store.write(actor, ACTION, space) as write:
            join_chunks(store, write, indexes.encoder, chunks, indexes.vectors.dims)


def _joined(batches: Iterable[Sequence[tuple[int, int]]]) -> Ints:
    parts = [np.array(rows, np.int64).reshape(-1, 2) for rows in batches]
    return np.concatenate([np.zeros((0, 2), np.int64), *parts])


def _pairs(names: Ints, positions: Ints) -> Ints:
    """Return all pairs of chunks that share a name; rows are sorted by name."""
    _, first, counts = np.unique(names, return_index=True, return_counts=True)
    links = [np.zeros((0, 3), np.int64)]
    for count in range(2, NAME_MENTIONS_AT_MOST + 1):
        starts = first[counts == count]
        left, right = np.triu_indices(count, 1)
        one, other = (positions[(starts[:, None] + side).ravel()] for side in (left, right))
        weight = np.full(len(one), NAME_UNITS // (count - 1))
        links.append(np.column_stack([one, other, weight]))
    return np.concatenate(links)


def _central(cluster_of: Ints, near: Floats) -> list[Ints]:
    """Return the positions of the most central chunks of each cluster, the nearest first."""
    order = np.lexsort((np.arange(len(near)), -near, cluster_of))
    starts = np.searchsorted(cluster_of[order], np.arange(int(cluster_of.max()) + 2))
    return [order[first : min(end, first + CENTRAL_TEXTS)] for first, end in pairwise(starts)]
