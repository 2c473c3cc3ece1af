"""The ranking stage: candidates from all signals, notes and other texts ranked and merged."""

from __future__ import annotations

from dataclasses import replace

from hades.domain.answer import Intent
from hades.domain.graph import Reason
from hades.recall.find.candidates import choose_candidates
from hades.recall.find.results import Found
from hades.recall.rank.notes import rank_notes
from hades.recall.rank.passages import rank_passages
from hades.recall.rank.ranker import Ranker
from hades.recall.rank.ranking import Ranking, best_of, merge
from hades.recall.run import Run


def rank_candidates(
    run: Run, found: Found, ranker: Ranker, limit: int, intent: Intent = Intent.LOOKUP
) -> Ranking:
    """Rank the candidates and keep the `limit` best."""
    plan, query, recent = run.plan.reranker, found.search.query, intent is Intent.RECENT
    with run.stage("rank", plan.timeout_ms) as stage:
        candidates = choose_candidates(stage, found)
        numbers, notes = candidates.numbers, None
        stage.found = len(numbers)
        if not len(numbers):
            stage.note(Reason.NOTHING_FOUND)
            return Ranking()
        is_note = query.notes[numbers]
        if is_note.any() and not stage.is_late("earlier versions"):
            own = replace(candidates, numbers=numbers[is_note])
            notes = rank_notes(found, own, ranker, plan, recent=recent)
            numbers = numbers[~is_note]
        # Earlier versions are candidates among notes only.
        numbers = numbers[query.graph.visible[numbers]]
        ranking = notes
        if len(numbers):
            others = replace(candidates, numbers=numbers)
            passages = rank_passages(stage, found, others, ranker, recent=recent)
            ranking = passages if notes is None else merge(passages, notes)
        if not plan.on:
            stage.note(Reason.SWITCHED_OFF)
        if ranking is None:  # the one read allowed was an earlier version, and the time is over
            stage.note(Reason.NOTHING_FOUND)
            ranking = Ranking()
        else:
            ranking = best_of(query, ranking, limit, candidates.current)
        stage.cut += stage.found - len(ranking.numbers)
        return ranking
