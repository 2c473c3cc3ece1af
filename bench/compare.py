"""HADES and other memory and retrieval systems, on the same sets, questions and machine.

Every system runs in a process of its own, with one thread and HADES's encoder. Systems that are
not installed are skipped with the reason; `bench/peers/requirements.txt` lists them. There is one
result file per system and set. A result of the same machine and versions is kept, so a stopped run
continues; delete it to measure anew. `python -m bench.compare SET …` measures only these sets.
`tools/comparison.py` writes docs/lab/comparison.md.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.peers.measure import about
from bench.peers.sets import ROOT, SETS, TINY
from bench.peers.systems import SYSTEMS, TITLES
from bench.table import show

RESULTS = ROOT / "bench" / "results" / "comparison"
ABILITIES = "abilities"
TIME_LIMIT_S = 3_600
ENVIRONMENT = {
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"),
    **dict.fromkeys(("MEM0_TELEMETRY", "GRAPHITI_TELEMETRY_ENABLED"), "false"),
    "HADES_THREADS": "1",
    "HADES_ANSWER_CACHE_MB": "0",
}
"""The environment of each system: one thread, no telemetry, no answers from a cache."""
SAME = ("version", "hades", "machine", "python")
"""The fields in which a kept result must match this run to be used."""


def run(*, small: bool = False, only: Sequence[str] = ()) -> None:
    """Measure every system that is installed on every set that is here, or on those named."""
    print("## Comparison\n")
    if small:
        with tempfile.TemporaryDirectory() as folder:
            results = [measured(name, TINY, Path(folder)) for name in SYSTEMS]
            _show(TINY, results)
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    for set_name, peer_set in SETS.items():
        if only and set_name not in only:
            continue
        if not peer_set.folder().is_dir():
            print(f"{set_name} skipped: there is no {peer_set.folder()}; set HADES_DATA.\n")
            continue
        if peer_set.kind == "documents":
            _make_chunks(set_name)
        systems = peer_set.systems or SYSTEMS
        _show(set_name, [measured(name, set_name, RESULTS) for name in systems])
    for name in () if only else SYSTEMS:
        measured(name, ABILITIES, RESULTS)
    print("Now write docs/lab/comparison.md: python tools/comparison.py\n")


def measured(name: str, set_name: str, folder: Path) -> dict[str, Any]:
    """Return the kept result, or measure in a separate process."""
    path = folder / f"{set_name}-{name}.json"
    if importlib.util.find_spec(SYSTEMS[name].module) is None:
        return {"system": name, "skipped": f"{SYSTEMS[name].module} is not installed"}
    here = about(name)
    if path.exists():
        kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if "skipped" not in kept and all(kept.get(key) == here[key] for key in SAME):
            return kept
    _tell(f"{set_name}: {TITLES[name]} …")
    try:
        done = _python("-m", "bench.peers.measure", name, set_name)
        result = json.loads(done.stdout.splitlines()[-1])
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["no message"])[-1]
        result = {**here, "set": set_name, "skipped": last[:300]}
    except subprocess.TimeoutExpired:
        result = {**here, "set": set_name, "skipped": f"not done after {TIME_LIMIT_S} s"}
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    draft.replace(path)
    return result


def _make_chunks(set_name: str) -> None:
    """Make the memory whose chunks all systems get, before any of them is measured.

    It has a process of its own, because Linux counts the memory of this process in the peak of each
    process that it starts.
    """
    _tell(f"{set_name}: making the chunks …")
    _python("-c", f"from bench.peers.sets import SETS; SETS[{set_name!r}].load()")


def _python(*words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these arguments, in the environment of a measured system."""
    return subprocess.run(
        [sys.executable, *words],
        env=os.environ | ENVIRONMENT | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=TIME_LIMIT_S,
    )


def _show(set_name: str, results: list[dict[str, Any]]) -> None:
    head = ("system", "hit@1", "R@5", "index s", "P50 ms", "P95 ms", "peak MB", "disk MB")
    rows = []
    for one in results:
        if "skipped" in one:
            rows.append((TITLES[one["system"]], f"skipped: {one['skipped']}", *[""] * 6))
            continue
        keys = ("index_processor_s", "p50_processor_ms", "p95_processor_ms", "peak_mb", "disk_mb")
        scores = (one["scores"]["hit@1"], one["scores"]["recall@5"])
        rows.append((TITLES[one["system"]], *scores, *(one[key] for key in keys)))
    show(f"{set_name}, processor time", head, rows)


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    run(only=sys.argv[1:])
