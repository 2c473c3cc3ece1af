"""Bridges from arXiv papers to their repositories: does a path of a recall join the two?

996 papers of the harvest have a repository on GitHub, and 506 of them name it in their text; the
others are known from lists of papers with code. In the open variant these links stay, and the
papers with a link are asked. In the masked variant every link to such a repository, and its
`owner/name`, is removed before ingestion, and the repository is a topic that consists of its
`owner/name` alone. A question names the paper and never the repository. A pair counts as found if a
path of the recall joins its two ends within HOPS_AT_MOST steps.

Rules and limits were chosen on the pairs of half 0 (by the crc32 of the paper's id); the table is
of half 1.
"""

from __future__ import annotations

import json
import re
import statistics
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import hades
from bench.arxiv import bench_folder, memory_of, papers_file
from bench.table import note, show
from hades.domain.answer import Path as GraphPath
from hades.evals.ladder import UNHURRIED
from hades.evals.metrics import percentile
from hades.store.schema import STEPS

HOPS_AT_MOST = 4
SMALL_PAPERS, SMALL_PAIRS = 200, 60
PATHS_PAPERS = 1_000
"""The papers of the memory in which `query_paths` is measured, those of the pairs first."""
LINK = re.compile(
    r"(?:(?:https?://)?(?:www\.)?github\.com[/:]+)?(?P<name>[A-Za-z0-9][\w.-]*/[\w.-]+)(?:/[\w./-]*)?"
)
QUESTIONS = {
    "asks for it": "Which code repository belongs to the paper {}?",
    "other words": "{}: is there an implementation on GitHub?",
    "neutral": "What is known about {}?",
}


class Pair(NamedTuple):
    """A paper and its repository."""

    paper: str
    title: str
    repository: str
    where: str
    """Where its link is known from: its abstract, its comments, or a list elsewhere."""

    @property
    def is_linked(self) -> bool:
        """Whether the paper's text has the link."""
        return self.where != "title match"

    @property
    def half(self) -> int:
        """0 for choosing, 1 for reporting."""
        return half(self.paper)


def half(paper: str) -> int:
    """Return the half of a paper, by the crc32 of its id."""
    return zlib.crc32(paper.encode()) & 1


def run(*, small: bool) -> None:
    """Print the share of pairs that recall joins, for both variants and three phrasings."""
    papers = papers_file()
    if papers is None or not (pairs_file := papers.with_name("github_pairs.jsonl")).exists():
        print("bridges: skipped, because arxiv/papers.jsonl and arxiv/github_pairs.jsonl of")
        print("HADES_DATA are not there.\n")
        return
    titles = {row["arxiv_id"]: " ".join(row["title"].split()) for row in _rows(papers)}
    pairs = [
        Pair(row["arxiv_id"], titles[row["arxiv_id"]], row["repo"], row["where"])
        for row in _rows(pairs_file)
    ]
    pairs = pairs[:SMALL_PAIRS] if small else pairs
    _hierarchy_paths(papers, pairs, small=small)
    rows = []
    for variant, path in (
        (
            "open",
            _made("open-small", _first(papers, pairs, SMALL_PAPERS), [])
            if small
            else memory_of(papers, len(titles)),
        ),
        ("masked", _masked(papers, pairs, small=small)),
    ):
        with hades.open(path, read_only=True) as memory:
            memory.recall(QUESTIONS["neutral"].format(pairs[0].title))  # loads the indexes
            for phrasing, question in QUESTIONS.items():
                asked = [pair for pair in pairs if pair.half == 1]
                if variant == "open":
                    asked = [pair for pair in asked if pair.is_linked]
                rows.append([variant, phrasing, *_measure(memory, asked, question)])
    title = f"Papers and repositories joined by a path of recall, at most {HOPS_AT_MOST} steps"
    head = ["variant", "question", "pairs", "joined %", "mean steps", "in the context %"]
    show(title, [*head, "p50 ms", "p95 ms"], rows)


