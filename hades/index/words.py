"""Words: search by BM25, with tantivy.

A document of this index is a *presence*: a chunk for a period of valid and known time, so the
search itself filters by moment. Words are folded as in `language.words` and stemmed in the language
of their text. A second field keeps them unstemmed with their positions, to find a new name in old
texts.

Recent presences are kept in memory beside the index, because a commit takes longer than a question.
They are scored by the same formula, and the rarity of a word counts both. The average length of a
passage is that of the index alone.
"""

from __future__ import annotations

import copy
import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import tantivy
from tantivy import FieldType, Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from hades.language.languages import ENGLISH, language_of, stop_words
from hades.language.names import name_parts
from hades.language.wording import spoken
from hades.language.words import ids, words
from hades.store.store import Store

_HEAP_BYTES = 64_000_000
_TERMS_AT_MOST = 64
"""The most distinct words of a question that are searched, the rarest first."""
IDS_AT_MOST = 8
"""The most distinct versions and ids of a question that are searched as phrases."""
_WORD_CHARACTERS_AT_MOST = 60
_NAMES_KEPT = 16_384
"""How many names have their stems and weights cached, because titles of candidates recur."""
_K1 = 1.2
_B = 0.75
"""The BM25 parameters of tantivy."""
_LENGTHS = [*range(40), *(24 + (step << power) for power in range(1, 28) for step in range(8, 16))]
"""The lengths that tantivy distinguishes, because it stores a length in one byte."""


class Presence(NamedTuple):
    """A chunk for a period of valid and known time; a document of the index."""

    id: int
    chunk: int
    topic: int
    note: int
    valid_from: int
    valid_to: int
    recorded_at: int
    retired_at: int


class Recent(NamedTuple):
    """A presence that is not in the index yet, with the count of each stem."""

    presence: Presence
    raw: str
    text: str
    """The words of `raw`, folded."""
    counts: Counter[str]
    length: int
    is_new: bool
    """Whether the index has no older version of this presence."""


