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

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote


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
        """`fields` are the arguments of the refused `remember`; None if it is listed for review."""
        super().__init__(message)
        self.fields = fields
        self.why = why


class InvalidInput(HadesError):
    """The call itself is wrong; nothing was written."""


class Denied(HadesError):
    """Not allowed: a read-only view, file or key."""


class Unavailable(HadesError):
    """Cannot be done right now: a busy writer, a full disk, a file from a newer version."""


class Corrupt(HadesError):
    """The stored data is damaged; `hades check` says how to repair it."""


def lacking(what: str, extra: str) -> Unavailable:
    """Return the error for something that needs an extra, with the command that installs it."""
    return Unavailable(f"{what} the extra `{extra}`: {install_command(extra)}.")


def install_command(extra: str) -> str:
    """Return the command that adds an extra: it installs from where HADES was installed.

    pip records that place for a checkout or a wheel, but not for a package from an index (PEP 610).
    """
    # Imported here, because importing it would slow down every start.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        origin = json.loads(distribution("hades-memory").read_text("direct_url.json") or "{}")
    except PackageNotFoundError:
        origin = {}
    place = Path(unquote(origin.get("url", "").removeprefix("file://")))
    if not place.is_absolute() or not place.exists():
        return f"pip install 'hades-memory[{extra}]'"
    editable = "-e " if origin.get("dir_info", {}).get("editable") else ""
    shown = "." if place == Path.cwd() else place
    return f"pip install {editable}{shlex.quote(f'{shown}[{extra}]')}"
