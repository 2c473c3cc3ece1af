"""Overview: questions about a longer time, answered from summaries.

It is algorithm 6 of TracingRAG.

“What happened last month?” wants the month, not the most similar passage. So the summaries of that
time are read: monthly, weekly or daily ones by its length, finer ones where these are missing, and
the states of days without a summary. Their lines become the passages of the answer, each citing its
state. “What did we talk about in March?” is answered from the conversations and meetings of that
time. Other questions are left to ordinary recall.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import zip_longest

from hades.context.pack import pack
from hades.context.tokens import count
from hades.domain.answer import Diagnostic, Fact, Passage, Recall
from hades.domain.graph import Reason
from hades.domain.plain import counted
from hades.domain.question import Intent, Sign
from hades.domain.statement import day
from hades.domain.summaries import (
    LEAST_DAYS,
    MONTHLY,
    Cited,
    answer_tokens,
    day_of,
    read_left_out,
    read_lines,
)
from hades.domain.times import DAY_MICROSECONDS, FOREVER, from_micros, to_micros
from hades.domain.topics import Chunk, State
from hades.errors import NotFound
from hades.language.english.lexicon import word_set
from hades.language.english.stems import singular
from hades.language.english.terms import terms_in
from hades.language.names import DATE
from hades.language.wording import spoken
from hades.language.words import words
from hades.lifecycle.summary_lines import chosen_lines, lines_of
from hades.recall.answer.answering import make_recall
from hades.recall.answer.conveyance import conveyed
from hades.recall.answer.passages import state_passage
from hades.recall.find.finder import Scope
from hades.recall.plan import PASSAGES_AT_MOST
from hades.recall.question.time_asked import TimeAsked, time_asked
from hades.recall.rank import belief
from hades.recall.run import AskedQuestion, Run, Stage
from hades.store.archive import LOST
from hades.store.store import Store
from hades.store.summaries import StateOfPeriod, StoredSummary

STAGE = "summaries"
STATES_READ = 1_000
"""How many states of days without a summary are read, the last ones first."""
LIKELY = 0.9
FEW_STATES = 5
"""If no summary has the states of less than a month, ordinary recall answers from up to this many
of them. It has no room for more."""
TALKS = word_set("call chat conversation discussion interview meeting session")
"""Words that name a conversation or a meeting in the name of a note."""


def overview(
    run: Run, store: Store, scope: Scope, asked: AskedQuestion, usual: int
) -> Recall | None:
    """Return a recall made of summaries; None if the question wants none or none fits."""
    wanted = run.plan.level
    question = asked.question
    narrowed = scope.tag or scope.kind or scope.glob or scope.by_event  # a summary is of all topics
    general = Sign.SUMMARY in question.signs
    talk = Sign.TALK in question.signs
    kind_fits = general or talk or question.intent in (Intent.RECENT, Intent.OVERVIEW)
    if narrowed or not (wanted or (wanted is None and kind_fits)):
        return None
    saved = [] if talk else store.summaries.there(scope.space, scope.as_of)
    valid = store.moment(scope.as_of)[0]
    read = run.plan.retriever.time_words and scope.as_of.valid is None
    time = time_asked(question, valid, since=scope.since, until=scope.until, read=read)
    topical = question.topical
    level = _level(time, topical, general=general) if wanted is None else wanted
    is_timed = time.kind is not None or time.words is not None
    if wanted is None and not is_timed and store.hierarchies.current(scope.space, scope.as_of):
        return None  # themes answer
    if not level or time.ahead:
        return None
    with run.stage(STAGE) as stage, store.snapshot():
        since, until = (time.since, time.until) if time.kind else (-FOREVER, valid)
        within = (-FOREVER, valid + 1) if talk else (since, until + 1)
        began = store.summaries.states(scope.space, *within, scope.as_of)
        if talk:
            began = [one for one in began if _is_talk(one) and since <= _held_at(one) <= until]
        days = {day_of(state.valid_from) for state in began}
        if not days:
            return None  # ordinary recall reports that
        covering = list(_covering(saved, level, range(since, until + 1), days, every=bool(topical)))
        if not covering and time.by_event and level < MONTHLY and len(began) <= FEW_STATES:
            return None  # ordinary recall knows the times that notes speak of
        texts = store.topics.contents([summary.id for summary in covering], lost_ok=True)
        lines = [read_lines(texts[row.id]) for row in covering if row.id in texts]
        left_out = 0 if topical else sum(map(read_left_out, texts.values()))
        missing = days.difference(*(row.period.days for row in covering if row.id in texts))
        # Without summaries, states answer only a question for everything that happened.
        if missing and (covering or (wanted is None and not general)):
            if covering:
                first = day(from_micros(min(missing) * DAY_MICROSECONDS))
                told = f"{len(missing)} days with states are in no summary, the first {first}"
                stage.note(Reason.NO_HIERARCHY, told)
            states = [row for row in began if day_of(row.valid_from) in missing][-STATES_READ:]
            own, more = _unsummarised(store, scope, states, 0 if topical else level, talk)
            lines.append(own)
            left_out += more
        about = _about(topical, lines, must=wanted is None)
        chosen = about[: run.plan.budget.docs_max]
        if not chosen:
            why = "no summary mentions it" if covering else "there are no summaries of that time"
            stage.note(Reason.NO_HIERARCHY, f"{why}: `hades consolidate` makes them")
            return None
        passages, facts = read_cited(store, scope, chosen, stage)
        stage.found = len(chosen)
        stage.coverage = 1.0
    level = level if covering else 0
    run.plan = run.plan.model_copy(update={"level": level})
    recall = recall_of_lines(run, asked, time, passages, facts, usual)
    left_out += len(about) - len(chosen)
    left_out += len(passages) + len(facts) - len(recall.passages) - len(recall.facts)
    note = Diagnostic(Reason.EVICTED, STAGE, f"{counted(left_out, 'line')} of that time")
    reasons = (*recall.reasons, *[note] * (left_out > 0))
    return replace(recall, level=level, reasons=reasons)


def _is_talk(state: StateOfPeriod) -> bool:
    named = {singular(word.casefold()) for word in words(spoken(state.topic))}
    return state.kind == "conversation" or not TALKS.isdisjoint(named)


def _held_at(state: StateOfPeriod) -> int:
    """Return when a talk was held: the day in its topic's name, else when its state began."""
    if named := DATE.search(state.topic):
        with suppress(ValueError):
            year, month, day_named = (int(part or 1) for part in named.groups())
            return to_micros(datetime(year, month, day_named, tzinfo=UTC))
    return state.valid_from


