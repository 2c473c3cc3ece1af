"""Asynchronous work, called by code that is not.

The timeouts of HTTP clients are those of one read: a server that sends a byte now and then is
waited for without end. Asynchronous work can be cancelled wherever it waits, so one
`asyncio.timeout` is a deadline over the connection, the head, the body and all retries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

Result = TypeVar("Result")


def run_async(work: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """Return what the work returns, or raise what it raises.

    The work has a thread of its own, because the caller may be inside an event loop, as in a
    notebook. The result is handed over before the loop ends: closing it waits for a name lookup,
    which nothing can cancel. The thread is a daemon: it only waits for sockets, and an
    interrupted command ends at once.
    """
    results: SimpleQueue[Result | BaseException] = SimpleQueue()

    async def run() -> None:
        results.put((await asyncio.gather(work(), return_exceptions=True))[0])

    Thread(target=asyncio.run, args=(run(),), name="hades-async", daemon=True).start()
    result = results.get()
    if isinstance(result, BaseException):
        raise result
    return result
