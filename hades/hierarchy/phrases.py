"""Phrases: what a passage says in whole sentences, and the phrases that may name its subject.

Scripts, styles, tables of values, hashes and signatures have no sentences, so labels and summaries
contain nothing of them. Of source code, the first sentence of each docstring or comment is used. A
phrase is a heading, the name of a symbol, or a noun phrase: the words between two small words, the
first of which is an article or a preposition.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile, groupby, zip_longest
from posixpath import splitext

from hades.language.english.lexicon import ARTICLES, PREPOSITIONS, STOP_WORDS
from hades.language.english.stems import stem
from hades.language.languages import ENGLISH, language_of, stop_words
from hades.language.names import is_identifier, name_parts
from hades.language.patterns import lazy_pattern
from hades.language.sentences import sentences
from hades.language.units import plain_markup, units
from hades.language.wording import spoken
from hades.language.words import words

SENTENCE_WORDS_AT_LEAST = 4
SMALL_AT_LEAST = 0.15
LETTERS_AT_LEAST = 0.85
"""The least share of small words in a sentence, and of letters, spaces and commas among its
characters. Settings, signatures and tables have less."""
WORDS_AT_MOST = 7
CHARACTERS_AT_MOST = 48
"""The most words and characters of a phrase."""
_DOCUMENTED = lazy_pattern(
    r"(?s)(?P<quote>\"\"\"|''')(.{1,4000}?)(?:(?P=quote)|\Z)|/\*{1,2}(.{1,4000}?)\*/"
    r"|((?:(?m:^)[ \t]*(?:\#|//+!?) [^\n]*\n?)+)"
)
_MARKS = lazy_pattern(r"(?m)^[ \t]*(?:\#|//+!?|\*+)[ \t]*|(?<!\w)[_*]+(?=\S)|(?<=\S)[_*]+(?!\w)")
"""Marks of a comment before a line, and of emphasis around a word."""
_PAUSE = lazy_pattern(r"[^\w\s'’/+.-]+|[.](?=\s|$)|\s[-–—]\s")
_NUMBERING = lazy_pattern(r"^[\d.)\s]+")
_SIGNATURE = lazy_pattern(r"[\s(<\[:].*")
_AROUND = " '’/+-:.#*_?!,"
_JOINTS = ("of", "and", "for", "in", "with")


def told(text: str, *, is_code: bool) -> list[str]:
    """Return the sentences of a passage that say something, in order."""
    plain_sentences = [unit.text for unit in units(text) if not unit.is_code]
    if is_code:
        written = (
            "".join(filter(None, match.groups()[1:])) for match in _DOCUMENTED.finditer(text)
        )
        plain_sentences = [
            first for part in written for first in sentences(_MARKS.sub("", part), 1)
        ]
    return [plain for sentence in plain_sentences if _is_told(plain := _plain(sentence))]


def _is_told(sentence: str) -> bool:
    folded = [word.casefold() for word in words(sentence)]
    small = sum(map(stop_words(language_of(sentence)).__contains__, folded))
    letters = sum(letter.isalpha() or letter in " ,.'’-" for letter in sentence)
    return (
        len(folded) >= SENTENCE_WORDS_AT_LEAST
        and "://" not in sentence
        and letters >= LETTERS_AT_LEAST * len(sentence)
        and (small >= SMALL_AT_LEAST * len(folded) or not sentence[: len(sentence) // 2].isascii())
    )


def noun_phrases(sentence: str) -> Iterator[str]:
    """Yield the noun phrases of a sentence, as they are written."""
    language = language_of(sentence)
    small = stop_words(language)
    openers = ARTICLES | PREPOSITIONS if language in ("", ENGLISH) else small
    for part in _PAUSE.split(sentence):
        runs = groupby(part.split(), lambda word: word.casefold() in small)
        groups = [" ".join(group) for _, group in runs]
        for before, phrase, joint, more in zip_longest(*(groups[at:] for at in range(4))):
            if phrase and before.rpartition(" ")[2].casefold() in openers:
                candidates = (phrase, f"{phrase} {joint} {more}") if joint in _JOINTS else (phrase,)
                yield from filter(_can_name, (each.strip(_AROUND) for each in candidates))


def heading_phrases(heading: str, topic: str, *, is_code: bool) -> list[str]:
    """Return the headings of a passage; of source code its package and symbol in words.

    Without a heading that can name something, return the folder of the topic.
    """
    package = splitext(topic)[0].removesuffix("/__init__").split("/")[-2:-1]
    parts = [_NUMBERING.sub("", _plain(part)).strip(_AROUND) for part in heading.split(" > ")]
    if is_code:
        parts = [*package, *(_SIGNATURE.sub("", part) for part in parts[1:])]
        parts = [_spoken(part.rpartition(".")[2]).casefold() for part in parts]
    spoken_parts = (_spoken(part) if is_identifier(part) else part for part in parts)
    return [*filter(_can_name, spoken_parts)] or [*filter(_can_name, map(_spoken, package))]


def telling_stems(text: str) -> set[str]:
    """Return the stems of the words of a text, without small words."""
    folded = (word.casefold() for word in words(text))
    return {stem(word) for word in folded if len(word) > 2 and word not in STOP_WORDS}


def _can_name(phrase: str) -> bool:
    """Return whether a phrase is short and made of words, so that people could say it."""
    is_short = len(phrase) <= CHARACTERS_AT_MOST and len(phrase.split()) <= WORDS_AT_MOST
    is_said = all(letter.isalpha() or letter in " -'’&/" for letter in phrase)
    return is_short and is_said and bool(telling_stems(phrase)) and not is_identifier(phrase)


def _spoken(name: str) -> str:
    """Return the name of a symbol in words, without small words at the start."""
    parts = name_parts(name) or spoken(name).split()
    return " ".join(dropwhile(lambda part: part.casefold() in STOP_WORDS, parts))


def _plain(text: str) -> str:
    return _MARKS.sub("", plain_markup(text))
