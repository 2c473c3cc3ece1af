"""An address: where a server listens, as people write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hades.errors import InvalidInput

SCHEMES = ("http", "https", "unix")
DATABASE_SCHEMES = ("postgresql://", "postgres://")
PROJECT = "project:"
"""`project:FOLDER` is the memory of the project of a folder, `project:` that of this one."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server: the root URL and, for a unix address, the socket."""

    text: str
    """The address as messages show it, without secrets."""
    root: str
    socket: Path | None = None
    key: str | None = None
    """The key, if the address has one: `http://:KEY@host`."""


def is_address(path: object) -> bool:
    """Return whether this is the address of a HADES server (http, https or unix), not a file."""
    return isinstance(path, str) and path.partition("://")[0].lower() in SCHEMES and "://" in path


def is_server(place: object) -> bool:
    """Return whether this is the address of a PostgreSQL server, not a file."""
    return str(place).startswith(DATABASE_SCHEMES)


def without_password(place: str) -> str:
    """Return an address without its password or key, which may be before the host or after `?`.

    >>> without_password("postgresql://ann:secret@host/notes?schema=a&password=secret")
    'postgresql://ann@host/notes'
    """
    scheme, sign, rest = place.partition("://")
    if not sign:
        return re.sub(r"(password\s*=\s*)('[^']*'?|\S+)", r"\1…", place)
    who, at, where = rest.rpartition("@")  # a password may contain "@"
    shown = re.sub(r"\?(?!(host=[\w./:,-]*&?)?(schema=\w+)?$).*", "", where)
    return f"{scheme}://{who.partition(':')[0]}{at}{shown}"


def is_socket(path: object) -> bool:
    """Return whether an address is a unix socket, which needs no key: file rights protect it."""
    return str(path).lower().startswith("unix:")


def read_address(text: str) -> Address:
    """Parse an address, `http://host:8674`, `https://…` or `unix:///path`, or raise InvalidInput.

    >>> read_address("unix:///run/hades/rw.sock").socket
    PosixPath('/run/hades/rw.sock')
    """
    if not is_address(text):
        raise InvalidInput(
            f"{text} is not an address: write http://host:8674 or unix:///path.sock."
        )
    scheme, _, rest = text.partition("://")
    if scheme.lower() == "unix":
        if not rest.startswith("/"):
            raise InvalidInput(f"{text} is not a socket: write unix:// and its full path.")
        return Address(text, "http://hades", Path(unquote(rest)))
    try:
        parts = urlsplit(text)
        host = parts.hostname
        port = parts.port
        key = parts.password
    except ValueError as error:
        raise InvalidInput(f"{text} cannot be read as an address: {error}.") from error
    if not host or parts.query or parts.fragment:
        raise InvalidInput(f"{text} is not an address: write http://host:8674.")
    place = f"[{host}]" if ":" in host else host
    root = f"{scheme.lower()}://{place}" + (f":{port}" if port else "") + parts.path.rstrip("/")
    return Address(root, root, key=unquote(key) if key else None)


def shown_key(key: str) -> str:
    """Return the value of the Authorization header for a key; InvalidInput if it is malformed."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(
            "Your key (HADES_KEY) contains a character that no key has: copy it again."
        )
    return f"Bearer {key}"
