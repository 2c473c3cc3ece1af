"""History: what the topics that were found said before.

Why something is as it is, or when it became so, often stands in an earlier version only.
So such questions get, after the passages of their moment, what those topics said before.
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
from hades.recall.answer.state_passage import state_passage
from hades.recall.find.retrieve import Retrieved
from hades.recall.run import Run, Stage

VERSIONS_READ_AT_MOST = 50
"""Of one topic: those that say nothing new are not shown, but have to be read."""
_JUST_BEFORE = timedelta(microseconds=1)
"""The smallest step of time in a store."""


def earlier(
    run: Run, retrieved: Retrieved, chosen: Sequence[Passage], intent: Intent
) -> list[Passage]:
    """What the chosen passages' topics said before, newest first: one of each in turn.

    Never for a question of status, which wants what holds; a version that says nothing
    else than the later ones is left out.
    """
    if not run.plan.history:
        return []
    with run.stage("history") as stage:
        if intent is Intent.STATUS:
            stage.note(Reason.SWITCHED_OFF, "a question of status wants what holds")
            return []
        found = list(islice(_in_turn(run, stage, retrieved, chosen), run.plan.history))
        stage.found = len(found)
        return found


def _in_turn(
    run: Run, stage: Stage, retrieved: Retrieved, chosen: Sequence[Passage]
) -> Iterator[Passage]:
    """What each topic said last before its passage, then what each said before that …"""
    best = {one.chunk.topic: one for one in reversed(chosen)}
    traces = [_said_before(retrieved, one) for one in chosen if best[one.chunk.topic] is one]
    while traces:
        for trace in list(traces):
            if stage.is_over():
                stage.stop(Reason.TIMEOUT, "without older versions")
                return
            passage = next(trace, None)
            if passage is None:
                traces.remove(trace)
            # A version of the past is a document too; no chunk has a number below 0.
            elif run.look_at([-1 - len(run.seen)], stage):
                yield passage
            else:
                return


def _said_before(retrieved: Retrieved, leading: Passage) -> Iterator[Passage]:
    """What the topic of a passage said before it, newest first."""
    query, asked = retrieved.query, set(retrieved.terms)
    topic, starts = leading.chunk.topic, leading.valid_from
    read = query.store.chunks.chunks
    known = {chunk.text.strip() for chunk in read(query.space, topic, leading.chunk.version)}
    for _ in range(VERSIONS_READ_AT_MOST):
        try:
            as_of = AsOf(starts - _JUST_BEFORE, query.as_of.known)
            state = query.store.topics.state(query.space, topic, as_of)
        except (NotFound, OverflowError):  # nothing was before, or before the first day
            return
        starts = state.valid_from
        chunks = read(query.space, topic, state.version)
        said = [one for one in chunks if one.text.strip() not in known]
        known |= {chunk.text.strip() for chunk in said}
        if said:
            # The one that has most of the question's words; of equals the first.
            best = max(said, key=lambda one: len(asked & set(stems(f"{one.heading} {one.text}"))))
            found = state_passage(state, best, "history", 1.0, 1.0, from_micros(query.valid))
            yield replace(found, score=0.0, belief=leading.belief)
