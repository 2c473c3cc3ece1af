"""History: earlier versions of the topics that were found.

Often only an earlier version says why something is as it is, or when it became so. Such questions
get these versions after the current passages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice

from hades.domain.answer import Intent, Passage
from hades.domain.graph import Reason
from hades.domain.times import AsOf, from_micros
from hades.errors import NotFound
from hades.index.words import stems
from hades.recall.answer.passages import state_passage
from hades.recall.find.results import SearchQuery
from hades.recall.run import Run, Stage

VERSIONS_READ_AT_MOST = 50
"""The most versions read of one topic; those that say nothing new are not shown."""
_JUST_BEFORE = timedelta(microseconds=1)
"""The smallest step of time in a store."""


def earlier_passages(
    run: Run, search: SearchQuery, chosen: Sequence[Passage], intent: Intent
) -> list[Passage]:
    """Return earlier versions of the chosen passages' topics, newest first, topics in turn.

    A question of status gets none, since it wants what holds. A version that says nothing beyond
    the later ones is left out.
    """
    if not run.plan.history:
        return []
    with run.stage("history") as stage:
        if intent is Intent.STATUS:
            stage.note(Reason.SWITCHED_OFF, "a question of status wants what holds")
            return []
        passages = list(islice(_in_turn(run, stage, search, chosen), run.plan.history))
        stage.found = len(passages)
        return passages


def _in_turn(
    run: Run, stage: Stage, search: SearchQuery, chosen: Sequence[Passage]
) -> Iterator[Passage]:
    """Yield passages of earlier versions: the latest of each topic, then the one before it, …"""
    best = {passage.chunk.topic: passage for passage in reversed(chosen)}
    leading = [passage for passage in chosen if best[passage.chunk.topic] is passage]
    traces = [_said_before(search, passage) for passage in leading]
    while traces:
        for trace in list(traces):
            if stage.is_over():
                stage.stop(Reason.TIMEOUT, "without older versions")
                return
            passage = next(trace, None)
            if passage is None:
                traces.remove(trace)
            # A past version counts as a document, under a number below 0, which no chunk has.
            elif run.look_at([-1 - len(run.seen)], stage):
                yield passage
            else:
                return


def _said_before(search: SearchQuery, leading: Passage) -> Iterator[Passage]:
    """Yield one passage of each earlier version with text that later ones lack, newest first."""
    query, terms = search.query, set(search.terms)
    topic, starts = leading.chunk.topic, leading.valid_from
    read = query.store.chunks.chunks
    known = {chunk.text.strip() for chunk in read(query.space, topic, leading.chunk.version)}
    for _ in range(VERSIONS_READ_AT_MOST):
        try:
            as_of = AsOf(starts - _JUST_BEFORE, query.as_of.known)
            state = query.store.topics.state(query.space, topic, as_of)
        except (NotFound, OverflowError):  # no earlier version, or before the first date
            return
        starts = state.valid_from
        chunks = read(query.space, topic, state.version)
        said = [chunk for chunk in chunks if chunk.text.strip() not in known]
        known |= {chunk.text.strip() for chunk in said}
        if said:
            # The chunk with most of the question's words; among equals, the first.
            best = max(said, key=lambda c: len(terms & {*stems(f"{c.heading} {c.text}")}))
            found = state_passage(state, best, "history", 1.0, 1.0, from_micros(query.valid))
            yield replace(found, score=0.0, belief=leading.belief)