def _hierarchy_paths(papers: Path, pairs: Sequence[Pair], *, small: bool) -> None:
    """Print the share of pairs that a path of `query_paths` joins, with a hierarchy and without."""
    size = SMALL_PAPERS if small else PATHS_PAPERS
    flat = _made(f"open-{size}", _first(papers, pairs, size), [])
    organised = flat.with_name(f"organised-{flat.name}")
    if not organised.exists():
        hades.copy(flat, organised)
        with hades.open(organised) as memory:
            memory.organise()
    asked, rows = [pair for pair in pairs if pair.half == 1], []
    linked = [pair for pair in asked if pair.is_linked]
    for variant, path in (("hierarchy", organised), ("flat", flat)):
        with hades.open(path, read_only=True) as memory:
            memory.query_paths(QUESTIONS["neutral"].format(pairs[0].title))  # loads the indexes
            for phrasing, question in QUESTIONS.items():
                steps, times, some = list[int](), list[float](), 0
                for number, pair in enumerate(asked if phrasing == "asks for it" else linked):
                    start = time.perf_counter()
                    found = memory.query_paths(question.format(pair.title)).paths
                    times.append(1000 * (time.perf_counter() - start))
                    lengths = [length for path in found if (length := joined(path, pair))]
                    steps += [min(lengths)] if lengths and min(lengths) <= HOPS_AT_MOST else []
                    some += bool(found)
                    note(f"{number}: {len(steps)} joined")
                shares = [f"{100 * len(steps) / len(linked):.1f}"]
                shares += [f"{100 * len(steps) / len(asked):.1f}", f"{100 * some / len(times):.1f}"]
                quantiles = [round(percentile(times, at)) for at in (0.5, 0.95)]
                rows.append([variant, phrasing, len(linked), *shares, *quantiles])
    title = f"Papers and repositories joined by `query_paths`, {size} papers"
    head = ["graph", "question", "pairs", "joined %", "of all pairs %", "any path %"]
    show(title, [*head, "p50 ms", "p95 ms"], rows)


def _measure(memory: hades.Memory, pairs: Sequence[Pair], question: str) -> list[object]:
    steps, times, read = list[int](), list[float](), 0
    for number, pair in enumerate(pairs):
        start = time.perf_counter()
        recall = memory.recall(question.format(pair.title), plan=UNHURRIED)
        times.append(1000 * (time.perf_counter() - start))
        read += pair.repository.casefold() in recall.context.casefold()
        lengths = [length for path in recall.paths if (length := joined(path, pair)) is not None]
        if lengths and min(lengths) <= HOPS_AT_MOST:
            steps.append(min(lengths))
        note(f"{number} of {len(pairs)}: {len(steps)} found")
    mean = f"{statistics.fmean(steps):.2f}" if steps else "–"
    joins, reads = (f"{100 * count / len(pairs):.1f}" for count in (len(steps), read))
    quantiles = [round(percentile(times, at)) for at in (0.5, 0.95)]
    return [len(pairs), joins, mean, reads, *quantiles]


def joined(path: GraphPath, pair: Pair) -> int | None:
    """Return the fewest steps between a paper and its repository; None if the path misses one."""
    own = {pair.title.casefold(), f"arxiv/{pair.paper}", pair.paper}
    names = [node.name.rpartition("@")[0] or node.name for node in path.nodes]
    ends = [
        [at for at, name in enumerate(names) if name.casefold() in wanted]
        for wanted in (own, {pair.repository.casefold()})
    ]
    return min((abs(start - end) for start in ends[0] for end in ends[1]), default=None)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open("rb") as lines:
        yield from (json.loads(line) for line in lines)


def _masked(papers: Path, pairs: Sequence[Pair], *, small: bool) -> Path:
    repositories = sorted({pair.repository for pair in pairs})
    gold = {repository.casefold() for repository in repositories}

    def mask(row: dict[str, str]) -> dict[str, str]:
        return {name: without(gold, value) for name, value in row.items()}

    rows = map(mask, _first(papers, pairs, SMALL_PAPERS) if small else _rows(papers))
    return _made("masked-small" if small else "masked", list(rows), repositories)


def without(gold: set[str], text: str | None) -> str:
    """Return the text without the addresses and names of these repositories."""

    def masked(link: re.Match[str]) -> str:
        name = link["name"].casefold().rstrip(".-_").removesuffix(".git")
        return "" if name in gold else link[0]

    return LINK.sub(masked, text or "")


def _first(papers: Path, pairs: Sequence[Pair], count: int) -> list[dict[str, str]]:
    """Return `count` papers, those of the pairs first."""
    wanted = {pair.paper for pair in pairs}
    rows = sorted(_rows(papers), key=lambda row: row["arxiv_id"] not in wanted)
    return rows[:count]


def _made(name: str, rows: Sequence[dict[str, str]], repositories: Sequence[str]) -> Path:
    """Return the path of a memory of these papers and repositories; make it if it is missing."""
    path = bench_folder() / f"bridges-{name}-{len(STEPS)}.hades"
    if not (ready := path.with_suffix(".ready")).exists():
        part = path.with_suffix(".jsonl")
        part.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with hades.open(path) as memory:
            memory.ingest(part, on_progress=lambda what, done, of: note(f"{what}: {done}/{of}"))
            with memory.batch():
                for repository in repositories:
                    memory.remember(repository, repository)
            memory.index()
        ready.touch()
    return path
