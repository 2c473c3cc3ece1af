"""LaTeX in metadata: accents and escapes as the characters they stand for."""

from __future__ import annotations

import re
import unicodedata

_ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
}
_LETTERS = {
    "aa": "å",
    "AA": "Å",
    "ae": "æ",
    "AE": "Æ",
    "i": "i",
    "j": "j",
    "l": "ł",
    "L": "Ł",
    "o": "ø",
    "O": "Ø",
    "oe": "œ",
    "OE": "Œ",
    "ss": "ß",
}
_SIGN_ACCENT = re.compile(r"\{?\\([`'^~=.\"])\s*\{?(?:\\([ij])(?![A-Za-z])|([A-Za-z]))\}?\}?")
_LETTER_ACCENT = re.compile(r"\{?\\([urHvdck])(?:\s+|\{)(?:\\([ij])(?![A-Za-z])|([A-Za-z]))\}?\}?")
_LETTER = re.compile(r"\{?\\(aa|AA|ae|AE|oe|OE|ss|[lLoO])(?![A-Za-z])(?:\{\}|\}|\s+(?=[a-z]))?")
_ESCAPED = re.compile(r"\\([_&%#$])")


def plain_letters(text: str) -> str:
    r"""The text with accents and escaped signs as Unicode; formulas are left alone.

    >>> plain_letters(r"Paul Erd\H{o}s, Ren\'e Schr{\"o}dinger, R\&D")
    'Paul Erdős, René Schrödinger, R&D'
    """
    if "\\" not in text:
        return text
    for pattern in (_SIGN_ACCENT, _LETTER_ACCENT):
        text = pattern.sub(_accented, text)
    text = _LETTER.sub(lambda match: _LETTERS[match[1]], text)
    return _ESCAPED.sub(r"\1", text)


def _accented(match: re.Match[str]) -> str:
    return unicodedata.normalize("NFC", (match[2] or match[3]) + _ACCENTS[match[1]])
