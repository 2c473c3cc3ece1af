"""The phases: states are cut into chunks, chunks get names and links, then vectors.

Each phase takes the states that wait for it in batches. A state leaves a phase when its results are
written, so a killed process continues where it stopped. The results depend on the texts alone, not
on the order in which they came.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, count, tee
from typing import NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind
from hades.domain.topics import Chunk
from hades.hierarchy.joining import join_new
from hades.index.indexes import usable
from hades.ingest.chunk import chunk
from hades.ingest.document import (
    Document,
    Origin,
    Unreadable,
    pack_introductions,
    unpack_document,
    unpack_introductions,
)
from hades.ingest.folder_lock import folder_lock
from hades.ingest.history import batches
from hades.ingest.introduce import ExtractedNames, Introducer
from hades.ingest.name_dictionary import NameDictionary, rows_of_words
from hades.ingest.readers.markdown import name_of, read_markdown
from hades.ingest.readers.text import stem_of
from hades.ingest.spread import Spread
from hades.language.sentences import note_sentences, with_heading
from hades.language.wording import fact_words, spoken
from hades.models.encoder import Encoder, count_tokens
from hades.models.extractor import DEFAULT_EXTRACTOR, load_extractor
from hades.store.records import Pending, Phase, Progress
from hades.store.store import Store

BATCH_STATES = 200
BATCH_TEXTS = 256
ENCODED_TEXTS = 64
"""How many texts' vectors are written together. A stop loses at most this many, 1 to 2 s of
work."""
EMBEDDED_MEANWHILE = 16
"""The most chunks that a question embeds itself while another process embeds."""
CHUNKS_WITH_SENTENCES = 32
"""Only this many first chunks of a note, about 20,000 characters, also get a vector per sentence,
because the sentences of a huge note would take ten times as long as its chunks."""
BATCH_CHUNKS = 2_000
PART_STATES = 20
"""How many states one worker cuts together."""

OLD_CHUNKS_READ_AGAIN = 1_000
"""When new names come, up to this many old chunks are simply read again. If there are more, the
word index finds the chunks that contain a new name."""
NAMES_LOOKED_UP_CHUNKS = 20
"""For at most this many new chunks, names are looked up by the words of the chunks. For more, all
names are read: 82,000 take a second."""
NEW_NAMES_LOOKED_UP = 500
"""For more new names than this, reading all old chunks is faster than looking up each name."""

Item = TypeVar("Item")
Saying = Callable[[Sequence[str]], Collection[int]]
"""Returns the chunks that contain one of these names as a phrase."""


class Phases:
    """The phases of indexing (cut, link, embed) for one space of a store."""

    def __init__(
        self,
        store: Store,
        space: int,
        actor: str,
        on_progress: Progress | None,
        saying: Saying | None = None,
        spread: Spread = map,
    ) -> None:
        self._store = store
        self._space = space
        self._actor = actor
        self._saying = saying
        self._spread = spread
        self._report = on_progress or (lambda _what, _done, _total: None)

    # Chunks

    def cut(self, states: Sequence[Pending] | None = None) -> None:
        """Cut these states, or all waiting ones if None; store the chunks, advance the states."""
        done = 0
        total = self._store.chunks.pending_count(self._space, Phase.CHUNKS)
        passages = self._store.chunks
        for waiting in self._waiting(Phase.CHUNKS) if states is None else (states,):
            # for a few states, one query each is faster
            many = [pending.state for pending in waiting] if len(waiting) > PART_STATES else []
            in_order = passages.in_order(many)
            uncut = ((pending, self._content(pending)) for pending in waiting)
            parts = batches(uncut, lambda state: len(state[1] or ""), PART_STATES)
            cut = chain.from_iterable(self._spread(_cut_all, parts))
            for batch in batches(cut, lambda state: state.characters):
                with self._store.transaction():
                    for pending, _, chunks, outline in batch:
                        if not passages.is_pending(pending):
                            continue  # purged, or another process was first
                        with self._store.write(self._actor, "cut", self._space) as write:
                            known = pending.state in in_order
                            passages.place(write, pending.state, chunks, in_order=known)
                            phase = None if outline is None else Phase.EDGES
                            passages.advance(pending.state, phase, outline)
                done += len(batch)
                self._report("cutting", done, total)

    def _content(self, pending: Pending) -> str | None:
        """Return the content of a state, or None if it was forgotten."""
        if self._store.chunks.is_forgotten(pending.state):
            return None
        return self._store.topics.contents([pending.state])[pending.state]

    # Embeddings

    def embed(self, encoder: Encoder, *, for_question: bool = False) -> int:
        """Store vectors for all chunks and facts that lack one. Return the number of the chunks.

        One process at a time embeds, for all spaces; another one waits. With `for_question`, embed
        only this space and do not wait: while another process embeds, do nothing and return 0 if
        more than EMBEDDED_MEANWHILE chunks lack a vector.
        """
        space = self._space if for_question else None
        waits = None if for_question else self._report
        with folder_lock(usable(self._store.index_folder), "embedding", waits) as is_ours:
            total = self._store.chunks.unembedded_count(encoder.model, space)
            if not is_ours and total > EMBEDDED_MEANWHILE:
                return 0
            done = self._embed_chunks(encoder, self._unembedded(encoder.model, space), total)
            while self.embed_facts(encoder, space):
                pass
            with self._store.transaction():
                self._store.chunks.set_embedded(encoder.model)
            for batch in self._waiting_for_vectors():
                self._finish(encoder, batch)
        return done

    def embed_states(self, encoder: Encoder, states: Sequence[Pending], at_most: int) -> None:
        """Store vectors for at most `at_most` chunks of these states, in order.

        A state whose chunks all have vectors is then marked as indexed.
        """
        chunks: dict[int, None] = {}
        whole = []
        for pending in states:
            room = at_most - len(chunks)
            lacking = self._store.waiting.lacking(encoder.model, pending.state, room + 1)
            chunks |= dict.fromkeys(lacking[:room])
            if len(lacking) > room:
                break
            whole.append(pending)
        self._embed_chunks(encoder, _parts([*chunks], ENCODED_TEXTS), len(chunks))
        self._finish(encoder, whole)

    def _embed_chunks(self, encoder: Encoder, parts: Iterable[Sequence[int]], total: int) -> int:
        done = 0
        texts = map(self._embedded_texts, parts)
        for rows in self._vectors(encoder, texts, "embedding", total):
            with self._store.write(self._actor, "embed", self._space) as write:
                self._store.chunks.put_vectors(write, encoder.model, encoder.dims, rows)
                join_new(self._store, write, encoder.model, rows, encoder.dims)
                self._store.chunks.set_embedded(encoder.model)
            done += len(rows)
            self._report("embedding", done, total)
        return done

    def _unembedded(self, model: str, space: int | None) -> Iterator[list[int]]:
        last = self._store.chunks.embedded(model)
        while batch := self._store.chunks.unembedded(model, last, ENCODED_TEXTS, space):
            yield batch
            last = batch[-1]

    def _waiting_for_vectors(self) -> Iterator[list[Pending]]:
        """Yield the states in phase EMBEDDINGS, in batches. Their chunks are embedded already."""
        last = 0
        while batch := self._store.chunks.pending(
            Phase.EMBEDDINGS, self._space, BATCH_STATES, last
        ):
            yield batch
            last = batch[-1].state

    def _finish(self, encoder: Encoder, states: Sequence[Pending]) -> None:
        """Weight the links of states and mark the states as indexed; skip a state that lacks
        vectors."""
        introducer = Introducer(self._store, self._space)
        passages = self._store.chunks
        if not states:
            return
        # One transaction for all states, because every commit waits for the disk.
        with self._store.transaction():
            for pending in filter(passages.is_pending, states):
                if pending.outline is not None:
                    chunks = passages.placed(pending.state)
                    stated = unpack_introductions(pending.outline)
                    if self._store.waiting.lacking(encoder.model, pending.state, 1):
                        continue
                    near = introducer.nearness(stated, chunks, encoder)
                    with self._store.write(self._actor, "link", self._space) as write:
                        introducer.links(write, stated, chunks, near)
                passages.advance(pending.state, None)

    def embed_facts(self, encoder: Encoder, space: int | None) -> int:
        """Store vectors for one batch of facts that lack one, in a space or (None) in all.

        Return the number of facts in the batch; 0 means that all have vectors.
        """
        edges = self._store.edges
        batch = edges.unembedded(encoder.model, BATCH_TEXTS, space)
        texts = {NodeKind.EDGE.node(edge): [fact_words(*names)] for edge, *names in batch}
        for rows in self._vectors(encoder, [texts] if texts else [], "embedding facts"):
            with self._store.write(self._actor, "embed", self._space) as write:
                self._store.chunks.put_vectors(write, encoder.model, encoder.dims, rows)
        with self._store.transaction():
            edges.set_embedded(encoder.model)
        return len(batch)

    def _vectors(
        self,
        encoder: Encoder,
        batches_of_texts: Iterable[Mapping[int, Sequence[str]]],
        what: str,
        total: int = 0,
    ) -> Iterator[list[tuple[int, bytes]]]:
        """Yield (node, float16 vectors of all its texts, joined) for each node, batch by batch.

        Progress is reported for every node, because the callback may raise to stop. Texts may be
        read some batches ahead.
        """
        ahead, batches_of_texts = tee(batches_of_texts)
        flat = (list(chain.from_iterable(texts.values())) for texts in ahead)
        parts = (part for texts in flat for part in _parts(texts, ENCODED_TEXTS))
        vectors = chain.from_iterable(self._spread(partial(_encode, encoder), parts))
        done = count()
        for texts in batches_of_texts:
            rows = []
            for node, of_node in texts.items():
                self._report(what, next(done), total)
                rows.append((node, b"".join(next(vectors).tobytes() for _ in of_node)))
            yield rows

    def _embedded_texts(self, chunks: Sequence[int]) -> dict[int, list[str]]:
        """Return the texts to embed by chunk node: its text and, early in a note, its sentences."""
        texts = self._store.chunks.texts(chunks)
        headings = self._store.chunks.headings(chunks)
        notes = self._store.chunks.first_of_notes(chunks, CHUNKS_WITH_SENTENCES)
        embedded = {}
        for number in chunks:
            whole = texts.get(number, "")
            parts = [whole, *(note_sentences(whole) if number in notes else ())]
            node = NodeKind.CHUNK.node(number)
            embedded[node] = [with_heading(headings.get(number, ""), part) for part in parts]
        return embedded

    # Edges

    def link(self) -> None:
        """Store the names and links of waiting states, then match names with chunks."""
        self.introduce(self._waiting(Phase.EDGES))
        # Match even if nothing waits: a run may have been killed before it matched.
        self.match()

    def introduce(self, waiting: Iterable[Sequence[Pending]]) -> None:
        """Store the names and links of waiting states, and advance these to the next phase."""
        introducer = Introducer(self._store, self._space)
        done = 0
        total = self._store.chunks.pending_count(self._space, Phase.EDGES)
        for batch in waiting:
            chunks = [self._store.chunks.placed(pending.state) for pending in batch]
            read = self._store.chunks.texts([number for placed in chunks for number in placed])
            texts = [[read.get(number, "") for number in placed] for placed in chunks]
            extracted = self._extracted(texts)
            with self._store.transaction():
                for number, pending in enumerate(batch):
                    if not self._store.chunks.is_pending(pending):
                        continue  # purged meanwhile, or another process was first
                    stated = unpack_introductions(pending.outline)
                    with self._store.write(self._actor, "link", self._space) as write:
                        introducer.introduce(
                            write, stated, chunks[number], texts[number], extracted[number]
                        )
                        kept = pending.outline if stated.links and chunks[number] else None
                        self._store.chunks.advance(pending.state, Phase.EMBEDDINGS, kept)
            done += len(batch)
            self._report("reading names", done, total)

    def _extracted(self, texts: Sequence[Sequence[str]]) -> list[ExtractedNames]:
        """Return the names in each chunk of each state; all texts go to the extractor together."""
        find = partial(_find_names, self._store.meta("extractor") or DEFAULT_EXTRACTOR)
        parts = _parts([text for of_state in texts for text in of_state], BATCH_TEXTS)
        names = chain.from_iterable(self._spread(find, parts))
        return [[next(names) for _ in of_state] for of_state in texts]

    def match(self) -> None:
        """Store the mentions of all names in new chunks, and of new names in old chunks."""
        links = self._store.mentions
        chunk_mark, name_mark = links.matched(self._space)
        new = links.names(self._space, name_mark)
        last_name = new[-1][0] if new else name_mark
        last_chunk = links.last_chunk()
        if new and chunk_mark:
            self._match_old(new, chunk_mark)
            with self._store.transaction():
                links.set_matched(self._space, chunk_mark, last_name)
        names = self._names_of(chunk_mark, last_chunk)
        self._match_range("linking", names, chunk_mark, last_chunk, last_name)

    def _names_of(self, after: int, up_to: int) -> NameDictionary:
        """Return the names that chunks with ids in (after, up_to] may mention.

        For few chunks, these are the names made of their words; for many, all of the space.
        """
        links = self._store.mentions
        few = links.chunks_between(self._space, after, up_to, NAMES_LOOKED_UP_CHUNKS + 1)
        if len(few) > NAMES_LOOKED_UP_CHUNKS:
            return NameDictionary(links.names(self._space))
        texts = self._store.chunks.texts(few, lost_ok=True).values()
        keys = {key for text in texts for key in rows_of_words(text)}
        return NameDictionary(links.going_by(self._space, sorted(keys)))

    def _match_old(self, new: Sequence[tuple[int, int, str]], up_to: int) -> None:
        names = NameDictionary(new)
        many = len(
            self._store.mentions.chunks_between(self._space, 0, up_to, OLD_CHUNKS_READ_AGAIN)
        )
        # Inside a batch, the word index must not see writes that may be undone.
        saying = None if self._store.in_transaction else self._saying
        if saying is None or many < OLD_CHUNKS_READ_AGAIN or len(new) > NEW_NAMES_LOOKED_UP:
            self._match_range("linking old texts", names, 0, up_to)
            return
        chunks = sorted(number for number in saying(names.keys) if number <= up_to)
        for batch in _parts(chunks, BATCH_CHUNKS):
            self._match_batch(names, batch)

    def _match_range(
        self, what: str, names: NameDictionary, after: int, up_to: int, noted: int | None = None
    ) -> None:
        """Store the mentions of names in the chunks with ids above `after` and up to `up_to`.

        With `noted`, the id of the newest name, record the progress after each batch.
        """
        at = after
        done = 0
        total = len(self._store.mentions.chunks_between(self._space, after, up_to, 1 << 30))
        while batch := self._store.mentions.chunks_between(self._space, at, up_to, BATCH_CHUNKS):
            with self._store.transaction():
                self._match_batch(names, batch)
                if noted is not None:
                    self._store.mentions.set_matched(self._space, batch[-1], noted)
            at = batch[-1]
            done = done + len(batch)
            self._report(what, done, total)

    def _match_batch(self, names: NameDictionary, batch: Sequence[int]) -> None:
        links = self._store.mentions
        texts = self._store.chunks.texts(batch, lost_ok=True)
        known = links.positions(batch)
        mentions = names.mentions(batch, [texts.get(number, "") for number in batch], known)
        with self._store.write(self._actor, "match", self._space) as write:
            write.cancelled = not links.put_mentions(write, mentions)

    def _waiting(self, phase: int) -> Iterator[list[Pending]]:
        while batch := self._store.chunks.pending(phase, self._space, BATCH_STATES):
            yield batch


class _Cut(NamedTuple):
    """The chunks of a state and its packed introductions; empty if it was forgotten."""

    pending: Pending
    characters: int = 0
    chunks: Sequence[Chunk] = ()
    introductions: bytes | None = None


def under(name: str, heading: str) -> str:
    """Return the heading of a chunk of a note: the note's name, then the chunk's own heading."""
    return " > ".join(part for part in (name, heading) if part)


def _parts(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    return (items[at : at + size] for at in range(0, len(items), size))


def _cut_all(states: Sequence[tuple[Pending, str | None]]) -> list[_Cut]:
    """Cut states into chunks. This neither reads the store nor holds a lock."""
    return [_Cut(p) if content is None else _cut(p, content) for p, content in states]


def _cut(pending: Pending, content: str) -> _Cut:
    if pending.outline is not None:
        name = ""
        document = unpack_document(pending.outline, pending.topic, content)
    else:  # The name of a note often says what it is about.
        name = spoken(pending.topic)
        document = note_document(pending.topic, content)
    spans = chunk(document, count_tokens) if content.strip() else []
    chunks = [
        Chunk(
            pending.topic,
            pending.version,
            span.ordinal,
            content[span.start : span.end],
            span.start,
            span.end,
            under(name, span.heading),
            span.tokens,
        )
        for span in spans
    ]
    return _Cut(pending, len(content), chunks, pack_introductions(document, spans))


def _encode(encoder: Encoder, texts: Sequence[str]) -> npt.NDArray[np.float16]:
    return encoder.encode(texts).astype(np.float16)


def _find_names(extractor: str, texts: Sequence[str]) -> ExtractedNames:
    return load_extractor(extractor)(texts)


def note_document(topic: str, content: str) -> Document:
    """Read a note as Markdown, or as plain text if Markdown would change its content."""
    title = stem_of(topic)
    plain = Document(topic, content, title=title, names=name_of(title, Origin.TITLE))
    try:
        document = read_markdown(content.encode(), topic)
    except Unreadable:
        return plain
    return document if document.content == content else plain
