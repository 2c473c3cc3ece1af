"""Words: the passages that say it, by BM25, with tantivy.

A document of this index is a *presence*: a chunk for a stretch of valid and known time.
So a question about any moment is filtered inside the search. Words are folded as in
`language.words` and stemmed; a second field keeps them unstemmed with their positions, to
find where a new name stands in old texts.

What was written lately is not in the index yet but beside it, in memory, since a commit takes
longer than a question. It is searched with the same formula, and a word's rarity is that of
both together. What lags is the average length of a passage: it is the one of the index.
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

from hades.language.english.lexicon import STOP_WORDS
from hades.language.names import name_parts, spoken
from hades.language.words import words
from hades.store.store import Store

_HEAP_BYTES = 64_000_000
_TERMS_AT_MOST = 64
"""Distinct words of a question that are searched; a longer one is cut, rarest kept."""
_WORD_CHARACTERS_AT_MOST = 60
_NAMES_KEPT = 16_384
"""Names whose stems are kept with their weights: titles of candidates come up again."""
_K1, _B = 1.2, 0.75
"""BM25 as tantivy has it."""
_LENGTHS = [*range(40), *(24 + (step << power) for power in range(1, 28) for step in range(8, 16))]
"""The lengths tantivy tells apart: it keeps each in one byte."""


class Presence(NamedTuple):
    """A chunk for a stretch of time, as it is written to the index."""

    id: int
    chunk: int
    topic: int
    note: int
    valid_from: int
    valid_to: int
    recorded_at: int
    retired_at: int


class Recent(NamedTuple):
    """A presence that is not in the index yet, and how often each stem stands in it."""

    presence: Presence
    text: str
    counts: Counter[str]
    length: int
    is_new: bool
    """Whether the index has no older version of it."""


class Words:
    """The inverted index of a space, and what is to be written to it; it never changes."""

    def __init__(self, folder: Path | None = None, lengths: Sequence[int] = (0, 0)) -> None:
        """That of a folder, old or new, else of none; how many passages and words it took in."""
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
        self._index.register_tokenizer("exact", TextAnalyzerBuilder(Tokenizer.whitespace()).build())
        self._index.register_tokenizer("stems", _stemmer())
        self._refresh(lengths)

    def _refresh(self, lengths: Sequence[int]) -> None:
        self._searcher = self._index.searcher()
        self.lengths = lengths
        self._held = sum(self._searcher.doc_freq("note", is_note) for is_note in (0, 1))
        """How many presences tantivy counts: also replaced ones, until it merges segments."""
        self._having: dict[str, int] = {}
        """By stem: how many presences of the index have it."""
        self.recent: dict[int, Recent] = {}
        self._new: Counter[str] = Counter()
        """By stem: how many of those that are only beside the index have it."""
        self._own_lengths = 0, 0
        self._count = self._searcher.num_docs
        """How many presences there are, in the index or beside it."""
        self._rarity: dict[str, float] = {}
        self._weighed: dict[int, tuple[dict[str, float], float]] = {}

    def put(self, presences: Iterable[tuple[Presence, str]]) -> Words:
        """Write presences and what they say, replacing them by id: the index with them."""
        taken, tokens = self.lengths
        # Looking for what to replace takes longer than the rest.
        is_empty = self._searcher.num_docs == 0
        writer = self._index.writer(_HEAP_BYTES, 1)
        for found, said in presences:
            if not is_empty:
                writer.delete_documents_by_query(self._is("id", found.id))
            text = folded(said)
            taken, tokens = taken + 1, tokens + text.count(" ") + 1
            fields = {**found._asdict(), "stems": text, "exact": text}
            writer.add_document(tantivy.Document.from_dict(fields, self._schema))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        made = copy.copy(self)
        made._refresh((taken, tokens))
        return made

    def with_recent(self, presences: Iterable[tuple[Presence, str]]) -> Words:
        """The same index with more presences beside it, replacing them by id."""
        made = copy.copy(self)
        made._rarity, made._weighed = {}, {}
        made.recent, made._new = dict(self.recent), self._new.copy()
        for found, said in presences:
            known, text = made.recent.get(found.id), folded(said)
            counts = Counter(_stemmer().analyze(text))
            length = _LENGTHS[bisect_right(_LENGTHS, counts.total()) - 1]
            is_old = self._searcher.search(self._is("id", found.id), 1, count=False).hits
            made.recent[found.id] = Recent(found, text, counts, length, not is_old)
            if not is_old:
                made._new.subtract(known.counts.keys() if known else ())
                made._new.update(counts.keys())
        own = made.recent.values()
        made._own_lengths = len(own), sum(row.counts.total() for row in own)
        made._count = self._searcher.num_docs + sum(row.is_new for row in own)
        return made

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
        """The best chunks for a question at a moment, with their scores.

        With `earlier` the earlier versions of notes count, too.
        """
        terms = self.terms(question)
        if len(terms) > _TERMS_AT_MOST:
            terms = sorted(terms, key=lambda term: -self.rarity(term))[:_TERMS_AT_MOST]
        if not terms or limit <= 0:
            return []
        # What is beside the index is scored as if it were in it.
        taken, tokens = self.lengths if self.lengths[0] else self._own_lengths
        found = []
        for one, _, counts, length, _ in self.recent.values():
            if (
                one.valid_from <= valid
                and (one.valid_to > valid or (earlier and one.note))
                and one.recorded_at <= known < one.retired_at
                and (topics is None or one.topic in topics)
                and not counts.keys().isdisjoint(terms)
            ):
                norm = _K1 * (1 - _B + _B * length * taken / tokens)
                parts = ((self.rarity(term), counts[term]) for term in terms)
                found.append((sum(w * (_K1 + 1) * tf / (tf + norm) for w, tf in parts), one.chunk))
        any_term = Query.boolean_query([(Occur.Should, self._term(term)) for term in terms])
        there = self._range("valid_to", valid + 1, None)
        if earlier:
            either = [(Occur.Should, there), (Occur.Should, self._is("note", 1))]
            there = Query.boolean_query(either)
        filters = [
            self._range("valid_from", None, valid),
            there,
            self._range("recorded_at", None, known),
            self._range("retired_at", known + 1, None),
        ]
        if topics is not None:
            filters.append(Query.term_set_query(self._schema, "topic", list(topics)))
        clauses = [(Occur.Must, any_term)]
        clauses += [(Occur.Must, Query.const_score_query(part, 0.0)) for part in filters]
        if old := [one for one, row in self.recent.items() if not row.is_new]:
            clauses.append((Occur.MustNot, Query.term_set_query(self._schema, "id", old)))
        most = max(1, min(limit, self._searcher.num_docs))
        hits = self._searcher.search(Query.boolean_query(clauses), most, count=False).hits
        chunks = self._chunks([at for _, at in hits])
        found += [(float(hit[0]), chunk) for hit, chunk in zip(hits, chunks, strict=True)]
        best: dict[int, float] = {}
        for less, chunk in sorted((-score, chunk) for score, chunk in found)[:limit]:
            best.setdefault(chunk, -less)  # a chunk may have been there several times
        return list(best.items())

    def _term(self, term: str) -> Query:
        """A stem, weighed by how rare it is in all rather than in what the index counts."""
        own = _idf(self._held, self._searcher.doc_freq("stems", term))
        return Query.boost_query(self._is("stems", term), self.rarity(term) / own)

    def terms(self, text: str) -> list[str]:
        """The stems of a text's words, each once; stop words only when there is nothing else."""
        asked = [word for word in folded(text).split() if word not in STOP_WORDS]
        return list(dict.fromkeys(_stemmer().analyze(" ".join(asked) or folded(text))))

    def rarity(self, term: str) -> float:
        """How much a term tells, as BM25 weighs it."""
        known = self._rarity.get(term)
        if known is None:
            known = self._rarity[term] = _idf(self._count, self._frequency(term) + self._new[term])
        return known

    def _frequency(self, term: str) -> int:
        """How many presences of the index have a stem; those that were replaced do not count."""
        known = self._having.get(term)
        if known is None:
            known = self._searcher.doc_freq("stems", term)
            if known and self._held > self._searcher.num_docs:
                found: Any = self._searcher.search(self._is("stems", term), 1, count=True)
                known = int(found.count)  # which its stub does not know of
            self._having[term] = known
        return known

    def weighed(
        self, entities: Sequence[int], names: Callable[[Sequence[int]], Mapping[int, str]]
    ) -> list[tuple[dict[str, float], float]]:
        """How much each stem of an entity's name tells, and all of them together.

        `names` is asked for those that did not come up before.
        """
        if len(self._weighed) >= _NAMES_KEPT:
            self._weighed.clear()
        known = self._weighed
        new = [entity for entity in entities if entity not in known]
        found = names(new) if new else {}
        for entity in new:
            rarity = {term: self.rarity(term) for term in stems(found.get(entity, ""))}
            known[entity] = rarity, sum(rarity.values())
        return [known[entity] for entity in entities]

    def saying(self, name: str) -> list[int]:
        """The chunks, whenever they were there, that say a name's words in a row."""
        parts = name.split(" ")
        said = (
            Query.term_query(self._schema, "exact", parts[0])
            if len(parts) == 1
            else Query.phrase_query(self._schema, "exact", list(parts))
        )
        every = max(1, self._searcher.num_docs)
        hits = self._searcher.search(said, every, count=False).hits
        recent = [row for row in self.recent.values() if f" {name} " in f" {row.text} "]
        found = self._chunks([at for _, at in hits])
        return sorted({*found, *(row.presence.chunk for row in recent)})

    def _chunks(self, found: list[tantivy.DocAddress]) -> list[int]:
        """The chunk of each presence found; from the column where this tantivy can read one."""
        if hasattr(self._searcher, "fast_field_values"):
            column = self._searcher.fast_field_values("chunk", found)
            return [int(chunk) for chunk in column if chunk is not None]
        return [int(self._searcher.doc(at)["chunk"][0]) for at in found]

    def _is(self, field: str, value: int | str) -> Query:
        return Query.term_query(self._schema, field, value)

    def _range(self, field: str, low: int | None, high: int | None) -> Query:
        return Query.range_query(self._schema, field, FieldType.Integer, low, high)


