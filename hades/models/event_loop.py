"""Run asynchronous code from synchronous code.

An HTTP client applies its timeout to each read, so a server that sends a byte now and then never
times out. Asynchronous code can be cancelled wherever it waits, so one `asyncio.timeout` is a
deadline for the connection, the headers, the body and all retries together.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_async(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Run a coroutine to its end; return its result, or raise its exception.

    It runs in a new thread, because the caller may be inside an event loop, as in a notebook. The
    caller gets the result before the loop is closed, because closing waits for DNS lookups, which
    cannot be cancelled. The thread is a daemon, so that an interrupted command ends at once.
    """
    import asyncio

    results: SimpleQueue[Result | BaseException] = SimpleQueue()

    async def run() -> None:
        results.put((await asyncio.gather(work(), return_exceptions=True))[0])

    Thread(target=asyncio.run, args=(run(),), name="hades-async", daemon=True).start()
    result = results.get()
    if isinstance(result, BaseException):
        raise result
    return result
