"""Plain search by three retrievers: meaning (vectors), words (BM25) and names.

The scores of each retriever are scaled from 0 to 1 within a question and averaged.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from statistics import pstdev
from types import MappingProxyType
from typing import TYPE_CHECKING

from hades.domain.times import AsOf
from hades.domain.topics import Hit
from hades.errors import InvalidInput
from hades.graph.arrays import Flags
from hades.index.array_store import drop_files, late_damage
from hades.index.graph_cache import GraphCache
from hades.index.hierarchy import HierarchyCache
from hades.index.indexes import Indexes, usable
from hades.index.space_words import SpaceWords
from hades.language.names import name_key
from hades.language.words import words
from hades.models.encoder import Encoder, load_encoder
from hades.recall.find import excerpts
from hades.recall.plan import RETRIEVERS, RetrieverName
from hades.recall.question.names import QUESTION_WORDS_AT_MOST, WORDS_AT_MOST
from hades.settings import load_settings
from hades.store.records import Progress
from hades.store.store import Store

if TYPE_CHECKING:
    from hades.store.postgres.pgvector import PgVector

_LOG = logging.getLogger(__name__)
OVERFETCH = 5
"""Each retriever fetches this many times the limit, so that most hits have all scores."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The part of a memory that a question may look at."""

    space: int
    space_name: str
    as_of: AsOf
    tag: str | None = None
    kind: str | None = None
    glob: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Only states that began to hold from `since` until before `until`."""
    by_event: bool = False
    """Whether `since` and `until` mean the times that notes speak of."""
    archived: bool = True
    """Whether texts in the archive are read."""


class Finder:
    """Finds passages; the encoder and the indexes are loaded when first needed."""

    excerpt_because = "memory_mb is less than all"
    """Why a question reads an excerpt, if it does; "" if the user need not be told."""

    def __init__(self, store: Store, encoder: str) -> None:
        self._store = store
        self._encoder_setting = encoder
        self.indexing = threading.Lock()
        """Held while new states are indexed, so that one thread does it."""
        self._catching_up = threading.RLock()
        self._damaged = 0
        self._may_hold = load_settings().memory_mb << 20

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder of the settings."""
        return load_encoder(self._encoder_setting)

    @cached_property
    def indexes(self) -> Indexes:
        """The indexes, as they were saved."""
        self._damaged = late_damage(self._store.index_folder)
        return Indexes(self._store, self.encoder.model, self.encoder.dims)

    @cached_property
    def _space_words(self) -> SpaceWords:
        """The word indexes of a memory too large to load, where a question reads an excerpt."""
        return SpaceWords(self._store, usable(self._store.index_folder))

    def is_too_large(self) -> bool:
        """Return whether the indexes exceed `memory_mb` and the database can search instead."""
        index = self._database_index()
        if index is None or index.is_ready:
            return index is not None
        _LOG.warning(
            "the indexes of %s take more than memory_mb: run `hades warm` to search there",
            self._store.database.place,
        )
        return False

    def make_database_index(self, on_progress: Progress | None = None) -> None:
        """Build the vector index in the database if the arrays exceed `memory_mb`."""
        index = None if self._store.read_only else self._database_index()
        if index is not None and not index.is_ready:
            index.build(on_progress)

    def _database_index(self) -> PgVector | None:
        """Return the database's vector index; None without one, or if arrays fit `memory_mb`."""
        if self._store.mentions.last_chunk() * excerpts.BYTES_A_CHUNK <= self._may_hold:
            return None
        return self._store.vector_index(self.encoder.model)

    @cached_property
    def graphs(self) -> GraphCache:
        """The graph arrays, as they were saved."""
        return GraphCache(self._store, self.indexes.folder)

    @cached_property
    def hierarchies(self) -> HierarchyCache:
        """The hierarchies of the spaces as arrays."""
        return HierarchyCache(self._store)

    def graphs_of(self, indexes: Indexes) -> GraphCache:
        """Return the graph arrays of indexes: the kept ones, or new ones for an excerpt."""
        if indexes.is_whole:
            return self.graphs
        return GraphCache(indexes.store, indexes.folder, saved=False)

    def forget(self) -> None:
        """Drop the indexes, because their files are gone."""
        with self._catching_up:
            for name in ("indexes", "graphs", "hierarchies", "_space_words"):
                self.__dict__.pop(name, None)

    def finish(self) -> None:
        """Wait until no thread writes to the index folder any more."""
        if "indexes" in self.__dict__:
            self.indexes.space_words.finish()
        if "_space_words" in self.__dict__:
            self._space_words.finish()

    @contextmanager
    def around(
        self,
        moment: ExitStack,
        scope: Scope,
        question: str,
        nodes: Sequence[int] = (),
        on_progress: Progress | None = None,
    ) -> Iterator[Indexes]:
        """Yield up-to-date indexes for a question; `moment` keeps the store's snapshot open.

        If the memory is too large, they cover only an excerpt around the question and `nodes`.
        """
        if not self.is_too_large():
            with self.caught_up(moment, scope.space, on_progress) as current:
                yield current
            return
        self.forget()
        moment.enter_context(self._store.snapshot())
        words = self._space_words.of(scope.space, *self._store.changefeed.revision(), on_progress)
        part = excerpts.gather(
            self._store,
            self.encoder,
            words,
            scope.space,
            scope.as_of,
            question,
            name_keys(question),
            nodes,
            self.topics(scope),
        )
        indexes = Indexes(part, self.encoder.model, self.encoder.dims, self._space_words)
        indexes.catch_up(scope.space, on_progress)
        yield indexes

    @contextmanager
    def caught_up(
        self, moment: ExitStack, space: int, on_progress: Progress | None = None
    ) -> Iterator[Indexes]:
        """Yield the indexes, up to date with a snapshot of the store that `moment` keeps open.

        One thread at a time, so that no snapshot is older than the indexes. Copy with `snapshot()`
        what is used afterwards: the next question updates the indexes.
        """
        with self._catching_up:
            moment.enter_context(self._store.snapshot())
            folder = self._store.index_folder
            if "indexes" in self.__dict__ and late_damage(folder) != self._damaged:
                drop_files(folder)  # files derived from a damaged file are damaged, too
                self.forget()
            self.indexes.catch_up(space, on_progress)
            yield self.indexes

    def saying(self, space: int, names: Sequence[str]) -> set[int]:
        """Return the ids of chunks of a space, of any time, that contain one of these names."""
        with self._catching_up:
            self.indexes.catch_up(space)
            held = self.indexes.snapshot()
        return {chunk for name in names for chunk in held.words.saying(name)}

    def search(
        self,
        scope: Scope,
        question: str,
        *,
        limit: int,
        retrievers: Sequence[RetrieverName],
        on_progress: Progress | None,
        gains: Mapping[int, float] = MappingProxyType({}),
    ) -> list[Hit]:
        """Return the best passages for a question at a moment, best first.

        `gains` maps chunk ids to what they gain by the turns before the question.
        """
        space = scope.space
        as_of = scope.as_of
        with ExitStack() as moment:
            with self.around(moment, scope, question, (), on_progress) as current:
                mask = current.visible(space, as_of)
                indexes = current.snapshot()
            topics = self.topics(scope)
            if topics is not None:
                mask = mask & indexes.of_topics(topics)
            if scope.since is not None or scope.until is not None:
                mask = mask & indexes.begun(
                    mask, as_of, scope.since, scope.until, by_event=scope.by_event
                )
            by_retriever: dict[str, dict[int, float]] = {}
            wanted = min(limit, len(indexes.chunks)) * OVERFETCH
            if "meaning" in retrievers:
                vector = self.encoder.encode([question])[0]
                by_retriever["meaning"] = dict(indexes.nearest(vector, mask, wanted))
            if "words" in retrievers:
                best = indexes.words.best(question, *indexes.moment(as_of), wanted, topics)
                there = indexes.among(mask, [chunk for chunk, _ in best])
                by_retriever["words"] = {
                    chunk: score
                    for (chunk, score), is_there in zip(best, there, strict=True)
                    if is_there
                }
            if "names" in retrievers:
                known = indexes.moment(as_of)[1]
                by_retriever["names"] = self._by_name(space, question, indexes, mask, known)
            there = indexes.among(mask, list(gains))
            gained = {
                chunk: gain
                for (chunk, gain), is_there in zip(gains.items(), there, strict=True)
                if is_there
            }
            return self._hits(by_retriever, gained, as_of, limit)

    def topics(self, scope: Scope) -> list[int] | None:
        """Return the ids of the topics that pass the filters, sorted; None without a filter."""
        chosen: set[int] | None = None
        feed = self._store.changefeed
        if scope.tag is not None:
            chosen = set(feed.tagged(scope.space, scope.tag, *self._store.moment(scope.as_of)))
        if scope.kind is not None or scope.glob is not None:
            like = set(feed.topics_like(scope.space, scope.glob, scope.kind))
            chosen = like if chosen is None else chosen & like
        return None if chosen is None else sorted(chosen)

    def _by_name(
        self, space: int, question: str, indexes: Indexes, mask: Flags, known: int
    ) -> dict[int, float]:
        """Return the scores of chunks that mention a name in the question: Σ 1/frequency."""
        mentioned = self._store.mentions.mentioned(space, name_keys(question), known)
        there = indexes.among(mask, [chunk for _, chunk in mentioned])
        chunks: dict[int, list[int]] = {}
        for (entity, chunk), is_there in zip(mentioned, there, strict=True):
            if is_there:
                chunks.setdefault(entity, []).append(chunk)
        scores: dict[int, float] = {}
        for mentioning in chunks.values():
            for chunk in mentioning:
                scores[chunk] = scores.get(chunk, 0.0) + 1 / len(mentioning)
        return scores

    def _hits(
        self,
        by_retriever: dict[str, dict[int, float]],
        gained: dict[int, float],
        as_of: AsOf,
        limit: int,
    ) -> list[Hit]:
        scaled = [_to_one_scale(scores) for scores in by_retriever.values() if scores]
        total: dict[int, float] = {}
        for scores in scaled:
            for chunk, score in scores.items():
                total[chunk] = total.get(chunk, 0.0) + score / max(1, len(scaled))
        deviation = pstdev(total.values()) if gained and total else 0.0
        for chunk, gain in gained.items():
            total[chunk] = total.get(chunk, 0.0) + deviation * gain
        best = sorted(total, key=lambda chunk: (-total[chunk], chunk))[:limit]
        return self.hits({chunk: round(total[chunk], 6) for chunk in best}, as_of, by_retriever)

    def hits(
        self,
        scores: dict[int, float],
        as_of: AsOf,
        by_retriever: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
    ) -> list[Hit]:
        """Return the chunks of `scores` as hits; `by_retriever` has those of each retriever."""
        chunks = self._store.chunks.find(list(scores), as_of)
        return [
            Hit(
                chunk=chunks[row].chunk,
                score=score,
                retrievers={name: own[row] for name, own in by_retriever.items() if row in own},
                line=chunks[row].line,
            )
            for row, score in scores.items()
            if row in chunks
        ]


