"""Resolution: merge entities that are the same, and link entities that are alike.

Names with the same key are one entity from the start, and names that a text equates (acronyms,
ids) are joined by `coref`. Resolution handles the rest. Names spelled nearly alike are merged
through the journal, so that `split` undoes it. Names near in meaning get an edge `similar_to`,
never a merge. The result does not depend on the order of writes; a second run changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from hades.domain.graph import SIMILAR_TO, UNSURE, Edge, Likeness, Resolution
from hades.domain.times import NOW
from hades.language.likeness import candidates, is_comparable, jaccard, numbers, same_spelling
from hades.language.names import name_key
from hades.models.encoder import Encoder
from hades.store.records import EdgeDraft, EdgeFilter, NamedEntity, Progress
from hades.store.store import Store

ACTION = "resolve"
"""The action in the change log."""
SIMILAR_COSINE_AT_LEAST = 0.8
SIMILAR_EACH_AT_MOST = 5
SIMILAR_NAMES_AT_MOST = 10_000
"""Only the most frequent names get a vector. A vector takes 4 ms and comparing n names takes n²
steps, so this bounds a run to about a minute on one core."""
FREQUENCY_AT_LEAST = 2
"""A name seen once gets no vector, unless it is a title."""
_NOT_COMPARED = frozenset({"code_symbol", "repository", "url"})
_BATCH_NAMES = 256
_BLOCK_ROWS = 1_024
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class EntityResolver:
    """One run of resolution over one space."""

    store: Store
    space: int
    actor: str
    encoder: Callable[[], Encoder]
    on_progress: Progress
    dry_run: bool

    def run(self) -> Resolution:
        """Merge names spelled nearly alike, join names near in meaning; a dry run only reports."""
        named = self._named()
        merged, left = self._by_spelling(named)
        if not self.dry_run:
            with self.store.transaction():
                for pair in merged:
                    with self.store.write(self.actor, ACTION, self.space) as write:
                        self.store.entities.merge(write, self.space, pair.keep, pair.other)
        gone = {pair.other for pair in merged}
        chosen = _chosen([entity for entity in named if entity.name not in gone])
        embedded = self._embed(chosen)
        new, old = self._by_meaning(chosen)
        if not self.dry_run:
            self._join(new, old)
        return Resolution(
            merged=tuple(merged),
            left=tuple(left),
            similar=tuple(pair for pair, _, _ in new),
            ended=len(old),
            embedded=embedded,
            dry_run=self.dry_run,
        )

    def _named(self) -> list[NamedEntity]:
        self.on_progress("reading names", 0, 1)
        entities = self.store.mentions.entities(self.space, NOW)
        # A name in back ticks is exact, so another spelling is another name.
        inexact = (entity for entity in entities if not entity.key[:1] == entity.key[-1:] == "`")
        return [entity for entity in inexact if entity.kind not in _NOT_COMPARED]

    # Spelling

    def _by_spelling(self, named: Sequence[NamedEntity]) -> tuple[list[Likeness], list[Likeness]]:
        by_key = {name_key(one.name): one for one in named}
        keys = sorted(key for key in by_key if is_comparable(key))
        split = self.store.entities.splits(self.space)
        merged: list[Likeness] = []
        left: list[Likeness] = []
        taken: set[int] = set()
        for keep, other, why in self._alike(by_key, keys):
            if frozenset((keep.entity, other.entity)) in split:
                continue
            score = round(jaccard(name_key(keep.name), name_key(other.name)), _DECIMALS)
            pair = Likeness(keep.name, other.name, score, why)
            if against := self._against(keep, other):
                left.append(replace(pair, why=f"{why}, but {against}"))
            elif keep.entity not in taken and other.entity not in taken:
                # do not merge an entity again that was just merged, so that merges form no chains
                taken.add(other.entity)
                merged.append(pair)
        return merged, left

    def _alike(
        self, by_key: dict[str, NamedEntity], keys: Sequence[str]
    ) -> list[tuple[NamedEntity, NamedEntity, str]]:
        pairs = candidates(keys)
        alike = []
        for number, (one, other) in enumerate(pairs):
            if number % 10_000 == 0:
                self.on_progress("comparing spellings", number, len(pairs))
            why = same_spelling(keys[one], keys[other])
            if why is not None:
                keep, gone = sorted((by_key[keys[one]], by_key[keys[other]]), key=_strength)
                alike.append((keep, gone, why))
        return sorted(alike, key=lambda pair: (_strength(pair[0]), _strength(pair[1])))

    def _against(self, keep: NamedEntity, other: NamedEntity) -> str:
        """Return why two spellings should not be merged, or "" if nothing speaks against it."""
        if keep.is_title and other.is_title:
            return "both are titles"
        if keep.kind != other.kind and "concept" not in (keep.kind, other.kind):
            return f"one is a {keep.kind}, one a {other.kind}"
        if self.store.mentions.are_distinct(keep.entity, other.entity, NOW):
            return "one passage has both"
        return ""

    # Meaning

    def _embed(self, chosen: Sequence[NamedEntity]) -> int:
        """Store the missing vectors of names, a commit per batch; return how many were missing."""
        encoder = self.encoder()
        known = self.store.chunks.vectors(encoder.model, [entity.node for entity in chosen])
        missing = [entity for entity in chosen if entity.node not in known]
        if self.dry_run:
            return len(missing)
        for first in range(0, len(missing), _BATCH_NAMES):
            batch = missing[first : first + _BATCH_NAMES]
            vectors = encoder.encode([entity.name for entity in batch]).astype(np.float16)
            rows = [
                (entity.node, raw.tobytes()) for entity, raw in zip(batch, vectors, strict=True)
            ]
            with self.store.write(self.actor, ACTION, self.space) as write:
                self.store.chunks.put_vectors(write, encoder.model, encoder.dims, rows)
            self.on_progress("embedding names", first + len(batch), len(missing))
        return len(missing)

    def _by_meaning(
        self, chosen: Sequence[NamedEntity]
    ) -> tuple[list[tuple[Likeness, int, int]], list[Edge]]:
        """Compare entities by the vectors of their names.

        Return the `similar_to` edges to write, as (pair, source node, target node), and old ones to
        end.
        """
        encoder = self.encoder()
        known = self.store.chunks.vectors(encoder.model, [one.node for one in chosen])
        named = [one for one in chosen if one.node in known]
        wanted: dict[tuple[str, str], tuple[Likeness, int, int]] = {}
        if named:
            flat = np.frombuffer(b"".join(known[one.node] for one in named), np.float16)
            matrix = flat.reshape(len(named), -1).astype(np.float32)
            for at, beside, cosine in self._near(matrix):
                one, other = sorted((named[at], named[beside]), key=lambda n: n.name)
                if numbers(name_key(one.name)) == numbers(name_key(other.name)):
                    why = f"cosine by {encoder.model}"
                    pair = Likeness(one.name, other.name, cosine, why)
                    wanted[one.name, other.name] = (pair, one.node, other.node)
        return self._settled(wanted)

    def _settled(
        self, wanted: dict[tuple[str, str], tuple[Likeness, int, int]]
    ) -> tuple[list[tuple[Likeness, int, int]], list[Edge]]:
        """Leave out wanted edges that exist or that somebody took back. Return the rest, and the
        old edges of this action that are no longer wanted (none in a dry run)."""
        similar = EdgeFilter(relation=SIMILAR_TO, any_time=True)
        old = []
        for edge in self.store.edges.find(self.space, similar, NOW):
            ends = (edge.source.name, edge.target.name)
            if ends in wanted:
                del wanted[ends]
            elif edge.metadata.get("by") == ACTION and edge.valid_to is None:
                old.append(edge)
        refused = self.store.edges.taken_back(self.space, SIMILAR_TO, ACTION)
        new = [row for row in wanted.values() if row[1:] not in refused]
        return new, [] if self.dry_run else old

    def _near(self, matrix: npt.NDArray[np.float32]) -> list[tuple[int, int, float]]:
        """Return (row, row, cosine) of the pairs with a high cosine, the best few of each row."""
        near: dict[tuple[int, int], float] = {}
        for first in range(0, len(matrix), _BLOCK_ROWS):
            cosines = matrix[first : first + _BLOCK_ROWS] @ matrix.T
            for row, column in np.argwhere(cosines >= SIMILAR_COSINE_AT_LEAST).tolist():
                if first + row != column:
                    pair = (min(first + row, column), max(first + row, column))
                    near[pair] = round(min(1.0, float(cosines[row, column])), _DECIMALS)
            self.on_progress(
                "comparing meanings", min(first + _BLOCK_ROWS, len(matrix)), len(matrix)
            )
        left: dict[int, int] = {}
        kept = []
        for (one, other), cosine in sorted(near.items(), key=lambda item: (-item[1], item[0])):
            if max(left.get(one, 0), left.get(other, 0)) < SIMILAR_EACH_AT_MOST:
                left[one] = left.get(one, 0) + 1
                left[other] = left.get(other, 0) + 1
                kept.append((one, other, cosine))
        return kept

    def _join(self, new: Sequence[tuple[Likeness, int, int]], old: Sequence[Edge]) -> None:
        if not new and not old:
            return
        with self.store.write(self.actor, ACTION, self.space) as write:
            for edge in old:
                self.store.edges.retire(write, edge.id)
            for pair, source, target in new:
                draft = EdgeDraft(
                    source=source,
                    relation=SIMILAR_TO,
                    target=target,
                    weight=pair.score,
                    evidence=pair.why,
                    components={"sim": pair.score},
                    metadata={"by": ACTION},
                    belief=UNSURE,
                )
                self.store.edges.add(write, self.space, draft)


def _chosen(named: Sequence[NamedEntity]) -> list[NamedEntity]:
    """Return the names that get a vector, the most frequent first."""
    worth = [
        entity for entity in named if entity.is_title or entity.frequency >= FREQUENCY_AT_LEAST
    ]
    worth.sort(key=lambda entity: (-entity.frequency, entity.name))
    return worth[:SIMILAR_NAMES_AT_MOST]


def _strength(entity: NamedEntity) -> tuple[bool, int, str]:
    """Return the sort key of a spelling: titles first, then by frequency. The first one stays."""
    return not entity.is_title, -entity.frequency, entity.name
