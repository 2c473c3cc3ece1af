"""Chunks: a document is cut into passages that fit the encoder.

Blocks that are too small to mean much alone are joined with their neighbours under the same
heading. Blocks that are too large are cut at the end of a sentence, a line or a word. The text of a
passage is always `content[start:end]`, so a citation can point at it.

Tokens are counted once per block and once more per cut, so the work grows with the length of the
text, whatever its shape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hades.ingest.document import Block, ChunkSpan, Document

TOKENS_AT_MOST = 220
"""Leaves room for a heading within the 256 tokens that small encoders read."""
TOKENS_AIMED_AT = 160

CHARACTERS_PER_TOKEN_AT_MOST = 20
"""Prose has 3 to 6. A word-piece tokenizer counts a line of base64 of any length as one unknown
token, so the limit of tokens alone would allow a passage of a megabyte."""

TEXTS_PER_COUNT = 1024
"""How many texts one call of the counter gets, enough for it to use all cores."""

SMALL_SHARE_OF_TARGET = 1 / 8
"""A smaller piece, such as a heading line, is joined with its neighbour even beyond the target, but
never beyond the limit."""

CUT_FROM = 0.6
CUT_TO = 1.2
"""The range, as shares of the ideal width, in which a cut looks for the end of a sentence."""

_SENTENCE_END = re.compile(
    r"""
      [.!?…؟۔।] ["'”’»)\]]* (?= \s{1,8} [^\sa-z] )   # 'e.g. this' does not end a sentence
      (?! [^\n|]{0,400} \| )   # nor does the end of a cell: a row stays whole
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
    """Return the passages of a document, in order. Together they hold the text of all blocks once.

    A passage has about `target` tokens, and never more than `limit` unless it is one character.
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
        """Return copies of the pieces with `tokens` set."""
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
    """Return each block as one piece, or several if it is too long; tokens are not counted yet."""
    width = int(bounds.characters / CUT_TO)
    return [
        _Piece(start, end, number)
        for number, block in enumerate(blocks)
        for start, end in _cut(bounds.content, block.start, block.end, width)
    ]


def _fitting(pieces: list[_Piece], bounds: _Bounds) -> list[_Piece]:
    """Return the pieces with `tokens` set, in order. One above the limit is cut until it fits."""
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
    """Return the width, in characters, of equal parts that have about the target of tokens."""
    parts = -(-piece.tokens // bounds.target)
    length = piece.end - piece.start
    # A part of CUT_TO times the width must still be smaller than the piece.
    return max(1, min(-(-length // parts), int((length - 1) / CUT_TO)))


def _cut(content: str, start: int, end: int, width: int) -> Iterator[tuple[int, int]]:
    """Cut content[start:end] into spans of about `width` characters; yield their (start, end)."""
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
    """Return the best offset to cut: the end of a sentence, else of a line, word or character."""
    nearest = max(start + 1, start + int((ideal - start) * CUT_FROM))
    for pause in _PAUSES:
        ends = [match.end() for match in pause.finditer(content, nearest, furthest)]
        if ends:
            return min(ends, key=lambda end: abs(end - ideal))
    return ideal


def _first(content: str, start: int, end: int) -> int:
    """Return the index of the first character from `start` on that is no space, or `end`."""
    text = _NOT_SPACE.search(content, start, end)
    return text.start() if text else end


def _last(content: str, start: int, end: int) -> int:
    """Return the index after the last character before `end` that is no space, or `start`."""
    while end > start and content[end - 1].isspace():
        end -= 1
    return end


def _runs(
    pieces: Sequence[_Piece], blocks: Sequence[Block], content: str
) -> Iterator[list[_Piece]]:
    """Yield lists of consecutive pieces that may be joined: same heading, only space between."""
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
        before = blocks[left.block]
        after = blocks[right.block]
        if before.whole or after.whole or before.heading != after.heading:
            return False
    gap = content[left.end : right.start]
    return not gap or gap.isspace()


def _packs(run: Sequence[_Piece], bounds: _Bounds) -> Iterator[list[_Piece]]:
    """Split a run into lists of pieces that together have about the target of tokens."""
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
            pack = []
            held = 0
        pack.append(piece)
        held += piece.tokens
    yield pack


def _passage(pack: Sequence[_Piece], ordinal: int, blocks: Sequence[Block]) -> ChunkSpan:
    """Join pieces to a passage. Its tokens are their sum, because white space has no tokens."""
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
