"""Warming: load beforehand what a first question would wait for.

The kernels (of the extra `fast`) are compiled once per machine, in a few seconds, and cached on
disk; loading them then takes half a second in each process. Until then numpy does the work, so that
no question waits for a compiler.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from hades.store.records import Progress


def load_kernels() -> None:
    """Compile the kernels, or load them from the disk cache."""
    from hades.graph import ppr
    from hades.index import vectors

    ppr.kernel.wait()
    vectors.kernel.wait()


def timed(
    parts: Mapping[str, Callable[[], object]], on_progress: Progress | None
) -> dict[str, float]:
    """Run parts one after another, and return the seconds that each took, by name."""
    spent = {}
    for done, (name, part) in enumerate(parts.items()):
        if on_progress is not None:
            on_progress(f"warming {name}", done, len(parts))
        start = time.perf_counter()
        part()
        spent[name] = round(time.perf_counter() - start, 3)
    return spent
