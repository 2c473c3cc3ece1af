"""Limits: what a single file may ask of memory and time before it is refused."""

from __future__ import annotations

from hades.ingest.document import Unreadable

RAW_BYTES_AT_MOST = 200 * 2**20
MARKUP_BYTES_AT_MOST = 64 * 2**20
"""HTML is parsed in Python: this is about a minute."""
UNPACKED_BYTES_AT_MOST = 512 * 2**20
"""All parts of a zipped document together, pictures left out."""
TEXT_CHARACTERS_AT_MOST = 64 * 2**20


def megabytes(count: int) -> str:
    """A size as people say it.

    >>> megabytes(200 * 2**20)
    '200 MB'
    """
    return f"{count / 2**20:,.0f} MB"


def check_text(characters: int, topic: str) -> None:
    """Refuse a document with more text than one document can sensibly have."""
    if characters > TEXT_CHARACTERS_AT_MOST:
        raise Unreadable(
            f"{topic} has more than {TEXT_CHARACTERS_AT_MOST:,} characters of text: split it."
        )
