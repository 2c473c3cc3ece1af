"""A numba kernel that is loaded in the background, so that no question waits for a compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable


class LazyKernel:
    """Loads a kernel in a thread once a process has wanted it `after` times.

    Loading takes half a second, compiling for the first time several. Until it is loaded the
    caller does the work another way, so a command that asks once never pays for it.
    """

    def __init__(self, load: Callable[[], None], after: int) -> None:
        self._load, self._after = load, after
        self._wanted = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def is_ready(self) -> bool:
        """Count a use; True when the kernel is loaded."""
        self._wanted += 1
        if self._wanted < self._after and self._thread is None:
            return False
        return not self._loading().is_alive()

    def wait(self) -> None:
        """Load the kernel now and wait for it: for a server, before its first question."""
        self._loading().join()

    def _loading(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                # Not a daemon: one ended inside the compiler aborts the process at its exit.
                self._thread = threading.Thread(target=self._load, name="hades-kernel")
                self._thread.start()
            return self._thread