def _idf(count: int, having: int) -> float:
    return math.log(1 + (count - having + 0.5) / (having + 0.5))


@cache
def _stemmer() -> tantivy.TextAnalyzer:
    return TextAnalyzerBuilder(Tokenizer.whitespace()).filter(Filter.stemmer("english")).build()


def searched_texts(store: Store, chunks: Sequence[int]) -> dict[int, str]:
    """What chunks are found by: heading, also in parts, text and tags."""
    texts, tags = store.chunks.texts(chunks, lost_ok=True), store.chunks.tags(chunks)
    found = {}
    for one, heading in store.chunks.headings(chunks).items():
        parts = (heading, *name_parts(heading), "\n", texts.get(one, ""), tags.get(one) or "")
        found[one] = " ".join(parts)
    return found


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order."""
    return list(_stemmer().analyze(folded(text)))


@lru_cache(maxsize=16_384)
def name_words(name: str) -> dict[str, frozenset[str]]:
    """The stems of a name's words, each with those of the parts that people say instead."""
    return {one: frozenset(stems(" ".join(name_parts(one)))) for one in stems(spoken(name))}


def is_said(word: str, parts: Collection[str], said: set[str]) -> bool:
    """Whether a word of a name is said as it is written or in its parts: `db07` by "db 7"."""
    if word in said:
        return True
    numbers = {one.lstrip("0") for one in said if one[:1] == "0"}
    # A part with leading zeros comes without them as well.
    return bool(parts) and {one for one in parts if one[0] != "0" or not one.strip("0")} <= (
        said | numbers
    )


def folded(text: str) -> str:
    """A text as its words in lower case, with single spaces."""
    kept = words(text.lower()) if text.isascii() else [word.casefold() for word in words(text)]
    return " ".join(word for word in kept if len(word) <= _WORD_CHARACTERS_AT_MOST)
