"""A pool of threads that serves callers in turn, with a bounded queue.

Each caller has its own queue, and a free thread takes the first call of the next caller, so
that many calls of one caller delay only that caller. When the pool is full, a new call of a
caller with few waiting calls replaces the last call of the caller with the most.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from hades.errors import Unavailable

Result = TypeVar("Result")
Waiting = tuple[Future[Any], Callable[[], Any]]

STOPPING = "The server is stopping: nothing was done; try again in a moment."
FULL = "Too many calls are waiting: try again in a second."


class Overloaded(Unavailable):
    """Raised if too many calls are waiting. Nothing was done; the caller may try again."""


class TimedOut(Unavailable):
    """The caller waited too long. The call continues, and a write may still be done."""

    status = 504


class Pool:
    """A pool of threads, and the queues of calls that wait for one.

    When a call times out, its caller stops waiting, but the call continues and counts as running
    until its thread has finished it.
    """

    def __init__(self, name: str, threads: int, waiting: int, *, keeps: bool = False) -> None:
        self._threads = ThreadPoolExecutor(threads, f"hades-{name}")
        self._at_most = threads + waiting
        self._keeps = keeps
        """Whether waiting calls are never replaced by those of other callers."""
        self._lock = threading.Lock()
        self._queues: dict[str, deque[Waiting]] = {}
        """Waiting calls by caller, in the order of their turns; no queue is empty."""
        self._closed = False
        self.running = 0
        """How many calls have a thread, including those whose callers timed out."""
        self.refused = 0
        """How many calls were refused since the start."""

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return sum(map(len, list(self._queues.values())))

    async def call(self, who: str, run: Callable[[], Result], timeout_s: float | None) -> Result:
        """Run a function in a thread of this pool, and wait for its result as `finished` does."""
        return await self.finished(self.submit(who, run), timeout_s)

    async def finished(self, job: Future[Result], timeout_s: float | None) -> Result:
        """Wait for a submitted call; at the timeout raise TimedOut, or Overloaded if not begun."""
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await asyncio.wrap_future(job)
        except TimeoutError:
            if not limit.expired():
                raise
            raise self._too_late(job) from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._closed and job.cancelled() and not (task and task.cancelling()):
                raise Unavailable(STOPPING) from None
            raise

    def submit(self, who: str, run: Callable[[], Result]) -> Future[Result]:
        """Queue a call. If full, drop another caller's (unless the pool `keeps`), or raise."""
        job: Future[Result] = Future()
        replaced: Future[Any] | None = None
        with self._lock:
            if self._closed:
                raise Unavailable(STOPPING)
            if self.running + self.waiting >= self._at_most:
                self.refused += 1
                replaced = self._remove_one_for(who)
            context = contextvars.copy_context()
            self._queues.setdefault(who, deque()).append((job, lambda: context.run(run)))
            self._threads.submit(self._run_next)
        job.add_done_callback(lambda done: self._dequeue(who, done) if done.cancelled() else None)
        if replaced is not None and replaced.set_running_or_notify_cancel():
            replaced.set_exception(Overloaded(FULL))
        return job

    def refuse(self) -> None:
        """Refuse new calls from now on; calls that wait or run continue."""
        with self._lock:
            self._closed = True

    def close(self) -> None:
        """Refuse new calls, cancel the waiting ones, and wait for the running ones."""
        self.refuse()
        for job in [job for queue in list(self._queues.values()) for job, _ in list(queue)]:
            job.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _remove_one_for(self, who: str) -> Future[Any]:
        """Remove and return the last call of the longest queue, to make room for this caller's.

        That queue must be longer than this caller's by two calls or more; else raise Overloaded.
        """
        longest = max(self._queues, key=lambda caller: len(self._queues[caller]), default=who)
        if self._keeps or len(self._queues.get(longest, ())) <= len(self._queues.get(who, ())) + 1:
            raise Overloaded(FULL)
        job, _ = self._queues[longest].pop()
        return job

    def _run_next(self) -> None:
        """Run the next call of the caller whose turn it is."""
        with self._lock:
            if not self._queues:
                return  # the call was cancelled or replaced
            who = next(iter(self._queues))
            queue = self._queues.pop(who)
            job, run = queue.popleft()
            if queue:
                self._queues[who] = queue  # next time this caller comes after the others
            self.running += 1
        failed: BaseException | None = None
        result: Any = None
        begun = job.set_running_or_notify_cancel()
        try:
            result = run() if begun else None
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is awaited
            failed = error
        with self._lock:
            self.running -= 1
        if failed is not None:
            job.set_exception(failed)
        elif begun:
            job.set_result(result)

    def _dequeue(self, who: str, job: Future[Any]) -> None:
        """Remove a cancelled call from its queue."""
        with self._lock:
            left = deque(call for call in self._queues.get(who, ()) if call[0] is not job)
            if left:
                self._queues[who] = left
            else:
                self._queues.pop(who, None)

    def _too_late(self, job: Future[Any]) -> Unavailable:
        if job.cancel() or job.cancelled():
            self.refused += 1
            return Overloaded("The call did not get a thread in time; nothing was done: try again.")
        return TimedOut("The call timed out but may still finish: check its result later.")