def name_keys(question: str) -> list[str]:
    """Return the keys of all word sequences of a question that may be names."""
    row = [word.casefold() for word in words(question)][:QUESTION_WORDS_AT_MOST]
    keys = {
        " ".join(row[first : first + length])
        for length in range(1, WORDS_AT_MOST + 1)
        for first in range(len(row) - length + 1)
    }
    return sorted(keys | {name_key(key) for key in keys})


def _to_one_scale(scores: dict[int, float]) -> dict[int, float]:
    """Scale scores from 0 to 1; equal scores become 1."""
    low = min(scores.values())
    high = max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {chunk: (score - low) / (high - low) for chunk, score in scores.items()}


def chosen_retrievers(retriever: str | Iterable[str] | None) -> tuple[RetrieverName, ...]:
    """Return the named retrievers in fixed order, or meaning and words; refuse unknown names."""
    if retriever is None:
        return ("meaning", "words")
    if not isinstance(retriever, str | Iterable):
        raise InvalidInput(f"A retriever is {', '.join(RETRIEVERS)}, not {retriever!r}.")
    asked = (retriever,) if isinstance(retriever, str) else tuple(retriever)
    if not asked:
        raise InvalidInput(f"Name at least one retriever: {', '.join(RETRIEVERS)}.")
    for name in asked:
        if name not in RETRIEVERS:
            raise InvalidInput(
                f"There is no retriever {name!r}: use one of {', '.join(RETRIEVERS)}."
            )
    return tuple(name for name in RETRIEVERS if name in asked)
