"""A numba kernel that is loaded in the background, so that no question waits for the compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress


class LazyKernel:
    """Loads a kernel in a thread at its `after`th use in the process.

    Loading takes half a second, and the first compilation several. Until then the caller does the
    work with numpy, so a command that asks one question never pays for loading. numba is optional
    (the extra `fast`): without it, or with one that refuses this numpy, no kernel gets ready.
    """

    def __init__(self, load: Callable[[], None], after: int) -> None:
        self._load = load
        self._after = after
        self._wanted = 0
        self._is_ready = False
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def is_ready(self) -> bool:
        """Count a use, begin to load if there were enough, and return whether it is loaded."""
        self._wanted += 1
        if self._wanted >= self._after:
            self._loading()
        return self._is_ready

    def wait(self) -> None:
        """Load the kernel, if numba is installed, and wait for it. A server does this when it
        starts."""
        self._loading().join()

    def _loading(self) -> threading.Thread:
        with self._lock:
            if self._thread is None:
                # not a daemon: stopped inside the compiler, it would abort the process at exit
                self._thread = threading.Thread(target=self._run, name="hades-kernel")
                self._thread.start()
            return self._thread

    def _run(self) -> None:
        with suppress(ImportError):
            self._load()
            self._is_ready = True
