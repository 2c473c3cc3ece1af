"""Blocks: the file cut along its symbols, nothing lost.

A symbol's text is its own block, less the blocks of the symbols inside it: what is left
of a class is its header and fields, what is left of the file its imports and constants.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from hades.ingest.document import Block, IntroducedName, Origin
from hades.ingest.readers.code.naming import is_distinctive
from hades.ingest.readers.code.symbols import Kind, Symbol

_WORD = re.compile(r"\w")
_CLOSING = re.compile(r"\}[);]*\s*(?://|/\*)|#\s*endif\b")


def cut(
    text: str, topic: str, symbols: Sequence[Symbol], names: Sequence[str], joint: str
) -> tuple[Block, ...]:
    """The blocks of a file; `names` are the qualified names of the symbols."""
    blocks: list[Block] = []
    starts = {symbol.start for symbol in symbols}
    for start, end, number in _pieces(symbols, len(text)):
        piece = text[start:end]
        kept = piece.strip()
        if not kept:
            continue
        first = start + len(piece) - len(piece.lstrip())
        if blocks and first not in starts and _only_closes(kept):
            blocks[-1] = replace(blocks[-1], end=first + len(kept))
            continue
        symbol = symbols[number] if number is not None else None
        # A namespace is no part of the way: the pieces of one file join across it.
        inside = symbol is not None and symbol.kind is not Kind.NAMESPACE
        heading = f"{topic} > {_label(symbol, joint)}" if symbol is not None and inside else topic
        # The rest of a function, after a long one inside it, may be joined with others.
        whole = symbol is not None and symbol.kind is Kind.FUNCTION and first == symbol.start
        blocks.append(Block(first, first + len(kept), heading, whole))
    return _named(blocks, symbols, names)


def block_at(starts: Sequence[int], at: int) -> int:
    """The number of the block a character is in; `starts` are the blocks'."""
    return max(0, bisect_right(starts, at) - 1)


def _pieces(symbols: Sequence[Symbol], length: int) -> list[tuple[int, int, int | None]]:
    """Consecutive spans that cover the text, each with the innermost symbol it is in."""
    pieces: list[tuple[int, int, int | None]] = []
    at = 0
    inside: int | None = None
    for number, symbol in enumerate(symbols):
        if symbol.kind is Kind.DECLARED:
            continue
        while inside is not None and symbols[inside].end <= symbol.start:
            pieces.append((at, symbols[inside].end, inside))
            at, inside = symbols[inside].end, symbols[inside].parent
        pieces.append((at, symbol.start, inside))
        at, inside = symbol.start, number
    while inside is not None:
        pieces.append((at, symbols[inside].end, inside))
        at, inside = symbols[inside].end, symbols[inside].parent
    pieces.append((at, length, None))
    return pieces


def _only_closes(piece: str) -> bool:
    """Whether nothing but brackets (and what they say they close) is left between symbols."""
    lines = (line.strip() for line in piece.split("\n"))
    return all(not _WORD.search(line) or _CLOSING.match(line) for line in lines)


def _label(symbol: Symbol, joint: str) -> str:
    if symbol.kind is Kind.IMPL:
        return symbol.signature
    gap = " " if _WORD.match(symbol.signature) else ""
    return f"{joint.join(symbol.path)}{gap}{symbol.signature}"


def _named(
    blocks: list[Block], symbols: Sequence[Symbol], names: Sequence[str]
) -> tuple[Block, ...]:
    starts = [block.start for block in blocks]
    introduced: dict[int, dict[str, IntroducedName]] = {}
    for symbol, name in zip(symbols, names, strict=True):
        if symbol.is_scope:
            continue
        here = introduced.setdefault(block_at(starts, symbol.start), {})
        for text in (name, symbol.path[-1]):
            if text == name or is_distinctive(text):
                here.setdefault(text, IntroducedName(text, Origin.SYMBOL, "code_symbol"))
    return tuple(
        replace(block, names=tuple(introduced[number].values())) if number in introduced else block
        for number, block in enumerate(blocks)
    )
