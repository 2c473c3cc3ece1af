"""History: earlier versions of the topics that were found.

Often only an earlier version says why something is as it is, or when it became so. Such questions
get these versions after the current passages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice

from hades.domain.answer import Passage
from hades.domain.graph import Reason
from hades.domain.times import AsOf, from_micros
from hades.errors import NotFound
from hades.index.words import stems
from hades.recall.answer.passages import state_passage
from hades.recall.find.results import SearchQuery
from hades.recall.run import Run, Stage

VERSIONS_READ_AT_MOST = 50
"""How many versions of one topic are read at most; versions that say nothing new are not shown."""
TOPICS_READ = 2
"""The best notes whose other versions are read for a question about versions."""
_JUST_BEFORE = timedelta(microseconds=1)
"""The smallest step of time in a store."""


def earlier_passages(
    run: Run, search: SearchQuery, chosen: Sequence[Passage], *, notes: bool
) -> list[Passage]:
    """Return earlier versions of the chosen passages' topics, newest first, topics in turn.

    A version that says nothing beyond the later ones is left out. Versions of notes were candidates
    already, so for notes only those of the best topics that were not chosen are returned.
    """
    if not run.plan.history:
        return []
    with run.stage("history") as stage:
        passages = list(islice(_alternating(run, stage, search, chosen, notes), run.plan.history))
        stage.found = len(passages)
        return passages


def _alternating(
    run: Run, stage: Stage, search: SearchQuery, chosen: Sequence[Passage], notes: bool
) -> Iterator[Passage]:
    """Yield passages of earlier versions: the latest of each topic, then the one before it, …"""
    best = {passage.chunk.topic: passage for passage in reversed(chosen)}
    leading = [passage for passage in chosen if best[passage.chunk.topic] is passage]
    if notes:
        known = {passage.chunk.text.strip() for passage in chosen}
        after = from_micros(search.query.valid + 1)
        traces = [_said_before(search, row, after, known) for row in leading[:TOPICS_READ]]
    else:
        traces = [_said_before(search, row, row.valid_from, _texts(search, row)) for row in leading]
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


def _texts(search: SearchQuery, passage: Passage) -> set[str]:
    """Return the texts of all chunks of a passage's version."""
    query = search.query
    chunk = passage.chunk
    chunks = query.store.chunks.chunks(query.space, chunk.topic, chunk.version)
    return {chunk.text.strip() for chunk in chunks}


def _said_before(
    search: SearchQuery, leading: Passage, starts: datetime, known: set[str]
) -> Iterator[Passage]:
    """Yield a passage of each version before `starts` with text that is not known, newest first."""
    query = search.query
    terms = set(search.terms)
    topic = leading.chunk.topic
    read = query.store.chunks.chunks
    for _ in range(VERSIONS_READ_AT_MOST):
        try:
            as_of = AsOf(starts - _JUST_BEFORE, query.as_of.known)
            state = query.store.topics.state(query.space, topic, as_of)
        except (NotFound, OverflowError):  # no earlier version, or before the first date
            return
        starts = state.valid_from
        chunks = read(query.space, topic, state.version)
        new = [chunk for chunk in chunks if chunk.text.strip() not in known]
        known = known | {chunk.text.strip() for chunk in new}
        if new:
            # the chunk with most words of the question; the first one if several have as many
            best = max(new, key=lambda c: len(terms & {*stems(f"{c.heading} {c.text}")}))
            passage = state_passage(state, best, "history", 1.0, 1.0, from_micros(query.valid))
            yield replace(passage, score=0.0, belief=leading.belief)
