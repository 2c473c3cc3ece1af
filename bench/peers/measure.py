"""Measure one system on one set, in a process of its own: python -m bench.peers.measure SYSTEM SET.

The result is one line of JSON. Index time includes encoding and a first question, which loads
whatever a system loads late. Wall time depends on what else the machine does; processor time hardly
does, and includes child processes.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import resource
import statistics
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import hades
from bench.peers.sets import FOUND, SETS, TINY, Group, Passage, tiny
from bench.peers.systems import SYSTEMS, System
from hades.evals import metrics
from hades.evals.sets import EvalQuestion

DISTRIBUTIONS = {"mem0": "mem0ai", "graphiti_core": "graphiti-core"}
"""Names of packages on PyPI, where they differ from the module."""


class Clock:
    """Wall and processor seconds, added up."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def timed(self, call: Callable[[], Any]) -> tuple[Any, float, float]:
        """Call; return the result, and the wall and processor milliseconds."""
        wall, processor = time.perf_counter(), _processor_seconds()
        result = call()
        took = time.perf_counter() - wall, _processor_seconds() - processor
        self.wall, self.processor = self.wall + took[0], self.processor + took[1]
        return result, 1e3 * took[0], 1e3 * took[1]


def measure(name: str, set_name: str) -> dict[str, Any]:
    """Return the figures of a system on a set."""
    groups = tiny() if set_name == TINY else SETS[set_name].load()
    kind = "corpus" if set_name == TINY else SETS[set_name].kind
    k = FOUND if set_name == TINY else SETS[set_name].found
    importlib.import_module(SYSTEMS[name].module)
    indexing, asked, disk = Clock(), [], 0
    for number, group in enumerate(groups):
        with tempfile.TemporaryDirectory() as folder:
            system = SYSTEMS[name](Path(folder), kind)
            asked += _ask_all(system, group, k, indexing, takes_events=name.startswith("hades"))
            system.close()
            disk += sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(f"{number + 1} of {len(groups)} groups", file=sys.stderr, flush=True)
    passages = sum(bool(passage.text) for group in groups for passage in group.passages)
    return {
        **about(name),
        "set": set_name,
        "counts": {"groups": len(groups), "passages": passages, "questions": len(asked)},
        "language_model_tokens": 0,
        "index_s": round(indexing.wall, 1),
        "index_processor_s": round(indexing.processor, 1),
        **_times(asked),
        "peak_mb": _peak_mb(),
        "disk_mb": round(disk / 1e6, 2),
        "scores": _scores(asked, k),
    }


def about(name: str) -> dict[str, Any]:
    """Return what identifies a result: the system, its version, the machine and the date."""
    module = SYSTEMS[name].module
    version = hades.__version__
    if module != "hades":
        version = importlib.metadata.version(DISTRIBUTIONS.get(module, module))
    return {"system": name, "version": version, "hades": hades.__version__, **machine()}


def machine() -> dict[str, Any]:
    """Return the machine, its load and the date."""
    told = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    names = [line.partition(":")[2].strip() for line in told.splitlines() if "model name" in line]
    return {
        "date": str(datetime.now(UTC).date()),
        "machine": f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as one system answered it."""

    needed: Sequence[frozenset[str]]
    """Sets of passages, of each of which one must be found."""
    stale: frozenset[str]
    found: Sequence[str]
    ms: float
    processor_ms: float


def _ask_all(
    system: System, group: Group, k: int, indexing: Clock, *, takes_events: bool
) -> list[Asked]:
    """Write passages and ask questions in the order of time."""
    waiting, topics = deque(group.passages), dict[str, list[str]]()
    warm_up, asked = EvalQuestion("", "What is known about this?", frozenset()), []
    for question in group.questions:
        new = list[Passage]()
        while waiting and waiting[0].at <= question.asked_at:
            passage = waiting.popleft()
            new.append(passage)
            if passage.text:
                topics.setdefault(passage.topic, []).append(passage.id)
            elif passage.deletes and not takes_events:
                gone = set(topics.pop(passage.topic, ()))
                old = gone - {one.id for one in new}
                new = [one for one in new if one.id not in gone]
                indexing.timed(lambda old=old: old and system.delete(sorted(old)))
        if new := [one for one in new if one.text or takes_events]:
            indexing.timed(lambda new=new: system.index(new))
            indexing.timed(lambda: system.find(warm_up, k))
        found, wall, processor = Clock().timed(lambda q=question: system.find(q, k))
        asked.append(Asked(group.needed(question), question.stale, found, wall, processor))
    return asked


def _scores(asked: Sequence[Asked], k: int) -> dict[str, float]:
    """Return the mean scores in per cent, and the standard error of recall at five."""
    rows = [_score(one, k) for one in asked]
    means = {key: round(100 * statistics.fmean(row[key] for row in rows), 1) for key in rows[0]}
    error = metrics.standard_error([row["recall@5"] for row in rows])
    return {**means, "error": round(100 * error, 1)}


def _score(asked: Asked, k: int) -> Mapping[str, float]:
    found, wanted = asked.found, frozenset().union(*asked.needed)
    first = next((rank for rank, id_ in enumerate(found) if id_ in wanted), len(found))
    recalls = {
        at: statistics.fmean(not need.isdisjoint(found[:at]) for need in asked.needed)
        for at in (2, 5, 10)
        if at <= k
    }
    return {
        "hit@1": float(not wanted.isdisjoint(found[:1])),
        **{f"recall@{at}": recall for at, recall in recalls.items()},
        "all@5": float(recalls[5] == 1),
        "stale": float(not asked.stale.isdisjoint(found[:first])),
    }


def _times(asked: Sequence[Asked]) -> dict[str, float]:
    wall = [one.ms for one in asked]
    processor = [one.processor_ms for one in asked]
    return {
        f"{what}_{name}": round(metrics.percentile(values, share), 1)
        for name, values in (("ms", wall), ("processor_ms", processor))
        for what, share in (("p50", 0.5), ("p95", 0.95))
    }


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_mb() -> int:
    """Return the peak memory of this process and of its largest child, in MB."""
    peaks = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    unit = 1 if sys.platform == "darwin" else 1024
    return round(sum(one.ru_maxrss for one in peaks) * unit / 1e6)


if __name__ == "__main__":
    from bench.peers.abilities import abilities

    asked_for = sys.argv[1:]
    result = abilities(asked_for[0]) if asked_for[1:] == ["abilities"] else measure(*asked_for)
    print(json.dumps(result))
