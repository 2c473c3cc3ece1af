"""The address of a memory in PostgreSQL: parameters of libpq, and a few of our own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from platformdirs import user_data_path
from psycopg import ProgrammingError
from psycopg.abc import ConnDict
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from hades.domain.address import without_password
from hades.errors import InvalidInput

DEFAULT_SCHEMA = "hades"
DEFAULT_CONNECTIONS = 16
DEFAULT_STATEMENT_S = 600.0
DEFAULT_STALENESS_S = 1.0
LIMIT_AT_MOST_S = 1_000_000
_DEFAULTS: ConnDict = {"application_name": "hades", "connect_timeout": 10}
_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """An address such as `postgresql://user@host:5432/database?schema=hades&connections=16`."""

    conninfo: str
    """The connection string for libpq."""
    shown: str
    """The address without its password, for messages."""
    schema: str
    connections: int
    """The most connections of one process."""
    statement_s: float
    """The time limit of a statement in seconds; 0 means that of the server."""
    replica: str
    """The connection string of a standby to read from, or empty."""
    staleness_s: float
    """How many seconds a read from the standby may be behind."""
    sees: str = ""
    """A mark of the role and its spaces, if it does not see all. It has indexes of its own."""

    @property
    def server(self) -> str:
        """The server in messages: host and port."""
        given = conninfo_to_dict(self.conninfo)
        host = given.get("hostaddr") or given.get("host") or "localhost"
        return f"PostgreSQL at {host}:{given.get('port') or 5432}"

    @property
    def files(self) -> Path:
        """The path beside which its indexes, uploads and keys are on this machine.

        Reading it creates the folder. Each database user has another path, because users may see
        different rows.
        """
        given = conninfo_to_dict(self.conninfo)
        names = [str(given.get(key, "")) for key in ("host", "hostaddr", "port", "dbname", "user")]
        known = "\n".join([*names, self.schema, self.sees])
        mark = blake2b(known.encode(), digest_size=6).hexdigest()
        folder = user_data_path("hades", appauthor=False) / "postgres"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / f"{given.get('dbname') or 'hades'}-{mark}"


def read_server_address(text: str) -> ServerAddress:
    """Parse an address. Raise InvalidInput if it is not valid."""
    try:
        base, _, query = text.partition("?")
        given = dict(parse_qsl(query, keep_blank_values=True))
        if base.count("@") > 1 or "@" in query.partition("&")[0].partition("=")[0]:
            raise ValueError("a sign in the password")
        schema = given.pop("schema", DEFAULT_SCHEMA)
        connections = int(given.pop("connections", DEFAULT_CONNECTIONS))
        statement_s = float(given.pop("statement_s", DEFAULT_STATEMENT_S))
        staleness_s = float(given.pop("staleness_s", DEFAULT_STALENESS_S))
        replica = given.pop("replica", "")
        known = conninfo_to_dict(f"{base}?{urlencode(given)}" if given else base)
        conninfo = make_conninfo("", **{**_DEFAULTS, **known})
        if replica:
            host, _, port = replica.partition(":")
            elsewhere = {"host": host, "port": port or "5432", "target_session_attrs": "any"}
            replica = make_conninfo(conninfo, hostaddr=None, **elsewhere)
    except (ValueError, ProgrammingError) as error:
        # Messages of the libraries quote the whole address, including its password.
        raise InvalidInput(
            f"{without_password(text)} cannot be read as an address: write "
            "postgresql://user@host/database, signs in a password as %40, and after ? only "
            "parameters that docs/postgres.md or libpq name."
        ) from error
    if not _NAME.fullmatch(schema) or schema.startswith("pg_"):
        raise InvalidInput(f"{schema!r} cannot be a schema: use small letters, digits and _.")
    if not 1 <= connections <= 1_000:
        raise InvalidInput("`connections` is a number from 1 to 1000.")
    if not 0 <= statement_s <= LIMIT_AT_MOST_S or not 0 < staleness_s <= LIMIT_AT_MOST_S:
        raise InvalidInput(
            f"`statement_s` and `staleness_s` are seconds, at most {LIMIT_AT_MOST_S}."
        )
    own = {"host": given.get("host"), "schema": None if schema == DEFAULT_SCHEMA else schema}
    words = "&".join(f"{name}={value}" for name, value in own.items() if value)
    shown = without_password(f"{base}?{words}" if words else base)
    return ServerAddress(conninfo, shown, schema, connections, statement_s, replica, staleness_s)
