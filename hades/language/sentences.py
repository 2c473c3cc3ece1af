"""Sentences: split a text into sentences.

A sentence ends at a full stop, question or exclamation mark of its script, at an empty line, and
before the next item of a list. The point of an abbreviation, an initial or a number does not end a
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import islice, zip_longest

from hades.language.english.lexicon import ABBREVIATIONS, ENDING_ABBREVIATIONS, STOP_WORDS
from hades.language.patterns import lazy_pattern

_CLOSING = "\"'”’»)\\]」』）》"
_END = lazy_pattern(
    rf"""
      (?P<point> (?<![.!?…]) [.!?…]++ ) [{_CLOSING}]*+ (?= \s | $ )
    | [؟۔।॥።။។] [{_CLOSING}]*
    | [。！？｡] [{_CLOSING}]*
    | \n [^\S\n]* (?= \n )
    | \n (?= [^\S\n]* (?: [-*+•|>#] | \d{{1,4}}[.)]\s ) )
    """,
    re.VERBOSE,
)
_LAST_WORD = lazy_pattern(r"(?<![^\s(\[\"“'‘«])[^\s(\[\"“'‘«]++$")
_INITIALS = lazy_pattern(r"(?:[^\W\d_]\.)*[^\W\d_]")
"""Letters with a point each: `J.`, `U.S.`, `z.B.`."""
_FENCE = lazy_pattern(r"(?m)^[ \t]*(?:```|~~~)[^\n]*$")
_LAYOUT = lazy_pattern(r"(?m)^(?: {4}|\t|[ \t]*(?:```|~~~|[-*+•] |\d{1,4}[.)] |\||#{1,6} |> ))")
"""The beginning of a line of code, or of a Markdown list, table, heading or quotation."""
_LIST_NUMBER = lazy_pattern(r"(?:^|\n)[^\S\n]*\d{1,4}$")
_ORDINAL = lazy_pattern(r"(?:^|(?<!\bI)\s)(?:am|im|vom|zum|dem|den|der|ab|bis|seit) \d{1,2}$")
"""The beginning of a German date or floor: `am 3.` before `Dezember`, but not `I am 3.`"""
_MARKS = lazy_pattern(r"^(?:[-*+•>#|]+\s+|\d{1,4}[.)]\s+)+")
_NEXT = lazy_pattern(r"\s*[\"“'‘«(\[]*((?:[^\W\d_]+|\S))")


def spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence, without white space around it."""
    start = 0
    for match in _END.finditer(text):
        if match["point"] and not _ends(text, match.start(), match.end(), match["point"]):
            continue
        yield from _trimmed(text, start, match.end())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def sentences(text: str, at_most: int | None = None) -> list[str]:
    """Return the sentences of a text in order; with `at_most`, only this many from its start."""
    return [text[start:end] for start, end in islice(spans(text), at_most)]


def quotes(text: str) -> list[str]:
    """Return the sentences of a text, as `sentences` does, but each fenced block of code whole.

    A sentence that ends with a colon stays with the code after it.
    """
    kept = list[str]()
    end = 0
    fences = list(_FENCE.finditer(text))
    for opening, closing in zip_longest(fences[::2], fences[1::2]):
        kept += sentences(text[end : opening.start()])
        end = closing.end() if closing else len(text)
        lead = f"{kept.pop()}\n\n" if kept and kept[-1].endswith(":") else ""
        kept.append(lead + text[opening.start() : end])
    return kept + sentences(text[end:])


def has_fence(text: str) -> bool:
    """Return whether a text has a fenced block of code."""
    return _FENCE.search(text) is not None


def has_layout(text: str) -> bool:
    """Return whether the line breaks of a text have a meaning, as in code and in Markdown other
    than prose."""
    return _LAYOUT.search(text) is not None


def on_one_line(text: str) -> str:
    """Return a text without line breaks, unless it has a layout."""
    return text.strip() if has_layout(text) else " ".join(text.split())


def plain_sentence(text: str) -> str:
    """Return a sentence on one line, without the marks of a list or heading before it."""
    return _MARKS.sub("", " ".join(text.split()))


NOTE_SENTENCES_AT_MOST = 16
SAID_CHARACTERS = 400
"""How many characters at the start of a sentence are used to find it in its source."""


@lru_cache(maxsize=4_096)
def note_sentences(text: str) -> tuple[str, ...]:
    """Return the first NOTE_SENTENCES_AT_MOST sentences of a note; () if it has only one."""
    first = sentences(text, NOTE_SENTENCES_AT_MOST)
    return tuple(first) if len(first) > 1 else ()


def with_heading(heading: str, text: str) -> str:
    """Return a text as models read it: with its heading in front, unless it begins with that."""
    return f"{heading}. {text}" if heading and not text.startswith(heading) else text


def place_said(text: str, sought: str) -> tuple[int, int]:
    """Return where a text says something, ignoring marks of its format; (0, 0) if it does not.

    Only the beginning of `sought` is compared, and of the text the longest run of the same words.

    >>> place_said("# Tea\\n\\nAnn *likes* tea. Ben does not.", "Ann likes tea.")
    (7, 23)
    """
    own = list(re.finditer(r"\w+", text))
    told = re.findall(r"\w+", sought[:SAID_CHARACTERS].casefold())
    matcher = SequenceMatcher(None, [word[0].casefold() for word in own], told, autojunk=False)
    run = matcher.find_longest_match()
    if run.size < max(1, min(3, len(told))):
        return 0, 0
    start = own[run.a].start()
    end = own[run.a + run.size - 1].end()
    around = [(low, high) for low, high in spans(text) if low < end and high > start]
    return min(start, around[0][0]), max(end, around[-1][1])


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    inside = text[start:end]
    first = start + len(inside) - len(inside.lstrip())
    last = start + len(inside.rstrip())
    if first < last:
        yield first, last


def _ends(text: str, point: int, end: int, marks: str) -> bool:
    """Return whether text[point:end] ends a sentence, by the word before and the letter after."""
    after = _NEXT.match(text, end)
    if after is None:
        return True
    follows = after[1][0]
    if marks != ".":
        return not follows.islower()
    if follows.islower():
        return False
    # Look back only as far as a word reaches, so that the work is linear in the text.
    before = text[max(0, point - 40) : point]
    word = _LAST_WORD.search(before)
    if word is None:
        return True
    plain = word[0].casefold().replace(".", "")
    if plain in ABBREVIATIONS:
        return plain in ENDING_ABBREVIATIONS and follows.isupper() and text[end : end + 2] != " ("
    if _INITIALS.fullmatch(word[0]) and word[0] != "I":
        # "J. R. R. Tolkien" is one name, but "Bug Y. The" ends a sentence.
        return len(after[1]) > 1 and after[1].casefold() in STOP_WORDS
    return not _LIST_NUMBER.search(before) and not _ORDINAL.search(before)
