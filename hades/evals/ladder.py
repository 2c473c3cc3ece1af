"""The ladder of HiRAG × PathRAG: flat → graph → HiRAG → PathRAG → HiRAG×PathRAG.

A rung is a plan of `recall`, or `hades.HiRAG` with or without its paths. Every question is asked of
all rungs in turn, which makes their times comparable on a busy machine. `docs/lab/details.md`
defines the metrics.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations
from typing import Any

from hades.compat.hirag import HiRAG
from hades.context.tokens import count
from hades.domain.answer import Path
from hades.domain.plain import plain
from hades.domain.topics import Chunk
from hades.errors import InvalidInput, Unavailable
from hades.evals import metrics
from hades.evals.memories import PREFIX, OpenSet, space_of
from hades.evals.sets import EvalQuestion, EvalSet, read_rows
from hades.memory import View
from hades.models.onnx_encoder import Vectors
from hades.store.records import Progress

_STAGE = {"timeout_ms": 60_000}
UNHURRIED = {
    **dict.fromkeys(("retriever", "graph", "reranker"), _STAGE),
    "budget": {"latency_ms": 60_000},
}
"""A plan with such long time limits that scores do not depend on how busy the machine is."""
PLANS: Mapping[str, Mapping[str, Any]] = {
    "flat": {
        "retriever": {"retrievers": ["meaning", "words"], "read_on": 0, **_STAGE},
        "graph": {"walk": False, "beam_search": False, "flow": False, **_STAGE},
        "reranker": {"on": False},
        "budget": UNHURRIED["budget"],
        "paths": 0,
    },
    "graph": {**UNHURRIED, "paths": 0},
    "PathRAG": UNHURRIED,
}
"""The plans of the rungs that are recalls."""
RUNGS = ("flat", "graph", "HiRAG", "PathRAG", "HiRAG×PathRAG")
PASSAGES = 5
"""The k of precision, as many passages as a recall packs by default."""
STEPS_AT_MOST = 4
"""The longest path that counts as joining two gold passages."""
NOT_ALLOWED = frozenset({"next", "says", "same as"})
"""Relations that only follow the form of a document. Path purity allows all others, which texts or
people state."""
VECTORS_KEPT = 2_000
"""The size of the cache of passage vectors. The rungs often return the same passages."""
COLUMNS = {
    "recall@2": "R@2 %",
    "recall@5": "R@5 %",
    "precision": f"P@{PASSAGES} %",
    "bridges": "bridges %",
    "purity": "purity %",
    "coherence": "coherence",
    "path_length": "path length",
    "tokens": "tokens",
    "p50_ms": "p50 ms",
    "p95_ms": "p95 ms",
    "conveyance": "conveyance",
}
"""The metrics in the order of the report, with their headings. Shares are shown in per cent."""


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of a rung to a question."""

    chunks: Sequence[Chunk]
    paths: Sequence[Path]
    tokens: int
    conveyance: float | None = None
    """None for a rung that is not a recall."""


@dataclass(frozen=True, slots=True)
class RungResult:
    """The result of one rung for one question."""

    values: Mapping[str, float | None]
    """The metrics; None where a metric is not defined."""
    ms: float


@dataclass(frozen=True, slots=True)
class Ladder:
    """The metrics of all rungs on a set."""

    dataset: str
    questions: int
    rungs: Mapping[str, Mapping[str, float | None]]
    skipped: Mapping[str, str]
    """The rungs that could not be measured, with the reason."""

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        values: dict[str, Any] = plain(self)
        return values

    def sentences(self) -> list[str]:
        """Return sentences on the questions and the rungs that were left out."""
        remarks = [f"{self.questions:,} questions, asked of every rung in turn"]
        remarks += [f"{name} was not measured: {why}." for name, why in self.skipped.items()]
        return remarks

    def table(self) -> list[list[str]]:
        """Return a row for each rung; the first row is the head."""
        rows = [
            [name, *(shown(key, values[key]) for key in COLUMNS)]
            for name, values in self.rungs.items()
        ]
        return [["rung", *COLUMNS.values()], *rows]


def shown(metric: str, value: float | None) -> str:
    """Return a value as it is printed: shares in per cent."""
    if value is None:
        return "–"
    if COLUMNS[metric].endswith("%"):
        return f"{100 * value:.1f}"
    return (
        f"{value:.2f}" if metric in ("coherence", "path_length", "conveyance") else f"{value:.0f}"
    )


def measure_ladder(
    eval_set: EvalSet, opened: OpenSet, on_progress: Progress | None = None
) -> Ladder:
    """Ask every question of every rung, and score the replies."""
    score = _scorer(eval_set, opened)
    why = _organise(eval_set, opened, on_progress)
    skipped = {name: why for name in RUNGS if why and name not in PLANS}
    asked: dict[str, list[RungResult]] = {name: [] for name in RUNGS if name not in skipped}
    first = eval_set.questions[0]
    for name in asked:  # A warm-up, with a text whose cached answer no question can use.
        ask(name, opened.view(first), f"{first.text} {first.text}")
    for question in eval_set.each_question("asking every rung", on_progress):
        for name, results in asked.items():
            reply, ms = metrics.timed(partial(ask, name, opened.view(question), question.text))
            results.append(score(question, reply, ms))
    rungs = {name: _means(results) for name, results in asked.items()}
    return Ladder(eval_set.name, len(eval_set.questions), rungs, skipped)


