"""Warming: what a first question would wait for, done beforehand.

The kernels are compiled once on a machine, which takes some seconds, and kept on disk; after
that loading them takes half a second in each process. Until they are there everything is
done in plain Python and numpy, so that no question ever waits for a compiler.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from hades.store.records import Progress


def load_kernels() -> None:
    """Compile the kernels, or load them from where they were kept."""
    from hades.graph import ppr
    from hades.index import vectors

    ppr.kernel.wait()
    vectors.kernel.wait()


def timed(
    parts: Mapping[str, Callable[[], object]], on_progress: Progress | None
) -> dict[str, float]:
    """Run parts one after another; the seconds each took."""
    spent = {}
    for done, (name, part) in enumerate(parts.items()):
        if on_progress is not None:
            on_progress(f"warming {name}", done, len(parts))
        start = time.perf_counter()
        part()
        spent[name] = round(time.perf_counter() - start, 3)
    return spent
