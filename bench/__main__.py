"""Run the main benchmarks, or those named, or all: python -m bench [NAME …] [--all] [--small]."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
import time
from datetime import UTC, datetime

from bench.table import commit, processor

MAIN = ("headline", "indexing", "store", "graph", "hooks")
"""What README and the beginning of docs/lab/benchmarks.md tell: less than 20 minutes."""
OTHERS = (
    *("ingest", "growth", "extractor", "recall", "fresh", "remote", "serve", "brief", "postgres"),
    *("shards", "consolidation", "tiers", "year", "told", "bridges", "entity_kinds", "overview"),
    *("agents", "hooks_day", "said", "said_turns", "explorer", "trust", "library", "compare"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    every = (*MAIN, *OTHERS)
    parser.add_argument("names", nargs="*", help=f"which: {', '.join(every)}")
    parser.add_argument("--all", action="store_true", help="all of them, which takes hours")
    parser.add_argument(
        "--small", action="store_true", help="small sizes; all unless some are named"
    )
    given = parser.parse_args()
    today = datetime.now(UTC).date()
    machine = f"{processor()}, {platform.machine()}, {os.cpu_count()} cores"
    python = f"Python {platform.python_version()}, {sys.platform}"
    print(f"{today}, {commit()}, {machine}, {python}\n")
    begun = time.monotonic()
    os.environ["HADES_ANSWER_CACHE_MB"] = "0"  # the same questions are asked again and again
    for name in given.names or (every if given.all or given.small else MAIN):
        importlib.import_module(f"bench.{name}").run(small=given.small)
    print(f"Measured in {(time.monotonic() - begun) / 60:.0f} min.")


if __name__ == "__main__":
    main()
