"""Links between the symbols of a file: contains, imports, extends, calls.

A name is resolved by the symbols of the file first, then by its imports. An unresolved base keeps
its name as written. An unresolved call gives no link, or a weak one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from posixpath import splitext
from typing import TYPE_CHECKING

from hades.ingest.document import Block, Link
from hades.ingest.readers.code.naming import (
    Import,
    ModulePlace,
    is_distinctive,
    path_parts,
    rust_absolute,
)
from hades.ingest.readers.code.symbols import (
    LONGEST_CHAIN_CHARS,
    Symbol,
    SymbolKind,
    block_at,
    chain,
    innermost,
)
from hades.ingest.readers.text import one_line

if TYPE_CHECKING:
    from hades.ingest.readers.code.languages import CodeLanguage, QueryMatch

LONGEST_EVIDENCE_CHARS = 200
MOST_BASES_FOLLOWED = 50
GUESS_WEIGHT = 0.5
"""The weight of a call on an object whose class is unknown."""

SymbolPath = tuple[str, ...]


class LinkFinder:
    """A collector of the links of one file; each is kept once, where it first occurs."""

    def __init__(
        self,
        text: str,
        place: ModulePlace,
        language: CodeLanguage,
        symbols: Sequence[Symbol],
        imports: Sequence[Import],
        blocks: Sequence[Block],
    ) -> None:
        self._text = text
        self._place = place
        self._language = language
        self._topic = f"topic:{place.topic}"
        self._symbols = symbols
        self._imports = imports
        self._imported = {item.alias: item.meaning for item in imports if item.alias}
        self._block_starts = [block.start for block in blocks]
        self._symbol_starts = [symbol.start for symbol in symbols]
        self._links: dict[tuple[str, str, str], Link] = {}
        self._defined: dict[SymbolPath, str] = {}
        """The qualified name of the first symbol of each path in the file."""
        self._bases: dict[SymbolPath, list[SymbolPath]] = {}
        self._outer_bases: dict[SymbolPath, str] = {}
        """For each class, its first base that is defined in another file."""
        self._member_scopes: set[SymbolPath] = set()
        for symbol in symbols:
            if not symbol.is_scope:
                self._defined.setdefault(symbol.path, symbol.name)
            if symbol.kind in (SymbolKind.CLASS, SymbolKind.IMPL):
                self._member_scopes.add(symbol.path)
            elif symbol.is_owned:
                self._member_scopes.add(symbol.path[:-1])
        stem = splitext(path_parts(place.topic)[1])[0]
        self._speaks_for_folder = stem in language.index_stems and language.family != "rust"
        self._path_of = {name: path for path, name in self._defined.items()}
        self._last_names = {path[-1] for path in self._defined}

    def find(self, matches: Mapping[str, Sequence[QueryMatch]]) -> tuple[Link, ...]:
        """Return all links of the file; `matches` are those of the language's query."""
        for symbol in self._symbols:
            self._contain(symbol)
        for item in self._imports:
            self._add(self._topic, "imports", item.target, item.at, item.statement)
            if item.alias and self._speaks_for_folder:
                # After `from a.b import C` in a/__init__.py, a.C is a.b.C.
                exported = f"{self._place.prefix}{item.alias}"
                self._add(exported, "coref", item.meaning, item.at, item.statement)
        # Bases first: calls follow inherited methods.
        for match in matches.get("base", ()):
            for node in match["base"]:
                self._extend(node.start_byte, node.end_byte)
        for match in matches.get("call", ()):
            for node in match["call"]:
                arguments = match.get("arguments")
                end = arguments[0].start_byte if arguments else node.end_byte
                self._call(node.start_byte, end)
        return tuple(self._links.values())

    def _add(
        self, source: str, relation: str, target: str, at: int, shown: str = "", weight: float = 1
    ) -> None:
        if source != target and (source, relation, target) not in self._links:
            block = block_at(self._block_starts, at)
            evidence = one_line(shown[: LONGEST_EVIDENCE_CHARS * 4], LONGEST_EVIDENCE_CHARS)
            link = Link(source, relation, target, block, evidence, weight, at)
            self._links[source, relation, target] = link

    def _contain(self, symbol: Symbol) -> None:
        """Add owner → symbol, and topic → symbol unless its owner is defined in this file."""
        if symbol.is_scope:
            return
        if symbol.owner:
            self._add(symbol.owner, "contains", symbol.name, symbol.start)
        if not symbol.owner or symbol.path[:-1] not in self._defined:
            self._add(self._topic, "contains", symbol.name, symbol.start)

    def _extend(self, start: int, end: int) -> None:
        """Add class → base, for the base written at text[start:end] in the class around it."""
        text = self._text[start:end]
        parts = chain(text.strip().lstrip("*&").partition("[")[0].partition("(")[0])
        number = innermost(self._symbols, self._symbol_starts, start)
        if number is None or not parts or not all(parts) or parts == ("object",):
            return
        symbol = self._symbols[number]
        if symbol.kind not in (SymbolKind.CLASS, SymbolKind.IMPL):
            return
        target = self._resolve(parts, symbol)
        if target is None or target == symbol.name:
            target = self._language.joint.join(parts)
        elif target not in self._path_of:
            self._outer_bases.setdefault(symbol.path, target)
        else:
            self._bases.setdefault(symbol.path, []).append(self._path_of[target])
        self._add(symbol.name, "extends", target, start, text)

    def _call(self, start: int, end: int) -> None:
        """Add symbol → callee for the call at text[start:end], weakly if it is only a guess."""
        number = innermost(self._symbols, self._symbol_starts, start)
        while number is not None and self._symbols[number].is_scope:
            number = self._symbols[number].parent
        if number is None:
            return
        symbol = self._symbols[number]
        # Read only the end of a long expression, because chained calls nest.
        text = self._text[max(start, end - LONGEST_CHAIN_CHARS - 1) : end]
        parts = chain(text.replace("super().", "super.", 1))
        if parts and (target := self._resolve(parts, symbol)):
            self._add(symbol.name, "calls", target, start, text)
        elif len(parts) > 1 and self._may_be_defined_here(parts[-1], symbol):
            self._add(symbol.name, "calls", parts[-1], start, text, GUESS_WEIGHT)

    def _may_be_defined_here(self, name: str, inside: Symbol) -> bool:
        """Return whether a method called on an unknown object is likely one of this file."""
        return name in self._last_names and is_distinctive(name) and name != inside.path[-1]

    def _resolve(self, parts: SymbolPath, inside: Symbol) -> str | None:
        """Return the qualified name that a chain of identifiers means inside a symbol, or None."""
        owner = self._class_of(inside)
        if parts[0] in self._language.selves or (parts[0] and parts[0] == self._receiver(inside)):
            return self._inherited([owner], parts[1:]) if owner else None
        if parts[0] == "super" and self._language.family != "rust":
            if not owner or len(parts) < 2:
                return None
            outer = self._outer_bases.get(owner)
            return self._inherited(self._bases.get(owner, []), parts[1:], outer)
        for depth in range(len(inside.path), -1, -1):
            scope = inside.path[:depth]
            if scope in self._member_scopes and scope and not self._language.implicit_self:
                continue
            if member := self._member([scope], parts):
                return member
        joint = self._language.joint
        if self._language.family == "rust" and parts[0] in ("crate", "super"):
            return joint.join(rust_absolute(parts, self._place))
        target = self._imported.get(parts[0])
        return joint.join((target, *parts[1:])) if target else None

    def _inherited(
        self, classes: Sequence[SymbolPath], names: SymbolPath, outer: str | None = None
    ) -> str | None:
        """Return a member of these classes. If none is found, assume that `outer` or a base in
        another file has it."""
        member = self._member(classes, names)
        if member is not None or len(names) != 1:
            return member
        outer_bases = map(self._outer_bases.get, self._with_bases(classes))
        outer = outer or next(filter(None, outer_bases), None)
        return f"{outer}{self._language.joint}{names[0]}" if outer else None

    def _member(self, classes: Sequence[SymbolPath], names: SymbolPath) -> str | None:
        """Return the qualified name of a member of these classes or their bases in this file."""
        own = (self._defined.get((*path, *names)) for path in self._with_bases(classes))
        return next(filter(None, own), None)

    def _with_bases(self, classes: Sequence[SymbolPath]) -> Iterator[SymbolPath]:
        """Yield classes and their bases in this file, the nearest first."""
        waiting = list(classes)
        seen = set[SymbolPath]()
        while waiting and len(seen) < MOST_BASES_FOLLOWED:
            path = waiting.pop(0)
            if path not in seen:
                seen.add(path)
                yield path
                waiting += self._bases.get(path, [])

    def _class_of(self, symbol: Symbol) -> SymbolPath | None:
        """Return the path of the innermost class that is or contains a symbol, or None."""
        paths = (symbol.path[:depth] for depth in range(len(symbol.path), 0, -1))
        return next((path for path in paths if path in self._member_scopes), None)

    def _receiver(self, symbol: Symbol) -> str:
        while not symbol.receiver and symbol.parent is not None:
            symbol = self._symbols[symbol.parent]
        return symbol.receiver
