"""Tokens: how long a text is for a model, counted and never guessed.

The tokenizer is that of the built-in encoder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from hades.domain.sentences import spans

ELLIPSIS = "…"
WORDS_KEPT = 100_000
"""Words whose tokens are kept: some 10 MB."""
_BLANK = re.compile(r"[ \t\n\r]+")
"""What every tokenizer takes for white space; other marks count as part of a word."""
_known: dict[str, int] = {}


def count(texts: Sequence[str]) -> list[int]:
    """How many tokens each text has, without the marks a model puts around it.

    The tokenizer never looks across white space, so what each word has is counted once and
    kept: a packed context took 5 ms of counting and takes a tenth of it when most of its words
    came up before. And so the parts of a text between white space add up to the whole.
    """
    global _known
    rows = [_BLANK.split(text) for text in texts]
    if len(_known) > WORDS_KEPT:
        _known = {}  # another thread may still read the old one
    known = _known
    new = list({word for row in rows for word in row if word not in known})
    if new:
        from hades.models.encoder import count_tokens

        known.update(zip(new, count_tokens(new), strict=True))
    return [sum(map(known.__getitem__, row)) for row in rows]


_WORD = re.compile(r"\S+")


def cut(text: str, at_most: int) -> str:
    """As much of a text as fits: whole sentences where one fits, else words and an ellipsis.

    The result never has more tokens than asked; a text that fits is given back as it is.
    """
    if count([text])[0] <= at_most:
        return text
    ends = [end for _, end in spans(text)]
    return _longest(text, ends, at_most, "") or cut_words(text, at_most)


def cut_words(text: str, at_most: int) -> str:
    """As many words of a text as fit, with an ellipsis where some are left out."""
    if count([text])[0] <= at_most:
        return text
    ends = [found.end() for found in _WORD.finditer(text)]
    kept = _longest(text, ends, at_most, " " + ELLIPSIS)
    # One word alone may be too long: a line of base64, a language without spaces.
    return kept or _longest(text, range(1, len(text)), at_most, ELLIPSIS)


def _longest(text: str, ends: Sequence[int], at_most: int, tail: str) -> str:
    """The longest beginning that fits, by halving; empty when none does."""
    low, high = 0, len(ends)
    best = ""
    while low < high:
        middle = (low + high) // 2
        tried = text[: ends[middle]] + tail
        if count([tried])[0] <= at_most:
            best, low = tried, middle + 1
        else:
            high = middle
    return best
