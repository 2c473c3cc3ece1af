"""The recall engine: it answers a question, stage by stage.

    question/ → find/ → rank/ → paths/ → answer/

Each stage takes the frozen results of those before it and returns its own. This file puts the
stages in order, within the plan.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from hades.domain.answer import Diagnostic, Recall
from hades.domain.graph import Reason
from hades.domain.question import Intent, Mode, Question, TimeKind, Wants
from hades.domain.tiers import Tier
from hades.domain.times import FOREVER, from_micros
from hades.domain.topics import Chunk, Hit
from hades.errors import InvalidInput
from hades.graph.arrays import Ints
from hades.models.encoder import reader_of, wait_until_loaded
from hades.recall.answer.answering import answer
from hades.recall.answer.relations import find_related, relation_asked
from hades.recall.answer.sources import UNSEARCHED
from hades.recall.answer.themes import find_themes
from hades.recall.answer_cache import AnswerCache, open_shared
from hades.recall.bridge_cache import BridgeCache
from hades.recall.find.beam import run_beam
from hades.recall.find.finder import Finder, Scope
from hades.recall.find.meant import connected_ends
from hades.recall.find.read_on import read_on
from hades.recall.find.results import Retrieved
from hades.recall.find.scores import scaled
from hades.recall.find.seeds import Encoding, find_seeds, start_encoding
from hades.recall.find.turns import gains_of_turns
from hades.recall.find.walks import find_walks
from hades.recall.plan import UNHURRIED, Plan, plan_for
from hades.recall.query_context import QueryContext
from hades.recall.question.in_context import in_context
from hades.recall.question.names import names_in
from hades.recall.question.reading import QUESTION_CHARACTERS_AT_MOST, read_question
from hades.recall.question.time_asked import TimeAsked, time_asked
from hades.recall.rank.baselines import SYSTEMS, system_scores
from hades.recall.rank.features import FEATURES
from hades.recall.rank.rank_candidates import rank_candidates
from hades.recall.rank.ranker import Ranker, Table, shipped_ranker
from hades.recall.rank.ranking import Ranking
from hades.recall.run import AskedQuestion, Clock, Run
from hades.settings import load_settings
from hades.store.archive import LOST
from hades.store.records import Progress
from hades.store.store import Store

_ALL_CANDIDATES = 10_000
GAINING_AT_MOST = 200
"""The most chunks that gain by the turns in a search."""


class RecallEngine:
    """Answers questions over one memory; made once, shared by its views."""

    def __init__(self, store: Store, encoder: str, ranker: FilePath | None = None) -> None:
        self._store = store
        self.finder = Finder(store, encoder)
        self.ranker = shipped_ranker() if ranker is None else Ranker.load(ranker)
        weights = b"".join(values.tobytes() for values in self.ranker.weights.values())
        self.answered_by = (encoder, blake2b(weights, digest_size=8).hexdigest())
        """The encoder and a hash of the ranker's weights: part of the key of a kept answer."""
        self.spent_s = 0.0
        """The seconds that a question took before recall, which count as part of it."""
        self._boundaries: tuple[tuple[str, int], Ints] = ("", 0), np.zeros(0, np.int64)
        """A revision, and the future moments at which something in it begins or ends."""
        settings = load_settings()
        shared = open_shared(settings.redis_url, store)
        self.answers = AnswerCache(store, settings.answer_cache_mb << 20, shared)
        self.bridges = BridgeCache(store)
        self.samples: tuple[Any, list[str]] = None, []
        """The last sample questions, and what they were made for."""

    def recall(
        self,
        scope: Scope,
        question: str,
        *,
        budget: int | None = None,
        mode: str | None = None,
        plan: Plan | Mapping[str, Any] | None = None,
        on_progress: Progress | None = None,
        turns: Sequence[str] = (),
        quotes: bool = False,
        clock: Clock = time.perf_counter,
    ) -> Recall:
        """Return the answer to a question; if the archive lost texts, the answer without them.

        With `quotes`, sentences of the result will be quoted, as `ask` does.
        """
        asked = (question, budget, mode, plan, on_progress, turns, quotes, clock)
        try:
            return self._recall(scope, *asked)
        except LOST as error:
            recalled = self._recall(replace(scope, archived=False), *asked)
            note = Diagnostic(Reason.ARCHIVE_LOST, "open", str(error))
            return replace(recalled, reasons=(note, *recalled.reasons))

    def _recall(
        self,
        scope: Scope,
        question: str,
        budget: int | None,
        mode: str | None,
        plan: Plan | Mapping[str, Any] | None,
        on_progress: Progress | None,
        turns: Sequence[str],
        quotes: bool,
        clock: Clock,
    ) -> Recall:
        now = self._store.now()
        asked = read_question(question, now)
        relation = relation_asked(self._store, scope, asked)
        ends = None
        if relation is not None:
            asked = replace(asked, intent=Intent.RELATION, evidence=str(relation))
        elif asked.intent is Intent.CONNECTION:
            ends = connected_ends(self._store, scope, asked)
            if ends is None:  # a plain question, then
                why = "the two names are not both known"
                asked = replace(asked, intent=Intent.LOOKUP, evidence=why)
        if mode is not None:
            asked = replace(asked, mode=_mode(mode))
        of_events = time_asked(asked, self._store.moment(scope.as_of)[0]).by_event
        many = mode is None and (relation is not None or asked.many or of_events)
        chosen, diagnostics, usual = plan_for(
            asked, plan, budget, many=many, hard=mode == Mode.EXECUTION, quotes=quotes
        )
        run = Run(chosen, clock, self._store.within, list(diagnostics))
        run.started -= self.spent_s
        here = AskedQuestion(asked, scope.space_name, scope.as_of, now)
        for find in UNSEARCHED:
            recalled = find(run, self._store, scope, here, usual)
            if recalled is not None:
                return recalled
        sought, near = in_context(asked.text, turns)
        if sought != asked.text:
            run.diagnostics.append(Diagnostic(Reason.FOLLOW_UP, "turns", f"read as “{sought}”"))
        encoding = start_encoding(run, self.finder.encoder, sought)
        with ExitStack() as moment:
            if len(asked.text) < len(question):
                cut = f"{len(question)} characters to {len(asked.text)}"
                run.diagnostics.append(Diagnostic(Reason.CUT_QUESTION, "open", cut))
            query, when = self._open(run, moment, scope, here, ends or (), on_progress, turns)
            searched = replace(asked, text=sought)
            retrieved = self.find(run, query, searched, when, encoding, near)
            reader = reader_of(self.finder.encoder)
            ranking = rank_candidates(run, retrieved, self.ranker, reader, chosen.reranker.m)
            related = None
            if relation is not None:
                related, ranking = find_related(run, retrieved, ranking, relation)
            themes = find_themes(run, retrieved, self.finder.encoder)
            here = replace(here, as_of=query.as_of)
            named = (related, ends, themes)
            return answer(run, here, retrieved, ranking, self.finder.encoder, usual, *named)

    def _open(
        self,
        run: Run,
        moment: ExitStack,
        scope: Scope,
        asked: AskedQuestion,
        nodes: Sequence[int],
        on_progress: Progress | None,
        turns: Sequence[str],
    ) -> tuple[QueryContext, TimeAsked]:
        """Open the memory at the time the question asks about; `moment` keeps it open."""
        around = " ".join((asked.question.text, *turns))
        with run.stage("open", reads_all=True) as stage:
            query = moment.enter_context(self.query_context(scope, on_progress, around, nodes))
            stage.found = int(query.mask.sum())
            if not query.indexes.is_whole and self.finder.excerpt_because:
                read = f"{len(query.mask):,} of about {query.graph.size:,} chunks"
                stage.note(Reason.FALLBACK, f"{read} were read: {self.finder.excerpt_because}")
            if "meaning" in run.plan.retriever.retrievers:
                # The time a model takes to load must not count as a late answer.
                wait_until_loaded(self.finder.encoder)
            when = self.time(run, scope, query, asked.question, asked.now)
            if then := _source_moment(scope, query, when):
                query = moment.enter_context(self.query_context(then, on_progress, around, nodes))
            return query, when

    def rank(
        self, scope: Scope, question: str, system: str, limit: int, on_progress: Progress | None
    ) -> list[Hit]:
        """Return the `limit` best passages by one system, best first, with generous time limits."""
        if system not in SYSTEMS:
            raise InvalidInput(f"There is no system {system!r}: use one of {', '.join(SYSTEMS)}.")
        with self.query_context(scope, on_progress, question) as query:
            retrieved, ranking = self._ranked(scope, query, question)
            relation = relation_asked(self._store, scope, retrieved.search.question)
            if relation is not None:
                _, ranking = find_related(Run(UNHURRIED), retrieved, ranking, relation)
            scores = system_scores(retrieved, ranking, system)
            order = np.lexsort((np.arange(len(scores)), -scores))[:limit]
            order = order[np.isfinite(scores[order])]
            return self.finder.hits(
                {int(query.graph.chunks[n]): float(scores[n]) for n in order}, scope.as_of
            )

    def gains(
        self, scope: Scope, question: str, turns: Sequence[str], on_progress: Progress | None
    ) -> dict[int, float]:
        """Map chunk ids to what they gain in a search from the earlier turns of the
        conversation."""
        if not turns:
            return {}
        text = question[:QUESTION_CHARACTERS_AT_MOST]
        with self.query_context(scope, on_progress, " ".join((text, *turns))) as query:
            if len(names_in(text, query.graph, query.lookup)):
                return {}
            gains = gains_of_turns(Run(UNHURRIED), query, self.finder.encoder, turns)
            if gains is None:
                return {}
            best = np.argsort(-gains, kind="stable")[:GAINING_AT_MOST].tolist()
            return {int(query.graph.chunks[number]): float(gains[number]) for number in best}

    def examine(self, scope: Scope, question: str) -> tuple[list[Chunk], Table]:
        """Return the candidates for a question, and a row of features for each, for training."""
        with self.query_context(scope, None, question) as query:
            _, ranking = self._ranked(scope, query, question)
            ids = query.graph.chunks[ranking.numbers].tolist()
            chunks = self._store.chunks.find(ids, scope.as_of)
            if ranking.features is None:
                return [], np.zeros((0, len(FEATURES)), np.float32)
            return [chunks[chunk].chunk for chunk in ids], ranking.features

    def _ranked(
        self, scope: Scope, query: QueryContext, question: str
    ) -> tuple[Retrieved, Ranking]:
        """Find and rank all candidates, with generous limits of time."""
        run = Run(UNHURRIED)
        now = self._store.now()
        asked = read_question(question, now)
        encoding = start_encoding(run, self.finder.encoder, asked.text)
        when = self.time(run, scope, query, asked, now)
        retrieved = self.find(run, query, asked, when, encoding)
        reader = reader_of(self.finder.encoder)
        return retrieved, rank_candidates(run, retrieved, self.ranker, reader, _ALL_CANDIDATES)

    def find(
        self,
        run: Run,
        query: QueryContext,
        question: Question,
        when: TimeAsked,
        encoding: Encoding | None,
        turns: Sequence[str] = (),
    ) -> Retrieved:
        """Find passages: by seeds, walks, the beam, and reading on."""
        within = query.within(when)
        if within is None:
            # Show the nearest passages anyway; `ask` does not answer from them.
            words_of_time = (when.words.said if when.words else "") or "then"
            run.diagnostics.append(
                Diagnostic(Reason.NOTHING_NOTED, "open", f"nothing was noted {words_of_time}")
            )
        search, seeds = find_seeds(run, within or query, encoding, question, when)
        if not len(seeds.named):  # a question that names something does not depend on earlier turns
            gains = gains_of_turns(run, search.query, self.finder.encoder, turns)
            seeds = replace(seeds, turned=gains)
        with run.stage("walk", run.plan.graph.timeout_ms) as stage:
            walks = find_walks(stage, search, seeds)
        beam = run_beam(run, search, seeds)
        with run.stage("read_on", run.plan.retriever.timeout_ms) as stage:
            following = read_on(stage, search, seeds, self.finder.encoder)
        return Retrieved(search, seeds, walks, following, beam)

    def time(
        self, run: Run, scope: Scope, query: QueryContext, question: Question, now: int
    ) -> TimeAsked:
        """Return the time a question asks about; the time of an event is looked up in the notes."""
        asked = time_asked(
            question,
            query.valid,
            since=scope.since,
            until=scope.until,
            by_event=scope.by_event,
            read=run.plan.retriever.time_words and scope.as_of.valid is None,
            # Without a moment of the caller, `valid` is now or a little later.
            timed=query.valid < now or (scope.as_of.valid is not None and query.valid != now),
        )
        words = asked.words
        if words is None or not words.event or words.kind is not TimeKind.SINCE:
            return asked
        if asked.wants is not Wants.HAPPENINGS or not query.notes.any():
            return asked
        mask = query.mask & query.notes
        both = scaled(query.words(words.event), mask)
        encoding = start_encoding(run, self.finder.encoder, words.event)
        with suppress(TimeoutError):  # then words alone find the event
            seconds = run.plan.retriever.timeout_ms / 1000
            vector = encoding(seconds) if encoding else None
            if vector is not None and vector[0] is not None:
                both = both + scaled(query.cosine(vector[0]), mask)
        both = np.where(mask, both, -1.0)
        best = np.array([int(both.argmax())], np.int64)
        return asked.since_event(int(query.indexes.spans(best, query.as_of)[0][0]))

    @contextmanager
    def query_context(
        self,
        scope: Scope,
        on_progress: Progress | None = None,
        question: str = "",
        nodes: Sequence[int] = (),
    ) -> Iterator[QueryContext]:
        """Yield the memory at the moment of a question, narrowed to the chunks it may show.

        The store and the indexes do not change inside. If the memory is too large to hold, only
        the part around the question and the nodes is loaded.
        """
        with ExitStack() as moment:
            with self.finder.around(moment, scope, question, nodes, on_progress) as current:
                graphs = self.finder.graphs_of(current)  # read once: a purge may drop them
                graphs.catch_up(current, scope.space, on_progress)
                graph = graphs.at(current, scope.space, scope.as_of)
                earlier = current.earlier(scope.space, scope.as_of)
                indexes = current.snapshot()
                terms = graphs.tables.terms.snapshot()
                edges = graphs.tables["edges"].snapshot()
                fact_terms = graphs.tables.fact_terms.snapshot()
            topics = self.finder.topics(scope)
            mask = graph.visible | earlier if earlier.any() else graph.visible
            if topics is not None:
                mask = mask & indexes.of_topics(topics)
            if not scope.archived:
                gone = self._store.chunks.archived(scope.as_of)
                mask = mask & ~np.isin(indexes.chunks["id"], gone)
            yield QueryContext(
                self._store,
                scope.space,
                scope.as_of,
                indexes,
                terms,
                graph,
                mask,
                topics,
                edges=edges,
                fact_terms=fact_terms,
                encoder=self.finder.encoder.model,
                clusters=cache(
                    partial(self.finder.hierarchies.at, indexes, scope.space, scope.as_of)
                ),
                stored_bridges=self.bridges.around,
            )

    def holds_until(self, scope: Scope, since: int) -> int:
        """Return until when an answer made at `since` holds while nothing is written: the next
        moment at which a passage, a planned state or an edge begins or ends."""
        if scope.as_of.valid is not None:
            return FOREVER
        if not {"indexes", "graphs"} <= self.finder.__dict__.keys():
            return 0  # only an excerpt was read
        revision = self._store.changefeed.revision()
        if self._boundaries[0] != revision:
            edges = self.finder.graphs.tables["edges"]
            planned = np.array(self._store.topics.planned(since), np.int64)
            columns = (
                edges["valid_from"],
                edges["valid_to"],
                self.finder.indexes.boundaries,
                planned,
            )
            later = np.concatenate([column[column > since] for column in columns])
            self._boundaries = revision, np.unique(later)
        moments = self._boundaries[1]
        at = int(np.searchsorted(moments, since, side="right"))
        return int(moments[at]) if at < len(moments) else FOREVER

    def is_loaded(self, space: int) -> bool:
        """Return whether an earlier question loaded the graph of a space, and it is still here."""
        graphs = self.finder.__dict__.get("graphs")
        return graphs is not None and graphs.is_kept(space)

    def cache_uses(self) -> dict[str, dict[str, int]]:
        """Return how often each cache had each outcome (kept, made …). This call loads no data."""
        graphs = self.finder.__dict__.get("graphs")
        return {
            "graph": {} if graphs is None else dict(graphs.uses),
            "answers": dict(self.answers.uses),
            "bridges": {"kept": self.bridges.hits, "made": self.bridges.misses},
            **{t.name: {"kept": t.hits, "made": t.misses} for t in self._store.kept_tiers()},
        }

    def tiers(self) -> list[Tier]:
        """Return the tiers of answers and graphs in this process. This call loads no data."""
        tiers = [self.answers.kept.tier("answers")]
        uses = self.answers.uses
        if self.answers.shared is not None:
            shared = Tier("shared answers", "redis", hits=uses["shared"], misses=uses["made"])
            tiers.append(shared)
        graphs = self.finder.__dict__.get("graphs")
        if graphs is not None:
            kept, *others = graphs.uses.values()
            tiers.append(Tier("graphs", "memory", len(graphs), hits=kept, misses=sum(others)))
        if self.bridges.hits + self.bridges.misses:
            tiers.append(self.bridges.tier())
        return tiers

    def forget(self) -> None:
        """Drop the arrays and the kept answers after a purge deleted their files."""
        self.finder.forget()
        self.answers.kept.clear()


def _source_moment(scope: Scope, query: QueryContext, asks: TimeAsked) -> Scope | None:
    """Return the scope at the past time that a question names, if files had another text then.

    Only a memory of commits without notes has such texts. Other documents were ingested after the
    time that they are about, so they are used as they are now, and the result is None.
    """
    is_past = asks.words is not None and asks.is_timed and asks.until < query.valid
    if not is_past or not query.indexes.is_whole or (query.mask & query.notes).any():
        return None
    then = replace(scope, as_of=replace(scope.as_of, valid=from_micros(asks.until)))
    gone = query.indexes.visible(scope.space, then.as_of) & ~query.graph.visible
    return then if gone.any() else None


def _mode(mode: str) -> Mode:
    try:
        return Mode(mode)
    except ValueError as error:
        raise InvalidInput(f"There is no mode {mode!r}: use one of {', '.join(Mode)}.") from error
