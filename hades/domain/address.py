"""An address: where a server listens, as people write it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from hades.errors import InvalidInput

SCHEMES = ("http", "https", "unix")
DATABASE_SCHEMES = ("postgresql://", "postgres://")


@dataclass(frozen=True, slots=True)
class Address:
    """A server: the root of its pages, and the socket they are behind, where there is one."""

    text: str
    """As it was written, without any secret: what messages show."""
    root: str
    socket: Path | None = None
    key: str | None = None
    """Where it was written into the address: `http://:KEY@host`."""


def is_address(path: object) -> bool:
    """Whether this names a server rather than a file."""
    return isinstance(path, str) and path.partition("://")[0].lower() in SCHEMES and "://" in path


def is_server(place: object) -> bool:
    """Whether this is the address of a database rather than a file."""
    return str(place).startswith(DATABASE_SCHEMES)


def without_password(place: str) -> str:
    """An address without the password or key, which may stand before the host or after `?`.

    >>> without_password("postgresql://ann:secret@host/notes?schema=a&password=secret")
    'postgresql://ann@host/notes'
    """
    scheme, sign, rest = place.partition("://")
    if not sign:
        return re.sub(r"(password\s*=\s*)('[^']*'?|\S+)", r"\1…", place)
    who, at, where = rest.rpartition("@")  # a password may hold any sign, unwisely
    shown = re.sub(r"\?(?!(host=[\w./:,-]*&?)?(schema=\w+)?$).*", "", where)
    return f"{scheme}://{who.partition(':')[0]}{at}{shown}"


def is_socket(path: object) -> bool:
    """Whether an address is a unix socket: who may open it may use it, without a key."""
    return str(path).lower().startswith("unix:")


def read_address(text: str) -> Address:
    """The address somebody wrote: `http://host:8674`, `https://…`, `unix:///run/hades/rw.sock`.

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
        host, port, key = parts.hostname, parts.port, parts.password
    except ValueError as error:
        raise InvalidInput(f"{text} cannot be read as an address: {error}.") from error
    if not host or parts.query or parts.fragment:
        raise InvalidInput(f"{text} is not an address: write http://host:8674.")
    place = f"[{host}]" if ":" in host else host
    root = f"{scheme.lower()}://{place}" + (f":{port}" if port else "") + parts.path.rstrip("/")
    return Address(root, root, key=unquote(key) if key else None)


def shown_key(key: str) -> str:
    """A key as it goes along with every request; InvalidInput when it cannot be one."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidInput(
            "Your key (HADES_KEY) contains a character that no key has: copy it again."
        )
    return f"Bearer {key}"
