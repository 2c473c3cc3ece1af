"""The ladder of source document 002: flat → graph → HiRAG → PathRAG → HiRAG×PathRAG.

A rung is a plan of `recall`, or `hades.HiRAG` with or without its paths. Every question is asked of
all rungs in turn, which makes their times comparable on a busy machine. `docs/evaluation.md`
defines the metrics.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import combinations, pairwise
from typing import Any

from hades.context.tokens import count
from hades.domain.answer import Conveyance, Path
from hades.domain.graph import row_of
from hades.domain.topics import Chunk
from hades.errors import InvalidInput, Unavailable
from hades.evals import metrics
from hades.evals.memories import PREFIX, OpenSet, space_of
from hades.evals.sets import EvalSet, Question, read_rows
from hades.memory import View
from hades.models.onnx_encoder import Vectors
from hades.operations.hirag import HiRAG, format_path_prompt
from hades.store.records import Progress

_UNHURRIED = {
    **{stage: {"timeout_ms": 60_000} for stage in ("retriever", "graph", "reranker")},
    "budget": {"latency_ms": 60_000},
}
"""Limits of time that a busy machine does not reach, so that scores do not depend on it."""
_NO_PATHS = {"paths": 0}
PLANS: Mapping[str, Mapping[str, Any]] = {
    "flat": {
        "retriever": {"retrievers": ["meaning", "words"], "read_on": 0},
        "graph": {"walk": False, "beam_search": False, "flow": False},
        "reranker": {"on": False},
        **_NO_PATHS,
    },
    "graph": _NO_PATHS,
    "PathRAG": {},
}
"""The plans of the rungs that are recalls, as they differ from the default plan."""
RUNGS = ("flat", "graph", "HiRAG", "PathRAG", "HiRAG×PathRAG")
PASSAGES = 5
"""k of precision: as many passages as a recall packs by default."""
STEPS_AT_MOST = 4
"""The longest path that counts as a bridge."""
NOT_ALLOWED = frozenset({"next", "says", "same as"})
"""Relations that only follow the form of a document. All others, which texts or people state, are
in the allowlist of path purity."""
VECTORS_KEPT = 2_000
"""Vectors of passages that are kept while a ladder is measured: rungs return the same ones."""
SAME_FACTOR = math.log(1.1)
"""α is estimated from pairs of recalls whose H differs by at most 10 %."""
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
    """What a rung returned for a question."""

    chunks: Sequence[Chunk]
    paths: Sequence[Path]
    tokens: int
    conveyance: Conveyance | None
    """None for a rung that is not a recall."""


@dataclass(frozen=True, slots=True)
class RungResult:
    """The result of one rung for one question. None means that the metric is not defined here."""

    values: Mapping[str, float | None]
    ms: float
    factors: tuple[float, float, float] | None
    """recall@5, W·R and Ctx, for the estimate of α."""
    how: float
    """H, the mean belief."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """The metrics of all rungs on a set."""

    dataset: str
    questions: int
    rungs: Mapping[str, Mapping[str, float | None]]
    skipped: Mapping[str, str]
    """The rungs that could not be measured, with the reason."""
    alpha: tuple[float, float, int] | None
    """α, its standard error and the number of pairs; None if there is nothing to compare."""

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON values."""
        rungs = {
            name: {key: None if value is None else round(value, 4) for key, value in values.items()}
            for name, values in self.rungs.items()
        }
        alpha = None
        if self.alpha is not None:
            value, error, pairs = self.alpha
            alpha = {"value": round(value, 3), "error": round(error, 3), "pairs": pairs}
        return {
            "dataset": self.dataset,
            "questions": self.questions,
            "rungs": rungs,
            "skipped": dict(self.skipped),
            "alpha": alpha,
        }

    def sentences(self) -> list[str]:
        """Return what was measured and what could not be, in sentences."""
        said = [f"{self.questions:,} questions, asked of every rung in turn"]
        said += [f"{name} was not measured: {why}." for name, why in self.skipped.items()]
        if self.alpha is None:
            said.append("α cannot be estimated: no two recalls differ in Ctx alone.")
        else:
            value, error, pairs = self.alpha
            said.append(f"α = {value:.2f} ± {error:.2f}, from {pairs:,} pairs of recalls.")
        return said

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
    """Ask every question of every rung, and score what each recall returns."""
    score = _scorer(eval_set, opened)
    why = _organise(eval_set, opened, on_progress)
    skipped = {name: why for name in RUNGS if why and name not in PLANS}
    asked: dict[str, list[RungResult]] = {name: [] for name in RUNGS if name not in skipped}
    for name in asked:
        ask(name, opened.view(eval_set.questions[0]), eval_set.questions[0].text)  # a warm-up
    for question in eval_set.in_turn("asking every rung", on_progress):
        for name, results in asked.items():
            reply, ms = metrics.timed(partial(ask, name, opened.view(question), question.text))
            results.append(score(question, reply, ms))
    rungs = {name: _means(results) for name, results in asked.items()}
    alpha = estimate_alpha([asked[name] for name in PLANS])
    return Ladder(eval_set.name, len(eval_set.questions), rungs, skipped, alpha)


def plan_of(rung: str) -> dict[str, Any]:
    """Return the plan of a rung, with generous limits of time."""
    plan = {part: dict(limits) for part, limits in _UNHURRIED.items()}
    for part, value in PLANS[rung].items():
        plan[part] = {**plan[part], **value} if part in plan else value
    return plan