def recall_of_lines(
    run: Run,
    asked: AskedQuestion,
    time: TimeAsked,
    passages: list[Passage],
    facts: Sequence[Fact],
    usual: int,
) -> Recall:
    """Return a recall made of lines that were chosen by rules, not by a search."""
    own = run.plan.final_context
    packed = pack(
        asked.question.text,
        passages,
        [],
        budget=run.plan.budget.tokens,
        passages_at_most=PASSAGES_AT_MOST if own == usual else own,
        paths_at_most=0,
        facts=facts,
    )
    run.diagnostics += packed.diagnostics
    chances = [passage.belief.mean for passage in packed.passages]
    measured = conveyed(run, packed, coverage=1.0)
    return replace(make_recall(run, asked, time, packed, chances, measured), notes=True)


def _level(time: TimeAsked, topical: frozenset[str], *, general: bool) -> int:
    """Return the level of the summaries that a question wants; 0 if none.

    A question for a summary may be about something. A question for what happened is answered from
    summaries only if it asks for everything.
    """
    if not general and (topical or not time.wants_happenings):
        return 0
    if time.kind is None:
        return MONTHLY if general and time.words is None else 0
    days = (time.until - time.since) / DAY_MICROSECONDS
    return next((level for level, least in LEAST_DAYS.items() if days > least), 0)


