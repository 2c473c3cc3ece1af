"""Tokens: how long a text is for a model, counted and never guessed.

The tokenizer of the built-in encoder is the one in the package. Another takes its place
by a setting, so that the budget of a context is exact for the model that will read it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hades.domain.sentences import spans
from hades.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from tokenizers import Tokenizer as FileTokenizer

ELLIPSIS = "…"
WORDS_KEPT = 100_000
"""Words whose tokens are kept: some 10 MB."""
_BLANK = re.compile(r"[ \t\n\r]+")
"""What every tokenizer takes for white space; other marks count as part of a word."""


class Tokenizer(Protocol):
    """What packing asks of a tokenizer."""

    @property
    def additive(self) -> bool:
        """True when the parts of a text between white space always add up to its count."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has, without the marks a model puts around it."""


class BuiltIn:
    """The tokenizer of the built-in encoder, which never looks across white space.

    So what each word has is counted once and kept: a packed context took 5 ms of counting
    and takes a tenth of it when most of its words came up before.
    """

    additive = True

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        rows = [_BLANK.split(text) for text in texts]
        if len(self._known) > WORDS_KEPT:
            self._known = {}
        known = self._known
        new = list({word for row in rows for word in row if word not in known})
        if new:
            from hades.models.encoder import count_tokens

            known.update(zip(new, count_tokens(new), strict=True))
        return [sum(map(known.__getitem__, row)) for row in rows]


class FromFile:
    """A `tokenizer.json` as model makers publish it."""

    additive = False

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise NotFound(f"There is no tokenizer in {path}: give a tokenizer.json.")
        from tokenizers import Tokenizer as FileTokenizer

        self._tokenizer: FileTokenizer = FileTokenizer.from_file(str(path))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def count(self, texts: Sequence[str]) -> list[int]:
        """How many tokens each text has."""
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        found = self._tokenizer.encode_batch(readable, add_special_tokens=False)
        return [len(one) for one in found]


@cache
def load_tokenizer(setting: str = "minilm") -> Tokenizer:
    """The tokenizer a setting names: `minilm` or `file:/path/tokenizer.json`."""
    kind, _, rest = setting.partition(":")
    if setting == "minilm":
        return BuiltIn()
    if kind == "file" and rest:
        return FromFile(Path(rest).expanduser())
    raise InvalidInput(f"Unknown tokenizer {setting!r}: use minilm or file:/path/tokenizer.json.")


_WORD = re.compile(r"\S+")


def cut(text: str, at_most: int, tokenizer: Tokenizer) -> str:
    """As much of a text as fits: whole sentences where one fits, else words and an ellipsis.

    The result never has more tokens than asked; a text that fits is given back as it is.
    """
    if tokenizer.count([text])[0] <= at_most:
        return text
    ends = [end for _, end in spans(text)]
    return _longest(text, ends, at_most, "", tokenizer) or cut_words(text, at_most, tokenizer)


def cut_words(text: str, at_most: int, tokenizer: Tokenizer) -> str:
    """As many words of a text as fit, with an ellipsis where some are left out."""
    if tokenizer.count([text])[0] <= at_most:
        return text
    ends = [found.end() for found in _WORD.finditer(text)]
    kept = _longest(text, ends, at_most, " " + ELLIPSIS, tokenizer)
    # One word alone may be too long: a line of base64, a language without spaces.
    return kept or _longest(text, range(1, len(text)), at_most, ELLIPSIS, tokenizer)


def _longest(text: str, ends: Sequence[int], at_most: int, tail: str, tokenizer: Tokenizer) -> str:
    """The longest beginning that fits, by halving; empty when none does."""
    low, high = 0, len(ends)
    best = ""
    while low < high:
        middle = (low + high) // 2
        tried = text[: ends[middle]] + tail
        if tokenizer.count([tried])[0] <= at_most:
            best, low = tried, middle + 1
        else:
            high = middle
    return best
