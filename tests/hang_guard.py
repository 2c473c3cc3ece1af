"""A guard for calls that must end, however long a busy machine takes for them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


def within_a_minute(call: Callable[[], Any]) -> Any:
    """What a call returns or raises; a call that hangs fails the test."""
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(call())
        except Exception as error:
            results.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert results, "the call hangs"
    return results[0]
