"""Simulated feedback: learn from one half of a question set, measure on the other.

    python -m bench.feedback FOLDER [--first N] [--questions N]

FOLDER is a set of `hades eval` with passages. Gold gives the verdicts on every second question: a
passage is useful if it is gold; a path is used if its passages are gold and its other nodes are
named in gold passages. Each actor gives as much feedback as counts in a day. The other questions
are measured three times: before any feedback, after it, and after it with the shipped weights
brought back. The difference of the last two rows is the effect of the weight snapshot. Stages have
generous limits of time.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path as FilePath

import hades
from bench.table import show
from hades.domain.feedback import TEACHING_AT_MOST
from hades.evals.ladder import UNHURRIED
from hades.evals.memories import PREFIX, open_set
from hades.evals.metrics import expected_calibration_error
from hades.evals.sets import EvalQuestion, EvalSet, load_set, read_rows
from hades.settings import load_settings


class Simulation:
    """A memory of a set's corpus, and verdicts from its gold."""

    def __init__(self, memory: hades.Memory, eval_set: EvalSet) -> None:
        self._memory = memory
        self._texts = {
            str(row["id"]): f"{row['title']}\n{row['text']}".casefold()
            for _, row in read_rows(eval_set.corpus)
        }

    def ask(self, question: EvalQuestion) -> tuple[hades.Recall, list[bool], list[bool]]:
        """Return a recall, and the verdicts on its passages and paths."""
        found = self._memory.recall(question.text, plan=UNHURRIED)
        gold = set(question.gold)
        passages = [_id(passage.chunk.topic) in gold for passage in found.passages]
        return found, passages, [self._is_used(path, gold) for path in found.paths]

    def teach(self, question: EvalQuestion, actor: str) -> hades.Feedback:
        """Ask a question and give feedback as an actor."""
        found, passages, paths = self.ask(question)
        return self._memory.in_space(self._memory.space, actor=actor).feedback(
            found.id,
            used=[f"path:{n}" for n, good in enumerate(paths, 1) if good],
            rejected=[f"path:{n}" for n, good in enumerate(paths, 1) if not good],
            useful=[str(n) for n, good in enumerate(passages, 1) if good],
            useless=[str(n) for n, good in enumerate(passages, 1) if not good],
        )

    def measure(self, label: str, questions: Sequence[EvalQuestion]) -> tuple[object, ...]:
        """Return a row: recall@5, precision of paths, and calibration of their beliefs."""
        recall, firsts, judged = 0.0, list[bool](), list[tuple[float, bool]]()
        for question in questions:
            found, _, paths = self.ask(question)
            best = dict.fromkeys(_id(passage.chunk.topic) for passage in found.passages)
            recall += len(set(question.gold) & set(list(best)[:5])) / len(question.gold)
            firsts += paths[:1]
            judged += zip((path.belief.mean for path in found.paths), paths, strict=True)
        first, good = sum(firsts) / max(1, len(firsts)), sum(used for _, used in judged)
        error = expected_calibration_error(judged) or 0.0
        shares = (recall / len(questions), first, good / max(1, len(judged)), error)
        return (label, *(f"{100 * share:.1f}" for share in shares), len(judged))

    def _is_used(self, path: hades.Path, gold: set[str]) -> bool:
        text = "\n".join(self._texts[passage] for passage in gold)
        places = [step.chunk for step in path.steps if step.chunk]
        for node in path.nodes:
            if node.kind == "entity":
                if node.name.casefold().split(" (")[0] not in text:
                    return False
            else:
                places.append(node.name)
        return {_id(place.rpartition("@")[0] or place) for place in places} <= gold


def _id(topic: str) -> str:
    return topic.removeprefix(f"{PREFIX}/")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.feedback", description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--first", type=int, default=0, help="skip so many questions")
    parser.add_argument("--questions", type=int, help="how many questions, both halves together")
    given = parser.parse_args()
    eval_set = load_set(given.folder)
    with open_set(eval_set, load_settings().cache_folder()) as opened:
        source = FilePath(opened.memory.inside.store.database.place)
    questions = eval_set.questions[given.first :][: given.questions]
    with tempfile.TemporaryDirectory() as folder:
        copied = shutil.copytree(source.parent, FilePath(folder, "set"))
        with hades.open(copied / source.name, actor="bench") as memory:
            memory.inside.store.uses.counts = False
            simulation, others = Simulation(memory, eval_set), questions[1::2]
            rows = [simulation.measure("before", others)]
            done = [
                simulation.teach(question, f"actor {number // TEACHING_AT_MOST}")
                for number, question in enumerate(questions[::2])
            ]
            rows.append(simulation.measure("after feedback", others))
            learned = memory.weights_diff(0)
            memory.weights_rollback(0)
            rows.append(simulation.measure("with the shipped weights", others))
    adopted = sum(feedback.adopted for feedback in done)
    title = f"{eval_set.name}: {len(done)} feedbacks, {adopted} snapshots adopted"
    head = ("", "recall@5", "first path", "paths", "calibration error", "paths shown")
    show(f"{title}, {len(others)} other questions, in percent", head, rows)
    changes = [(change.parameter, change.before, change.after) for change in learned]
    show("What was learned", ("parameter", "shipped", "learned"), changes)


if __name__ == "__main__":
    main()
