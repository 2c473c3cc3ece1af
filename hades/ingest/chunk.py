"""Chunks: a document cut into passages an encoder can hold.

Blocks that are too small to mean much alone are joined with their neighbours under
the same heading; blocks that are too large are cut where a reader would pause. The
text of a passage is always `content[start:end]`, so a citation can point at it.

Every block is counted once, every passage that was cut once more: the work grows with the
length of the text, whatever its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hades.ingest.document import Block, ChunkSpan, Document

TOKENS_AT_MOST = 220
"""Room for a heading within the 256 tokens the small encoders read."""
TOKENS_AIMED_AT = 160

CHARACTERS_PER_TOKEN_AT_MOST = 20
"""Prose has 3 to 6. A word-piece tokenizer calls a line of base64 one unknown token,
however long: the count alone would let a megabyte through as a passage."""

TEXTS_PER_COUNT = 1024
"""Texts given to the counter at once: enough for it to use all cores."""

SMALL_SHARE_OF_TARGET = 1 / 8
"""A heading line or a last short sentence is worth more with its neighbour than alone,
even when that goes over the target (never over the limit)."""

CUT_FROM, CUT_TO = 0.6, 1.2
"""A cut may fall this far from the ideal width to end where a sentence does."""

_SENTENCE_END = re.compile(
    r"""
      [.!?…؟۔।] ["'”’»)\]]* (?= \s{1,8} [^\sa-z] )   # 'e.g. this' does not end a sentence
    | [。！？｡] ["'”’」』）]*
    | \n [^\S\n]* \n
    | \n (?= [^\S\n]* (?: [-*+•|] | \d{1,4}[.)] ) )   # the next item or row
    """,
    re.VERBOSE,
)
_LINE_END = re.compile(r"\n")
_WORD_END = re.compile(r"\s|[、，；：]")
_PAUSES = (_SENTENCE_END, _LINE_END, _WORD_END)

_NOT_SPACE = re.compile(r"\S")

CountTokens = Callable[[Sequence[str]], Sequence[int]]


def chunk(
    document: Document,
    count_tokens: CountTokens,
    limit: int = TOKENS_AT_MOST,
    target: int = TOKENS_AIMED_AT,
) -> list[ChunkSpan]:
    """The passages of a document, in order; together they hold every block exactly once.

    No passage has more than `limit` tokens, unless a single character has.
    """
    content = document.content
    blocks = document.blocks or (Block(0, len(content)),)
    bounds = _Bounds(content, count_tokens, limit, target)
    pieces = _fitting(_pieces(blocks, bounds), bounds)
    packs = [pack for run in _runs(pieces, blocks, content) for pack in _packs(run, bounds)]
    return [_passage(pack, ordinal, blocks) for ordinal, pack in enumerate(packs)]


@dataclass(frozen=True, slots=True)
class _Bounds:
    content: str
    count_tokens: CountTokens
    limit: int
    target: int

    @property
    def characters(self) -> int:
        return self.limit * CHARACTERS_PER_TOKEN_AT_MOST

    def count(self, pieces: Sequence[_Piece]) -> list[_Piece]:
        """The same pieces, with their tokens counted."""
        counted: list[_Piece] = []
        for first in range(0, len(pieces), TEXTS_PER_COUNT):
            batch = pieces[first : first + TEXTS_PER_COUNT]
            tokens = self.count_tokens([self.content[p.start : p.end] for p in batch])
            counted += [replace(p, tokens=n) for p, n in zip(batch, tokens, strict=True)]
        return counted


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    block: int
    tokens: int = 0


def _pieces(blocks: Sequence[Block], bounds: _Bounds) -> list[_Piece]:
    """Every block as one piece, or as several when it is too long even to be counted."""
    width = int(bounds.characters / CUT_TO)
    return [
        _Piece(start, end, number)
        for number, block in enumerate(blocks)
        for start, end in _cut(bounds.content, block.start, block.end, width)
    ]


def _fitting(pieces: list[_Piece], bounds: _Bounds) -> list[_Piece]:
    """The pieces counted, those above the limit cut until none is."""
    done: list[_Piece] = []
    while pieces:
        too_large: list[_Piece] = []
        for piece in bounds.count(pieces):
            fits = piece.tokens <= bounds.limit or piece.end - piece.start == 1
            (done if fits else too_large).append(piece)
        pieces = [
            _Piece(start, end, piece.block)
            for piece in too_large
            for start, end in _cut(bounds.content, piece.start, piece.end, _width(piece, bounds))
        ]
    return sorted(done, key=lambda piece: piece.start)


def _width(piece: _Piece, bounds: _Bounds) -> int:
    """How many characters make equal parts of at most the target, going by its density."""
    parts = -(-piece.tokens // bounds.target)
    length = piece.end - piece.start
    # Reaching CUT_TO times the width must still make the piece smaller.
    return max(1, min(-(-length // parts), int((length - 1) / CUT_TO)))


def _cut(content: str, start: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    """Spans of about `width` characters, at most CUT_TO times that, without outer white space."""
    end = _last(content, start, end)
    start = _first(content, start, end)
    reach = max(1, int(width * CUT_TO))
    while end - start > reach:
        at = _pause(content, start, start + width, start + reach)
        yield start, _last(content, start, at)
        start = _first(content, at, end)
    if start < end:
        yield start, end


def _pause(content: str, start: int, ideal: int, furthest: int) -> int:
    """The best place to cut: the end of a sentence, else of a line, a word, a character."""
    nearest = max(start + 1, start + int((ideal - start) * CUT_FROM))
    for pause in _PAUSES:
        ends = [match.end() for match in pause.finditer(content, nearest, furthest)]
        if ends:
            return min(ends, key=lambda end: abs(end - ideal))
    return ideal


def _first(content: str, start: int, end: int) -> int:
    """Where the text begins after white space; `end` when there is none."""
    found = _NOT_SPACE.search(content, start, end)
    return found.start() if found else end


def _last(content: str, start: int, end: int) -> int:
    """Where the text ends before white space; `start` when there is none."""
    while end > start and content[end - 1].isspace():
        end -= 1
    return end


def _runs(
    pieces: Sequence[_Piece], blocks: Sequence[Block], content: str
) -> Iterator[list[_Piece]]:
    """Neighbours that may be joined: one heading, nothing but white space between them."""
    run: list[_Piece] = []
    for piece in pieces:
        if run and not _may_join(run[-1], piece, blocks, content):
            yield run
            run = []
        run.append(piece)
    if run:
        yield run


def _may_join(left: _Piece, right: _Piece, blocks: Sequence[Block], content: str) -> bool:
    if left.block != right.block:
        one, other = blocks[left.block], blocks[right.block]
        if one.whole or other.whole or one.heading != other.heading:
            return False
    gap = content[left.end : right.start]
    return not gap or gap.isspace()


def _packs(run: Sequence[_Piece], bounds: _Bounds) -> Iterator[list[_Piece]]:
    """A run in packs of about the target, filled from the front."""
    small = int(bounds.target * SMALL_SHARE_OF_TARGET)
    pack: list[_Piece] = []
    held = 0
    for piece in run:
        together = held + piece.tokens
        room = bounds.target
        if held <= small or (piece is run[-1] and piece.tokens <= small):
            room = bounds.limit
        too_long = bool(pack) and piece.end - pack[0].start > bounds.characters
        if pack and (together > room or too_long):
            yield pack
            pack, held = [], 0
        pack.append(piece)
        held += piece.tokens
    yield pack


def _passage(pack: Sequence[_Piece], ordinal: int, blocks: Sequence[Block]) -> ChunkSpan:
    """Pieces as one passage. White space has no tokens, so it has as many as they have."""
    numbers = tuple(dict.fromkeys(piece.block for piece in pack))
    names = dict.fromkeys(name for number in numbers for name in blocks[number].names)
    return ChunkSpan(
        start=pack[0].start,
        end=pack[-1].end,
        heading=blocks[numbers[0]].heading,
        tokens=sum(piece.tokens for piece in pack),
        ordinal=ordinal,
        blocks=numbers,
        names=tuple(names),
    )
