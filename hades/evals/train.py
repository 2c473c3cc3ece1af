"""Training the ranker: learn its weights from questions with known answers.

The features are the same as in use. Reported numbers must come from other questions than those
trained on (`fold`, or other sets).
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
"""Sizes in notes of the memories to learn from; None is the whole set. The ranker must also work
on small memories."""


def _asked(
    eval_set: EvalSet, cache: Path, encoder: str, on_progress: Progress | None
) -> Iterator[tuple[Question, View, IdOf]]:
    """Yield every question of a set, its view, and the function from a chunk to its gold id."""
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
    """Train a ranker on sets and write it; return how many questions of each set were usable."""
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
    # All sets count alike: with equal weights per question, HotpotQA, when left out of training,
    # loses 2.8 points of R@5; with equal weights per set, 1.2.
    every = [replace(one, weight=1 / len(found)) for found in learned.values() for one in found]
    if not every:
        raise InvalidInput("No question of these sets has an answer among its candidates.")
    ranker = fit_ranker(every)
    ranker.save(target, {"questions": counts, "encoder": encoder})
    return counts
