"""A line: calls that wait for a few threads, at most so many of them.

One call more than fits is turned away at once, so that those inside are served in time. A
call that takes too long is given up on by its caller, never stopped: its thread finishes by
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
from hades.serve.executor.breaker import Breaker
from hades.store.faults import is_storage_fault

Result = TypeVar("Result")

STOPPING = "The server is stopping: nothing was done; ask again in a moment."


class Overloaded(Unavailable):
    """Too many calls stand in line: nothing was done; come back after `retry_after_s`."""

    retry_after_s = 1


class TimedOut(Unavailable):
    """It took too long to wait for. It goes on by itself, and a write may yet be done."""

    status = 504


class Line:
    """Threads of one kind, and the calls that wait for them."""

    def __init__(
        self, name: str, threads: int, waiting: int, breaker: Breaker | None = None
    ) -> None:
        self.breaker = breaker
        self._pool = ThreadPoolExecutor(threads, f"hades-{name}")
        self._at_most = threads + waiting
        self._lock = threading.Lock()
        self._inside = 0
        self._running = 0
        self._refused = 0
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return max(0, self._inside - self._running)

    @property
    def running(self) -> int:
        """How many calls have a thread, those nobody waits for any more included."""
        return self._running

    @property
    def refused(self) -> int:
        """How many calls were turned away since the start."""
        return self._refused

    async def call(self, run: Callable[[], Result], timeout_s: float | None) -> Result:
        """What `run` gives, done in a thread of this line."""
        return await self.finished(self.submit(run), timeout_s)

    async def finished(self, job: Future[Result], timeout_s: float | None) -> Result:
        """What a call that was put in line gives."""
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

    def at_once(self, run: Callable[[], Result]) -> Result:
        """What `run` gives, done here and now: for what takes less time than handing it over.

        What the store fails here is not counted: it is asked again in a thread, and counts there.
        """
        if self._closed:
            raise Unavailable(STOPPING)
        if self.breaker is None:
            return run()
        self.breaker.let_in()
        try:
            found = run()
        except BaseException as error:
            if is_storage_fault(error):
                self.breaker.never_mind()
            else:
                self.breaker.worked()
            raise
        self.breaker.worked()
        return found

    def submit(self, run: Callable[[], Result]) -> Future[Result]:
        """Put a call in line; Overloaded when the line is full."""
        with self._lock:
            if self._closed:
                raise Unavailable(STOPPING)
            if self._inside >= self._at_most:
                self._refused += 1
                raise Overloaded("Too many calls are waiting: come back in a second.")
            if self.breaker is not None:
                self.breaker.let_in()
            self._inside += 1
            context = contextvars.copy_context()
            job = self._pool.submit(context.run, self._counted, run)
        job.add_done_callback(self._left)
        return job

    def close(self) -> None:
        """Finish what runs, turn away what waits."""
        with self._lock:
            self._closed = True
        self._pool.shutdown(wait=True, cancel_futures=True)

    def refuse(self) -> None:
        """Turn away whoever comes from now on."""
        with self._lock:
            self._closed = True

    def _counted(self, run: Callable[[], Result]) -> Result:
        with self._lock:
            self._running += 1
        try:
            return run()
        finally:
            with self._lock:
                self._running -= 1

    def _left(self, job: Future[Any]) -> None:
        with self._lock:
            self._inside -= 1
        if self.breaker is None:
            return
        if job.cancelled():
            self.breaker.never_mind()
        else:
            self._tell(self.breaker, job.exception())

    @staticmethod
    def _tell(breaker: Breaker, error: BaseException | None) -> None:
        if error is not None and is_storage_fault(error):
            breaker.failed(str(error))
        else:
            breaker.worked()

    def _too_late(self, job: Future[Any]) -> Unavailable:
        if job.cancel() or job.cancelled():
            with self._lock:
                self._refused += 1
            return Overloaded("Its turn did not come in time, so nothing was done: try again.")
        return TimedOut("This takes too long to wait for; it may still be done: look later.")


def _is_cancelled() -> bool:
    """Whether the task itself was asked to stop, rather than what it waits for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