class Words:
    """The inverted index of a space with the recent presences beside it; immutable."""

    def __init__(self, folder: Path | None = None, lengths: Sequence[int] = (0, 0)) -> None:
        """Open or create the index of a folder, or an empty one; `lengths` as in `_Revision`."""
        builder = tantivy.SchemaBuilder()
        for name in ("id", "chunk"):
            builder.add_unsigned_field(name, stored=name == "chunk", indexed=True, fast=True)
        for name in ("topic", "note"):
            builder.add_unsigned_field(name, indexed=True)
        for name in ("valid_from", "valid_to", "recorded_at", "retired_at"):
            builder.add_integer_field(name, fast=True)
        builder.add_text_field("stems", tokenizer_name="stems", index_option="freq")
        builder.add_text_field("exact", tokenizer_name="exact", index_option="position")
        self._schema = builder.build()
        if folder is None:
            self._index = tantivy.Index(self._schema)
        elif folder.is_dir():
            self._index = tantivy.Index.open(str(folder))
        else:
            folder.mkdir(parents=True)
            self._index = tantivy.Index(self._schema, path=str(folder))
        for field in ("stems", "exact"):
            plain = TextAnalyzerBuilder(Tokenizer.whitespace()).build()
            self._index.register_tokenizer(field, plain)
        self._whole: tuple[Callable[[str], int], int] | None = None
        """For a part of a larger index: a function for the number of presences with a stem there,
        and the number of all."""
        self._refresh(lengths)

    def _refresh(self, lengths: Sequence[int]) -> None:
        self._searcher = self._index.searcher()
        self.lengths = lengths
        self._held = sum(self._searcher.doc_freq("note", is_note) for is_note in (0, 1))
        """How many presences tantivy counts; replaced ones count until it merges segments."""
        self._having: dict[str, int] = {}
        """For each stem, the number of presences of the index that have it."""
        self.recent: dict[int, Recent] = {}
        self._new: Counter[str] = Counter()
        """For each stem, the number of presences that have it and are only beside the index."""
        self._own_lengths = 0, 0
        self._count = self._searcher.num_docs
        """The number of presences in the index or beside it."""
        self._rarity: dict[str, float] = {}
        self._weighed: dict[int, tuple[dict[str, float], float]] = {}

    def put(self, presences: Iterable[tuple[Presence, str]]) -> Words:
        """Write presences with their texts; known ids are replaced. Return the index after that."""
        taken, tokens = self.lengths
        # Searching for documents to replace takes longer than writing.
        is_empty = self._searcher.num_docs == 0
        writer = self._index.writer(_HEAP_BYTES, 1)
        for presence, text in presences:
            if not is_empty:
                writer.delete_documents_by_query(self._is("id", presence.id))
            own = stems(text, language_of(text))
            taken = taken + 1
            tokens = tokens + max(1, len(own))
            fields = {**presence._asdict(), "stems": " ".join(own), "exact": folded(text)}
            writer.add_document(tantivy.Document.from_dict(fields, self._schema))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        written = copy.copy(self)
        written._refresh((taken, tokens))
        return written

    def with_recent(self, presences: Iterable[tuple[Presence, str]]) -> Words:
        """Return the same index with more presences in memory, replacing those with known ids."""
        updated = copy.copy(self)
        updated._rarity = {}
        updated._weighed = {}
        updated.recent = dict(self.recent)
        updated._new = self._new.copy()
        for presence, text in presences:
            known = updated.recent.get(presence.id)
            counts = Counter(stems(text, language_of(text)))
            length = _LENGTHS[bisect_right(_LENGTHS, counts.total()) - 1]
            is_old = self._searcher.search(self._is("id", presence.id), 1, count=False).hits
            row = Recent(presence, text, folded(text), counts, length, not is_old)
            updated.recent[presence.id] = row
            if not is_old:
                updated._new.subtract(known.counts.keys() if known else ())
                updated._new.update(counts.keys())
        own = updated.recent.values()
        updated._own_lengths = len(own), sum(row.counts.total() for row in own)
        updated._count = self._searcher.num_docs + sum(row.is_new for row in own)
        return updated

    def part_of(self, frequency: Callable[[str], int], count: int) -> Words:
        """Return the same index with words weighed as in the whole that it is a part of.

        `frequency` returns how many presences of the whole have a stem, `count` is their number.
        """
        part = copy.copy(self)
        part._whole = (frequency, count)
        part._rarity = {}
        part._weighed = {}
        return part

    def best(
        self,
        question: str,
        valid: int,
        known: int,
        limit: int,
        topics: Sequence[int] | None = None,
        *,
        earlier: bool = False,
    ) -> list[tuple[int, float]]:
        """Return the best chunks for a question at a moment, best first, as (chunk id, score).

        With `topics`, only their chunks are found; with `earlier`, old versions of notes too. A
        version or id of the question (8.2.0) also counts as a phrase.
        """
        terms = self.terms(question, language_of(question))
        phrases = list(dict.fromkeys(ids(question)))[:IDS_AT_MOST]
        if len(terms) > _TERMS_AT_MOST:
            terms = sorted(terms, key=lambda term: -self.rarity(term))[:_TERMS_AT_MOST]
        if not terms or limit <= 0:
            return []
        # Recent presences are scored as if they were in the index.
        taken, tokens = self.lengths if self.lengths[0] else self._own_lengths
        scored = []
        for presence, _, text, counts, length, _ in self.recent.values():
            if (
                presence.valid_from <= valid
                and (presence.valid_to > valid or (earlier and presence.note))
                and presence.recorded_at <= known < presence.retired_at
                and (topics is None or presence.topic in topics)
                and not counts.keys().isdisjoint(terms)
            ):
                norm = _K1 * (1 - _B + _B * length * taken / tokens)
                parts = [(self.rarity(term), counts[term]) for term in terms]
                parts += [
                    (sum(map(self.rarity, name.split())), f" {text} ".count(f" {name} "))
                    for name in phrases
                ]
                score = sum(w * (_K1 + 1) * tf / (tf + norm) for w, tf in parts)
                scored.append((score, presence.chunk))
        wanted = [*map(self._term, terms), *map(self._phrase, phrases)]
        any_term = Query.boolean_query([(Occur.Should, part) for part in wanted])
        is_valid = self._range("valid_to", valid + 1, None)
        if earlier:
            either = [(Occur.Should, is_valid), (Occur.Should, self._is("note", 1))]
            is_valid = Query.boolean_query(either)
        filters = [
            self._range("valid_from", None, valid),
            is_valid,
            self._range("recorded_at", None, known),
            self._range("retired_at", known + 1, None),
        ]
        if topics is not None:
            filters.append(Query.term_set_query(self._schema, "topic", list(topics)))
        clauses = [(Occur.Must, any_term)]
        clauses += [(Occur.Must, Query.const_score_query(part, 0.0)) for part in filters]
        if old := [number for number, row in self.recent.items() if not row.is_new]:
            clauses.append((Occur.MustNot, Query.term_set_query(self._schema, "id", old)))
        most = max(1, min(limit, self._searcher.num_docs))
        hits = self._searcher.search(Query.boolean_query(clauses), most, count=False).hits
        chunks = self._chunks([at for _, at in hits])
        scored += [(float(hit[0]), chunk) for hit, chunk in zip(hits, chunks, strict=True)]
        best: dict[int, float] = {}
        for less, chunk in sorted((-score, chunk) for score, chunk in scored)[:limit]:
            best.setdefault(chunk, -less)  # a chunk may have several presences
        return list(best.items())

    def _term(self, term: str) -> Query:
        """Return the query of a stem, weighted by its rarity in the index and beside it."""
        own = _idf(self._held, self._searcher.doc_freq("stems", term))
        return Query.boost_query(self._is("stems", term), self.rarity(term) / own)

    def terms(self, text: str, language: str = ENGLISH) -> list[str]:
        """Return the distinct stems of a text; stop words only if there are no other words.

        A stem of another language that no text has is replaced by the English one, because the
        language of a short text may be unknown.
        """
        stop = stop_words(language_of(text))
        content = [word for word in folded(text).split() if word not in stop]
        searched = " ".join(content) or folded(text)
        english, own = (_stemmer(name).analyze(searched) for name in (ENGLISH, language))
        pairs = zip(own, english, strict=True)
        return list(
            dict.fromkeys(stem if self._frequency(stem) else plain for stem, plain in pairs)
        )

    def rarity(self, term: str) -> float:
        """Return the inverse document frequency of a stem, as BM25 defines it."""
        known = self._rarity.get(term)
        if known is None:
            count = self._count if self._whole is None else self._whole[1]
            known = self._rarity[term] = _idf(count, self._frequency(term))
        return known

    def _frequency(self, term: str) -> int:
        """Return the number of presences that have a stem; replaced ones do not count."""
        if self._whole is not None:
            return self._whole[0](term)
        known = self._having.get(term)
        if known is None:
            known = self._searcher.doc_freq("stems", term)
            if known and self._held > self._searcher.num_docs:
                result: Any = self._searcher.search(self._is("stems", term), 1, count=True)
                known = int(result.count)  # missing in tantivy's stub
            self._having[term] = known
        return known + self._new[term]

    def weighed(
        self, entities: Sequence[int], names: Callable[[Sequence[int]], Mapping[int, str]]
    ) -> list[tuple[dict[str, float], float]]:
        """Return, per entity, the rarity of each stem of its name, and their sum.

        `names` returns the names of entities that are not cached.
        """
        if len(self._weighed) >= _NAMES_KEPT:
            self._weighed.clear()
        known = self._weighed
        new = [entity for entity in entities if entity not in known]
        name_of = names(new) if new else {}
        for entity in new:
            rarity = {term: self.rarity(term) for term in stems(name_of.get(entity, ""))}
            known[entity] = rarity, sum(rarity.values())
        return [known[entity] for entity in entities]

    def saying(self, name: str) -> list[int]:
        """Return the ids of the chunks, of any time, that contain a folded name as a phrase."""
        every = max(1, self._searcher.num_docs)
        hits = self._searcher.search(self._phrase(name), every, count=False).hits
        recent = [row for row in self.recent.values() if f" {name} " in f" {row.text} "]
        chunks = self._chunks([at for _, at in hits])
        return sorted({*chunks, *(row.presence.chunk for row in recent)})

    def _chunks(self, hits: list[tantivy.DocAddress]) -> list[int]:
        """Return the chunk of each hit, from the fast column if this tantivy version has it."""
        if hasattr(self._searcher, "fast_field_values"):
            column = self._searcher.fast_field_values("chunk", hits)
            return [int(chunk) for chunk in column if chunk is not None]
        return [int(self._searcher.doc(at)["chunk"][0]) for at in hits]

    def _phrase(self, name: str) -> Query:
        """Return the query of a folded name: its words next to each other, unstemmed."""
        parts = name.split(" ")
        if len(parts) == 1:
            return self._is("exact", parts[0])
        return Query.phrase_query(self._schema, "exact", list(parts))

    def _is(self, field: str, value: int | str) -> Query:
        return Query.term_query(self._schema, field, value)

    def _range(self, field: str, low: int | None, high: int | None) -> Query:
        return Query.range_query(self._schema, field, FieldType.Integer, low, high)


