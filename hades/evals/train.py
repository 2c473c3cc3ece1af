"""Training the ranker: questions whose answers are known become its weights.

The features are those a question gets in use. Only weights are learned here; whoever
reports numbers trains on other questions than those reported (`fold`, or other sets).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from hades.errors import InvalidInput
from hades.evals.everyday import draws
from hades.evals.memories import open_set
from hades.evals.replay import read_events, replay
from hades.evals.sets import EvalSet
from hades.recall.ranker import Ranker, TrainingQuestion
from hades.store.records import Progress


def examples(
    eval_set: EvalSet, cache: Path, encoder: str, on_progress: Progress | None = None
) -> list[TrainingQuestion]:
    """What a ranker can learn from the questions of a set."""
    found = []
    with open_set(eval_set, cache, encoder=encoder, on_progress=on_progress) as opened:
        for number, question in enumerate(eval_set.questions, start=1):
            chunks, table = opened.view(question).examine(question.text)
            wanted = np.array([opened.id_of(chunk) in question.gold for chunk in chunks], np.bool_)
            if wanted.any():
                found.append(TrainingQuestion(table, wanted))
            if on_progress is not None:
                on_progress(f"asking {eval_set.name}", number, len(eval_set.questions))
    return found


NOTE_SIZES = (None, 100, 30, 10)
"""A ranker of notes must know small memories, too."""


def examples_of_notes(
    eval_set: EvalSet, encoder: str, on_progress: Progress | None = None
) -> list[TrainingQuestion]:
    """What a ranker can learn from notes: of the whole set, and of small memories of it."""
    events = read_events(eval_set.corpus)
    found = []
    for size in NOTE_SIZES:
        for some, questions in draws(events, eval_set.questions, size):
            for question, view in replay(some, questions, encoder=encoder, on_progress=on_progress):
                chunks, table = view.examine(question.text)
                ids = [f"{one.topic}@{one.version}" for one in chunks]
                wanted = np.array([one in question.gold for one in ids], np.bool_)
                if wanted.any() and not wanted.all():
                    found.append(TrainingQuestion(table, wanted))
    return found


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
    learned = {
        one.name: examples_of_notes(one, encoder, on_progress)
        if one.kind == "everyday"
        else examples(one, cache, encoder, on_progress)
        for one in sets
    }
    counts = {name: len(found) for name, found in learned.items()}
    # Every set is heard alike: trained on the plain pile, HotpotQA left out loses 2.8 points
    # of R@5 to the largest set's ways, and so 1.2.
    every = [replace(one, weight=1 / len(found)) for found in learned.values() for one in found]
    if not every:
        raise InvalidInput("No question of these sets has an answer among its candidates.")
    ranker = Ranker.train(every)
    ranker.save(target, {"questions": counts, "encoder": encoder})
    return counts
