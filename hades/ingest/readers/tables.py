"""CSV and TSV: a table in a text file."""

from __future__ import annotations

import csv
import io
from itertools import islice

from hades.ingest.document import Document
from hades.ingest.readers.compose import Composer
from hades.ingest.readers.damage import damage_told
from hades.ingest.readers.decode import decode
from hades.ingest.readers.rows import Rows

SAMPLE_LINES = 20


def read_csv(raw: bytes, topic: str) -> Document:
    """A table with commas, semicolons or tabs between its cells."""
    text, metadata = decode(raw, topic)
    composer = Composer(topic)
    rows = Rows(composer)
    with damage_told(topic, "a table (.csv)", csv.Error):
        rows.add(csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text)))
    return composer.document(metadata={**metadata, **rows.metadata})


def _delimiter(text: str) -> str:
    """The one that stands most often in the first lines; the comma when none does."""
    sample = "".join(islice(io.StringIO(text), SAMPLE_LINES))
    return max(",\t;", key=sample.count)