def ask(rung: str, view: View, question: str) -> Reply:
    """Ask a question of one rung."""
    if rung in PLANS:
        recall = view.recall(question, plan=PLANS[rung])
        chunks = [passage.chunk for passage in recall.passages]
        return Reply(chunks, recall.paths, recall.tokens, recall.conveyance.value)
    return _ask_hirag(view, question, with_paths=rung == "HiRAG×PathRAG")


def _ask_hirag(view: View, question: str, *, with_paths: bool) -> Reply:
    retrieved = HiRAG(view).retrieve(question, with_paths=with_paths)
    chunks = retrieved["chunks"][:PASSAGES]
    tokens = sum(count([retrieved["prompt"], *(chunk.text for chunk in chunks)]))
    return Reply(chunks, retrieved["paths"], tokens)


def _organise(eval_set: EvalSet, opened: OpenSet, on_progress: Progress | None) -> str:
    """Organise the spaces of a set. Return why that is not possible, or ""."""
    spaces = {space_of(question.conversation) for question in eval_set.questions}
    try:
        for space in sorted(spaces):
            done = opened.memory.in_space(space).organise(if_due=True, on_progress=on_progress)
            if done.hierarchy is None:
                return f"no hierarchy: {done.why}"
    except (Unavailable, InvalidInput) as error:
        return str(error).rstrip(".")
    return ""


def _means(results: Sequence[RungResult]) -> dict[str, float | None]:
    times = [result.ms for result in results]
    means: dict[str, float | None] = {}
    for metric in results[0].values:
        defined = [value for row in results if (value := row.values[metric]) is not None]
        means[metric] = statistics.fmean(defined) if defined else None
    for metric, share in (("p50_ms", 0.5), ("p95_ms", 0.95)):
        means[metric] = metrics.percentile(times, share)
    return {metric: None if mean is None else round(mean, 4) for metric, mean in means.items()}


def _scorer(
    eval_set: EvalSet, opened: OpenSet
) -> Callable[[EvalQuestion, Reply, float], RungResult]:
    titles: dict[str, set[str]] = {}
    if eval_set.kind == "corpus":
        for _, row in read_rows(eval_set.corpus):
            titles.setdefault(str(row.get("title", "")).casefold(), set()).add(str(row.get("id")))

    @lru_cache(VECTORS_KEPT)
    def vector(text: str) -> Vectors:
        unit: Vectors = opened.memory.inside.finder.encoder.encode([text])[0]
        return unit

    def score(question: EvalQuestion, reply: Reply, ms: float) -> RungResult:
        ids = {chunk.id: opened.id_of(chunk) for chunk in reply.chunks}
        ranking = list(dict.fromkeys(ids.values()))
        steps = [step.relation for path in reply.paths for step in path.steps]
        allowed = sum(step not in NOT_ALLOWED for step in steps)
        gold = question.gold
        values: dict[str, float | None] = {
            "recall@2": metrics.recall_at(2, ranking, gold),
            "recall@5": metrics.recall_at(5, ranking, gold),
            "precision": len(set(ranking[:PASSAGES]) & gold) / PASSAGES,
            "bridges": None,
            "purity": allowed / len(steps) if steps else None,
            "coherence": coherence([vector(chunk.text) for chunk in reply.chunks]),
            "path_length": len(steps) / len(reply.paths) if reply.paths else None,
            "tokens": float(reply.tokens),
            "conveyance": reply.conveyance,
        }
        if len(gold) > 1:
            passed = (_passages(path, ids, titles, eval_set.kind) for path in reply.paths)
            values["bridges"] = float(any(joins_gold(nodes, gold) for nodes in passed))
        return RungResult(values, ms)

    return score


def _passages(
    path: Path, ids: Mapping[str, str], titles: Mapping[str, set[str]], kind: str
) -> list[set[str]]:
    """Return for each node of a path the passages of the corpus that it stands for."""
    rows = []
    for node in path.nodes:
        topic = node.name.rpartition("@")[0] if node.kind == "chunk" else node.name
        own = {ids[node.name]} if node.name in ids else set[str]()
        if kind == "corpus" and topic.startswith(f"{PREFIX}/"):
            own = {topic.removeprefix(f"{PREFIX}/")}
        rows.append(own | titles.get(node.name.casefold(), set()))
    return rows


def joins_gold(nodes: Sequence[set[str]], gold: frozenset[str]) -> bool:
    """Return whether a path joins two different gold passages within STEPS_AT_MOST steps.

    `nodes` has the passages that each node of the path stands for.
    """
    joined = combinations(enumerate(passages & gold for passages in nodes), 2)
    return any(
        bool(first and second) and len(first | second) > 1
        for (start, first), (end, second) in joined
        if end - start <= STEPS_AT_MOST
    )


def coherence(vectors: Sequence[Vectors]) -> float | None:
    """Return the mean cosine of all pairs of unit vectors; None for fewer than two."""
    if len(vectors) < 2:
        return None
    return statistics.fmean(float(first @ second) for first, second in combinations(vectors, 2))
