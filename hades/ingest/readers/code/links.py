"""Links: what a file states about its symbols: contains, imports, extends, calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hades.ingest.document import Link
from hades.ingest.readers.code.blocks import block_at
from hades.ingest.readers.code.expression import LONGEST_CHAIN_CHARS, chain, one_line
from hades.ingest.readers.code.imports import Import
from hades.ingest.readers.code.naming import Place
from hades.ingest.readers.code.resolve import Path, Resolver
from hades.ingest.readers.code.source import Source
from hades.ingest.readers.code.symbols import Kind, Symbol, innermost

if TYPE_CHECKING:
    from hades.ingest.readers.code.grammar import Matches

LONGEST_EVIDENCE_CHARS = 200
GUESS_WEIGHT = 0.5
"""Of a call on an object whose class the file does not tell."""

_NO_BASES = frozenset({"object"})


@dataclass(frozen=True, slots=True)
class Statement:
    """An import statement: where it stands, its text, what it imports."""

    at: int
    text: str
    imports: tuple[Import, ...]


class LinkFinder:
    """Collects the links of one file, each once, where it is first stated."""

    def __init__(
        self,
        source: Source,
        place: Place,
        symbols: Sequence[Symbol],
        names: Sequence[str],
        resolver: Resolver,
        block_starts: Sequence[int],
    ) -> None:
        self._source = source
        self._topic = f"topic:{place.topic}"
        self._symbols = symbols
        self._names = names
        self._resolver = resolver
        self._block_starts = block_starts
        self._symbol_starts = [symbol.start for symbol in symbols]
        self._links: dict[tuple[str, str, str], Link] = {}

    def links(self) -> tuple[Link, ...]:
        return tuple(self._links.values())

    def _add(
        self,
        source: str,
        relation: str,
        target: str,
        at: int,
        evidence: str = "",
        weight: float = 1,
    ) -> None:
        if source == target:
            return
        block = block_at(self._block_starts, at)
        shown = one_line(evidence, LONGEST_EVIDENCE_CHARS)
        link = Link(source, relation, target, block, shown, weight)
        self._links.setdefault((source, relation, target), link)

    def contain(self, owners: Sequence[str]) -> None:
        """topic → its symbols, class → its methods; `owners` are the names they hang from."""
        for symbol, name, owner in zip(self._symbols, self._names, owners, strict=True):
            if symbol.is_scope:
                continue
            if owner:
                self._add(owner, "contains", name, symbol.start)
            if not owner or self._resolver.defined(symbol.path[:-1]) is None:
                self._add(self._topic, "contains", name, symbol.start)

    def take(self, statements: Iterable[Statement]) -> None:
        """topic → what it imports."""
        for statement in statements:
            for one in statement.imports:
                self._add(self._topic, "imports", one.target, statement.at, statement.text)

    def extend(self, matches: Matches) -> None:
        """class → its bases; must come before `call`, which follows inherited methods."""
        for match in matches.get("base", ()):
            for node in match["base"]:
                at = self._source.start(node)
                text = self._source.of_node(node).strip().lstrip("*&").partition("[")[0]
                parts = chain(text.partition("(")[0])
                number = innermost(self._symbols, self._symbol_starts, at)
                if number is None or not parts or not all(parts):
                    continue
                self._extend_one(number, parts, at, self._source.of_node(node))

    def _extend_one(self, number: int, parts: Path, at: int, evidence: str) -> None:
        symbol = self._symbols[number]
        if symbol.kind not in (Kind.CLASS, Kind.IMPL) or ".".join(parts) in _NO_BASES:
            return
        for depth in range(len(symbol.path) - 1, -1, -1):
            local = (*symbol.path[:depth], *parts)
            if self._resolver.defined(local) is not None and local != symbol.path:
                self._resolver.add_base(symbol.path, local)
                break
        target = self._resolver.resolve(parts, symbol)
        if target is None or target == self._names[number]:
            target = self._resolver.written(parts)
        self._add(self._names[number], "extends", target, at, evidence)

    def call(self, matches: Matches) -> None:
        """symbol → what it calls, where the file tells."""
        for match in matches.get("call", ()):
            for node in match["call"]:
                begin, end = self._source.start(node), self._source.end(node)
                if "arguments" in match:
                    end = self._source.start(match["arguments"][0])
                number = self._caller(begin)
                if number is None:
                    continue
                # Long expressions are only looked at from their end: chained calls nest.
                text = self._source.text[max(begin, end - LONGEST_CHAIN_CHARS - 1) : end]
                parts = chain(text)
                if parts:
                    self._call_one(number, parts, begin, text)

    def _call_one(self, number: int, parts: Path, at: int, text: str) -> None:
        symbol, name = self._symbols[number], self._names[number]
        if target := self._resolver.resolve(parts, symbol):
            self._add(name, "calls", target, at, text)
        elif target := self._resolver.guess(parts, symbol):
            self._add(name, "calls", target, at, text, GUESS_WEIGHT)

    def _caller(self, at: int) -> int | None:
        number = innermost(self._symbols, self._symbol_starts, at)
        while number is not None and self._symbols[number].is_scope:
            number = self._symbols[number].parent
        return number
