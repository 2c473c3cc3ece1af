"""What tests of the server share: a real one at real sockets, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import httpx

from hades.serve.auth.audit import Audit
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Keys
from hades.serve.auth.link import FirstLink
from hades.serve.auth.sockets import Listener
from hades.serve.executor.executor import Executor

STATES = "/v1/spaces/default/states"


@dataclass
class Served:
    """A server that runs, and what it stands on."""

    executor: Executor
    keys: Keys
    audit: Audit
    listening: dict[str, Listener]
    link: FirstLink

    def by(self, listener: str, token: str | None = None) -> httpx.Client:
        """A client at this listener."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        place = self.listening[listener].where
        if listener == "http":
            return httpx.Client(base_url=place, headers=headers)
        transport = httpx.HTTPTransport(uds=place)
        return httpx.Client(transport=transport, base_url="http://hades", headers=headers)

    def key(self, role: Role, spaces: list[str] | None = None) -> str:
        """A new key."""
        name = f"{role.name.lower()}-{len(self.keys.listed())}"
        return self.keys.create(name, role, spaces)[1]


Serving = Callable[..., AbstractContextManager[Served]]
