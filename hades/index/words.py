"""Words: the passages that say it, by BM25, with tantivy.

A document of this index is a *presence*: a chunk for a stretch of valid and known time.
So a question about any moment is filtered inside the search. Words are folded as in
`domain.names` and stemmed; a second field keeps them unstemmed with their positions, to
find where a new name stands in old texts.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple

import tantivy
from tantivy import FieldType, Filter, Occur, Query, TextAnalyzerBuilder, Tokenizer

from hades.domain.names import STOP_WORDS, name_parts, spoken, words
from hades.store.store import Store

_HEAP_BYTES = 64_000_000
_TERMS_AT_MOST = 64
"""Distinct words of a question that are searched; a longer one is cut, rarest kept."""
_WORD_CHARACTERS_AT_MOST = 60
_NAMES_KEPT = 16_384
"""Names whose stems are kept with their weights: titles of candidates come up again."""


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


class Words:
    """The inverted index of a space."""

    def __init__(self, folder: Path) -> None:
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
        folder.mkdir(parents=True, exist_ok=True)
        self._index = tantivy.Index(self._schema, path=str(folder))
        plain = TextAnalyzerBuilder(Tokenizer.whitespace())
        self._index.register_tokenizer("exact", plain.build())
        self._index.register_tokenizer("stems", _stemmer())
        self._searcher = self._index.searcher()
        self._rarity: dict[str, float] = {}
        self._weighed: dict[int, tuple[dict[str, float], float]] = {}

    def snapshot(self) -> Words:
        """The index as it is now, whatever is put later."""
        return copy.copy(self)

    def put(self, presences: Iterable[tuple[Presence, str]]) -> None:
        """Take in presences and what they say, replacing them by id, visible all at once."""
        self.reload()
        # Looking for what to replace takes longer than the rest.
        is_empty = self._searcher.num_docs == 0
        writer = self._index.writer(_HEAP_BYTES, 1)
        for found, said in presences:
            if not is_empty:
                writer.delete_documents_by_query(self._is("id", found.id))
            text = folded(said)
            fields = {**found._asdict(), "stems": text, "exact": text}
            writer.add_document(tantivy.Document.from_dict(fields, self._schema))
        writer.commit()
        writer.wait_merging_threads()
        self.reload()

    def reload(self) -> None:
        """See what others have written."""
        self._index.reload()
        self._searcher = self._index.searcher()
        self._rarity, self._weighed = {}, {}

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
            terms = sorted(terms, key=lambda term: self._searcher.doc_freq("stems", term))
            terms = terms[:_TERMS_AT_MOST]
        limit = min(limit, self._searcher.num_docs)
        if not terms or limit <= 0:
            return []
        any_term = Query.boolean_query(
            [(Occur.Should, Query.term_query(self._schema, "stems", term)) for term in terms]
        )
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
        hits = self._searcher.search(Query.boolean_query(clauses), limit, count=False).hits
        chunks = self._chunks([at for _, at in hits])
        best: dict[int, float] = {}
        for less, chunk in sorted(
            [(-hit[0], chunk) for hit, chunk in zip(hits, chunks, strict=True)]
        ):
            best.setdefault(chunk, -less)  # a chunk may have been there several times
        return list(best.items())

    def terms(self, text: str) -> list[str]:
        """The stems of a text's words, each once; stop words only when there is nothing else."""
        asked = [word for word in folded(text).split() if word not in STOP_WORDS]
        return list(dict.fromkeys(_stemmer().analyze(" ".join(asked) or folded(text))))

    def rarity(self, term: str) -> float:
        """How much a term tells, as BM25 weighs it."""
        known = self._rarity.get(term)
        if known is None:
            count, df = self._searcher.num_docs, self._searcher.doc_freq("stems", term)
            known = self._rarity[term] = math.log(1 + (count - df + 0.5) / (df + 0.5))
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
        return sorted(set(self._chunks([at for _, at in hits])))

    def _chunks(self, found: list[tantivy.DocAddress]) -> list[int]:
        """The chunk of each presence found; from the column where this tantivy can read one."""
        if hasattr(self._searcher, "fast_field_values"):
            column = self._searcher.fast_field_values("chunk", found)
            return [int(chunk) for chunk in column if chunk is not None]
        return [int(self._searcher.doc(at)["chunk"][0]) for at in found]

    def _is(self, field: str, value: int) -> Query:
        return Query.term_query(self._schema, field, value)

    def _range(self, field: str, low: int | None, high: int | None) -> Query:
        return Query.range_query(self._schema, field, FieldType.Integer, low, high)


@cache
def _stemmer() -> tantivy.TextAnalyzer:
    plain = TextAnalyzerBuilder(Tokenizer.whitespace())
    return plain.filter(Filter.stemmer("english")).build()


def searched_texts(store: Store, chunks: Sequence[int]) -> dict[int, str]:
    """What chunks are found by: heading, also in parts, text and tags."""
    texts, tags = store.chunks.texts(chunks), store.chunks.tags(chunks)
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
