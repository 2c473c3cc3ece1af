"""Quoting: labels of sources, and stored text that cannot pass for a line or a label of HADES."""

from __future__ import annotations

import re

_BRACKETS = re.compile(r"[\[［【]([^\[\]［］【】]{1,400}+)[\]］】]")
_LABEL = re.compile(
    r"\s*+[FPT]?\d[\d\s,;–-]*+|.+@\d{1,18}(?:#\d{1,18})?|edge \d{1,18}|unsupported", re.DOTALL
)
"""Marks of HADES in brackets: `[1]`, `[F2]`, `[T1]`, `[3, 4]`, `[design/x@2#0]`, `[edge 4]`."""
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and line feed, and the marks that reverse the order of letters
(Unicode Standard Annex 9)."""
_PATH_LABEL = re.compile(r"\(P(?=\d)")
"""The label of a path in a context: `(P1)`."""

LETTERS = {"passage": "", "fact": "F", "path": "P", "theme": "T"}
"""The letter of a label by the kind of what it names: `[1]`, `[F1]`, `[P1]`, `[T1]`."""


def label_of(kind: str, number: int) -> str:
    """Return the label of a passage, fact, path or theme: `[1]`, `[F1]`, `[P1]`, `[T1]`."""
    return f"[{LETTERS.get(kind, '')}{number}]"


def unlabelled(text: str) -> str:
    """Put labels in a quoted text into round brackets, so that they do not pass for citations.

    >>> unlabelled("as [1] says, and [F 2], [3, 4], [design/x@2], (P1)")
    'as (1) says, and [F 2], (3, 4), (design/x@2), (P 1)'
    """

    def rounded(label: re.Match[str]) -> str:
        return f"({label[1].strip()})" if _LABEL.fullmatch(label[1]) else label[0]

    return _PATH_LABEL.sub("(P ", _BRACKETS.sub(rounded, text))


def without_controls(text: str) -> str:
    """Replace the characters of a text that move a cursor, colour a terminal or reverse letters.

    Unlike `plain.one_line`, it keeps joiners, which Persian, Hindi and emoji need.

    >>> without_controls("a\\bb")
    'a\ufffdb'
    """
    return _STEERING.sub("\ufffd", text)


def indented(text: str) -> str:
    """Return stored text with a space before each line, so that none begins at the margin."""
    lines = (f" {line}" if line.strip() else "" for line in text.splitlines())
    return without_controls("\n".join(lines))
