"""Plain search: three retrievers, and what they find together.

Meaning (vectors), words (BM25) and names each know something the others miss. Scores of
meaning and words are brought to one scale within a question and averaged; names count on
their own, since most questions name few things.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from hades.domain.times import AsOf
from hades.domain.topics import Hit
from hades.errors import InvalidInput
from hades.graph.arrays import Flags
from hades.index.array_store import drop_files, late_damage
from hades.index.graph_cache import GraphCache
from hades.index.indexes import Indexes, usable
from hades.index.space_words import SpaceWords
from hades.language.names import name_key
from hades.language.words import words
from hades.models.encoder import Encoder, load_encoder
from hades.recall.find import excerpts
from hades.recall.plan import RETRIEVERS, RetrieverName
from hades.settings import load_settings
from hades.store.records import Progress
from hades.store.store import Store

if TYPE_CHECKING:
    from hades.store.postgres.pgvector import PgVector

_LOG = logging.getLogger(__name__)
OVERFETCH = 5
"""Each retriever looks for so many times the wanted number, so that the mean has both scores."""
NAME_WORDS_AT_MOST = 8
QUESTION_WORDS_AT_MOST = 400


@dataclass(frozen=True, slots=True)
class Scope:
    """What a question may look at."""

    space: int
    space_name: str
    as_of: AsOf
    tag: str | None = None
    kind: str | None = None
    glob: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Only what began to hold in this window."""
    archived: bool = True
    """Also what lies in the archive."""


class Finder:
    """Finds passages; the encoder and the indexes are loaded when first needed."""

    def __init__(self, store: Store, encoder: str) -> None:
        self._store = store
        self._encoder_setting = encoder
        self.indexing = threading.Lock()
        """Held while what was remembered is indexed: once is enough."""
        self._catching_up = threading.RLock()
        self._damaged = 0
        self._may_hold = load_settings().memory_mb << 20

    @cached_property
    def encoder(self) -> Encoder:
        """The encoder the settings name."""
        return load_encoder(self._encoder_setting)

    @cached_property
    def indexes(self) -> Indexes:
        """The indexes, as they were saved."""
        self._damaged = late_damage(self._store.index_folder)
        return Indexes(self._store, self.encoder.model, self.encoder.dims)

    @cached_property
    def _space_words(self) -> SpaceWords:
        """The words of a memory of which only excerpts are read."""
        return SpaceWords(self._store, usable(self._store.index_folder))

    def is_too_large(self) -> bool:
        """Whether a process may not hold the indexes, and the database can be asked instead."""
        index = self._database_index()
        if index is None or index.is_ready:
            return index is not None
        _LOG.warning(
            "the indexes of %s take more than memory_mb: run `hades warm` to search there",
            self._store.database.place,
        )
        return False

    def make_database_index(self, on_progress: Progress | None = None) -> None:
        """Let the database find vectors, where a process may not hold them all."""
        index = None if self._store.read_only else self._database_index()
        if index is not None and not index.is_ready:
            index.build(on_progress)

    def _database_index(self) -> PgVector | None:
        """What to ask instead of indexes that take more memory than allowed; None: they do not."""
        if self._store.mentions.last_chunk() * excerpts.BYTES_A_CHUNK <= self._may_hold:
            return None
        return self._store.vector_index(self.encoder.model)

    @cached_property
    def graphs(self) -> GraphCache:
        """The graph arrays, as they were saved."""
        return GraphCache(self._store, self.indexes.folder)

    def graphs_of(self, indexes: Indexes) -> GraphCache:
        """The graph arrays that go with indexes: kept, or those of an excerpt."""
        if indexes.is_whole:
            return self.graphs
        return GraphCache(indexes.store, indexes.folder, saved=False)

    def forget(self) -> None:
        """Let go of the indexes: their files are gone."""
        with self._catching_up:
            for name in ("indexes", "graphs", "_space_words"):
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
        """The indexes up to date, as `caught_up` has them; of a memory that is too large, those
        of an excerpt around a question and some nodes."""
        if not self.is_too_large():
            with self.caught_up(moment, scope.space, on_progress) as current:
                yield current
            return
        self.forget()
        moment.enter_context(self._store.snapshot())
        words = self._space_words.of(scope.space, *self._store.changefeed.revision(), on_progress)
        part = excerpts.gather(
            *(self._store, self.encoder, words, scope.space, scope.as_of, question),
            *(_keys(question), nodes, self.topics(scope)),
        )
        indexes = Indexes(part, self.encoder.model, self.encoder.dims, self._space_words)
        indexes.catch_up(scope.space, on_progress)
        yield indexes

    @contextmanager
    def caught_up(
        self, moment: ExitStack, space: int, on_progress: Progress | None = None
    ) -> Iterator[Indexes]:
        """The indexes up to date with the store, which `moment` holds from here on.

        One thread at a time, so that no snapshot is older than the indexes. Take a
        snapshot of what is used afterwards: the next to ask brings the indexes further.
        """
        with self._catching_up:
            moment.enter_context(self._store.snapshot())
            folder = self._store.index_folder
            if "indexes" in self.__dict__ and late_damage(folder) != self._damaged:
                drop_files(folder)  # what was made of a damaged file is damaged, too
                self.forget()
            self.indexes.catch_up(space, on_progress)
            yield self.indexes

    def saying(self, space: int, names: Sequence[str]) -> set[int]:
        """The chunks of a space that say one of these names, whenever they were there."""
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
    ) -> list[Hit]:
        """The best passages for a question at a moment, best first."""
        space, as_of = scope.space, scope.as_of
        with ExitStack() as moment:
            with self.around(moment, scope, question, (), on_progress) as current:
                mask, indexes = current.visible(space, as_of), current.snapshot()
            topics = self.topics(scope)
            if topics is not None:
                mask = mask & indexes.of_topics(topics)
            if scope.since is not None or scope.until is not None:
                mask = mask & indexes.begun(mask, as_of, scope.since, scope.until)
            found: dict[str, dict[int, float]] = {}
            wanted = min(limit, len(indexes.chunks)) * OVERFETCH
            if "meaning" in retrievers:
                vector = self.encoder.encode([question])[0]
                found["meaning"] = dict(indexes.nearest(vector, mask, wanted))
            if "words" in retrievers:
                best = indexes.saying(question, as_of, wanted, topics)
                there = indexes.among(mask, [chunk for chunk, _ in best])
                found["words"] = {
                    chunk: score
                    for (chunk, score), is_there in zip(best, there, strict=True)
                    if is_there
                }
            if "names" in retrievers:
                known = indexes.moment(as_of)[1]
                found["names"] = self._by_name(space, question, indexes, mask, known)
            return self._hits(found, as_of, limit)

    def topics(self, scope: Scope) -> list[int] | None:
        """The topics filters leave; None: there is no filter."""
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
        """Chunks that mention what the question names; a rarer name counts for more."""
        mentioned = self._store.mentions.mentioned(space, _keys(question), known)
        there = indexes.among(mask, [chunk for _, chunk in mentioned])
        chunks: dict[int, list[int]] = {}
        for (entity, chunk), is_there in zip(mentioned, there, strict=True):
            if is_there:
                chunks.setdefault(entity, []).append(chunk)
        scores: dict[int, float] = {}
        for found in chunks.values():
            for chunk in found:
                scores[chunk] = scores.get(chunk, 0.0) + 1 / len(found)
        return scores

    def _hits(self, found: dict[str, dict[int, float]], as_of: AsOf, limit: int) -> list[Hit]:
        scaled = [_to_one_scale(scores) for scores in found.values() if scores]
        total: dict[int, float] = {}
        for scores in scaled:
            for chunk, score in scores.items():
                total[chunk] = total.get(chunk, 0.0) + score / max(1, len(scaled))
        best = sorted(total, key=lambda chunk: (-total[chunk], chunk))[:limit]
        return self.hits({one: round(total[one], 6) for one in best}, as_of, found)

    def hits(
        self,
        scores: dict[int, float],
        as_of: AsOf,
        found: Mapping[str, Mapping[int, float]] = MappingProxyType({}),
    ) -> list[Hit]:
        """Chunks with their scores as hits, in the order given; `found` is by retriever."""
        chunks = self._store.chunks.find(list(scores), as_of)
        return [
            Hit(
                chunk=chunks[one].chunk,
                score=score,
                retrievers={name: own[one] for name, own in found.items() if one in own},
                line=chunks[one].line,
            )
            for one, score in scores.items()
            if one in chunks
        ]


