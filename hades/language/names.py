"""Names: keys under which different spellings of a name are equal.

The key of a name is its words in lower case, without leading articles.
"""

from __future__ import annotations

from functools import lru_cache

from hades.language.patterns import lazy_pattern
from hades.language.words import words

_ARTICLES = ("the", "a", "an")
_UNDERSCORED = lazy_pattern(r"\w_\w|\b_+[^\W_]")
_IDENTIFIER = lazy_pattern(r"(?=[\w$]*?(?:\w_\w|\b_+[^\W_]|[a-z0-9][A-Z]))[\w$]*")
_SPACE = lazy_pattern(r"\s")
_JOINTS = lazy_pattern(r"\.|::|/|#|->")
_OVERLOAD = lazy_pattern(r"#\d+$")
DIGITS = lazy_pattern(r"[0-9]+")
DATE = lazy_pattern(r"(?<!\d)((?:19|20)\d\d)[-/._]?([01]\d)(?:[-/._]?([0-3]\d))?(?!\d)")
"""A month or day in a name, as in the names of diary entries."""
_WORD_PARTS = lazy_pattern(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+")
_TRAILING_PARENTHESIS = lazy_pattern(r"\([^()]*\)\s*$")


@lru_cache(maxsize=65_536)
def name_key(name: str) -> str:
    """Return the key under which a name is looked up.

    >>> name_key("The Café-Racer (Film)")
    'cafe racer film'

    A name without a single word (an emoji, `+++`) is its own key.
    """
    folded = [word.casefold() for word in words(name)]
    start = 0
    while start < len(folded) - 1 and folded[start] in _ARTICLES:
        start += 1
    # Casefolding can split letters into new accents: İ, ŉ.
    again = words(" ".join(folded[start:]))
    return " ".join(again) or name.strip()


def says(text: str, name: str) -> bool:
    """Return whether a text contains a name, ignoring case, accents and punctuation.

    >>> says("It was Ann-Lee.", "ann lee"), says("It was Annlee.", "ann lee")
    (True, False)
    """
    plain = words(" ".join(word.casefold() for word in words(text)))
    key = name_key(name)
    return f" {key} " in f" {' '.join(plain)} " or (not words(name) and key in text)


def exact_key(name: str) -> str:
    """Return a name in back ticks: a key that only the same letters match, unlike a `name_key`."""
    return f"`{name}`"


def entity_key(name: str, *, symbol: bool = False) -> str:
    """Return the key of the entity that a text means by a name.

    Identifiers and full names of code symbols must match letter by letter: `_load` is not `load`,
    and `a.b_load` is not `a.b.load`. The key depends on the name alone, not on the order of writes.

    >>> entity_key("Count Stripes"), entity_key("count_stripes"), entity_key("io.Open", symbol=True)
    ('count stripes', '`count_stripes`', '`io.Open`')
    """
    is_identifier = _UNDERSCORED.search(name) is not None and not _SPACE.search(name)
    if is_identifier or (symbol and symbol_tail(name) != name):
        return exact_key(name)
    return name_key(name)


def symbol_tail(name: str) -> str:
    """Return the last part of a symbol's full name, as a text would mention it.

    >>> symbol_tail("hades.store.Engine.close"), symbol_tail("io::read#2"), symbol_tail("main")
    ('close', 'read', 'main')
    """
    bare = _OVERLOAD.sub("", name)
    return _JOINTS.split(bare)[-1] or bare


def is_identifier(name: str) -> bool:
    """Return whether a word is spelled as in code: `count_stripes`, `countStripes`."""
    return _IDENTIFIER.fullmatch(name) is not None


def without_parenthesis(title: str) -> str:
    """Return a title as texts mention it: "Ed Wood (film)" becomes "Ed Wood"."""
    match = _TRAILING_PARENTHESIS.search(title)
    return title[: match.start()].rstrip() or title if match else title


def name_parts(name: str) -> list[str]:
    """Return the parts of a name's words that people also say separately: `db07` may be "db 7".

    >>> name_parts("server/db07"), name_parts("InvoiceReader 12")
    (['db', '07', '7'], ['Invoice', 'Reader'])
    """
    kept = []
    for word in words(name):
        parts = _WORD_PARTS.findall(word)
        if len(parts) > 1:
            kept += parts
        kept += [part.lstrip("0") for part in parts if part[0] == "0" and part.strip("0")]
    return kept
