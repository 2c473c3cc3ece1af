"""XLSX: the rows of every sheet, under the sheet's name."""

from __future__ import annotations

import io
import warnings

import openpyxl
from openpyxl.utils.exceptions import InvalidFileException

from hades.ingest.document import Document
from hades.ingest.readers import archive
from hades.ingest.readers.compose import Composer
from hades.ingest.readers.damage import damage_told
from hades.ingest.readers.rows import COLUMNS_AT_MOST, Rows

KIND = "a workbook (.xlsx)"


def read_xlsx(raw: bytes, topic: str) -> Document:
    """A workbook: what its cells show, not the formulas behind them."""
    archive.opened(raw, topic, KIND).close()
    composer = Composer(topic)
    rows = Rows(composer)
    with damage_told(topic, KIND, InvalidFileException), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of styles and checks it does not know
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        for sheet in book.worksheets:
            composer.outline.enter(1, sheet.title)
            rows.add(sheet.iter_rows(max_col=COLUMNS_AT_MOST, values_only=True))
        book.close()
    return composer.document(metadata={"sheets": book.sheetnames, **rows.metadata})
