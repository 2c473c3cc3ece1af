"""Answering: turn the ranking into passages, paths, facts and a packed context."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from hades.context.pack import Packed, pack
from hades.domain.answer import Conveyance, Intent, Recall, Wants
from hades.domain.graph import Reason
from hades.domain.hierarchy import Theme
from hades.models.encoder import Encoder
from hades.recall.answer.conveyance import conveyed
from hades.recall.answer.fact_search import find_facts
from hades.recall.answer.history import earlier_passages
from hades.recall.answer.passages import choose_passages, coverage_of
from hades.recall.answer.reasons import replaced_facts
from hades.recall.answer.relations import RelationAsked, related_facts, related_paths
from hades.recall.find.results import Found
from hades.recall.paths.pathways import find_paths
from hades.recall.question.time_asked import TimeAsked
from hades.recall.rank import belief
from hades.recall.rank.ranking import Ranking
from hades.recall.run import AskedQuestion, Run


def answer(
    run: Run,
    asked: AskedQuestion,
    found: Found,
    ranking: Ranking,
    encoder: Encoder,
    usual: int,
    related: RelationAsked | None = None,
    ends: tuple[int, int] | None = None,
    themes: tuple[Theme, ...] = (),
) -> Recall:
    """Make the result of a recall; passages beyond the first `usual` must be likely answers.

    With `related`, facts and paths are its edges; otherwise both are searched. With `ends`, the
    paths join these two nodes.
    """
    plan, search = run.plan, found.search
    offered, numbers, covered = choose_passages(run, found, ranking, usual)
    if related is not None and related.edges:
        paths = related_paths(related, plan.paths)
    else:
        paths = find_paths(run, found, ranking, list(numbers.values()), ends)
    with run.stage("facts", plan.retriever.timeout_ms) as stage:
        if related is None:
            facts = find_facts(stage, search, encoder, plan.facts)
            if asked.intent is Intent.WHY and offered:
                facts += replaced_facts(search.query, offered[0].chunk.topic, facts)
        else:
            facts = related_facts(related, search.query, plan.facts)
        stage.found = len(facts)
    # For notes, every version was already a candidate.
    if not ranking.are_notes or search.time.wants.is_of_versions:
        more = earlier_passages(run, search, offered, asked.intent, notes=ranking.are_notes)
        offered = offered + more
    with run.stage("pack") as stage:
        packed = pack(
            search.text,
            offered,
            paths,
            budget=plan.budget.tokens,
            passages_at_most=plan.final_context + plan.history,
            paths_at_most=plan.paths,
            facts=facts,
            themes=themes,
        )
        run.diagnostics += packed.diagnostics
        if related is not None and len(packed.facts) < len(related.edges):
            shown = f"{len(packed.facts)} of {len(related.edges)} edges"
            stage.note(Reason.BUDGET_EXHAUSTED, f"{shown}; all: `{related.command}`")
        stage.found, stage.cut = len(packed.passages), len(offered) - len(packed.passages)
        ranked = [passage for passage in packed.passages if passage.id in numbers]
        at = np.array([numbers[passage.id] for passage in ranked], np.int64)
        stage.coverage = coverage_of(search, at)
    chances = [*(passage.belief.mean for passage in ranked), *(fact.score for fact in packed.facts)]
    coverage, others = (stage.coverage, covered), len(paths) + len(facts)
    measured = conveyed(run, packed, coverage, offered, others)
    recall = make_recall(run, asked, search.time, packed, chances, measured)
    return replace(recall, notes=ranking.are_notes, answered=ranking.answered)


def make_recall(
    run: Run,
    asked: AskedQuestion,
    time: TimeAsked,
    packed: Packed,
    chances: Iterable[float],
    measured: Conveyance,
) -> Recall:
    """Make the result of a recall; `chances` has the probability that each source answers."""
    moments = [belief.of_probability(chance) for chance in chances]
    return Recall(
        question=asked.text,
        intent=asked.intent,
        evidence=asked.evidence,
        mode=asked.mode,
        space=asked.space,
        passages=packed.passages,
        paths=packed.paths,
        context=packed.context,
        tokens=packed.tokens,
        citations=packed.citations,
        plan=run.plan.model_dump(mode="json"),
        reasons=tuple(run.diagnostics),
        telemetry=tuple(run.reports),
        ms=round(run.ms, 3),
        belief=belief.interval(belief.answer_belief(moments)),
        conveyance=measured,
        valid=asked.as_of.valid,
        known=asked.as_of.known,
        facts=packed.facts,
        wants=Wants.HAPPENINGS if time.wants_happenings else time.wants,
        time=time.words,
        themes=packed.themes,
    )
