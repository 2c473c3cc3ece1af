"""Run every benchmark, or those named: python -m bench [store …] [--small]."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import sys
from datetime import UTC, datetime

ALL = (
    *("store", "ingest", "growth", "graph", "extractor", "recall", "fresh", "remote", "serve"),
    *("brief", "postgres", "shards", "consolidation", "tiers", "year", "told", "bridges"),
    *("entity_kinds", "overview", "agents", "hooks", "hooks_day", "said", "said_turns"),
    *("explorer", "trust", "library", "headline", "compare"),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("names", nargs="*", default=ALL, help=f"which: {', '.join(ALL)}")
    parser.add_argument("--small", action="store_true", help="smaller sizes, for a quick look")
    given = parser.parse_args()
    today = datetime.now(UTC).date()
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(f"{today}, {machine}, Python {platform.python_version()}, {sys.platform}\n")
    os.environ["HADES_ANSWER_CACHE_MB"] = "0"  # the same questions are asked again and again
    for name in given.names or ALL:
        importlib.import_module(f"bench.{name}").run(small=given.small)


if __name__ == "__main__":
    main()