def _keys(question: str) -> list[str]:
    """The keys of all names a question may say."""
    row = [word.casefold() for word in words(question)][:QUESTION_WORDS_AT_MOST]
    keys = {
        " ".join(row[first : first + length])
        for length in range(1, NAME_WORDS_AT_MOST + 1)
        for first in range(len(row) - length + 1)
    }
    return sorted(keys | {name_key(key) for key in keys})


def _to_one_scale(scores: dict[int, float]) -> dict[int, float]:
    """The best is 1, the worst found 0; a single one is 1."""
    low, high = min(scores.values()), max(scores.values())
    if high == low:
        return dict.fromkeys(scores, 1.0)
    return {chunk: (score - low) / (high - low) for chunk, score in scores.items()}


def chosen_retrievers(retriever: str | Iterable[str] | None) -> tuple[RetrieverName, ...]:
    """The retrievers somebody asked for; meaning and words unless said."""
    if retriever is None:
        return ("meaning", "words")
    if not isinstance(retriever, str | Iterable):
        raise InvalidInput(f"A retriever is {', '.join(RETRIEVERS)}, not {retriever!r}.")
    asked = (retriever,) if isinstance(retriever, str) else tuple(retriever)
    if not asked:
        raise InvalidInput(f"Name at least one retriever: {', '.join(RETRIEVERS)}.")
    for one in asked:
        if one not in RETRIEVERS:
            raise InvalidInput(f"There is no retriever {one!r}: {', '.join(RETRIEVERS)}.")
    return tuple(one for one in RETRIEVERS if one in asked)
