"""The reader of source files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from posixpath import splitext

from hades.ingest.document import Block, Document, IntroducedName, Origin, Unreadable
from hades.ingest.readers.code.languages import SUFFIXES, CodeLanguage, find_matches
from hades.ingest.readers.code.links import LinkFinder
from hades.ingest.readers.code.naming import (
    Import,
    ModulePlace,
    find_imports,
    is_distinctive,
    path_parts,
    place_of,
    qualified,
)
from hades.ingest.readers.code.symbols import Symbol, SymbolKind, cut_blocks, find_symbols
from hades.ingest.readers.text import decode

MOST_PARSED_CHARS = 5_000_000
LONGEST_LINE_CHARS = 20_000
MEAN_LINE_CHARS = 250
"""Files with longer lines on average are minified; hand-written ones have less than 60
characters."""
SMALLEST_MINIFIED_CHARS = 5_000

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def read_code(data: bytes, topic: str, rooted: str = "") -> Document:
    """Read a source file. The suffix of its topic decides the language.

    `rooted` is its path from the root of its package, if known. A huge, minified or broken file
    becomes one block without symbols.
    """
    title = path_parts(topic)[1]
    language = SUFFIXES.get(splitext(title)[1].lower())
    if language is None:
        raise Unreadable(f"{title} has no suffix of a known programming language.")
    text, metadata = decode(data, topic)
    metadata["language"] = language.name
    why = _why_plain(text)
    matches = None if why else find_matches(language, _ascii(text))
    if matches is None:
        # Generated data and minified bundles have no useful symbols, and parsing them is slow.
        # Their text is kept and can be searched.
        kept = text.strip()
        start = text.index(kept)
        metadata["unparsed"] = why or "broken"
        whole = (Block(start, start + len(kept), topic),)
        return Document(topic, text, "code", title, whole, metadata=metadata)
    packages = (node for match in matches.get("package", ()) for node in match["package"])
    package = next(("".join(text[n.start_byte : n.end_byte].split()) for n in packages), "")
    place = place_of(topic, language, package, rooted)
    statements = [node for match in matches.get("import", ()) for node in match["import"]]
    imports = find_imports(text, statements, place, language)
    symbols = _qualified(find_symbols(text, matches), place, language, imports)
    blocks = cut_blocks(text, topic, symbols, language.joint)
    links = LinkFinder(text, place, language, symbols, imports, blocks).find(matches)
    names = _module_names(place)
    return Document(topic, text, "code", title, blocks, names, links, metadata=metadata)


def _why_plain(text: str) -> str:
    """Return `huge` or `minified` if the text should not be parsed, else ""."""
    if len(text) > MOST_PARSED_CHARS:
        return "huge"
    lines = text.split("\n")
    if max(map(len, lines)) > LONGEST_LINE_CHARS:
        return "minified"
    if len(text) > SMALLEST_MINIFIED_CHARS and len(text) / len(lines) > MEAN_LINE_CHARS:
        return "minified"
    return ""


def _ascii(text: str) -> bytes:
    """Return the text with one byte per character, so that byte offsets are character offsets.

    A letter beyond ASCII becomes `x`, so that an identifier stays an identifier.
    """

    def replaced(match: re.Match[str]) -> str:
        character = match[0]
        return "x" if f"x{character}".isidentifier() else " " if character.isspace() else "?"

    return _BEYOND_ASCII.sub(replaced, text).encode()


def _qualified(
    symbols: Iterable[Symbol],
    place: ModulePlace,
    language: CodeLanguage,
    imports: Iterable[Import],
) -> list[Symbol]:
    """Return the symbols with `name` and `owner` set; a repeated name gets a number: `f#2`."""
    imported = {item.alias: item.meaning for item in imports if item.alias}
    joint = language.joint
    named: list[Symbol] = []
    seen: Counter[str] = Counter()
    for symbol in symbols:
        around = named[symbol.parent] if symbol.parent is not None else None
        name = qualified(place, symbol.path, joint)
        owner = ""
        if around is not None and around.kind is not SymbolKind.NAMESPACE:
            owner = around.name
            name = joint.join((owner, *symbol.path[len(around.path) :]))
        elif symbol.is_owned:
            owner = qualified(place, symbol.path[:-1], joint)
        elif symbol.kind is SymbolKind.IMPL and symbol.path[0] in imported:
            name = joint.join((imported[symbol.path[0]], *symbol.path[1:]))
        if not symbol.is_scope:
            seen[name] += 1
            name = name if seen[name] == 1 else f"{name}#{seen[name]}"
        named.append(replace(symbol, name=name, owner=owner))
    return named


def _module_names(place: ModulePlace) -> tuple[IntroducedName, ...]:
    if not place.module or (place.module.isidentifier() and not is_distinctive(place.module)):
        return ()
    return (IntroducedName(place.module, Origin.SYMBOL, "code_symbol"),)
