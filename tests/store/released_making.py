"""A memory as a release writes it, kept so that every later version can be shown to open it.

    python -m tests.store.released_making 1.0.0

writes `released/1.0.0.hades.gz` and its export, `1.0.0.jsonl.gz`. Run it once for each release, and
never again for the same version: `test_released.py` opens all of them. What is written here may
grow; what `test_released.py` asserts must be in all of them.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from functools import partial
from itertools import count
from pathlib import Path

import hades

RELEASED = Path(__file__).parent / "released"
SPRING = 1_709_251_200_000_000
"""2024-03-01 in microseconds; the clock of the memory starts there and ticks at each reading."""


def write(memory: hades.Memory) -> None:
    """Write something of everything: versions, facts that changed, names, spaces, summaries."""
    memory.remember(
        "design/approach_x",
        "Approach X was rejected because of Bug Y.",
        tags=["decision"],
        metadata={"ticket": 7},
        valid_from="2024-01-10",
    )
    memory.remember("bugs/bug_y", "Bug Y corrupts data.", importance=0.9, valid_from="2024-01-10")
    memory.relate(
        *("design/approach_x", "rejected_because", "bugs/bug_y"),
        evidence="Approach X triggers Bug Y",
        valid_from="2024-01-10",
    )
    memory.remember("refactoring/q1", "The data layer was rewritten.", valid_from="2024-02-20")
    memory.change_fact(
        *("design/approach_x", "rejected_because"),
        to="refactoring/q1",
        content="Approach X is viable after the fix of Bug Y.",
        at="2024-02-20",
    )
    lines = [f"Step {number} of the plan was measured." for number in range(60)]
    memory.remember("log/plan", "\n".join(lines), valid_from="2024-01-11")
    memory.remember("log/plan", "\n".join([*lines, "The end."]), valid_from="2024-02-21")
    memory.relate("Ann Lee", "leads", "design/approach_x", kind="person", valid_from="2024-01-10")
    memory.relate("Annie", "likes", "tea", valid_from="2024-01-10")
    memory.add_alias("Ann Lee", "A. Lee")
    memory.merge("Ann Lee", "Annie")
    memory.remember("gone", "Soon forgotten.")
    memory.forget("gone")
    memory.remember("secret", "xyzzy")
    memory.purge("secret")
    memory.create_space("work")
    memory.in_space("work").remember("tasks", "Ship the release.")
    memory.propose("design/approach_x", "depends_on", "refactoring/q1", confidence=0.4)
    memory.index()
    memory.organise()
    memory.consolidate(at_least=1)


def main(version: str) -> None:
    """Write the files of a release; refuse to replace those of an earlier run."""
    if version != hades.__version__ or (RELEASED / f"{version}.hades.gz").exists():
        sys.exit(f"This is {hades.__version__}, and the files of a release are written once.")
    with tempfile.TemporaryDirectory() as scratch:
        clock, path = partial(next, count(SPRING, 1000)), Path(scratch) / "written.hades"
        with hades.open(path, clock=clock, actor="ann") as memory:
            write(memory)
            memory.backup(Path(scratch) / f"{version}.hades")
            memory.export(Path(scratch) / f"{version}.jsonl")
        for suffix in (".hades", ".jsonl"):
            plain = (Path(scratch) / f"{version}{suffix}").read_bytes()
            RELEASED.joinpath(f"{version}{suffix}.gz").write_bytes(gzip.compress(plain, mtime=0))


if __name__ == "__main__":
    main(sys.argv[1])
