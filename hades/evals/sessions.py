"""Sets of sessions, as in LongMemEval: each question has its own history.

Each history is a space of one memory, so a question sees no other; only word frequencies are
shared. Nothing is kept: each run writes the histories again.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from hades.evals.by_type import ByType, Outcome
from hades.evals.sets import EvalSet, Question, read_rows
from hades.memory import Memory
from hades.opening import open as open_memory
from hades.store.records import Progress

COLUMNS = ("any@5", "all@5")
SYSTEMS_ASKED = ("hybrid", "full", "recall")
"""Two systems of the ladder, and a whole recall."""
CHUNKS_RANKED = 20
"""Enough chunks for five sessions, which are short."""


def measure_sessions(
    eval_set: EvalSet, *, encoder: str = "minilm", on_progress: Progress | None = None
) -> ByType:
    """Write each question's history into a space of its own, and look for its gold there."""
    texts = {
        str(row.get("session")): str(row.get("text", "")) for _, row in read_rows(eval_set.corpus)
    }
    tables: dict[str, list[Outcome]] = {system: [] for system in SYSTEMS_ASKED}
    with (
        tempfile.TemporaryDirectory() as folder,
        open_memory(Path(folder, "set.hades"), encoder=encoder) as root,
    ):
        for question in eval_set.in_turn("asking", on_progress):
            root.create_space(question.id)
            memory = root.in_space(question.id)
            with memory.batch():
                for session, date in question.history:
                    if texts.get(session, "").strip():
                        memory.remember(session, texts[session], valid_from=date)
            memory.index()
            for system, asked in tables.items():
                asked.append(_outcome(question, memory, system))
    return ByType(eval_set.name, eval_set.kind, COLUMNS, tables)


def _outcome(question: Question, memory: Memory, system: str) -> Outcome:
    if system == "recall":
        chunks = [one.chunk for one in memory.recall(question.text).passages]
    else:
        chunks = [one.chunk for one in memory.rank(question.text, CHUNKS_RANKED, system=system)]
    found = tuple(dict.fromkeys(chunk.topic for chunk in chunks))[:5]
    hits = question.gold.intersection(found)
    values = {"any@5": float(bool(hits)), "all@5": float(hits == question.gold)}
    return Outcome(question, values, system == "recall" and not values["all@5"], found)