def _covering(
    saved: Iterable[StoredSummary], level: int, time: range, days: set[int], *, every: bool
) -> Iterator[StoredSummary]:
    """Yield the summaries within a time that cover days, the coarsest allowed level first.

    With `every`, finer ones of the same days follow, because they say more about a single thing.
    """
    left = set(days)
    for summary in sorted(saved, key=lambda summary: (-summary.level, summary.valid_from)):
        inside = to_micros(summary.period.since) >= time.start and summary.valid_from <= time.stop
        if inside and summary.level <= level and not left.isdisjoint(summary.period.days):
            left.difference_update(() if every else summary.period.days)
            yield summary


def _unsummarised(
    store: Store, scope: Scope, states: Sequence[StateOfPeriod], level: int, talk: bool
) -> tuple[list[tuple[str, Cited]], int]:
    """Return lines of states that no summary covers, and how many more there are.

    At level 0 all lines are returned, else as many as a summary has. With `talk`, no told facts.
    """
    since, last = (from_micros(states[at].valid_from) for at in (0, -1))
    until = last.replace(hour=23, minute=59, second=59, microsecond=999_999)
    by_day = store.summaries.told_by_day(scope.space, scope.as_of)
    days = set() if talk else {day_of(state.valid_from) for state in states}
    told = {edge[0] for day in days for edge in by_day[day]}
    edges = store.edges.read(scope.space, sorted(told), scope.as_of).values()
    what = (store, scope.space, since, until, states, edges)
    lines, tokens = lines_of(*what, known=scope.as_of.known, lost_ok=not scope.archived)
    chosen = chosen_lines(lines, answer_tokens(level, tokens) if level else FOREVER)
    left_out = len(lines) - sum(line.of for line in chosen)
    return [(line.text, line.cited) for line in chosen], left_out


def _about(
    topical: frozenset[str], lines: Sequence[Sequence[tuple[str, Cited]]], *, must: bool
) -> list[tuple[str, Cited]]:
    """Return the lines that contain a term of `topical`, taking one line of each summary in turn.

    If no line contains one, return all lines, or with `must` none.
    """
    alternating = (line for next_lines in zip_longest(*lines) for line in next_lines if line)
    each = list({cited: (text, cited) for text, cited in alternating}.values())
    named = [line for line in each if topical & terms_in(f"{line[0]} {line[1][0]}")]
    return named if topical and (named or must) else each


def read_cited(
    store: Store, scope: Scope, lines: Sequence[tuple[str, Cited]], stage: Stage
) -> tuple[list[Passage], list[Fact]]:
    """Return lines of states as passages that cite their originals, and lines of edges as facts."""
    passages = list[Passage]()
    facts = list[Fact]()
    lost = list[str]()
    for at, (text, (topic, number)) in enumerate(lines):
        with suppress(NotFound):  # the original was not known at the time asked about
            if not topic:
                for edge in store.edges.read(scope.space, [number], scope.as_of).values():
                    sure = belief.interval(belief.of_edge(edge.belief))
                    facts.append(Fact(edge, text, sure.mean, sure))
                continue
            try:
                state = store.topics.version(scope.space, topic, number, scope.as_of)
            except LOST as error:  # the line of the summary is still there
                lost.append(str(error))
                every = store.topics.history(scope.space, topic, scope.as_of, archived=False)
                state = next(row for row in every if row.version == number)
            passages.append(_passage(store, scope, state, text, 1 - at / len(lines)))
    if lost and scope.archived:  # otherwise the caller has reported it
        stage.note(Reason.ARCHIVE_LOST, f"{len(lost)} of {len(lines)} originals; {lost[0]}")
    return passages, facts


def _passage(store: Store, scope: Scope, state: State, text: str, score: float) -> Passage:
    """Return a line as a passage; if the state does not contain it, the span is the whole state."""
    content = state.content
    start = max(content.find(text), 0)
    end = start + len(text) if content.startswith(text, start) else len(content)
    placed = store.chunks.chunks(scope.space, state.topic, state.version) if content else []
    ordinal = next((chunk.ordinal for chunk in placed if chunk.start <= start < chunk.end), 0)
    chunk = Chunk(state.topic, state.version, ordinal, text, start, end, "", count([text])[0])
    return state_passage(state, chunk, "summary", score, LIKELY, from_micros(store.now()))
