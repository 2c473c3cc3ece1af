"""A thread pool with a bounded queue.

A call that does not fit is refused at once, so that those inside are served in time. A call
that takes too long is given up on by its caller, never stopped: its thread finishes by
itself, and it counts until then.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from hades.errors import Unavailable

Result = TypeVar("Result")

STOPPING = "The server is stopping: nothing was done; ask again in a moment."


class Overloaded(Unavailable):
    """Too many calls are waiting: nothing was done; come back after `retry_after_s`."""

    retry_after_s = 1


class TimedOut(Unavailable):
    """It took too long to wait for. It goes on by itself, and a write may yet be done."""

    status = 504


class Pool:
    """Threads of one kind, and the calls that wait for them."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, f"hades-{name}")
        self._at_most = threads + waiting
        self._lock = threading.Lock()
        self._inside = 0
        self.running = 0
        """How many calls have a thread, those nobody waits for any more included."""
        self.refused = 0
        """How many calls were refused since the start."""
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return max(0, self._inside - self.running)

    async def call(self, run: Callable[[], Result], timeout_s: float | None) -> Result:
        """Run a function in a thread of this pool."""
        return await self.finished(self.submit(run), timeout_s)

    async def finished(self, job: Future[Result], timeout_s: float | None) -> Result:
        """Wait for what `submit` began."""
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await asyncio.wrap_future(job)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._too_late(job) from None
        except asyncio.CancelledError:
            if self._closed and job.cancelled() and not _is_cancelled():
                raise Unavailable(STOPPING) from None
            raise

    def submit(self, run: Callable[[], Result]) -> Future[Result]:
        """Queue a call; Overloaded when the queue is full."""
        with self._lock:
            if self._closed:
                raise Unavailable(STOPPING)
            if self._inside >= self._at_most:
                self.refused += 1
                raise Overloaded("Too many calls are waiting: come back in a second.")
            self._inside += 1
            context = contextvars.copy_context()
            job = self._threads.submit(context.run, self._counted, run)
        job.add_done_callback(self._left)
        return job

    def refuse(self) -> None:
        """Refuse every call from now on."""
        with self._lock:
            self._closed = True

    def close(self) -> None:
        """Finish what runs, refuse what waits."""
        self.refuse()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _counted(self, run: Callable[[], Result]) -> Result:
        with self._lock:
            self.running += 1
        try:
            return run()
        finally:
            with self._lock:
                self.running -= 1

    def _left(self, _job: Future[Any]) -> None:
        with self._lock:
            self._inside -= 1

    def _too_late(self, job: Future[Any]) -> Unavailable:
        if job.cancel() or job.cancelled():
            with self._lock:
                self.refused += 1
            return Overloaded("Its turn did not come in time, so nothing was done: try again.")
        return TimedOut("This takes too long to wait for; it may still be done: look later.")


def _is_cancelled() -> bool:
    """Whether the task itself was asked to stop, rather than what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
