"""Beside: work that needs no interpreter, done while the question goes on.

The encoder and the walks let go of the interpreter, so that on a second core they cost a
question next to nothing (10,000 papers, two cores: the far walk and the beam take 5 ms
together instead of 8).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def beside(call: Callable[[], Result]) -> Callable[[], Result]:
    """Begin a call in a thread of its own; what is given back waits for it, and raises as it did.

    A thread each time, not a pool: it costs 0.1 ms, and a process that forks has no pool of
    dead threads. Not a daemon: Python ends those at its exit wherever they are, and inside
    native code that aborts the process.
    """
    done: list[Result] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(call())
        except BaseException as error:  # noqa: BLE001 - raised where it is waited for
            failed.append(error)

    thread = threading.Thread(target=run, name="hades-beside")
    thread.start()

    def wait() -> Result:
        thread.join()
        if failed:
            raise failed[0]
        return done[0]

    return wait
