"""The exceptions of HADES, as a tree.

HadesError
├── NotFound       the space, topic, version or edge asked for is not there
├── Conflict       somebody changed it first, or it exists already
│   └── Refused    the write gate: a text says nothing new; it was not remembered
├── InvalidInput   the call itself is wrong; nothing was written
├── Denied         not allowed: a read-only view, file or key
├── Unavailable    cannot be done right now: busy, full disk, too new a file
└── Corrupt        the stored data is damaged

Every message is one sentence that says what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class HadesError(Exception):
    """The base class of everything that HADES raises on purpose."""


class NotFound(HadesError):
    """The space, topic, version or edge asked for is not there."""


class Conflict(HadesError):
    """Another writer changed it first, or it exists already."""


class Refused(Conflict):
    """The write gate did not store a text that says nothing new; `approve` stores it after all."""

    def __init__(
        self, message: str, fields: Mapping[str, Any] | None = None, why: str = ""
    ) -> None:
        """`fields` are the refused arguments of `remember`, to list for review; None: listed."""
        super().__init__(message)
        self.fields, self.why = fields, why


class InvalidInput(HadesError):
    """The call itself is wrong; nothing was written."""


class Denied(HadesError):
    """Not allowed: a read-only view, file or key."""


class Unavailable(HadesError):
    """Cannot be done right now: a busy writer, a full disk, a file from a newer version."""


class Corrupt(HadesError):
    """The stored data is damaged; `hades check` says how to repair it."""
