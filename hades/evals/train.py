"""Training the ranker: questions whose answers are known become its weights.

The features are those a question gets in use. Only weights are learned here; whoever
reports numbers trains on other questions than those reported (`fold`, or other sets).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hades.errors import InvalidInput
from hades.evals.everyday import draws
from hades.evals.fit_ranker import TrainingQuestion, fit_ranker
from hades.evals.memories import IdOf, open_set
from hades.evals.replay import read_events, replay
from hades.evals.sets import EvalSet, Question
from hades.memory import View
from hades.store.records import Progress

NOTE_SIZES = (None, 100, 30, 10)
"""A ranker of notes must know small memories, too: it learns from the whole set and parts."""


def _asked(
    eval_set: EvalSet, cache: Path, encoder: str, on_progress: Progress | None
) -> Iterator[tuple[Question, View, IdOf]]:
    """Every question of a set, what it is asked of, and how a chunk there is called as gold."""
    if eval_set.kind != "everyday":
        with open_set(eval_set, cache, encoder=encoder, on_progress=on_progress) as opened:
            for question in eval_set.in_turn(f"asking {eval_set.name}", on_progress):
                yield question, opened.view(question), opened.id_of
        return
    events = read_events(eval_set.corpus)
    for size in NOTE_SIZES:
        for some, questions in draws(events, eval_set.questions, size):
            for question, view in replay(some, questions, encoder=encoder, on_progress=on_progress):
                yield question, view, lambda chunk: f"{chunk.topic}@{chunk.version}"


def train(
    sets: Sequence[EvalSet],
    target: Path,
    *,
    cache: Path,
    encoder: str,
    on_progress: Progress | None = None,
) -> dict[str, int]:
    """Train a ranker on the questions of sets and write it; how many of each were of use."""
    if not target.expanduser().parent.is_dir():
        raise InvalidInput(f"There is no folder {target.parent} to write {target.name} to.")
    learned: dict[str, list[TrainingQuestion]] = {one.name: [] for one in sets}
    for eval_set in sets:
        for question, view, id_of in _asked(eval_set, cache, encoder, on_progress):
            chunks, table = view.examine(question.text)
            wanted = np.array([id_of(one) in question.gold for one in chunks], np.bool_)
            if wanted.any() and not wanted.all():
                learned[eval_set.name].append(TrainingQuestion(table, wanted))
    counts = {name: len(found) for name, found in learned.items()}
    # Every set is heard alike: trained on the plain pile, HotpotQA left out loses 2.8 points
    # of R@5 to the largest set's ways, and so 1.2.
    every = [replace(one, weight=1 / len(found)) for found in learned.values() for one in found]
    if not every:
        raise InvalidInput("No question of these sets has an answer among its candidates.")
    ranker = fit_ranker(every)
    ranker.save(target, {"questions": counts, "encoder": encoder})
    return counts
