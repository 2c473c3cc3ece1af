"""The first link: how the first key is had without a command.

A server without keys prints a link with a token in it. Whoever opens it first, within the
time, gets a key for everything; after that the link is good for nothing.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable

from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Keys

PATH = "/link"
VALID_S = 15 * 60
KEY_NAME = "first"


class FirstLink:
    """A token that is exchanged for the first key, once."""

    def __init__(
        self, keys: Keys, valid_s: float = VALID_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        self._keys = keys
        self._clock = clock
        self._until = clock() + valid_s
        self._lock = threading.Lock()

    def exchange(self, token: str) -> dict[str, str] | None:
        """The first key, for the right token in time; None: the link is no good."""
        given = token.encode("utf-8", "surrogateescape")
        with self._lock:
            if self._clock() > self._until or self._keys.exist:
                return None
            if not hmac.compare_digest(self.token.encode(), given):
                return None
            self._until = float("-inf")  # once, also when that key is revoked
            key, words = self._keys.create(KEY_NAME, Role.ADMIN)
        return {
            "key": words,
            "name": key.name,
            "role": "admin",
            "use": "Send it as the header `Authorization: Bearer KEY`. It is not shown again.",
        }