def _idf(count: int, having: int) -> float:
    return math.log(1 + (count - having + 0.5) / (having + 0.5))


@cache
def _stemmer(language: str) -> tantivy.TextAnalyzer:
    stemmer = Filter.stemmer(language or ENGLISH)
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(stemmer).build()


def searched_texts(store: Store, chunks: Sequence[int]) -> dict[int, str]:
    """Return the text that each chunk is searched by: heading and its parts, text and tags."""
    texts = store.chunks.texts(chunks, lost_ok=True)
    tags = store.chunks.tags(chunks)
    searched = {}
    for chunk, heading in store.chunks.headings(chunks).items():
        parts = (heading, *name_parts(heading), "\n", texts.get(chunk, ""), tags.get(chunk) or "")
        searched[chunk] = " ".join(parts)
    return searched


def stems(text: str, language: str = ENGLISH) -> list[str]:
    """Return the English stems of a text's words, and those of its language that differ.

    A name in a text of any language is found by questions in others.
    """
    words = folded(text)
    english = _stemmer(ENGLISH).analyze(words)
    if language in ("", ENGLISH):
        return english
    own = zip(_stemmer(language).analyze(words), english, strict=True)
    return english + [stem for stem, plain in own if stem != plain]


@lru_cache(maxsize=16_384)
def name_words(name: str) -> dict[str, frozenset[str]]:
    """Map the stem of each word of a name to the stems of the parts that people use instead."""
    return {stem: frozenset(stems(" ".join(name_parts(stem)))) for stem in stems(spoken(name))}


def is_said(word: str, parts: Collection[str], text_stems: set[str]) -> bool:
    """Return whether a text contains a word of a name, or all its parts: `db`, `7` for `db07`."""
    if word in text_stems:
        return True
    numbers = {stem.lstrip("0") for stem in text_stems if stem[:1] == "0"}
    # `parts` has a number with leading zeros also without them: only that form must be said.
    needed = {part for part in parts if part[0] != "0" or not part.strip("0")}
    return bool(parts) and needed <= text_stems | numbers


def folded(text: str) -> str:
    """Return the words of a text in lower case, joined by spaces; overlong words are dropped."""
    kept = words(text.lower()) if text.isascii() else [word.casefold() for word in words(text)]
    return " ".join(word for word in kept if len(word) <= _WORD_CHARACTERS_AT_MOST)
