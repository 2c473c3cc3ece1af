"""Resolving: which symbol a name in the code means, as far as one file can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hades.ingest.readers.code.imports import rust_absolute
from hades.ingest.readers.code.languages import Language
from hades.ingest.readers.code.naming import Place, is_distinctive
from hades.ingest.readers.code.symbols import Kind, Symbol

Path = tuple[str, ...]

MOST_BASES_FOLLOWED = 50


class Resolver:
    """Looks names up in the file's own symbols first, then in its imports."""

    def __init__(
        self,
        language: Language,
        place: Place,
        symbols: Sequence[Symbol],
        names: Sequence[str],
        imported: Mapping[str, str],
    ) -> None:
        self._language = language
        self._place = place
        self._symbols = symbols
        self._imported = imported
        self._defined: dict[Path, str] = {}
        self._member_scopes: set[Path] = set()
        for symbol, name in zip(symbols, names, strict=True):
            if not symbol.is_scope:
                self._defined.setdefault(symbol.path, name)
            if symbol.kind in (Kind.CLASS, Kind.IMPL):
                self._member_scopes.add(symbol.path)
            elif symbol.owned:
                self._member_scopes.add(symbol.path[:-1])
        self._simple = {path[-1] for path in self._defined}
        self._bases: dict[Path, list[Path]] = {}

    def add_base(self, owner: Path, base: Path) -> None:
        """Methods not found in `owner` are looked for in `base`."""
        self._bases.setdefault(owner, []).append(base)

    def defined(self, path: Path) -> str | None:
        """The qualified name of the first symbol of that path in the file."""
        return self._defined.get(path)

    def resolve(self, parts: Path, inside: Symbol) -> str | None:
        """The qualified name a chain of identifiers means inside a symbol."""
        head = parts[0]
        if head in self._language.selves or (head and head == self._receiver(inside)):
            owner = self._class_of(inside)
            if owner is None or len(parts) > 2:
                return None
            return self._method(owner, parts[1]) if len(parts) == 2 else self._defined.get(owner)
        if head == "super" and self._language.family != "rust":
            return self._inherited(inside, parts[1]) if len(parts) == 2 else None
        return self._in_scope(parts, inside) or self._elsewhere(parts)

    def written(self, parts: Path) -> str:
        """A name as the language writes it."""
        return self._language.joint.join(parts)

    def guess(self, parts: Path, inside: Symbol) -> str | None:
        """The bare name of a method called on an unknown object, if the file defines it."""
        name = parts[-1]
        own_object = len(parts) == 2 and parts[0] in (*self._language.selves, "super")
        known = name in self._simple and is_distinctive(name) and name != inside.path[-1]
        return name if len(parts) > 1 and not own_object and known else None

    def _in_scope(self, parts: Path, inside: Symbol) -> str | None:
        for depth in range(len(inside.path), -1, -1):
            scope = inside.path[:depth]
            if scope in self._member_scopes and scope and not self._language.implicit_self:
                continue
            if found := self._defined.get((*scope, *parts)):
                return found
            bare_inherited = self._language.implicit_self and len(parts) == 1
            if bare_inherited and (found := self._method(scope, parts[0])):
                return found
        return None

    def _elsewhere(self, parts: Path) -> str | None:
        joint = self._language.joint
        if self._language.family == "rust" and parts[0] in ("crate", "super"):
            return joint.join(rust_absolute(parts, self._place))
        target = self._imported.get(parts[0])
        return joint.join((target, *parts[1:])) if target else None

    def _method(self, owner: Path, name: str) -> str | None:
        """A method of a class or of the bases of it that this file defines."""
        waiting, seen = [owner], set[Path]()
        while waiting and len(seen) < MOST_BASES_FOLLOWED:
            path = waiting.pop(0)
            if path in seen:
                continue
            seen.add(path)
            if found := self._defined.get((*path, name)):
                return found
            waiting += self._bases.get(path, [])
        return None

    def _inherited(self, inside: Symbol, name: str) -> str | None:
        owner = self._class_of(inside)
        bases = self._bases.get(owner, []) if owner is not None else []
        return next(filter(None, (self._method(base, name) for base in bases)), None)

    def _class_of(self, symbol: Symbol) -> Path | None:
        for depth in range(len(symbol.path), 0, -1):
            if symbol.path[:depth] in self._member_scopes:
                return symbol.path[:depth]
        return None

    def _receiver(self, symbol: Symbol) -> str:
        while not symbol.receiver and symbol.parent is not None:
            symbol = self._symbols[symbol.parent]
        return symbol.receiver
