"""Question terms: what a question is about, as words to search in sentences.

A word with a capital is a name, except at the beginning and in German, where every noun has one.
A word with a capital inside, such as `NAS`, is always a name.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from hades.domain.question import NAME_WEIGHT, QuestionName, QuestionTerms
from hades.language.english.lexicon import AUXILIARIES, STOP_WORDS, word_set
from hades.language.english.stems import stem
from hades.language.english.terms import tells_apart, terms_in
from hades.language.languages import ENGLISH, language_of, stop_words
from hades.language.patterns import lazy_pattern
from hades.language.words import ID, plain_id, words, written_words

_ABOUT_ALL = word_set(
    """happen happened change new news update latest recent recently lately summary summaries
    summarise summarize overview recap gist big picture high level main points give tell show
    everything anything something things stuff all whole entire project work notes memory events
    going went week month year day time corpus collection library archive dataset knowledge base
    documents docs papers texts articles literature files repository repo code codebase sources
    content theme themes topic topics subjects trends areas ideas research parts central major key
    outline say says cover covers covered contain teach report discuss discussed know learn field"""
)
"""Words that name no subject, so that the question asks for everything in the memory."""


def topical_stems(question: str) -> frozenset[str]:
    """Return the stems of what a summary is asked about; empty if it is about everything."""
    plain = {stem(word) for word in words(question) if word.casefold() not in STOP_WORDS}
    return frozenset(plain - {stem(word) for word in _ABOUT_ALL})


def subject_of(question: str) -> str:
    """Return the words of a question that say what an overview is about; "" for everything.

    >>> subject_of("What does this corpus say about sourdough bread?")
    'sourdough bread'
    """
    about = topical_stems(question)
    return " ".join(word for word in words(question) if stem(word) in about)


def terms_of(question: str, language: str = "") -> QuestionTerms:
    """Return the terms of a question: its words and its names.

    `language` is used if the words of the question do not show their language.
    """
    language = language_of(question) or language or ENGLISH
    weights: dict[str, float] = {}
    names: list[QuestionName] = []
    both = _words_and_ids(question)
    asked = [word for word, _ in both]
    written = [word for _, word in both]
    for kind, group in groupby(range(len(asked)), lambda at: _kind(asked, at, language)):
        places = list(group)
        parts = [asked[at] for at in places]
        if kind == "name":
            looked_for = _joined(parts)
            weights |= dict.fromkeys(looked_for, NAME_WEIGHT)
            # `turned 30` and `top-10` are not names, but are searched for as they are.
            is_number = parts[-1].isdigit() or (parts[-1].islower() and "-" in parts[-1])
            if not (is_number and all(part.islower() for part in parts[:-1])):
                names.append(QuestionName(" ".join(written[at] for at in places), looked_for))
        elif kind != "stop":
            weight = NAME_WEIGHT if kind == "number" else 1.0
            weights |= {stem(part): weight for part in parts}
    whether = language == ENGLISH and bool(asked) and asked[0].casefold() in AUXILIARIES
    return QuestionTerms(weights, terms_in(question), tuple(names), whether)


def _words_and_ids(question: str) -> list[tuple[str, str]]:
    """Return the words of a question, plain and as written; a version or an id is one word."""
    pairs = list[tuple[str, str]]()
    end = 0
    for own in ID.finditer(question):
        pairs += _both(question[end : own.start()])
        pairs.append((own.group(), own.group()))
        end = own.end()
    return [*pairs, *_both(question[end:])]


def _both(text: str) -> list[tuple[str, str]]:
    return list(zip(words(text), written_words(text), strict=True))


def _kind(asked: Sequence[str], at: int, language: str) -> str:
    """Return whether a word of a question is a `stop` word, a `name`, a `number` or `plain`."""
    word = asked[at]
    stop = stop_words(language)
    if word.casefold() in stop:
        return "stop"
    if ID.fullmatch(word) or _belongs(asked, at, stop) or _belongs(asked, at + 1, stop):
        return "name"
    if word.isdigit():
        return "number"
    # Every word has a capital at the beginning of a sentence, and every noun in German.
    ordinary = at == 0 or language == "german"
    capital = word != word.lower() and not (ordinary and word[1:].islower())
    return "name" if capital else "plain"


def _belongs(asked: Sequence[str], at: int, stop: frozenset[str]) -> bool:
    """Return whether a letter or number belongs to the word before it: `Bug Y`, but not `won 3
    cups`."""
    if not 0 < at < len(asked) or not tells_apart(asked[at]):
        return False
    if any(word.casefold() in stop for word in asked[at - 1 : at + 1]):
        return False
    last = at + 1 == len(asked) or asked[at + 1].casefold() in stop
    return last or not asked[at].isdigit() or not asked[at - 1].islower()


def _joined(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a name to search for; a final letter or number joins the word before."""
    stems = [plain_id(part) if ID.fullmatch(part) else stem(part) for part in parts]
    if len(parts) > 1 and tells_apart(parts[-1]):
        return (*stems[:-2], " ".join(stems[-2:]))
    return tuple(stems)


_REFERRING = lazy_pattern(
    r"(?i)\b(?:its?|he|him|his|she|hers?|they|them|theirs?"
    r"|(?:is|was|does|did|do|for|about|of|with|after|before) (?:that|this|those|these)"
    r"|(?<!is )(?<!are )(?<!was )(?<!were )there)\b"
)


def refers(question: str) -> bool:
    """Return whether a question refers to an earlier one: it has no name, and it has a pronoun or
    no word to search for.

    >>> refers("When was it listed?"), refers("Why?"), refers("Where does Ada keep her bike?")
    (True, True, False)
    """
    terms = terms_of(question)
    return not terms.names and (not terms.weights or _REFERRING.search(question) is not None)
