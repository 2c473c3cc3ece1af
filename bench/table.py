"""Measuring and printing: timings as percentiles, results as Markdown tables."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any


def percentiles(
    call: Callable[[Any], object],
    arguments: Iterable[Any],
    clock: Callable[[], int] = time.perf_counter_ns,
) -> tuple[float, float]:
    """The median and 99th percentile of a call, in microseconds."""
    times = []
    for argument in arguments:
        start = clock()
        call(argument)
        times.append(clock() - start)
    times.sort()
    return times[len(times) // 2] / 1000, times[int(len(times) * 0.99)] / 1000


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def show(title: str, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table."""
    print(f"### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)


def note(text: str) -> None:
    """Say on standard error what is going on."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{text:<60}\r")
        sys.stderr.flush()


def commit() -> str:
    found = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=False
    )
    return f"commit {found.stdout.strip() or 'unknown'}"


def processor() -> str:
    """Return the name of the processor, and whether it has the int8 instructions."""
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in told.splitlines() if "model name" in line]
    fast = " with VNNI" if "vnni" in told else ""
    return f"{names[0] if names else os.uname().machine}{fast}"
