"""The plan: how much a question may cost, stage by stage, by the contract of the PathRAG plan.

A plan is data. Values out of range are clamped with a diagnostic; unknown keys are an error. Its
limits are hard: no stage exceeds them by more than one unit of work.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    ValidationError,
    model_validator,
)

from hades.domain.answer import Diagnostic
from hades.domain.graph import Reason
from hades.domain.question import Intent, Mode, Question, Wants
from hades.errors import InvalidInput
from hades.language.likeness import did_you_mean, spelled_like

RetrieverName = Literal["meaning", "words", "names"]
RETRIEVERS: tuple[RetrieverName, ...] = ("meaning", "words", "names")

HOPS_AT_MOST = 5
ARCS_A_HOP = 2
"""Arcs of a hop, which leads from one passage to the next by way of a name."""
HARD_CAPS = {
    "graph.hops": 1,
    "reranker.m": 24,
    "final_context": 8,
    "budget.docs_max": 160,
    "budget.latency_ms": 2_000,
}
"""The hard caps of the PathRAG plan, where one hop is two arcs. In the mode `execution` only the
caller's plan and budget can raise them; other modes and kinds of questions raise them by
themselves. The answer reports it. The caps of seeds (8), neighbours (3) and the beam (16) cannot be
raised."""
TOKENS_AT_MOST = 200_000
NAME_CHARACTERS_AT_MOST = 100
"""How much of an unknown key is compared with the others."""
LATENCY_MS_AT_MOST = 600_000
PASSAGES_AT_MOST = 400
TOKENS_A_PASSAGE = 250
TOKENS_A_FACT = 1_000
"""Tokens of a budget for each passage, and for each fact, that it makes room for."""
PLANNING_PASSAGES = 10
COUNTED_PASSAGES = 60
"""Passages for a question that counts things, since each counted item is often a note of its
own."""
_AMOUNT = {
    Mode.EXECUTION: (5, 5, 5_000, (0.4, 0.6, 0.0)),
    Mode.PLANNING: (PLANNING_PASSAGES, 8, 10_000, (0.4, 0.4, 0.2)),
    Mode.BRAINSTORMING: (20, 12, 20_000, (0.4, 0.4, 0.2)),
}
"""Passages, paths and tokens of the context, and fusion. Passages and fusion are as in HippoRAG."""

_FACTS = {Intent.RELATION: 50}
_HISTORY = {Intent.RECENT: 10, Intent.WHY: 3, Intent.WHEN: 10}
"""Earlier versions shown, by intent; other intents show none."""
_OF_QUOTES: Mapping[str, Any] = {"reranker": {"units": 8}}
"""`ask` quotes several units, so the reader reads more of them than for `recall`."""
_OF_VERSIONS: Mapping[str, Any] = {"final_context": PLANNING_PASSAGES, "history": 20}
_OF_COUNT: Mapping[str, Any] = {
    "final_context": COUNTED_PASSAGES,
    "history": 20,
    "reranker": {"m": COUNTED_PASSAGES},
}
"""The plans of questions that earlier versions answer (`Wants.is_of_versions`)."""


Share = Annotated[float, Field(ge=0, le=1)]
StageTime = Annotated[
    int, Field(ge=1, le=LATENCY_MS_AT_MOST, description="milliseconds of each such stage")
]


class _PlanPart(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Retriever(_PlanPart):
    """Limits of the retrievers and seeds."""

    k: int = Field(default=6, ge=1, le=8, description="seeds for paths")
    mmr: float = Field(
        default=0.4, ge=0, le=1, description="how much the seeds must differ from each other"
    )
    retrievers: tuple[RetrieverName, ...] = Field(
        default=RETRIEVERS, min_length=1, description="which retrievers run"
    )
    read_on: int = Field(
        default=2, ge=0, le=2, description="passages read with the question, to find the next"
    )
    time_words: bool = Field(default=True, description="read the time in the question's words")
    timeout_ms: StageTime = 1_000


class Graph(_PlanPart):
    """Limits of walks and paths."""

    walk: bool = Field(default=True, description="personalised PageRank")
    beam_search: bool = Field(default=True, description="search good paths from the seeds outward")
    flow: bool = Field(default=True, description="flow-pruned paths")
    hops: int = Field(
        default=1,
        ge=0,
        le=HOPS_AT_MOST,
        description="hops of a path; one leads from a passage to a name to a passage",
    )
    fanout: int = Field(default=3, ge=1, le=3, description="arcs of a node that are followed")
    beam: int = Field(default=16, ge=1, le=16, description="paths kept over all hops together")
    damping: float = Field(default=0.5, gt=0, lt=1, description="how far a walk goes")
    decay_rate: float = Field(default=0.8, ge=1e-6, le=1, description="what an arc passes on")
    pruning_threshold: float = Field(
        default=0.005, ge=1e-6, le=1, description="flows below it are pruned"
    )
    timeout_ms: StageTime = 1_000


_CONNECTING = Graph(hops=3, decay_rate=0.85, pruning_threshold=0.01)
"""A question for a connection searches as far as `paths` does, with the same scoring."""


class Reranker(_PlanPart):
    """Limits and weights of the ranking."""

    on: bool = Field(default=True, description="rank by the learned ranker")
    fusion: tuple[Share, Share, Share] = Field(
        default=(0.4, 0.6, 0.0),
        description="weights of prior, walk and belief, where the ranker is off",
    )
    strength: float = Field(
        default=0.5, ge=0, le=1, description="the most that uses and importance add to a score"
    )
    reader: bool = Field(
        default=True, description="read likely sentences of notes and units of documents"
    )
    units: int = Field(
        default=4, ge=0, le=40, description="units of documents that the reader reads; for `ask` 8"
    )
    m: int = Field(default=24, ge=1, le=PASSAGES_AT_MOST, description="passages ranked to the end")
    timeout_ms: StageTime = 1_000


class Budget(_PlanPart):
    """Limits of the whole question."""

    docs_max: int = Field(default=160, ge=1, le=10_000, description="documents looked at")
    latency_ms: int = Field(
        default=2_000, ge=1, le=LATENCY_MS_AT_MOST, description="milliseconds of the whole question"
    )
    tokens: int = Field(
        default=5_000, ge=50, le=TOKENS_AT_MOST, description="tokens of the packed context"
    )


class Plan(_PlanPart):
    """A plan for one question."""

    retriever: Retriever = Retriever()
    graph: Graph = Graph()
    reranker: Reranker = Reranker()
    final_context: int = Field(
        default=6, ge=1, le=PASSAGES_AT_MOST, description="passages in the context"
    )
    facts: int = Field(default=5, ge=0, le=50, description="told facts in the context")
    paths: int = Field(default=5, ge=0, le=20, description="paths in the context")
    history: int = Field(default=0, ge=0, le=20, description="earlier versions shown besides")
    level: int | None = Field(
        default=None, ge=0, le=3, description="summaries: 1 daily to 3 monthly; else by question"
    )
    budget: Budget = Budget()
    reasons: tuple[str, ...] = ()

    @model_validator(mode="wrap")
    @classmethod
    def _within_limits(cls, data: Any, validated: ModelWrapValidatorHandler[Plan]) -> Plan:
        """Clamp values that are out of range, and list them in `reasons`."""
        if not isinstance(data, Mapping):
            return validated(data)
        repaired = _merged({}, data)
        diagnostics = list[Diagnostic]()
        if repaired.pop("q", None) is not None:  # a key of the PathRAG plan
            diagnostics.append(Diagnostic(Reason.IGNORED, "plan", "q has no effect"))
            _report(repaired, diagnostics)
        while True:
            try:
                return validated(repaired)
            except ValidationError as error:
                for problem in error.errors():
                    _clamp(repaired, dict(problem), diagnostics)
                _report(repaired, diagnostics)


def _report(data: dict[str, Any], diagnostics: list[Diagnostic]) -> None:
    """Add diagnostics to the reasons of a plan, unless validation will refuse these."""
    reasons = data.get("reasons", ())
    if isinstance(reasons, list | tuple):
        texts = [str(note) for note in diagnostics]
        data["reasons"] = (*reasons, *(text for text in texts if text not in reasons))


def default_plan(intent: Intent, mode: Mode = Mode.EXECUTION) -> Plan:
    """Return the plan for an intent and a mode."""
    passages, paths, tokens, fusion = _AMOUNT[mode]
    return Plan(
        graph=_CONNECTING if intent is Intent.CONNECTION else Graph(),
        reranker=Reranker(fusion=fusion),
        final_context=passages,
        facts=_FACTS.get(intent, Plan().facts),
        paths=paths,
        history=_HISTORY.get(intent, 0),
        budget=Budget(tokens=tokens),
    )


def plan_for(
    question: Question,
    plan: Plan | Mapping[str, Any] | None,
    budget: int | None,
    *,
    many: bool,
    hard: bool = False,
    quotes: bool = False,
) -> tuple[Plan, tuple[Diagnostic, ...], int]:
    """Return the plan, its diagnostics, and how many passages such a question usually gets.

    `plan` and `budget` (in tokens) are the caller's. More passages are usual with `many` and for a
    question about earlier versions. With `hard`, only the caller's values may exceed the hard caps;
    the defaults for the kind of question may not. With `quotes`, as for `ask`, more units are read.
    """
    wants = question.wants
    chosen, diagnostics = _usual_plan(question.intent, question.mode)
    if hard and chosen.graph.hops > HARD_CAPS["graph.hops"]:
        chosen, diagnostics = make_plan(chosen, {"graph": {"hops": HARD_CAPS["graph.hops"]}})
    if wants.is_of_versions and not hard:
        of_versions = _OF_COUNT if wants is Wants.COUNT else _OF_VERSIONS
        chosen, diagnostics = make_plan(chosen, of_versions)
    elif many:
        chosen, diagnostics = make_plan(chosen, {"final_context": PLANNING_PASSAGES})
    usual = PLANNING_PASSAGES if wants is Wants.COUNT else chosen.final_context
    if quotes:
        chosen, diagnostics = make_plan(chosen, _OF_QUOTES)
    if plan is not None:
        chosen, diagnostics = make_plan(chosen, plan)
    if budget is not None:
        room = {"budget": {"tokens": budget}} if plan else sized(chosen, budget)
        chosen, diagnostics = make_plan(chosen, room)
    return chosen, diagnostics, usual


@cache
def _usual_plan(intent: Intent, mode: Mode) -> tuple[Plan, tuple[Diagnostic, ...]]:
    return _consistent(default_plan(intent, mode))


def make_plan(base: Plan, wanted: Plan | Mapping[str, Any]) -> tuple[Plan, tuple[Diagnostic, ...]]:
    """Return the base plan with the caller's values, and diagnostics.

    A mapping is merged into the base; a whole `Plan` replaces it. A number out of range is clamped,
    with a diagnostic. An unknown key or an unusable value raises InvalidInput.
    """
    if isinstance(wanted, Plan):
        return _consistent(wanted)
    if not isinstance(wanted, Mapping):
        raise InvalidInput("A plan is an object such as {'graph': {'hops': 1}}.")
    return _consistent(Plan.model_validate(_merged(base.model_dump(), wanted)))


def sized(plan: Plan, tokens: int) -> dict[str, Any]:
    """Return the changes of a plan for a budget of tokens. A large budget makes room for more
    passages and facts; a small one does not reduce them."""
    passages = max(plan.final_context, min(tokens // TOKENS_A_PASSAGE, PASSAGES_AT_MOST))
    return {
        "budget": {"tokens": tokens, "docs_max": max(plan.budget.docs_max, 2 * passages)},
        "reranker": {"m": max(plan.reranker.m, passages)},
        "final_context": passages,
        "facts": max(plan.facts, min(tokens // TOKENS_A_FACT, 50)) if plan.facts else 0,
    }


def _merged(base: dict[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in wanted.items():
        merged[key] = value
        if isinstance(value, Mapping):  # always a copy, since clamping changes it
            inner = base.get(key)
            merged[key] = _merged(inner if isinstance(inner, dict) else {}, value)
    return merged


_REPORTED = {f"plan: {reason.value} (": reason for reason in (Reason.CLAMPED, Reason.IGNORED)}
"""Maps the beginning of a text in `Plan.reasons` that validation added to its reason."""
_BOUNDS = {"less_than_equal": "le", "greater_than_equal": "ge"}


def _clamp(data: dict[str, Any], problem: dict[str, Any], diagnostics: list[Diagnostic]) -> None:
    """Clamp a value of `data` that is out of range; any other problem raises InvalidInput."""
    where = [str(part) for part in problem["loc"]]
    name = ".".join(where)
    if problem["type"] == "extra_forbidden":
        plan = Plan().model_dump().items()
        inner = [f"{part}.{key}" for part, its in plan if isinstance(its, dict) for key in its]
        near = spelled_like(name[:NAME_CHARACTERS_AT_MOST], [*Plan.model_fields, *inner])
        raise InvalidInput(f"There is no plan key {name!r}.{did_you_mean(near)}")
    bound = _BOUNDS.get(problem["type"])
    if bound is None or not isinstance(problem["loc"][-1], str):  # one of several values
        raise InvalidInput(f"The plan's {name} cannot be used: {problem['msg']}.")
    _set(data, name, problem["ctx"][bound], diagnostics)


def _set(data: dict[str, Any], name: str, limit: Any, diagnostics: list[Diagnostic]) -> None:
    """Set a value to its limit, and add a diagnostic."""
    *outer, last = name.split(".")
    inner = data
    for part in outer:
        inner = inner[part]
    diagnostics.append(Diagnostic(Reason.CLAMPED, "plan", f"{name} {inner[last]} to {limit}"))
    inner[last] = limit


def _consistent(plan: Plan) -> tuple[Plan, tuple[Diagnostic, ...]]:
    """Clamp the parts of a plan to its budget, and report values above the hard caps."""
    data = plan.model_dump()
    diagnostics = [
        Diagnostic(reason, "plan", text.removeprefix(start).removesuffix(")"))
        for text in plan.reasons
        for start, reason in _REPORTED.items()
        if text.startswith(start)
    ]
    whole = plan.budget
    for stage in ("retriever", "graph", "reranker"):
        data[stage]["timeout_ms"] = min(data[stage]["timeout_ms"], whole.latency_ms)
    for name, value, limit in (
        ("reranker.m", plan.reranker.m, whole.docs_max),
        ("retriever.k", plan.retriever.k, whole.docs_max),
        ("final_context", plan.final_context, min(plan.reranker.m, whole.docs_max)),
    ):
        if value > limit:
            _set(data, name, limit, diagnostics)
    for name, cap in HARD_CAPS.items():
        part, _, key = name.rpartition(".")
        value = (data[part] if part else data)[key]
        if value > cap:
            detail = f"{name} {value} instead of {cap}"
            diagnostics.append(Diagnostic(Reason.RAISED, "plan", detail))
    data["reasons"] = tuple(str(note) for note in diagnostics)
    return Plan.model_validate(data), tuple(diagnostics)


UNHURRIED = Plan(
    retriever=Retriever(timeout_ms=60_000),
    graph=Graph(timeout_ms=60_000),
    reranker=Reranker(timeout_ms=60_000),
    budget=Budget(latency_ms=60_000),
)
"""The default plan with generous limits of time, for evaluation and training."""
