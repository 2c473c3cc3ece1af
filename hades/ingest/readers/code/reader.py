"""The reader: from the bytes of a source file to its Document."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from posixpath import splitext
from typing import TYPE_CHECKING

from hades.ingest.document import Document, IntroducedName, Origin, Unreadable
from hades.ingest.readers.code.blocks import cut
from hades.ingest.readers.code.grammar import find
from hades.ingest.readers.code.imports import read_import
from hades.ingest.readers.code.languages import LANGUAGES, SUFFIXES, Language
from hades.ingest.readers.code.links import LinkFinder, Statement
from hades.ingest.readers.code.naming import (
    Place,
    is_distinctive,
    path_parts,
    place_of,
    qualified,
)
from hades.ingest.readers.code.plain import plain_blocks, why_plain
from hades.ingest.readers.code.resolve import Resolver
from hades.ingest.readers.code.source import Source
from hades.ingest.readers.code.symbols import Kind, Symbol, find_symbols

if TYPE_CHECKING:
    from hades.ingest.readers.code.grammar import Matches

_LOOKS_LIKE_CPP = re.compile(
    r"^\s*(?:namespace\b|template\s*<|class\s+\w+[^;]*$|using\s+\w|(?:public|private)\s*:)",
    re.MULTILINE,
)


def read_code(data: bytes, topic: str) -> Document:
    """The Document of a source file; its language is told by the suffix of its topic."""
    title = path_parts(topic)[1]
    text = _text(data, title)
    language = _language(title, text)
    if why := why_plain(text):
        return _plain(text, topic, title, language, why)
    source = Source.of(text)
    matches = find(language, source.data)
    if matches is None:
        return _plain(text, topic, title, language, "broken")
    return _parsed(source, matches, topic, title, language)


def _plain(text: str, topic: str, title: str, language: Language, why: str) -> Document:
    metadata = {"language": language.name, "unparsed": why}
    return Document(topic, text, "code", title, plain_blocks(text, topic), metadata=metadata)


def _parsed(
    source: Source, matches: Matches, topic: str, title: str, language: Language
) -> Document:
    place = place_of(topic, language, _package(source, matches))
    statements = _statements(source, matches, place, language)
    imported = {one.alias: one.meaning for s in statements for one in s.imports if one.alias}
    symbols = find_symbols(source, matches)
    names, owners = _qualify(symbols, place, language, imported)
    blocks = cut(source.text, topic, symbols, names, language.joint)

    resolver = Resolver(language, place, symbols, names, imported)
    finder = LinkFinder(source, place, symbols, names, resolver, [block.start for block in blocks])
    finder.contain(owners)
    finder.take(statements)
    finder.extend(matches)
    finder.call(matches)
    return Document(
        topic,
        source.text,
        "code",
        title,
        blocks,
        _module_names(place),
        finder.links(),
        metadata={"language": language.name},
    )


def _text(data: bytes, title: str) -> str:
    if b"\0" in data:
        raise Unreadable(f"{title} is binary, not source code")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as broken:
        raise Unreadable(f"{title} is not UTF-8 text: byte {broken.start} is invalid") from broken
    if not text.strip():
        raise Unreadable(f"{title} is empty")
    return text


def _language(title: str, text: str) -> Language:
    suffix = splitext(title)[1].lower()
    if suffix not in SUFFIXES:
        raise Unreadable(f"{title} has no suffix of a known programming language")
    if suffix == ".h" and _LOOKS_LIKE_CPP.search(text):
        return LANGUAGES["cpp"]
    return LANGUAGES[SUFFIXES[suffix]]


def _package(source: Source, matches: Matches) -> str:
    nodes = (node for match in matches.get("package", ()) for node in match["package"])
    return next(("".join(source.of_node(node).split()) for node in nodes), "")


def _statements(
    source: Source, matches: Matches, place: Place, language: Language
) -> list[Statement]:
    statements = []
    for match in matches.get("import", ()):
        for node in match["import"]:
            text = source.of_node(node)
            imports = tuple(read_import(text, place, language.family))
            statements.append(Statement(source.start(node), text, imports))
    return statements


def _qualify(
    symbols: Sequence[Symbol], place: Place, language: Language, imported: Mapping[str, str]
) -> tuple[list[str], list[str]]:
    """The qualified name of every symbol, and that of what contains it (empty: the file)."""
    names: list[str] = []
    owners: list[str] = []
    seen: Counter[str] = Counter()
    for symbol in symbols:
        around = symbols[symbol.parent] if symbol.parent is not None else None
        name = qualified(place, symbol.path, language.joint)
        owner = ""
        if around is not None and around.kind is not Kind.NAMESPACE:
            owner = names[symbol.parent or 0]
            name = f"{owner}{language.joint}{language.joint.join(symbol.path[len(around.path) :])}"
        elif symbol.owned:
            owner = qualified(place, symbol.path[:-1], language.joint)
        elif symbol.kind is Kind.IMPL and symbol.path[0] in imported:
            name = language.joint.join((imported[symbol.path[0]], *symbol.path[1:]))
        if not symbol.is_scope:
            seen[name] += 1
            name = name if seen[name] == 1 else f"{name}#{seen[name]}"
        names.append(name)
        owners.append(owner)
    return names, owners


def _module_names(place: Place) -> tuple[IntroducedName, ...]:
    if not place.module or (place.module.isidentifier() and not is_distinctive(place.module)):
        return ()
    return (IntroducedName(place.module, Origin.SYMBOL, "code_symbol"),)
