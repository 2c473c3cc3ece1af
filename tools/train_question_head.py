"""Trains the head that reads a question (`hades/recall/question/head.py`), on a CPU, in minutes.

    python tools/train_question_head.py              prints figures and writes head.npz

It learns from `training/questions`. All labels are fitted at once: softmax regression for each,
with a penalty on the squared weights. The figures are of domains left out, in five folds. The same
input gives the same file.

A third of the training questions are look-ups; in real use about 85 % are (`LOOKUPS_IN_LIFE`, an
estimate). So scores are calibrated with rows weighted to that share, by one temperature for each
label and one offset for each value of a label.

The table has the percentage of right labels on domains left out. Its last two columns have the
percentage of the questions of `training/documents` and `training/notes` that are taken for another
kind than a look-up with a probability above .5. It was measured on `kinds_a` and `kinds_b` alone:

| learned from            | kind | wants | many | steps | time | documents | notes |
|-------------------------|------|-------|------|-------|------|-----------|-------|
| labelled alone: ships   | 81.3 |  82.2 | 91.5 |  95.9 | 78.4 |      18.1 |   3.1 |
| and others, weight .1   | 80.0 |  82.4 | 91.6 |  95.8 | 78.5 |       4.7 |   3.0 |
| and others, weight .3   | 78.0 |  82.4 | 91.5 |  95.7 | 78.6 |       3.9 |   2.5 |

The others are the questions of documents, mostly labelled as look-ups, and those of notes, labelled
by their types (in the row of weight .1 only with `wants`, at weight .3). Of the questions of
documents that are taken for another kind, two thirds are taken for `code`.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import softmax

from hades.models.encoder import load_encoder
from hades.recall.question.head import SHIPPED, word_features

TRAINING = Path(__file__).parent.parent / "training"
LABELS = {
    "kind": (
        *("lookup", "overview", "brief", "connection", "count", "history", "status", "code"),
        *("compare", "ever", "still", "smalltalk"),
    ),
    "wants": (
        *("person", "place", "number", "date", "duration", "reason", "list", "yesno", "thing"),
        *("text", "path", "none"),
    ),
    "many": ("False", "True"),
    "steps": ("1", "2"),
    "time": ("now", "past", "origin", "dated", "before_event", "since_event", "ahead", "any"),
    "part": ("next", "decisions", "all", "done", "recent"),
}
COLUMNS = [f"{name}:{value}" for name, values in LABELS.items() for value in values]
FOLDS = 5
SEED = 0
PENALTY = 0.1
ROUNDS = 60
LOOKUPS_IN_LIFE = 0.85
PRECISION_WANTED = 0.95

Array = Any


@dataclass(frozen=True)
class Row:
    text: str
    labels: dict[str, str]
    domain: str


@dataclass(frozen=True)
class Table:
    """Rows as arrays: `y` has a column for each value of each label."""

    vectors: Array
    words: Array
    y: Array
    fold: Array

    def part(self, mask: Array) -> "Table":
        return Table(self.vectors[mask], self.words[mask], self.y[mask], self.fold[mask])


def columns(name: str) -> slice:
    start = COLUMNS.index(f"{name}:{LABELS[name][0]}")
    return slice(start, start + len(LABELS[name]))


def labelled_questions() -> Iterator[Row]:
    for path in sorted((TRAINING / "questions").glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield Row(row["q"], {name: str(row.get(name)) for name in LABELS}, row["domain"])


def make_table(rows: list[Row]) -> Table:
    """Compute vectors, words, labels and folds; all questions of a domain are in one fold."""
    y = np.array([[row.labels[name] == value for name, value in (c.split(":") for c in COLUMNS)]
                  for row in rows], np.float32)  # fmt: skip
    domains = sorted({row.domain for row in rows})
    np.random.default_rng(SEED).shuffle(domains)
    fold = {domain: number % FOLDS for number, domain in enumerate(domains)}
    return Table(
        load_encoder().encode([row.text for row in rows]),
        sparse.vstack([sparse.csr_array(word_features(row.text)[None]) for row in rows]).tocsr(),
        y,
        np.array([fold[row.domain] for row in rows]),
    )


def cross_entropy(scores: Array, gold: Array, weight: Array) -> tuple[float, Array]:
    """Return the loss of one label, and its gradient by the scores.

    A row without a value of the label has weight 0: only questions for a brief have a part.
    """
    weight = weight * gold.sum(1)
    chances = softmax(scores, axis=1)
    loss = -float((weight * np.log((chances * gold).sum(1) + 1e-12)).sum())
    return loss, weight[:, None] * (chances - gold)


def fit(table: Table) -> Array:
    """Return the weights: a row for each dimension of the vector, each bucket, and the offset."""
    dims = table.vectors.shape[1]
    shape = (dims + table.words.shape[1] + 1, len(COLUMNS))
    by_bucket = table.words.T.tocsr()
    equal = np.ones(len(table.y), np.float32)

    def step(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(shape).astype(np.float32)
        scores = score(weights, table)
        loss = PENALTY / 2 * float((weights[:-1] ** 2).sum())
        gradient = np.zeros_like(scores)
        for own in map(columns, LABELS):
            part, gradient[:, own] = cross_entropy(scores[:, own], table.y[:, own], equal)
            loss += part
        down = np.vstack([table.vectors.T @ gradient, by_bucket @ gradient, gradient.sum(0)[None]])
        down[:-1] += PENALTY * weights[:-1]
        return loss, down.astype(np.float64).ravel()

    start = np.zeros(shape[0] * shape[1])
    found = minimize(step, start, jac=True, method="L-BFGS-B", options={"maxiter": ROUNDS})
    return found.x.reshape(shape).astype(np.float32)


def score(weights: Array, table: Table) -> Array:
    dims = table.vectors.shape[1]
    return table.vectors @ weights[:dims] + table.words @ weights[dims:-1] + weights[-1]


def calibrate(scores: Array, y: Array, weight: Array) -> tuple[Array, Array]:
    """Return a factor and an offset for each column, by which scores become probabilities."""
    factors = np.ones(len(COLUMNS))
    offsets = np.zeros(len(COLUMNS))
    for own in map(columns, LABELS):

        def step(flat: Array, own: slice = own) -> tuple[float, Array]:
            moved = scores[:, own] * flat[0] + flat[1:]
            loss, gradient = cross_entropy(moved, y[:, own], weight)
            return loss, np.append((gradient * scores[:, own]).sum(), gradient.sum(0))

        start = np.append(1.0, np.zeros(own.stop - own.start))
        found = minimize(step, start, jac=True, method="L-BFGS-B")
        factors[own] = found.x[0]
        offsets[own] = found.x[1:]
    return factors, offsets


def probabilities(scores: Array) -> Array:
    return np.hstack([softmax(scores[:, own], axis=1) for own in map(columns, LABELS)])


def weights_of_life(y: Array) -> Array:
    """Return weights of rows that give look-ups their share in real use; their mean is 1."""
    lookup = y[:, COLUMNS.index("kind:lookup")] > 0
    share = lookup.mean()
    return np.where(lookup, LOOKUPS_IN_LIFE / share, (1 - LOOKUPS_IN_LIFE) / (1 - share))


def left_out_scores(table: Table) -> Array:
    """Return the scores of each row by weights that were fitted without its domain."""
    scores = np.zeros((len(table.y), len(COLUMNS)))
    for number in range(FOLDS):
        inside = table.fold == number
        weights = fit(table.part(~inside))
        scores[inside] = score(weights, table.part(inside))
    return scores


def left_out_probabilities(scores: Array, table: Table) -> Array:
    """Return probabilities: the scores of each fold, calibrated on those of the other folds."""
    chances = np.zeros(scores.shape)
    for number in range(FOLDS):
        inside = table.fold == number
        y = table.y[~inside]
        factors, offsets = calibrate(scores[~inside], y, weights_of_life(y))
        chances[inside] = probabilities(scores[inside] * factors + offsets)
    return chances


def threshold(chances: Array, gold: Array, weight: Array) -> tuple[float, float]:
    """Return the lowest threshold with the wanted precision, and the recall at this threshold."""
    order = np.argsort(-chances, kind="stable")
    right = np.cumsum((weight * gold)[order])
    precision = right / np.cumsum(weight[order])
    good = np.flatnonzero(precision >= PRECISION_WANTED)
    if not len(good):
        return 1.0, 0.0
    return float(chances[order][good[-1]]), float(right[good[-1]] / right[-1])


def report(chances: Array, scores: Array, y: Array) -> None:
    """Print the accuracy of each label and, for each value, recall, precision and the threshold
    in real use."""
    for name in LABELS:
        own = columns(name)
        labelled = y[:, own].any(1)
        life = weights_of_life(y)[labelled]
        gold = y[labelled, own].argmax(1)
        called = scores[labelled, own].argmax(1)
        likely = chances[labelled, own]
        right = called == gold
        in_life = np.average(likely.argmax(1) == gold, weights=life)
        print(f"\n{name}: {right.mean():.1%} right, calibrated and weighted for life {in_life:.1%}")
        print("| value | questions | recall | precision | threshold | recall there |")
        print("|---|---|---|---|---|---|")
        for at, value in enumerate(LABELS[name]):
            hit = (right & (gold == at)).sum()
            least, found = threshold(likely[:, at], gold == at, life)
            print(
                f"| {value} | {(gold == at).sum()} | {hit / (gold == at).sum():.0%} "
                f"| {hit / max(1, (called == at).sum()):.0%} | {least:.2f} | {found:.0%} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Train the head that reads a question.")
    parser.add_argument("--out", type=Path, default=SHIPPED)
    options = parser.parse_args()
    table = make_table(list(labelled_questions()))
    scores = left_out_scores(table)
    report(left_out_probabilities(scores, table), scores, table.y)
    factors, offsets = calibrate(scores, table.y, weights_of_life(table.y))
    weights = fit(table) * factors
    np.savez(
        options.out,
        weights=weights[:-1].astype(np.float16),
        bias=(weights[-1] + offsets).astype(np.float32),
        labels=np.array(COLUMNS),
    )


if __name__ == "__main__":
    main()
