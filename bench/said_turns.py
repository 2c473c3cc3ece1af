"""Questions about conversations, with and without distilled statements beside the turns.

The conversations and questions are the first two of LoCoMo (`locomo` of HADES_DATA). A statement
counts as the turn in which it was said.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from bench.peers.sets import LOCOMO_CONVERSATIONS, data
from bench.table import note, show
from hades.domain.topics import Chunk
from hades.evals.measure import RECALL_AT, Scores, measure
from hades.evals.memories import OpenSet, open_set
from hades.evals.sets import load_set

SYSTEMS = ("hybrid", "full")


def run(*, small: bool = False) -> None:
    """Measure all questions of these conversations, or of the first one."""
    whole = data("locomo")()
    if not whole.is_dir():
        print("Statements beside turns skipped: set HADES_DATA to a folder with the set locomo.\n")
        return
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part"
        part.mkdir()
        for path in whole.glob("*.jsonl"):
            rows = path.read_text("utf-8").splitlines(keepends=True)
            kept = [row for row in rows if _is_in(row, 1 if small else LOCOMO_CONVERSATIONS)]
            (part / path.name).write_text("".join(kept), "utf-8")
        eval_set = load_set(part)
        note("storing conversations")
        with open_set(eval_set, Path(folder)) as opened:
            before = measure(eval_set, opened, SYSTEMS).systems
            told = distilled(opened)
            after = measure(eval_set, told, SYSTEMS).systems
    asked = len(eval_set.questions)
    head = ("system", *(f"R@{k}" for k in RECALL_AT), "nDCG@10", "p50")
    table = [
        (f"{system}, {name}", *_figures(scores[system]))
        for system in SYSTEMS
        for name, scores in (("turns", before), ("turns and statements", after))
    ]
    show(f"Turns found: {asked} questions of LoCoMo, {opened.passages} turns", head, table)


def distilled(opened: OpenSet) -> OpenSet:
    """Distil all conversations of a set; each statement has the id of its turn."""
    turns: dict[tuple[str, int], str] = {}
    for space in opened.memory.spaces():
        view = opened.memory.in_space(space.name)
        note(f"distilling {space.name}")
        done = view.distil()
        print(f"{space.name}: {done}")
        for one in done.statements:
            ids = view.get(one.source).metadata["turn_ids"]
            turns[one.state.rpartition("@")[0], int(one.state.rpartition("@")[2])] = ids[one.turn]
        view.index()

    def id_of(chunk: Chunk) -> str:
        return turns.get((chunk.topic, chunk.version)) or opened.id_of(chunk)

    return replace(opened, id_of=id_of)


def _is_in(row: str, conversations: int) -> bool:
    fields: Mapping[str, object] = json.loads(row)
    return int(str(fields["conversation"])) < conversations


def _figures(scores: Scores) -> list[str]:
    values = [scores.values[f"recall@{k}"] for k in RECALL_AT]
    shares = [f"{100 * value:.1f} %" for value in (*values, scores.values["ndcg@10"])]
    return [*shares, f"{scores.p50_ms:.0f} ms"]
