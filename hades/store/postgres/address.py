"""The address of a memory in PostgreSQL: what libpq reads, and a little of our own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

from hades.errors import InvalidInput

DEFAULT_SCHEMA = "hades"
DEFAULT_CONNECTIONS = 16
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a memory lies: `postgresql://user@host:5432/database?schema=hades&connections=16`."""

    conninfo: str
    """For libpq."""
    shown: str
    """Without its password: what messages say."""
    schema: str
    connections: int
    """So many at most, of one process."""
    sees: str = ""
    """Which spaces, where it is not all of them: what is derived from these is its own."""

    @property
    def file_name(self) -> str:
        """What its indexes are called on this machine."""
        mark = blake2b(f"{self.shown}{self.sees}".encode(), digest_size=6).hexdigest()
        return f"{conninfo_to_dict(self.conninfo).get('dbname') or 'hades'}-{mark}"


def read_server_address(text: str) -> ServerAddress:
    """The address somebody wrote; InvalidInput when it is none."""
    try:
        parts = urlsplit(text)
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        schema = given.pop("schema", DEFAULT_SCHEMA)
        connections = int(given.pop("connections", DEFAULT_CONNECTIONS))
        conninfo = urlunsplit(parts._replace(query=urlencode(given)))
        conninfo_to_dict(conninfo)
    except (ValueError, ProgrammingError) as error:
        raise InvalidInput(f"{_hidden(text)} cannot be read as an address: {error}.") from error
    if not _NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise InvalidInput(f"{schema!r} cannot be a schema: use small letters, digits and _.")
    if not 1 <= connections <= 1_000:
        raise InvalidInput("`connections` is a number from 1 to 1000.")
    shown = _hidden(
        urlunsplit(parts._replace(query="" if schema == DEFAULT_SCHEMA else f"schema={schema}"))
    )
    return ServerAddress(conninfo, shown, schema, connections)


def _hidden(text: str) -> str:
    """An address without the password in it."""
    return re.sub(r"(?<=//)([^:@/]*):[^@/]*@", r"\1@", text)
