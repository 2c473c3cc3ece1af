"""Decoding: from the bytes of a text file to its text.

UTF-8 is the rule. A byte-order mark says otherwise; a file that is neither is tried
as Windows-1252, the usual encoding of old Western text, and says so in its metadata.
"""

from __future__ import annotations

import codecs
import re

from hades.ingest.document import Unreadable
from hades.ingest.readers.limits import check_text

CONTROL_SHARE_AT_MOST = 0.02
"""Random bytes have a tenth; a log with colour codes has none, as ESC is not counted."""

STRAY_SHARE_AT_MOST = 0.1
"""Broken bytes among the characters beyond ASCII of a text still held to be UTF-8:
a log cut in the middle of a letter must not turn every accent in it into two."""

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""The longer first: the mark of UTF-32 begins with that of UTF-16."""

_CONTROL = re.compile(r"[\x00-\x06\x0e-\x19\x1c-\x1f\x7f-\x84\x86-\x9f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def decode(raw: bytes, topic: str) -> tuple[str, dict[str, str]]:
    """The text, and metadata naming the encoding where it is not UTF-8."""
    if not raw:
        raise Unreadable(f"{topic} is empty.")
    text, encoding = _decoded(raw, topic)
    if "\x00" in text or len(_CONTROL.findall(text)) > len(text) * CONTROL_SHARE_AT_MOST:
        raise _binary(topic)
    if not text.strip():
        raise Unreadable(f"{topic} is empty.")
    check_text(len(text), topic)
    return text, {} if encoding == "utf-8" else {"encoding": encoding}


def _decoded(raw: bytes, topic: str) -> tuple[str, str]:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            try:
                return raw.decode(encoding), encoding
            except UnicodeDecodeError as error:
                name = encoding.upper()
                raise Unreadable(f"{topic} begins as {name} but is not: {error}.") from error
    if b"\x00" in raw:
        raise _binary(topic)
    raw = raw.removeprefix(codecs.BOM_UTF8)
    try:
        return raw.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    repaired = raw.decode("utf-8", "replace")
    if repaired.count("\ufffd") < len(_BEYOND_ASCII.findall(repaired)) * STRAY_SHARE_AT_MOST:
        return repaired, "utf-8 with errors"
    try:
        return raw.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        return raw.decode("latin-1"), "latin-1"


def _binary(topic: str) -> Unreadable:
    return Unreadable(f"{topic} is binary, not text: no reader knows what is in it.")
