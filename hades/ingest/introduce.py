"""Introductions: the names and links that a state introduces, written to the store.

A name creates its entity. A link joins two entities, with an initial weight. If a text says that
two names mean the same, it gets the link `coref`. Everything follows from the text alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial

import numpy as np

from hades.domain.graph import RELATION_KINDS, NodeKind
from hades.domain.weights import initial_weight
from hades.ingest.document import IntroducedName, Introductions, Link, Origin
from hades.language.english.entity_kinds import UNKNOWN, title_kind
from hades.language.english.lexicon import STOP_WORDS
from hades.language.english.proper_names import is_name
from hades.language.names import is_identifier, name_key, symbol_tail, without_parenthesis
from hades.language.paper_ids import paper_id
from hades.models.encoder import Encoder
from hades.store.records import Write
from hades.store.store import Store

COREF = "coref"
ExtractedNames = Sequence[Sequence[tuple[str, str]]]
"""For each chunk, the names that an extractor found in it, as (name, kind)."""
Nearness = Callable[[Link, int], float | None]
"""Returns the similarity of the ends of a link in the chunk of this number; None if unknown."""

_LONG_FORM = re.compile(
    r"(?<![\w-])(?:[^\WA-Z]|-)*+"
    r"([A-Z][\w-]++(?:\s(?:of|and|for|the|in)?\s?[\w-]++){1,6})\s\(([A-Z][A-Za-z]{1,7})\)"
)


class Introducer:
    """A writer of the names and links of states, for one space."""

    def __init__(self, store: Store, space: int) -> None:
        self._store = store
        self._space = space

    def introduce(
        self,
        write: Write,
        stated: Introductions,
        chunks: Sequence[int],
        texts: Sequence[str],
        extracted: ExtractedNames,
    ) -> None:
        """Write the names and links of one state; `texts` and `extracted` have one per chunk."""
        if not chunks:
            return
        self._stated_names(write, stated, chunks, texts[0])
        for chunk, text, names in zip(chunks, texts, extracted, strict=True):
            self._extracted_names(write, chunk, text, names)
        self.links(write, stated, chunks)

    # Names

    def _stated_names(
        self, write: Write, stated: Introductions, chunks: Sequence[int], beginning: str
    ) -> None:
        titled: int | None = None
        for name, ordinal in stated.names:
            if name.origin == Origin.TITLE and name.kind == UNKNOWN and stated.kind != "code":
                name = name._replace(kind=title_kind(name.text, beginning))
            where = chunks if ordinal is None else chunks[ordinal : ordinal + 1]
            if name.origin == Origin.ALIAS and titled is not None:
                self._other_name(write, titled, name, chunks[0])
                continue
            entity = self._stated_name(write, name, where)
            if name.origin == Origin.TITLE and titled is None:
                titled = entity
        self._short_symbols(write, stated, chunks)

    def _stated_name(self, write: Write, name: IntroducedName, chunks: Sequence[int]) -> int | None:
        if not chunks or not is_name(name_key(name.text)):
            return None
        links = self._store.mentions
        entity = links.introduce(
            write,
            self._space,
            name.text,
            name.kind,
            name.origin,
            chunks,
            symbol=name.origin == Origin.SYMBOL,
        )
        bare = without_parenthesis(name.text)
        if name.origin == Origin.TITLE and bare != name.text and is_name(name_key(bare)):
            links.add_alias(write, entity, bare, Origin.ALIAS, chunks[0])
        return entity

    def _other_name(self, write: Write, entity: int, name: IntroducedName, chunk: int) -> None:
        """Write another name of a document's entity, such as a paper's id beside its title.

        Other texts may use the id alone, so the id has an entity too, with a `coref` link.
        """
        links = self._store.mentions
        links.add_alias(write, entity, name.text, Origin.ALIAS, chunk)
        other = links.entity(write, self._space, name.text, name.kind, Origin.EXTRACTED)
        self._same(write, chunk, other, self._plain_id(write, name.text) or entity)

    def _plain_id(self, write: Write, name: str) -> int | None:
        """If a name is another spelling of a paper's id, return the entity of the id, made if
        needed; else None."""
        plain = paper_id(name)
        if plain is None or plain == name:
            return None
        return self._store.mentions.entity(write, self._space, plain, "paper", Origin.EXTRACTED)

    def _short_symbols(self, write: Write, stated: Introductions, chunks: Sequence[int]) -> None:
        by_chunk: dict[int, list[str]] = {}
        for name, ordinal in stated.names:
            if name.origin == Origin.SYMBOL and ordinal is not None:
                by_chunk.setdefault(ordinal, []).append(name.text)
        for ordinal, names in by_chunk.items():
            for bare, relation, full in short_symbols(names):
                ends = [
                    self._store.mentions.entity(
                        write, self._space, end, "code_symbol", Origin.SYMBOL, symbol=True
                    )
                    for end in (bare, full)
                ]
                self._same(write, chunks[ordinal], *ends, relation=relation)

    def _extracted_names(
        self, write: Write, chunk: int, text: str, names: Sequence[tuple[str, str]]
    ) -> None:
        links = self._store.mentions
        space = self._space
        for name, kind in names:
            entity = links.introduce(write, space, name, kind, Origin.EXTRACTED, [chunk])
            if kind in ("paper", "url"):
                self._same(write, chunk, entity, self._plain_id(write, name) or entity)
        for long, short in long_forms(text):
            entity = links.introduce(write, space, long, "concept", Origin.EXTRACTED, [chunk])
            links.add_alias(write, entity, short, Origin.ALIAS, chunk)
            if is_name(name_key(short)):
                other = links.introduce(write, space, short, "concept", Origin.EXTRACTED, [chunk])
                self._same(write, chunk, other, entity)

    def _same(
        self, write: Write, chunk: int, mention: int, meant: int, *, relation: str = COREF
    ) -> None:
        if mention == meant:
            return
        weight = initial_weight(relation)
        self._store.derived_edges.add(
            write,
            chunk,
            NodeKind.ENTITY.node(mention),
            relation,
            NodeKind.ENTITY.node(meant),
            weight=weight.value,
            evidence="",
            components=weight.components,
        )

    # Links

    def links(
        self,
        write: Write,
        stated: Introductions,
        chunks: Sequence[int],
        nearness: Nearness | None = None,
    ) -> None:
        """Write the links of a state. With `nearness`, only give existing links new weights."""
        node = cache(partial(self._end, write, stated))
        for link in stated.links:
            at = min(link.block, len(chunks) - 1)
            first = initial_weight(link.relation, certainty=link.weight)
            weight = first
            if nearness is not None:
                similarity = nearness(link, at)
                weight = initial_weight(link.relation, certainty=link.weight, similarity=similarity)
                if weight == first:
                    continue
            kinds = RELATION_KINDS.get(link.relation, ("", ""))
            source, target = map(node, (link.source, link.target), kinds)
            self._store.derived_edges.add(
                write,
                chunks[at],
                source,
                link.relation,
                target,
                weight=weight.value,
                evidence=link.evidence,
                components=weight.components,
                instead_of=None if weight == first else first.value,
            )

    def _end(self, write: Write, stated: Introductions, name: str, implied: str) -> int:
        if name.startswith("topic:"):
            return self._store.mentions.topic_node(self._space, name.removeprefix("topic:"))
        symbol = stated.kind == "code"
        if stated.kind == "document":  # a wikilink names a topic or anything else
            own = self._store.entities.own_nodes(self._space, name)
            if own and own[-1] & 7 == NodeKind.TOPIC:
                return own[-1]
        kind = "code_symbol" if symbol else implied or UNKNOWN
        entity = self._store.mentions.entity(
            write, self._space, name, kind, Origin.EXTRACTED, symbol=symbol
        )
        return NodeKind.ENTITY.node(entity)

    def nearness(self, stated: Introductions, chunks: Sequence[int], encoder: Encoder) -> Nearness:
        """Return a function: the cosine of the passages that introduce the two ends of a link.

        Only passages of this document are used, so that the result does not depend on other
        documents. If both ends are in one passage, or one of the passages has no vector, the
        function returns None.
        """
        places = {name.text: at for name, at in reversed(stated.names) if at is not None}
        nodes = [NodeKind.CHUNK.node(chunk) for chunk in chunks]
        packed = self._store.chunks.vectors(encoder.model, nodes)

        def near(link: Link, at: int) -> float | None:
            ends = [places.get(end, at) for end in (link.source, link.target)]
            if ends[0] == ends[1] or max(ends) >= len(nodes):
                return None
            packed_ends = [packed[nodes[end]] for end in ends if nodes[end] in packed]
            vectors = [np.frombuffer(row, np.float16, encoder.dims) for row in packed_ends]
            if len(vectors) < len(ends):
                return None
            return float(vectors[0].astype(np.float32) @ vectors[1].astype(np.float32))

        return near


def long_forms(text: str) -> list[tuple[str, str]]:
    """Return (long form, acronym) for each acronym that a text spells out."""
    pairs = []
    for long, short in _LONG_FORM.findall(text):
        parts = long.split()
        for start in range(len(parts)):
            if parts[start].lower() in STOP_WORDS:
                continue  # "of the Massachusetts Institute of Technology" begins later
            initials = "".join(
                part[0]
                for part in parts[start:]
                if part[0].isupper() or part.lower() not in STOP_WORDS
            )
            if initials.lower() == short.lower():
                pairs.append((" ".join(parts[start:]), short))
                break
    return pairs


def short_symbols(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield (bare name, relation, full name) for symbols of one passage that has both names.

    An identifier means the symbol (`coref`). A plain word may mean something else (`refers_to`).
    """
    known = set(names)
    for full in names:
        bare = symbol_tail(full)
        if bare != full and bare in known and is_name(name_key(bare)):
            yield bare, "coref" if is_identifier(bare) else "refers_to", full
