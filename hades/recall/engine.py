"""The recall engine: a question goes in, an answer object comes out.

    intent → plan → seeds → walk → rank → paths → pack

Each stage is a file of its own here; this one puts them in order, within the plan.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import cache
from hashlib import blake2b
from pathlib import Path as FilePath
from typing import Any

import numpy as np

from hades.domain.answer import Diagnostic, Intent, Mode, Recall, TimeKind, Wants
from hades.domain.graph import Reason
from hades.domain.tiers import Tier
from hades.domain.times import FOREVER, from_micros
from hades.domain.topics import Chunk, Hit
from hades.errors import InvalidInput
from hades.graph.arrays import Floats, Ints
from hades.models.encoder import wait_until_loaded
from hades.recall.answer import answering, overview, relations
from hades.recall.answer_cache import AnswerCache, open_shared
from hades.recall.find import beam as beaming
from hades.recall.find import retrieve
from hades.recall.find.finder import Finder, Scope
from hades.recall.find.read_on import reading_on
from hades.recall.find.signals import scaled
from hades.recall.plan import Budget, Graph, Plan, Reranker, Retriever, make_plan, sized
from hades.recall.query_context import QueryContext
from hades.recall.question.intent import (
    PLANNING_PASSAGES,
    asks_for_list,
    choose_mode,
    default_plan,
    read_intent,
)
from hades.recall.question.time_asked import TimeAsked, time_asked
from hades.recall.rank.features import FEATURES
from hades.recall.rank.ranker import Ranker, Table, shipped_ranker
from hades.recall.run import Clock, Run, Stage
from hades.settings import load_settings
from hades.store.archive import LOST
from hades.store.records import Progress
from hades.store.store import Store

SYSTEMS = ("dense", "words", "hybrid", "ppr", "fusion", "full")
"""The ladder of baselines, each with more of the recipe than the one before."""

QUESTION_CHARACTERS_AT_MOST = 4_000
"""What is longer is cut: the encoder reads no more than that anyway."""
_UNHURRIED_MS = 60_000


class RecallEngine:
    """Answers questions over one memory; made once, shared by its views."""

    def __init__(self, store: Store, encoder: str, ranker: FilePath | None = None) -> None:
        self._store = store
        self.finder = Finder(store, encoder)
        self.ranker = shipped_ranker() if ranker is None else Ranker.load(ranker)
        weights = b"".join(one.tobytes() for one in self.ranker.weights.values())
        self.answered_by = (encoder, blake2b(weights, digest_size=8).hexdigest())
        """What an answer depends on beside the memory and the question."""
        self._turns: tuple[tuple[str, int], Ints] = ("", 0), np.zeros(0, np.int64)
        """By memory and change: the moments to come at which something begins or ends."""
        settings = load_settings()
        shared = open_shared(settings.redis_url, store)
        self.answers = AnswerCache(store, settings.answer_cache_mb << 20, shared)

    def recall(
        self,
        scope: Scope,
        question: str,
        *,
        budget: int | None,
        mode: str | None,
        plan: Plan | Mapping[str, Any] | None,
        on_progress: Progress | None,
        clock: Clock = time.perf_counter,
    ) -> Recall:
        """The answer object for a question; without what the archive lost."""
        asked = (question, budget, mode, plan, on_progress, clock)
        try:
            return self._recall(scope, *asked)
        except LOST as error:
            found = self._recall(replace(scope, archived=False), *asked)
            note = Diagnostic(Reason.ARCHIVE_LOST, "open", str(error))
            return replace(found, reasons=(note, *found.reasons))

    def _recall(
        self,
        scope: Scope,
        question: str,
        budget: int | None,
        mode: str | None,
        plan: Plan | Mapping[str, Any] | None,
        on_progress: Progress | None,
        clock: Clock,
    ) -> Recall:
        asked = question[:QUESTION_CHARACTERS_AT_MOST]
        intent, evidence = read_intent(asked)
        relation = relations.relation_asked(self._store, scope, asked)
        if relation is not None:
            intent, evidence = Intent.RELATION, f"it asks for {relation}"
        chosen = choose_mode(asked) if mode is None else _mode(mode)
        made, diagnostics = _usual_plan(intent, chosen)
        if mode is None and (relation is not None or asks_for_list(asked)):
            made, diagnostics = make_plan(made, {"final_context": PLANNING_PASSAGES})
        usual = made.final_context
        if plan is not None:
            made, diagnostics = make_plan(made, plan)
        if budget is not None:
            room = {"budget": {"tokens": budget}} if plan else sized(made, budget)
            made, diagnostics = make_plan(made, room)
        run = Run(made, clock, self._store.within, list(diagnostics))
        said = (intent, evidence, chosen, scope.space_name)
        told = overview.overview(run, self._store, scope, asked, said, usual)
        if told is not None:
            return told
        encoded = retrieve.encoding(run, self.finder.encoder, asked)
        with ExitStack() as moment:
            with run.stage("open", reads_all=True) as stage:
                query = moment.enter_context(self.query_context(scope, on_progress, asked))
                stage.found = int(query.mask.sum())
                if not query.indexes.is_whole:
                    read = f"{len(query.mask):,} of about {query.graph.size:,} chunks"
                    stage.note(Reason.FALLBACK, f"{read} were read: memory_mb is less than all")
                if len(asked) < len(question):
                    stage.note(Reason.CUT_QUESTION, f"{len(question)} characters to {len(asked)}")
                if encoded is not None:
                    # How long a model takes to load tells nothing of how late its answers come.
                    wait_until_loaded(self.finder.encoder)
                asks = self.time(scope, query, asked, made.retriever.time_words, stage)
                if then := _source_moment(scope, query, asks):
                    query = moment.enter_context(self.query_context(then, on_progress, asked))
            found = self.find(run, query, asked, made.reranker.m, encoded, intent, asks)
            related = None if relation is None else relations.lead(run, found, relation)
            return answering.answer(run, found, *said, self.finder.encoder, usual, related)

    def rank(
        self, scope: Scope, question: str, system: str, limit: int, on_progress: Progress | None
    ) -> list[Hit]:
        """The passages in the order of one system, best first, whatever it costs."""
        if system not in SYSTEMS:
            raise InvalidInput(f"There is no system {system!r}: {', '.join(SYSTEMS)}.")
        with self.query_context(scope, on_progress, question) as query:
            found = self._found(scope, query, question)
            relation = relations.relation_asked(self._store, scope, question)
            if relation is not None:
                relations.lead(Run(UNHURRIED), found, relation)
            scores = system_scores(found, system)
            order = np.lexsort((np.arange(len(scores)), -scores))[:limit]
            order = order[np.isfinite(scores[order])]
            return self.finder.hits(
                {int(query.graph.chunks[n]): float(scores[n]) for n in order}, scope.as_of
            )

    def examine(self, scope: Scope, question: str) -> tuple[list[Chunk], Table]:
        """The candidates for a question and their features: what a ranker learns from."""
        with self.query_context(scope, None, question) as query:
            found = self._found(scope, query, question, read_intent(question)[0])
            ids = query.graph.chunks[found.numbers].tolist()
            chunks = self._store.chunks.find(ids, scope.as_of)
            if found.features is None:
                return [], np.zeros((0, len(FEATURES)), np.float32)
            return [chunks[one].chunk for one in ids], found.features

    def _found(
        self, scope: Scope, query: QueryContext, question: str, intent: Intent = Intent.LOOKUP
    ) -> retrieve.Retrieved:
        """All that can be found, whatever it costs."""
        asked = question[:QUESTION_CHARACTERS_AT_MOST]
        asks = self.time(scope, query, asked)
        return self.find(Run(UNHURRIED), query, asked, 10_000, None, intent, asks)

    def find(
        self,
        run: Run,
        query: QueryContext,
        question: str,
        limit: int,
        encoded: retrieve.Encoding | None = None,
        intent: Intent = Intent.LOOKUP,
        asks: TimeAsked | None = None,
    ) -> retrieve.Retrieved:
        """Find passages: seeds, walks, beam and ranking."""
        encoded = encoded or retrieve.encoding(run, self.finder.encoder, question)
        asks = asks or time_asked(question, self._store.now(), query.valid, read=False)
        within = query.within(asks)
        if within is None:
            # What is near to it is shown all the same, and `ask` does not take it for an answer.
            said = asks.words.said if asks.words else "then"
            run.diagnostics.append(
                Diagnostic(Reason.NOTHING_NOTED, "open", f"nothing was noted {said}")
            )
        found = retrieve.find_seeds(run, within or query, encoded, question, asks)
        with reading_on(run, found, self.finder.encoder), retrieve.walking(run, found):
            beaming.run_beam(run, found)
        retrieve.rank(run, found, self.ranker, limit, intent)
        return found

    def time(
        self,
        scope: Scope,
        query: QueryContext,
        question: str,
        read: bool = True,
        stage: Stage | None = None,
    ) -> TimeAsked:
        """The time a question asks about; an event it speaks of is looked up among the notes."""
        asked = time_asked(
            question,
            self._store.now(),
            query.valid,
            since=scope.since,
            until=scope.until,
            read=read and scope.as_of.valid is None,
        )
        words = asked.words
        if words is None or not words.event or words.kind is not TimeKind.SINCE:
            return asked
        if asked.wants is not Wants.HAPPENINGS or not query.notes.any():
            return asked
        mask = query.mask & query.notes
        both = scaled(query.words(words.event), mask)
        run = stage.run if stage else Run(UNHURRIED)
        encoded = retrieve.encoding(run, self.finder.encoder, words.event)
        with suppress(TimeoutError):  # then words alone must find it
            seconds = run.plan.retriever.timeout_ms / 1000
            vector = encoded(seconds) if encoded else None
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
        """The memory at the moment of a question, narrowed to what may be shown.

        Inside, the store and the indexes stay as they are at that moment. Of a memory that is
        too large to hold, only what is around the question and the nodes is there.
        """
        with ExitStack() as moment:
            with self.finder.around(moment, scope, question, nodes, on_progress) as current:
                graphs = self.finder.graphs_of(current)  # read once: a purge may drop them
                graphs.catch_up(current, scope.space, on_progress)
                graph = graphs.at(current, scope.space, scope.as_of)
                earlier = current.earlier(scope.space, scope.as_of)
                indexes, terms = current.snapshot(), graphs.tables.terms.snapshot()
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
                *(self._store, scope.space, scope.as_of, indexes, terms, graph, mask, topics),
                edges=edges,
                fact_terms=fact_terms,
                encoder=self.finder.encoder.model,
            )

    def holds_until(self, scope: Scope, since: int) -> int:
        """Until when an answer given since then holds, while nothing is written: the next moment
        at which a passage, a planned state or an edge begins or ends."""
        if scope.as_of.valid is not None:
            return FOREVER
        if not {"indexes", "graphs"} <= self.finder.__dict__.keys():
            return 0  # only an excerpt was read
        revision = self._store.changefeed.revision()
        if self._turns[0] != revision:
            edges = self.finder.graphs.tables["edges"]
            planned = np.array(self._store.topics.planned(since), np.int64)
            all_turns = [edges["valid_from"], edges["valid_to"], self.finder.indexes.turns, planned]
            self._turns = (
                revision,
                np.unique(np.concatenate([one[one > since] for one in all_turns])),
            )
        turns = self._turns[1]
        at = int(np.searchsorted(turns, since, side="right"))
        return int(turns[at]) if at < len(turns) else FOREVER

    def cache_uses(self) -> dict[str, dict[str, int]]:
        """How often what is kept was used again; loads nothing. By cache, by outcome."""
        graphs = self.finder.__dict__.get("graphs")
        return {
            "graph": {} if graphs is None else dict(graphs.uses),
            "answers": dict(self.answers.uses),
            **{t.name: {"kept": t.hits, "made": t.misses} for t in self._store.kept_tiers()},
        }

    def tiers(self) -> list[Tier]:
        """What this process keeps of answers and graphs; loads nothing."""
        found, uses = [self.answers.kept.tier("answers")], self.answers.uses
        if self.answers.shared is not None:
            shared = Tier("shared answers", "redis", hits=uses["shared"], misses=uses["made"])
            found.append(shared)
        graphs = self.finder.__dict__.get("graphs")
        if graphs is not None:
            kept, *others = graphs.uses.values()
            found.append(Tier("graphs", "memory", len(graphs), hits=kept, misses=sum(others)))
        return found

    def forget(self) -> None:
        """Let go of the arrays: their files are gone. And of answers: something was purged."""
        self.finder.forget()
        self.answers.kept.clear()


UNHURRIED = Plan(
    retriever=Retriever(timeout_ms=_UNHURRIED_MS),
    graph=Graph(timeout_ms=_UNHURRIED_MS),
    reranker=Reranker(timeout_ms=_UNHURRIED_MS),
    budget=Budget(latency_ms=_UNHURRIED_MS),
)
"""The default plan without its hurry: what evaluation and training use."""


def system_scores(retrieved: retrieve.Retrieved, system: str) -> Any:
    """What one system says of every passage, by chunk number; -inf: not retrieved."""
    signals = retrieved.signals
    if system == "full":
        # The ranked ones first, in their order; then the rest by what the retrievers say.
        scores = signals.prior - 1e6
        scores[retrieved.numbers] = retrieved.scores
    else:
        walked = signals.walked / max(1e-12, float(signals.walked.max(initial=0.0)))
        plain = (scaled(signals.cosine, signals.mask) + scaled(signals.words, signals.mask)) / 2
        scores = {
            "dense": signals.cosine,
            "words": np.where(signals.words > 0, signals.words, -np.inf),
            "hybrid": plain,
            # A walk reaches few: what it never came to follows by the prior.
            "ppr": np.where(walked > 0, 1 + walked, signals.prior * 1e-3),
            "fusion": _fused(retrieved),
        }[system]
    return np.where(signals.mask, scores, -np.inf)


def _source_moment(scope: Scope, query: QueryContext, asks: TimeAsked) -> Scope | None:
    """The time in the words of a question, where sources said something else by then.

    Such is a memory of a history of commits, without notes. Other documents were taken in
    later than what they tell of: they stay as they are now.
    """
    is_past = asks.words is not None and asks.is_timed and asks.until < query.valid
    if not is_past or not query.indexes.is_whole or (query.mask & query.notes).any():
        return None
    then = replace(scope, as_of=replace(scope.as_of, valid=from_micros(asks.until)))
    gone = query.indexes.visible(scope.space, then.as_of) & ~query.graph.visible
    return then if gone.any() else None


def _fused(retrieved: retrieve.Retrieved) -> Floats:
    """The fusion of prior, walk and belief, weighed as the mode of the question says."""
    signals, believed = retrieved.signals, np.zeros(len(retrieved.signals.mask))
    believed[retrieved.numbers] = retrieved.belief
    weights = _usual_plan(Intent.LOOKUP, choose_mode(retrieved.question))[0].reranker.fusion
    return retrieve.fused(signals.prior, signals.walked, believed, weights)


@cache
def _usual_plan(intent: Intent, mode: Mode) -> tuple[Plan, tuple[Diagnostic, ...]]:
    return make_plan(default_plan(intent, mode), None)


def _mode(mode: str) -> Mode:
    try:
        return Mode(mode)
    except ValueError as error:
        raise InvalidInput(f"There is no mode {mode!r}: {', '.join(Mode)}.") from error
