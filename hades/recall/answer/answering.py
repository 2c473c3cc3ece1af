"""Answering: turn the ranking into passages, paths, facts and a packed context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from hades.context.pack import Packed, pack
from hades.domain.answer import Conveyance, Fact, Passage, Recall
from hades.domain.graph import Reason
from hades.domain.hierarchy import Theme
from hades.domain.question import Intent, Wants
from hades.models.encoder import Encoder, hop_encoder, reader_of
from hades.recall.answer.chains import Chains
from hades.recall.answer.conveyance import conveyed
from hades.recall.answer.fact_search import find_facts
from hades.recall.answer.history import earlier_passages
from hades.recall.answer.named import is_about_another, unknown_names
from hades.recall.answer.passages import choose_passages, coverage_of
from hades.recall.answer.reasons import replaced_facts
from hades.recall.answer.relations import RelationAsked, related_facts, related_paths
from hades.recall.find.results import Retrieved, SearchQuery
from hades.recall.paths.pathways import find_paths
from hades.recall.question.time_asked import TimeAsked
from hades.recall.rank import belief
from hades.recall.rank.ranking import Ranking
from hades.recall.run import AskedQuestion, Run, Stage

CHAIN_AT_LEAST = 0.2
"""An answer in several steps is shown from this probability on."""
ALONE_FROM = 0.85
"""A fact with this probability answers alone; no further steps are searched. Not measured."""
CHAINED_NOTES = 2
"""The most notes that are shown because they are steps of an answer."""


def answer(
    run: Run,
    asked: AskedQuestion,
    retrieved: Retrieved,
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
    plan = run.plan
    search = retrieved.search
    offered, numbers = choose_passages(run, retrieved, ranking, usual)
    if related is not None and related.edges:
        paths = related_paths(related, plan.paths)
    else:
        paths = find_paths(run, retrieved, ranking, list(numbers.values()), ends)
    with run.stage("facts", plan.retriever.timeout_ms) as stage:
        if related is None:
            facts, chained = _facts(stage, search, encoder, offered)
            offered = _with_chained(offered, chained)
            if asked.question.intent is Intent.WHY and offered:
                facts += replaced_facts(search.query, offered[0].chunk.topic, facts)
        else:
            facts = related_facts(related, search.query, plan.facts)
        stage.found = len(facts)
    # For notes, every version was already a candidate.
    if not ranking.are_notes or search.time.wants.is_of_versions:
        more = earlier_passages(run, search, offered, notes=ranking.are_notes)
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
        stage.found = len(packed.passages)
        stage.cut = len(offered) - len(packed.passages)
        ranked = [passage for passage in packed.passages if passage.id in numbers]
        at = np.array([numbers[passage.id] for passage in ranked], np.int64)
        stage.coverage = coverage_of(search, at)
    chances = [*(passage.belief.mean for passage in ranked), *(fact.score for fact in packed.facts)]
    measured = conveyed(run, packed, stage.coverage)
    recall = make_recall(run, asked, search.time, packed, chances, measured)
    other = False
    if ranking.are_notes and ranked:
        first = ranked[0]
        other = is_about_another(search, first, numbers[first.id])
    return replace(
        recall,
        notes=ranking.are_notes,
        answered=ranking.answered,
        unknown=unknown_names(search, packed.passages, [fact.text for fact in packed.facts]),
        about_another=other,
    )


def _facts(
    stage: Stage,
    search: SearchQuery,
    encoder: Encoder,
    passages: Sequence[Passage],
) -> tuple[list[Fact], list[Passage]]:
    """Return the facts that a question means, and the facts and notes that answer it in several
    steps."""
    plan = stage.run.plan
    reader = reader_of(encoder) if plan.reranker.reader else None
    facts = find_facts(stage, search, encoder, reader, plan.facts)
    hop = hop_encoder(encoder)
    if reader is None or hop is None or not plan.facts or search.vector is None:
        return facts, []
    if search.time.wants_happenings or not search.question.two_steps:
        return facts, []
    if not facts and not (search.query.mask & search.query.notes).any():
        return facts, []  # for documents, `read_on` finds the next step
    if facts and facts[0].score >= ALONE_FROM:
        return facts, []
    if stage.is_late("answers in several steps"):
        return facts, []
    notes = [one for one in passages if not one.superseded]
    chains = Chains(stage, search, encoder, hop, reader).find(facts, notes)
    likely = [chain for chain in chains if chain.score >= CHAIN_AT_LEAST]
    facts += [chain for chain in likely if isinstance(chain, Fact)]
    facts = sorted(facts, key=lambda fact: -fact.score)[: plan.facts]
    return facts, [chain for chain in likely if isinstance(chain, Passage)][:CHAINED_NOTES]


def _with_chained(passages: Sequence[Passage], chained: Sequence[Passage]) -> list[Passage]:
    """Put notes that answer in several steps after the first passage, but not superseded ones."""
    gone = {passage.id for passage in passages if passage.superseded}
    chained = [passage for passage in chained if passage.id not in gone]
    ids = {passage.id for passage in chained}
    others = [passage for passage in passages if passage.id not in ids]
    first = [passage for passage in passages[:1] if passage.id not in ids]
    return [*first, *chained, *others[len(first) :]]


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
    wants = Wants.HAPPENINGS if time.wants_happenings else time.wants
    return Recall(
        asked=replace(asked.question, wants=wants, time=time.words),
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
        themes=packed.themes,
    )
