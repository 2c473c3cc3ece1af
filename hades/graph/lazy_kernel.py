"""A numba kernel that is loaded in the background, so that no question waits for the compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable


class LazyKernel:
    """Loads a kernel in a thread at its `after`th use in the process.

    Loading takes half a second, and the first compilation several. Until then the caller does the
    work without the kernel, so a command that asks one question never pays for loading.
    """

    def __init__(self, load: Callable[[], None], after: int) -> None:
        self._load, self._after = load, after
        self._wanted = 0
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def is_ready(self) -> bool:
        """Count a use, begin to load if there were enough, and return whether it is loaded."""
        self._wanted += 1
        if self._wanted < self._after and self._thread is None:
            return False
        return not self._loading().is_alive()

    def wait(self) -> None:
        """Load the kernel and wait for it. A server does so before its first question."""
        self._loading().join()

    def _loading(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                # A daemon that is stopped inside the compiler would abort the process at exit.
                self._thread = threading.Thread(target=self._load, name="hades-kernel")
                self._thread.start()
            return self._thread
