"""Answers from the brief: for questions with which a conversation starts.

“What should I work on next?” names nothing that a search could find. The lines of the brief become
the passages and facts of the answer, each citing its state or edge.
"""

from __future__ import annotations

from dataclasses import replace

from hades.domain.answer import Passage, Recall
from hades.domain.question import BriefPart, Intent, TimeKind
from hades.domain.times import DAY_MICROSECONDS, FOREVER, from_micros, to_micros
from hades.lifecycle.brief import RECENT_MICROSECONDS, BriefParts, BriefReader, Lines
from hades.recall.answer.overview import read_cited, recall_of_lines
from hades.recall.find.finder import Scope
from hades.recall.question.time_asked import TimeAsked, time_asked
from hades.recall.run import AskedQuestion, Run
from hades.store.store import Store

STAGE = "brief"
DAYS_AT_MOST = 31
"""Summaries answer for a longer time."""
EVENT_DAYS = 3
"""For a period up to this long, ordinary recall answers what was done, because it uses the times
that notes mention: events of a day are often written down later."""
_DONE = (BriefPart.DONE, BriefPart.RECENT)


def from_brief(
    run: Run, store: Store, scope: Scope, asked: AskedQuestion, usual: int
) -> Recall | None:
    """Return a recall made of a brief; None if the question asks for something else."""
    narrowed = scope.tag or scope.kind or scope.glob or scope.by_event
    if narrowed or run.plan.level is not None:
        return None
    valid = store.moment(scope.as_of)[0]
    read = scope.as_of.valid is None
    part = asked.question.part
    time = time_asked(
        asked.question,
        valid,
        since=scope.since,
        until=scope.until,
        read=read and run.plan.retriever.time_words,
    )
    window = _window(time, part, valid)
    if part is None or window is None:
        return None
    with run.stage(STAGE) as stage, store.snapshot():
        # Notes of last week may have changed since, so read them as of the end of the window.
        then = from_micros(window[1] - 1) if window[1] <= valid else scope.as_of.valid
        as_of = replace(scope.as_of, valid=then)
        reader = BriefReader(store, scope.space, as_of, since=window[0], until=window[1])
        chosen = _chosen(part, reader.read(), window)
        lines = [(line.text, cited) for section in chosen.values() for line, cited in section]
        passages, facts = read_cited(store, scope, lines[: run.plan.budget.docs_max], stage)
        stage.found = len(lines)
        stage.coverage = 1.0
    if not lines:
        return None
    if part is BriefPart.ALL:
        passages = _with_headings(passages, chosen)
    asked = replace(asked, question=replace(asked.question, intent=Intent.BRIEF))
    return recall_of_lines(run, asked, time, passages, facts, usual)


def _window(time: TimeAsked, part: BriefPart | None, now: int) -> tuple[int, int] | None:
    """Return the window of time for the lines; None if a brief does not answer for this time."""
    if time.kind is None and part is BriefPart.RECENT:
        return now - RECENT_MICROSECONDS, FOREVER
    if time.kind is None or part is BriefPart.NEXT:
        return -FOREVER, FOREVER
    if time.kind not in (TimeKind.DURING, TimeKind.SINCE):
        return None
    days = (time.until - time.since) / DAY_MICROSECONDS
    if part in _DONE and days > DAYS_AT_MOST:
        return None
    if part is BriefPart.DONE and time.by_event and days <= EVENT_DAYS:
        return None
    return time.since, min(time.until, FOREVER - 1) + 1


def _chosen(part: BriefPart, parts: BriefParts, window: tuple[int, int]) -> dict[str, Lines]:
    """Return the lines that answer a question, by heading, without lines of another time."""
    named = {
        "decision": parts.decisions,
        "open": parts.open_threads,
        "changed": parts.changes,
        "ended": parts.ended,
    }
    inside = {
        name: [line for line in section if window[0] <= to_micros(line[0].at) < window[1]]
        for name, section in named.items()
    }
    if part is BriefPart.DECISIONS:
        return {"decision": inside["decision"]}
    if part is BriefPart.NEXT:
        return {"open": inside["open"] or inside["changed"]}
    if part in _DONE:
        every = [line for section in inside.values() for line in section]
        by_cite = {cited: (line, cited) for line, cited in reversed(every)}
        return {"": sorted(by_cite.values(), key=lambda line: line[0].at)}
    return inside


def _with_headings(passages: list[Passage], chosen: dict[str, Lines]) -> list[Passage]:
    """Return the passages, each with the part of the brief it is from as its heading."""
    parts = {
        (cited, line.text): name for name, section in chosen.items() for line, cited in section
    }
    return [
        replace(
            passage,
            chunk=replace(
                passage.chunk,
                heading=parts[(passage.chunk.topic, passage.chunk.version), passage.chunk.text],
            ),
        )
        for passage in passages
    ]
