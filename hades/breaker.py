"""Circuit breakers: a server that failed several times in a row is left alone for a while.

Every server address has one breaker in a process: model and embedding servers, object storage,
PostgreSQL. After `breaker_failures` failures in a row, calls fail at once with the last reason.
After `breaker_seconds`, a single call tries the server again while others still fail at once. If it
succeeds, the breaker closes.

The libraries do not fit: pybreaker holds its lock during a whole call, so that calls from several
threads run one after another, and its context manager lets every thread try a half-open server.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil
from threading import Lock

from hades.errors import HadesError, Unavailable

clock = time.monotonic
_log = logging.getLogger(__name__)


class RefusedByServer(Unavailable):
    """The server works, but refused the request. This does not count as a failure."""


class Breaker:
    """The breaker of one server. Threads share it."""

    def __init__(self, server: str, failures: int, seconds: float) -> None:
        self.server = server
        self._most = failures
        self._seconds = seconds
        self._lock = Lock()
        self._failures = 0
        self._reason = ""
        self._open_until: float | None = None
        self._is_trying = False

    @property
    def is_open(self) -> bool:
        """Whether the server failed too often and has not answered since."""
        return self._open_until is not None

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Run the block as a call of the server; raise Unavailable at once while it is open.

        Only an Unavailable that is not a RefusedByServer counts as a failure.
        """
        is_trial = self._admit()
        try:
            yield
        except HadesError as error:
            if isinstance(error, Unavailable) and not isinstance(error, RefusedByServer):
                self._fail(str(error))
            else:
                self._succeed()
            raise
        else:
            self._succeed()
        finally:
            if is_trial:
                self._is_trying = False

    def _admit(self) -> bool:
        """Return whether this call is the trial of an open breaker, or raise Unavailable."""
        with self._lock:
            if self._open_until is None:
                return False
            left = ceil(self._open_until - clock())
            if left <= 0 and not self._is_trying:
                self._is_trying = True
                return True
            again = f"in {left} s" if left > 0 else "by another call right now"
            raise Unavailable(
                f"{self.server} is not asked: it failed {self._failures} times in a row and is "
                f"tried again {again}. The last failure: {self._reason}"
            )

    def _fail(self, reason: str) -> None:
        with self._lock:
            self._failures = self._failures + 1
            self._reason = reason
            if self._failures < self._most:
                return
            if self._open_until is None:
                _log.warning("%s failed %d times in a row: %s", self.server, self._most, reason)
            self._open_until = clock() + self._seconds

    def _succeed(self) -> None:
        with self._lock:
            if self._open_until is not None:
                _log.warning("%s answers again.", self.server)
            self._failures = 0
            self._open_until = None


_breakers: dict[str, Breaker] = {}
_making = Lock()


def breaker_of(server: str) -> Breaker:
    """Return the breaker of a server in this process, by its address."""
    from hades.settings import load_settings

    with _making:
        if server not in _breakers:
            settings = load_settings()
            _breakers[server] = Breaker(server, settings.breaker_failures, settings.breaker_seconds)
        return _breakers[server]


def all_breakers() -> list[Breaker]:
    """Return the breakers of all servers that this process has called."""
    with _making:
        return list(_breakers.values())
