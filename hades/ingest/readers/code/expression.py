"""Expressions: the few forms of a name that can be followed without running the code."""

from __future__ import annotations

import re

LONGEST_CHAIN_CHARS = 200

_GENERICS = re.compile(r"(?:::)?<[^<>]*>")
_JOINT = re.compile(r"\s*(?:\?\.|\.|::|->)\s*")
_IDENTIFIER = re.compile(r"[^\W\d$][\w$]*|\$[\w$]*")
_LAST_IDENTIFIER = re.compile(r"(?:\.|::|->)\s*([^\W\d][\w$]*)\s*$")
_WHITE = re.compile(r"\s+")


def one_line(text: str, most: int) -> str:
    """The text on one line, cut off with an ellipsis at `most` characters."""
    line = _WHITE.sub(" ", text[: most * 4]).strip()
    return line if len(line) <= most else line[: most - 1] + "…"


def without_generics(text: str) -> str:
    """`Map<K, List<V>>::new` is `Map::new`."""
    count = 1
    while count and "<" in text:
        text, count = _GENERICS.subn("", text)
    return text


def chain(text: str) -> tuple[str, ...]:
    """The identifiers of `a.b`, `a::b`, `a->b` or `a?.b`; empty for anything else.

    Of a longer expression (`open(x).read`) only the last identifier can be known;
    it comes after an empty one, which resolves to nothing.
    """
    if len(text) <= LONGEST_CHAIN_CHARS:
        whole = without_generics(text.strip().lstrip("*&")).removeprefix("::").replace("#", "")
        parts = tuple(_JOINT.split(whole.replace("!", "")))
        if all(_IDENTIFIER.fullmatch(part) for part in parts):
            return parts
    last = _LAST_IDENTIFIER.search(text[-LONGEST_CHAIN_CHARS:])
    return ("", last.group(1)) if last else ()
