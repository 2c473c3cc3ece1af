"""Names: how two spellings are recognised as one thing, and where names stand in a text.

A text is a row of words: runs of letters and digits, without accents. A script that puts
no spaces between words (Chinese, Japanese) counts every character as one. A name's key is
its words in lower case; a leading article does not count.
"""

from __future__ import annotations

import re
import unicodedata

_NO_SPACES = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_WORDS = re.compile(rf"[{_NO_SPACES}]|[^\W_{_NO_SPACES}]+")
_ARTICLES = ("the", "a", "an")
_TRAILING_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")


def words(text: str) -> list[str]:
    """The words of a text, in their own case, without accents."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
    return _WORDS.findall(text)


def name_key(name: str) -> str:
    """The key under which a name is looked up.

    >>> name_key("The Café-Racer (Film)")
    'cafe racer film'

    A name without a single word (an emoji, `+++`) is its own key.
    """
    found = [word.casefold() for word in words(name)]
    while len(found) > 1 and found[0] in _ARTICLES:
        found = found[1:]
    # Casefolding can bring accents and letters apart anew: İ, ŉ.
    again = words(" ".join(found))
    return " ".join(again) or name.strip()


def without_parenthesis(title: str) -> str:
    """A title as it is mentioned: "Ed Wood (film)" is written "Ed Wood"."""
    return _TRAILING_PARENTHESIS.sub("", title) or title
