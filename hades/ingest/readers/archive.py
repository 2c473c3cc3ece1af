"""Archives: the zip file that an office document or e-book is."""

from __future__ import annotations

import io
import zipfile

from hades.ingest.document import Unreadable
from hades.ingest.readers.damage import damage_told
from hades.ingest.readers.limits import UNPACKED_BYTES_AT_MOST, megabytes

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How the old binary formats begin, and the new ones when they have a password."""

_TEXT_PARTS = (".xml", ".rels", ".html", ".xhtml", ".htm", ".opf", ".ncx")


def opened(raw: bytes, topic: str, kind: str) -> zipfile.ZipFile:
    """The archive, refused when unpacking it would fill the memory.

    The sizes are those the archive states; `zipfile` never unpacks more than that.
    """
    if raw.startswith(_OLE):
        raise Unreadable(
            f"{topic} has a password or is in an old binary format: save it anew as {kind}."
        )
    with damage_told(topic, kind):
        archive = zipfile.ZipFile(io.BytesIO(raw))
    parts = [part for part in archive.infolist() if part.filename.lower().endswith(_TEXT_PARTS)]
    size = sum(part.file_size for part in parts)
    if size > UNPACKED_BYTES_AT_MOST:
        raise Unreadable(
            f"{topic} unpacks to {megabytes(size)}, more than the "
            f"{megabytes(UNPACKED_BYTES_AT_MOST)} that are read: split it."
        )
    return archive
