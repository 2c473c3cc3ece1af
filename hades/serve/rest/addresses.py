"""Addresses: names in paths. A name is percent-encoded; an encoded slash is part of it."""

from __future__ import annotations

from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import ASGIApp, Receive, Scope, Send

from hades.errors import InvalidInput


class Undecoded:
    """Routes by the path as it was sent, so that an encoded slash stays part of a name."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on with its path undecoded."""
        if scope["type"] == "http" and (raw := scope.get("raw_path")):
            # In the very scope the gate has: its audit log names the route found inside.
            scope["path"] = raw.partition(b"?")[0].decode("ascii", "replace")
        await self._app(scope, receive, send)


class _Name(Convertor[str]):
    """A name in one part of a path, percent-encoded."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """The name itself."""
        try:
            return unquote(value, errors="strict")
        except UnicodeDecodeError as error:
            raise InvalidInput(f"The address is not UTF-8: {value[:100]}.") from error

    def to_string(self, value: str) -> str:
        """Addresses are not made by the server."""
        raise NotImplementedError


class _Topic(_Name):
    """A name in all the rest of a path: its slashes may stand as they are."""

    regex = ".+"


class _Number(Convertor[int]):
    """A number as the store has it."""

    regex = "[0-9]{1,18}"

    def convert(self, value: str) -> int:
        """The number itself."""
        return int(value)

    def to_string(self, value: int) -> str:
        """Addresses are not made by the server."""
        raise NotImplementedError


register_url_convertor("number", _Number())
register_url_convertor("name", _Name())
register_url_convertor("topic", _Topic())
