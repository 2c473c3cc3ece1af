"""Trains the weights with which `resolve --repositories` proposes repositories of papers.

    PYTHONPATH=. python tools/train_repositories.py papers.jsonl github_pairs.jsonl

The papers and pairs are those of `python -m bench bridges`, with every link to a repository of a
pair masked. Papers of half 0, also those without a known repository, teach: a candidate is right
if the pair is known. The weights go into hades/lifecycle/repositories.py. The threshold is
chosen by the table of half 0, where each third is judged by weights of the other two; `--report`
prints the table of half 1, by the weights in the package.
"""

import argparse
import json
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bench.bridges import half, without
from hades.ingest.document import Bad
from hades.ingest.readers.arxiv import read_arxiv
from hades.lifecycle.repositories import BIAS, PROPOSED_EACH, WEIGHTS, Paper, compare

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SHRINKAGE = 1.0
STEPS_AT_MOST = 60
THIRDS = 3
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.7)


class Scored(NamedTuple):
    """A candidate with its probability, and whether the pair is known."""

    paper: int
    repository: int
    chance: float
    is_right: bool


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def masked_papers(rows: Sequence[dict[str, Any]], repositories: Sequence[str]) -> list[Paper]:
    """Return the papers without the names of these repositories, as `ingest` reads them."""
    gold = {name.casefold() for name in repositories}
    papers = []
    with tempfile.TemporaryDirectory() as folder:
        masked = Path(folder) / "papers.jsonl"
        lines = ({name: without(gold, value) for name, value in row.items()} for row in rows)
        masked.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        for document in read_arxiv(masked):
            if isinstance(document, Bad):
                raise SystemExit(f"A paper cannot be read: {document}")
            title, _, text = document.content.partition("\n\n")
            papers.append(Paper(title, text, document.metadata["authors"]))
    return papers


def fit(values: Floats, right: Flags) -> Floats:
    """Return a weight for each sign, and last a constant, of a logistic regression."""
    x = np.concatenate([values, np.ones((len(values), 1))], 1)
    shrinkage = np.append(np.full(values.shape[1], SHRINKAGE), 1e-6)
    weights = np.append(np.zeros(values.shape[1]), -4.0)

    def loss(at: Floats) -> float:
        scores = x @ at
        return float((np.logaddexp(0, scores) - right * scores).sum() + shrinkage @ at**2 / 2)

    for _ in range(STEPS_AT_MOST):
        chance = chances(values, weights)
        slope = x.T @ (chance - right) + shrinkage * weights
        bend = (x * (chance * (1 - chance))[:, None]).T @ x + np.diag(shrinkage)
        step = np.linalg.solve(bend, slope)
        while loss(weights - step) > loss(weights) and np.abs(step).max() > 1e-6:
            step = step / 2
        weights = weights - step
    return weights


def chances(values: Floats, weights: Floats) -> Floats:
    """Return the probability of each candidate."""
    scores = values @ weights[:-1] + weights[-1]
    return np.asarray(1 / (1 + np.exp(-np.clip(scores, -30, 30))))


def show(papers: set[int], pairs: dict[int, set[int]], found: list[Scored]) -> None:
    """Print how the right repositories of these papers rank, and what each threshold proposes."""
    ranked: dict[int, list[Scored]] = defaultdict(list)
    for one in sorted(found, key=lambda one: (-one.chance, one.repository)):
        ranked[one.paper].append(one)
    asked = [paper for paper in sorted(papers) if paper in pairs]
    for first in (1, PROPOSED_EACH):
        hits = sum(any(one.is_right for one in ranked[paper][:first]) for paper in asked)
        print(f"right one among the first {first}: {100 * hits / len(asked):.1f} % of {len(asked)}")
    for least in THRESHOLDS:
        made = [
            one
            for paper in sorted(papers)
            for one in ranked[paper][:PROPOSED_EACH]
            if one.chance >= least
        ]
        known = [one for one in made if one.paper in pairs]
        reached = len({one.paper for one in made if one.is_right})
        shares = [100 * np.mean([one.is_right for one in some]) for some in (made, known)]
        print(
            f"from {least}: {len(made)} proposals, right {shares[0]:.1f} %, of papers with a known "
            f"repository {shares[1]:.1f} %; {100 * reached / len(asked):.1f} % of these reached"
        )


def main() -> None:
    """Train and print the weights, or with --report the table of half 1."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("papers", type=Path)
    arguments.add_argument("pairs", type=Path)
    arguments.add_argument("--report", action="store_true", help="Print the table of half 1.")
    given = arguments.parse_args()
    rows = read_rows(given.papers)
    links = [(row["arxiv_id"], row["repo"]) for row in read_rows(given.pairs)]
    repositories = sorted({name for _, name in links})
    place = {row["arxiv_id"]: at for at, row in enumerate(rows)}
    pairs: dict[int, set[int]] = defaultdict(set)
    for paper, name in links:
        pairs[place[paper]].add(repositories.index(name))
    papers = masked_papers(rows, repositories)
    wanted = {at for at, row in enumerate(rows) if half(row["arxiv_id"]) == given.report}
    candidates = [one for one in compare(papers, repositories) if one[0] in wanted]
    values = np.array([values for _, _, values in candidates])
    right = np.array([name in pairs.get(paper, ()) for paper, name, _ in candidates])
    if given.report:
        chance = chances(values, np.array([*WEIGHTS, BIAS]))
    else:
        weights = fit(values, right)
        print("WEIGHTS =", tuple(weights[:-1].round(2).tolist()), "BIAS =", weights[-1].round(2))
        thirds = np.array([zlib.crc32(papers[paper].title.encode()) for paper, _, _ in candidates])
        chance = np.zeros(len(candidates))
        for third in range(THIRDS):
            own = thirds % THIRDS == third
            chance[own] = chances(values[own], fit(values[~own], right[~own]))
    scored = zip(candidates, chance.tolist(), right.tolist(), strict=True)
    show(wanted, pairs, [Scored(*one[:2], *rest) for one, *rest in scored])


if __name__ == "__main__":
    main()
