"""Source: one file's text, and the way from tree-sitter's bytes to our characters."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tree_sitter import Node

_STARTS_CHARACTER: Final = bytes(byte & 0xC0 != 0x80 for byte in range(256))
"""For every byte value: 1 if a UTF-8 character starts with it, 0 if it continues one."""


@dataclass(frozen=True, slots=True)
class Source:
    """The text of a file with its byte offsets."""

    text: str
    data: bytes
    counts: array[int] | None
    """Characters started up to and with each byte; None where bytes are characters."""

    @classmethod
    def of(cls, text: str) -> Source:
        data = text.encode()
        if len(data) == len(text):
            return cls(text, data, None)
        return cls(text, data, array("I", accumulate(data.translate(_STARTS_CHARACTER))))

    def at(self, byte: int) -> int:
        """The character that byte belongs to; the length of the text at its end."""
        if self.counts is None:
            return byte
        return self.counts[byte] - 1 if byte < len(self.counts) else len(self.text)

    def start(self, node: Node) -> int:
        return self.at(node.start_byte)

    def end(self, node: Node) -> int:
        return self.at(node.end_byte)

    def of_node(self, node: Node) -> str:
        return self.text[self.start(node) : self.end(node)]
