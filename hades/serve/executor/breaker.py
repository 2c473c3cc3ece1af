"""A circuit breaker: when the store fails again and again, nobody waits for it in vain.

After several failures in a row it opens: calls are refused at once. After a pause one call
is let through to try; when that works it closes, else it stays open for another pause.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Literal

from hades.errors import Unavailable

FAILURES_IN_A_ROW = 5
PAUSE_S = 5.0

State = Literal["closed", "open", "half-open"]


class Open(Unavailable):
    """The store failed again and again: nothing is tried before `retry_after_s`."""

    def __init__(self, sentence: str, retry_after_s: int) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s


class Breaker:
    """Counts failures of the store for one kind of call."""

    def __init__(
        self,
        failures: int = FAILURES_IN_A_ROW,
        pause_s: float = PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._at_most = failures
        self._pause_s = pause_s
        self._clock = clock
        self._lock = threading.Lock()
        self._failed = 0
        self._opened_at: float | None = None
        self._trying = False
        self._why = ""

    @property
    def state(self) -> State:
        """Where it stands now."""
        with self._lock:
            if self._opened_at is None:
                return "closed"
            return "half-open" if self._left_s() <= 0 else "open"

    def let_in(self) -> None:
        """Raise Open unless a call may be tried."""
        with self._lock:
            if self._opened_at is None:
                return
            if self._left_s() > 0 or self._trying:
                seconds = max(1, math.ceil(self._left_s()))
                raise Open(f"The memory does not work right now: {self._why}", seconds)
            self._trying = True

    def worked(self) -> None:
        """A call came back, with whatever answer."""
        with self._lock:
            self._failed, self._opened_at, self._trying = 0, None, False

    def failed(self, why: str) -> None:
        """The store failed a call."""
        with self._lock:
            self._failed += 1
            self._why = why
            if self._trying or self._failed >= self._at_most:
                self._opened_at = self._clock()
            self._trying = False

    def never_mind(self) -> None:
        """A call that was let in was not tried after all."""
        with self._lock:
            self._trying = False

    def _left_s(self) -> float:
        assert self._opened_at is not None
        return self._opened_at + self._pause_s - self._clock()