def ask(rung: str, view: View, question: str) -> Reply:
    """Ask a question of one rung."""
    if rung in PLANS:
        recall = view.recall(question, plan=plan_of(rung))
        chunks = [passage.chunk for passage in recall.passages]
        return Reply(chunks, recall.paths, recall.tokens, recall.conveyance)
    hirag = HiRAG(view)
    view._ready(question, None)
    candidates = hirag.get_hierarchy_candidates(view._finder.encoder.encode([question])[0])
    paths = hirag.get_best_paths(candidates) if rung == "HiRAG×PathRAG" else []
    prompt = format_path_prompt(paths, hirag.hierarchy_summary(candidates))
    rows = [row_of(node) for node in candidates.entries]
    placed = view._store.chunks.find(rows, view.as_of)
    found = {placed[row].chunk.id: placed[row].chunk for row in rows if row in placed}
    # Passages that a path joins come first, then the other entry passages.
    on_paths = [node.name for path in paths for node in path.nodes if node.name in found]
    chunks = [found[name] for name in dict.fromkeys([*on_paths, *found])][:PASSAGES]
    return Reply(chunks, paths, sum(count([prompt, *(chunk.text for chunk in chunks)])), None)


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
    means["p50_ms"] = metrics.percentile(times, 0.5)
    means["p95_ms"] = metrics.percentile(times, 0.95)
    return means


def _scorer(eval_set: EvalSet, opened: OpenSet) -> Callable[[Question, Reply, float], RungResult]:
    titles: dict[str, set[str]] = {}
    if eval_set.kind == "corpus":
        for _, row in read_rows(eval_set.corpus):
            titles.setdefault(str(row.get("title", "")).casefold(), set()).add(str(row.get("id")))

    @lru_cache(VECTORS_KEPT)
    def vector(text: str) -> Vectors:
        unit: Vectors = opened.memory._finder.encoder.encode([text])[0]
        return unit

    def score(question: Question, reply: Reply, ms: float) -> RungResult:
        ids = {chunk.id: opened.id_of(chunk) for chunk in reply.chunks}
        ranking = list(dict.fromkeys(ids.values()))
        steps = [step.relation for path in reply.paths for step in path.steps]
        allowed = sum(step not in NOT_ALLOWED for step in steps)
        conveyed, gold = reply.conveyance, question.gold
        found = metrics.recall_at(PASSAGES, ranking, gold)
        values: dict[str, float | None] = {
            "recall@2": metrics.recall_at(2, ranking, gold),
            "recall@5": found,
            "precision": len(set(ranking[:PASSAGES]) & gold) / PASSAGES,
            "bridges": None,
            "purity": allowed / len(steps) if steps else None,
            "coherence": coherence([vector(chunk.text) for chunk in reply.chunks]),
            "path_length": len(steps) / len(reply.paths) if reply.paths else None,
            "tokens": float(reply.tokens),
            "conveyance": None if conveyed is None else conveyed.value,
        }
        if len(gold) > 1:
            passed = (_passages(path, ids, titles, eval_set.kind) for path in reply.paths)
            values["bridges"] = float(any(is_bridge(nodes, gold) for nodes in passed))
        if conveyed is None:
            return RungResult(values, ms, None, 0.0)
        factors = (found, conveyed.what * conveyed.where, conveyed.context)
        return RungResult(values, ms, factors, conveyed.how)

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


def is_bridge(nodes: Sequence[set[str]], gold: frozenset[str]) -> bool:
    """Return whether a path joins two different gold passages within STEPS_AT_MOST steps.

    `nodes` has the passages that each node of the path stands for.
    """
    return any(
        len((nodes[one] & gold) | (nodes[two] & gold)) > 1
        and nodes[one] & gold
        and nodes[two] & gold
        for one, two in combinations(range(len(nodes)), 2)
        if two - one <= STEPS_AT_MOST
    )


def coherence(vectors: Sequence[Vectors]) -> float | None:
    """Return the mean cosine of all pairs of unit vectors; None for fewer than two."""
    if len(vectors) < 2:
        return None
    return statistics.fmean(float(one @ two) for one, two in combinations(vectors, 2))


def estimate_alpha(rungs: Sequence[Sequence[RungResult]]) -> tuple[float, float, int] | None:
    """Estimate α of C = (W·R·H/T)·Ctx^α from log ratios between neighbouring recalls.

    What a recall really conveyed is taken as recall@5 / T. Where H is the same on both rungs,
    α·Δlog Ctx = Δlog recall@5 - Δlog(W·R), since T cancels out. Least squares through the origin
    over all questions give α and its standard error.
    """
    points = []
    for lower, upper in pairwise(rungs):
        for one, two in zip(lower, upper, strict=True):
            if one.factors is None or two.factors is None:
                continue
            if min(*one.factors, *two.factors, one.how, two.how) <= 0:
                continue
            if abs(math.log(two.how / one.how)) > SAME_FACTOR:
                continue
            found, joined, context = (
                math.log(b / a) for a, b in zip(one.factors, two.factors, strict=True)
            )
            points.append((context, found - joined))
    square = sum(x * x for x, _ in points)
    if len(points) < 2 or square < 1e-9:
        return None
    alpha = sum(x * y for x, y in points) / square
    residual = sum((y - alpha * x) ** 2 for x, y in points) / (len(points) - 1)
    return alpha, math.sqrt(residual / square), len(points)
