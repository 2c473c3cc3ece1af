"""Forms: files sent as `multipart/form-data`, each written as it comes."""

from __future__ import annotations

from typing import IO

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from hades.errors import InvalidInput
from hades.serve.uploads import Filling, Mark

HEAD_BYTES_AT_MOST = 16 * 1024
"""Of the lines above one file."""


class Form:
    """A form under way; called in a thread, since it writes files."""

    def __init__(self, content_type: str, filling: Filling, mark: Mark) -> None:
        _, options = parse_options_header(content_type)
        if b"boundary" not in options:
            raise InvalidInput("The form cannot be read: its boundary is not told.")
        self._filling = filling
        self._mark = mark
        self._field = b""
        self._value = b""
        self._disposition = b""
        self._head_bytes = 0
        self._file: IO[bytes] | None = None
        self._whole = False
        self._parser = MultipartParser(
            options[b"boundary"],
            {
                "on_part_begin": self._part_begins,
                "on_header_field": self._field_comes,
                "on_header_value": self._value_comes,
                "on_header_end": self._header_ends,
                "on_headers_finished": self._file_begins,
                "on_part_data": self._data_comes,
                "on_part_end": self.close,
                "on_end": self._ends,
            },
        )

    def feed(self, part: bytes) -> None:
        """Take the next bytes of the body."""
        try:
            self._parser.write(part)
        except (FormParserError, UnicodeError) as error:
            raise InvalidInput(f"The form cannot be read: {error}.") from error

    def finish(self) -> None:
        """Say that this was all; InvalidInput when something is missing."""
        if not self._whole:
            raise InvalidInput("The form cannot be read: its end is missing.")

    def close(self) -> None:
        """Close the file that is being written."""
        if self._file is not None:
            self._mark.cut()
            self._file.close()
            self._file = None

    def _ends(self) -> None:
        self._whole = True

    def _part_begins(self) -> None:
        self._field = self._value = self._disposition = b""
        self._head_bytes = 0

    def _field_comes(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._field += data[start:end]

    def _value_comes(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._value += data[start:end]

    def _count(self, more: int) -> None:
        self._head_bytes += more
        if self._head_bytes > HEAD_BYTES_AT_MOST:
            raise InvalidInput("The form cannot be read: too much stands above a file.")

    def _header_ends(self) -> None:
        if self._field.lower() == b"content-disposition":
            self._disposition = self._value
        self._field = self._value = b""

    def _file_begins(self) -> None:
        _, options = parse_options_header(self._disposition)
        name = options.get(b"filename", b"").decode()
        if not name:
            raise InvalidInput("A form holds files only; options stand in the address.")
        self._mark.add(name.encode())
        self._mark.cut()
        self._file = self._filling.begin(name)

    def _data_comes(self, data: bytes, start: int, end: int) -> None:
        assert self._file is not None
        part = data[start:end]
        self._mark.add(part)
        self._filling.write(self._file, part)
