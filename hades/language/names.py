"""Names: keys under which different spellings of a name are equal.

The key of a name is its words in lower case, without leading articles.
"""

from __future__ import annotations

import re
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
_NAME_JOINTS = lazy_pattern(r"[/_:\-]|\.(?!\d)")
_WORD_PARTS = lazy_pattern(r"\d+|[A-Z]+(?![a-z])|[A-Z]?[^\W\dA-Z_]+")
OLD_PAPER_ID = r"(?!submit/)[a-z-]+(?:\.[A-Z]{2})?/\d{7}"
# Ids that a table stored as numbers have lost zeros or gained digits, so any length is accepted.
_PAPER_ID = lazy_pattern(
    r"(?:arxiv:\s?|(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf|html)/)?"
    rf"(\d{{3,4}}\.\d{{1,20}}|{OLD_PAPER_ID})(?:v\d+)?(?:\.pdf)?",
    re.IGNORECASE,
)
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
    """Return a name in back ticks: a key that counts letter by letter, unlike any `name_key`."""
    return f"`{name}`"


def entity_key(name: str, *, symbol: bool = False) -> str:
    """Return the key of the entity that a text means by a name.

    Identifiers and full names of code symbols count letter by letter: `_load` is not `load`, and
    `a.b_load` is not `a.b.load`. The key depends on the name alone, not on the order of writes.

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


def spoken(name: str) -> str:
    """Return a topic's name as people say it, with spaces for separators.

    >>> spoken("server/db07"), spoken("design/approach_x"), spoken("plan 2.0")
    ('server db07', 'design approach x', 'plan 2.0')
    """
    return " ".join(_NAME_JOINTS.sub(" ", name).split())


def own_heading(topic: str, heading: str) -> str:
    """Return a heading without the topic's name, which precedes the headings of a note.

    >>> own_heading("server/db07", "server db07"), own_heading("server/db07", "server db07 > Disks")
    ('', 'Disks')
    """
    name = spoken(topic)
    return "" if heading == name else heading.removeprefix(f"{name} > ")


def numberless(name: str) -> str:
    """Return a name with every number replaced by 0, so that bug 102 and bug 103 are equal.

    >>> numberless("server/db07"), numberless("Bug 102")
    ('server db0', 'bug 0')
    """
    return DIGITS.sub("0", spoken(name).casefold())


def fact_words(source: str, relation: str, target: str) -> str:
    """Return a fact in the words that are embedded and searched.

    >>> fact_words("server/db07", "runs_on", "rack 4")
    'server db07 runs on: rack 4'
    """
    return f"{spoken(source)} {spoken(relation)}: {spoken(target)}"


def plain_fact(source: str, relation: str, target: str) -> str:
    """Return a fact in plain words, as the reader reads it: names without their folders.

    >>> plain_fact("server/db07", "runs_on", "rack 4")
    'db07 runs on rack 4'
    """
    ends = (spoken(name.rsplit("/", 1)[-1]) for name in (source, target))
    return f" {spoken(relation)} ".join(ends)


def name_parts(name: str) -> list[str]:
    """Return the parts of a name's words that people also say separately: `db07` is "db 7", too.

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


def paper_id(written: str) -> str | None:
    """Return an arXiv id without prefix and version; None if the text is not an arXiv id.

    >>> paper_id("math/0309136"), paper_id("arXiv:1706.03762v5")
    ('math/0309136', '1706.03762')
    >>> paper_id("https://arxiv.org/pdf/1706.03762.pdf"), paper_id("Attention")
    ('1706.03762', None)
    """
    match = _PAPER_ID.fullmatch(written.rstrip(".,;"))
    return match[1] if match else None
