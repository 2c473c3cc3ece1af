"""A pool of threads that callers use in turns, with a bounded queue.

Each caller has a queue of its own, and a thread that is free takes the next call of the next
caller: whoever sends many calls waits for their own. When all places are taken, the last call
of the caller with the most gives way to one of a caller with fewer.
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

STOPPING = "The server is stopping: nothing was done; ask again in a moment."
FULL = "Too many calls are waiting: come back in a second."


class Overloaded(Unavailable):
    """Too many calls are waiting: nothing was done; come back after `retry_after_s`."""

    retry_after_s = 1


class TimedOut(Unavailable):
    """It took too long to wait for. It goes on by itself, and a write may yet be done."""

    status = 504


class Pool:
    """Threads, and the calls that wait for one.

    A call that takes too long is given up on by its caller, never stopped: its thread finishes
    by itself, and it counts until then.
    """

    def __init__(self, name: str, threads: int, waiting: int, *, keeps: bool = False) -> None:
        self._threads = ThreadPoolExecutor(threads, f"hades-{name}")
        self._at_most = threads + waiting
        self._keeps = keeps
        """Whether a call that has a place keeps it."""
        self._lock = threading.Lock()
        self._queues: dict[str, deque[Waiting]] = {}
        """By caller, in the order of their turns; none is empty."""
        self._closed = False
        self.running = 0
        """How many calls have a thread, those nobody waits for any more included."""
        self.refused = 0
        """How many calls were refused since the start."""

    @property
    def waiting(self) -> int:
        """How many calls wait for a thread."""
        return sum(map(len, list(self._queues.values())))

    async def call(self, who: str, run: Callable[[], Result], timeout_s: float | None) -> Result:
        """Run a function in a thread of this pool, when it is this caller's turn."""
        return await self.finished(self.submit(who, run), timeout_s)

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
            task = asyncio.current_task()
            if self._closed and job.cancelled() and not (task and task.cancelling()):
                raise Unavailable(STOPPING) from None
            raise

    def submit(self, who: str, run: Callable[[], Result]) -> Future[Result]:
        """Queue a call; Overloaded when there is no place for it."""
        job: Future[Result] = Future()
        given_way: Future[Any] | None = None
        with self._lock:
            if self._closed:
                raise Unavailable(STOPPING)
            if self.running + self.waiting >= self._at_most:
                self.refused += 1
                given_way = self._give_way(who)
            context = contextvars.copy_context()
            self._queues.setdefault(who, deque()).append((job, lambda: context.run(run)))
            self._threads.submit(self._run_next)
        job.add_done_callback(lambda done: self._left(who, done) if done.cancelled() else None)
        if given_way is not None and given_way.set_running_or_notify_cancel():
            given_way.set_exception(Overloaded(FULL))
        return job

    def refuse(self) -> None:
        """Refuse every call from now on."""
        with self._lock:
            self._closed = True

    def close(self) -> None:
        """Finish what runs, refuse what waits."""
        self.refuse()
        for job in [job for queue in list(self._queues.values()) for job, _ in list(queue)]:
            job.cancel()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _give_way(self, who: str) -> Future[Any]:
        """The call that leaves for one of this caller; Overloaded where they have enough."""
        longest = max(self._queues, key=lambda one: len(self._queues[one]), default=who)
        if self._keeps or len(self._queues.get(longest, ())) <= len(self._queues.get(who, ())) + 1:
            raise Overloaded(FULL)
        job, _ = self._queues[longest].pop()
        return job

    def _run_next(self) -> None:
        """Run the next call of the caller whose turn it is."""
        with self._lock:
            if not self._queues:
                return  # the call was given up on, or gave way
            who = next(iter(self._queues))
            queue = self._queues.pop(who)
            job, run = queue.popleft()
            if queue:
                self._queues[who] = queue  # behind the others
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

    def _left(self, who: str, job: Future[Any]) -> None:
        """Take a call that was given up on out of its queue."""
        with self._lock:
            left = deque(one for one in self._queues.get(who, ()) if one[0] is not job)
            if left:
                self._queues[who] = left
            else:
                self._queues.pop(who, None)

    def _too_late(self, job: Future[Any]) -> Unavailable:
        if job.cancel() or job.cancelled():
            self.refused += 1
            return Overloaded("Its turn did not come in time, so nothing was done: try again.")
        return TimedOut("This takes too long to wait for; it may still be done: look later.")
