"""Answering: what was found becomes passages, paths and a packed context, with citations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from hades.context.pack import Packed, pack
from hades.domain.answer import Conveyance, Intent, Mode, Passage, Path, Recall, Wants
from hades.domain.graph import Reason
from hades.domain.strength import strength_of
from hades.domain.times import AsOf, from_micros
from hades.graph.arrays import Ints
from hades.models.encoder import Encoder
from hades.recall.answer import history
from hades.recall.answer.conveyance import Sent, conveyance
from hades.recall.answer.fact_search import find_facts
from hades.recall.answer.relations import RelationAsked, related_facts
from hades.recall.answer.told import SHARE_OF_BEST
from hades.recall.find.beam import beam_paths
from hades.recall.find.retrieve import Retrieved
from hades.recall.paths.pathways import Pathways
from hades.recall.question.time_asked import TimeAsked
from hades.recall.rank import belief
from hades.recall.run import Run, Stage
from hades.store.records import Phase, PlacedChunk

ENTITIES_AT_MOST = 20
"""Names of a passage that are shown with it."""
RELEVANT = 0.01
"""A passage that is wanted less likely than this does not fill a large budget."""


def answer(
    run: Run,
    retrieved: Retrieved,
    intent: Intent,
    evidence: str,
    mode: Mode,
    space: str,
    encoder: Encoder,
    usual: int,
    related: RelationAsked | None = None,
) -> Recall:
    """The answer object for what was found; beyond `usual` passages only what is relevant."""
    numbers: dict[str, int] = {}
    chosen = _passages(run, retrieved, numbers, usual)
    paths = _paths(run, retrieved, chosen, numbers)
    with run.stage("facts", run.plan.retriever.timeout_ms) as stage:
        if related is None:
            facts = find_facts(stage, retrieved, encoder, run.plan.facts)
        else:
            facts = related_facts(related, retrieved.query, run.plan.facts)
        stage.found = len(facts)
    if not retrieved.are_notes:  # of notes every version was a candidate
        chosen += history.earlier(run, retrieved, chosen, intent)
    with run.stage("pack") as stage:
        plan = run.plan
        packed = pack(
            retrieved.question,
            chosen,
            paths,
            budget=plan.budget.tokens,
            passages_at_most=plan.final_context + plan.history,
            paths_at_most=plan.paths,
            facts=facts,
        )
        run.diagnostics += packed.diagnostics
        if related is not None and len(packed.facts) < len(related.edges):
            shown = f"{len(packed.facts)} of {len(related.edges)} edges"
            stage.note(Reason.BUDGET_EXHAUSTED, f"{shown}; all: {related.command}")
        stage.found = len(packed.passages)
        stage.cut = len(chosen) - len(packed.passages)
        stage.coverage = coverage = _coverage(retrieved, _of(packed.passages, numbers))
    moments = [
        belief.of_probability(passage.belief.mean)
        for passage in packed.passages
        if passage.id in numbers
    ]
    moments += [belief.of_probability(fact.score) for fact in packed.facts]
    return put_together(
        *(run, retrieved.question, retrieved.asks, retrieved.query.as_of),
        *((intent, evidence, mode, space), packed, moments),
        conveyed(run, packed, coverage, (chosen, len(paths) + len(facts))),
        notes=retrieved.are_notes,
    )


def put_together(
    run: Run,
    question: str,
    asks: TimeAsked,
    as_of: AsOf,
    said: tuple[Intent, str, Mode, str],
    packed: Packed,
    moments: list[belief.Moments],
    measured: Conveyance,
    *,
    notes: bool,
    level: int = 0,
) -> Recall:
    """The answer object for what was packed; `said` is what is said of the question."""
    intent, evidence, mode, space = said
    return Recall(
        question=question,
        intent=intent,
        evidence=evidence,
        mode=mode,
        space=space,
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
        valid=as_of.valid,
        known=as_of.known,
        facts=packed.facts,
        notes=notes,
        wants=Wants.HAPPENINGS if asks.wants_happenings else asks.wants,
        time=asks.words,
        level=level,
    )


def _passages(run: Run, retrieved: Retrieved, numbers: dict[str, int], usual: int) -> list[Passage]:
    """The best candidates as passages, without doubles; no more than the plan has room for."""
    with run.stage("read") as stage:
        wanted = run.plan.final_context
        ids = retrieved.query.graph.chunks[retrieved.numbers].tolist()
        chosen: dict[int, PlacedChunk] = {}
        texts: set[tuple[str, str]] = set()
        doubles = 0
        for place, standing in enumerate(_read(retrieved, ids, wanted)):
            if standing is None:
                continue
            chunk = standing.chunk
            # Of two notes that say the same each tells of its own topic.
            text = (chunk.topic if retrieved.are_notes else "", chunk.text.strip())
            if text in texts:
                doubles += 1
                continue
            if len(chosen) >= wanted:
                break
            if len(chosen) >= usual and float(retrieved.belief[place]) < RELEVANT:
                break
            texts.add(text)
            chosen[place] = standing
        made: list[Passage] = []
        for place, standing in _with_current(retrieved, chosen, wanted).items():
            made.append(_passage(retrieved, place, standing))
            numbers[standing.chunk.id] = int(retrieved.numbers[place])
        stage.found, stage.cut = len(made), len(ids) - len(made)
        stage.dedupe_rate = doubles / max(1, len(made) + doubles)
        stage.coverage = _coverage(retrieved, _of(made, numbers))
        _say_what_is_missing(stage, retrieved, made)
        if retrieved.are_notes and made:  # a promoted state says again what was noted before
            at, query = np.array([numbers[one.id] for one in made]), retrieved.query
            begun = map(from_micros, query.indexes.spans(at, query.as_of)[0].tolist())
            made = [
                replace(one, valid_from=min(one.valid_from, noted))
                for one, noted in zip(made, begun, strict=True)
            ]
        return _with_entities(retrieved, made, numbers)


def _with_current(
    retrieved: Retrieved, chosen: dict[int, PlacedChunk], wanted: int
) -> dict[int, PlacedChunk]:
    """Add the current version of each note of which only earlier versions were chosen.

    Passages are keyed by their place in the ranking. Without room, the current version replaces the
    last passage of another topic, or else the last version of its own note. It replaces nothing of
    another topic if the belief in the chosen version is below SHARE_OF_BEST.
    """
    query, ranked, current = retrieved.query, retrieved.numbers.tolist(), retrieved.current
    topic, least = query.indexes.chunks["topic"], SHARE_OF_BEST * retrieved.belief.max(initial=0.0)
    kept, added = [*chosen], dict[int, int]()

    def holds(place: int) -> bool:
        return bool(current.get(ranked[place]) == ranked[place])

    for place in chosen:
        number = current.get(ranked[place])
        own = [one for one in (*kept, *added) if topic[ranked[one]] == topic[ranked[place]]]
        if place not in own or number not in ranked or any(map(holds, own)):
            continue
        if len(kept) + len(added) >= wanted:
            others = [one for one in kept if one not in own]
            if others and retrieved.belief[place] >= least:
                kept.remove(others[-1])
            elif len(own) > 1:
                kept.remove(own[-1])
            else:
                continue
        added[ranked.index(number)] = int(query.graph.chunks[number])
    found = query.store.chunks.find([*added.values()], query.as_of) if added else {}
    more = {place: found[one] for place, one in added.items() if one in found}
    return dict(sorted({**{place: chosen[place] for place in kept}, **more}.items()))


def _with_entities(
    retrieved: Retrieved, passages: Sequence[Passage], numbers: dict[str, int]
) -> list[Passage]:
    """The passages with the names that each mentions."""
    graph, found = retrieved.query.graph, dict[str, list[int]]()
    for one in passages:
        _, near, _ = graph.adjacency.of(np.array([numbers[one.id]]))
        near = near[(near >= graph.first_entity) & (near < graph.first_topic)]
        near = near[~graph.barred[near]] - graph.first_entity
        rarest = near[np.lexsort((near, graph.frequency[near]))][:ENTITIES_AT_MOST]
        found[one.id] = graph.entities[rarest].tolist()
    names = retrieved.query.store.entities.names([*{one for own in found.values() for one in own}])
    return [replace(one, entities=tuple(names[n] for n in found[one.id])) for one in passages]


def _say_what_is_missing(stage: Stage, retrieved: Retrieved, made: Sequence[Passage]) -> None:
    query = retrieved.query
    if not made and not query.graph.size and not query.graph.adjacency.has_arcs:
        stage.note(Reason.NOTHING_KNOWN, "nothing was known at that time")
    count = query.store.chunks.pending_count
    if waiting := count(query.space) - count(query.space, Phase.EMBEDDINGS):
        why = "open the memory for writing once" if query.store.read_only else "ask again later"
        stage.note(Reason.NOT_INDEXED, f"{waiting} states wait: {why}")


def _read(retrieved: Retrieved, ids: Sequence[int], at_once: int) -> Iterator[PlacedChunk | None]:
    """The chunks in their order, read a few at a time: most are never asked for."""
    for first in range(0, len(ids), at_once):
        part = ids[first : first + at_once]
        found = retrieved.query.store.chunks.find(part, retrieved.query.as_of)
        yield from (found.get(one) for one in part)


def _passage(retrieved: Retrieved, place: int, found: PlacedChunk) -> Passage:
    signals, number = retrieved.signals, int(retrieved.numbers[place])
    chance, scores = float(retrieved.belief[place]), retrieved.scores
    low, high = float(scores.min()), float(scores.max())
    # What the ranker says on a scale of 0 to 1: the best candidate is 1, the last 0.
    score = (float(scores[place]) - low) / (high - low) if high > low else 1.0
    walked = float(signals.walked[number]) / max(1e-12, float(signals.walked.max(initial=0.0)))
    parts = {
        "meaning": float(signals.cosine[number]),
        "words": float(signals.words[number]),
        "names": float(signals.walked_names[number]),
        "walk": walked,
        "prior": float(signals.prior[number]),
        "rank": float(retrieved.scores[place]),
    }
    if retrieved.recency is not None:
        parts["recency"] = float(retrieved.recency[place])
    return Passage(
        chunk=found.chunk,
        line=found.line,
        end_line=found.end_line,
        valid_from=found.valid_from,
        recorded_at=found.recorded_at,
        score=round(score, 6),
        parts={name: round(value, 6) for name, value in parts.items()},
        retrievers=_retrievers(retrieved, number),
        belief=belief.interval(belief.of_probability(chance * found.confidence)),
        valid_to=found.valid_to,
        confidence=found.confidence,
        importance=found.importance,
        superseded=number in retrieved.superseded,
        held=retrieved.held.get(number, ""),
        strength=strength_of(found, from_micros(retrieved.query.valid)),
    )


def _retrievers(retrieved: Retrieved, number: int) -> tuple[str, ...]:
    """Which retrievers found a passage."""
    signals = retrieved.signals
    retrievers = [
        retriever
        for retriever, scores in (("meaning", signals.cosine), ("words", signals.words))
        if scores[number] > 0 and scores[number] >= retrieved.least[retriever]
    ]
    if "meaning" in retrievers and not retrieved.query.indexes.has_vector(number):
        retrievers.remove("meaning")  # its words stood in for it
    at = int(np.searchsorted(retrieved.naming, number))
    if at < len(retrieved.naming) and retrieved.naming[at] == number:
        retrievers.append("names")
    if not retrievers or ("names" not in retrievers and signals.walked_names[number] > 0):
        retrievers.append("graph")
    return tuple(retrievers)


def _paths(
    run: Run, retrieved: Retrieved, chosen: Sequence[Passage], numbers: dict[str, int]
) -> list[Path]:
    plan = run.plan.graph
    with run.stage("paths", plan.timeout_ms) as stage:
        if not run.plan.paths or not plan.hops or not (plan.flow or retrieved.beam):
            stage.note(Reason.SWITCHED_OFF)
            return []
        if not retrieved.query.graph.adjacency.has_arcs:
            stage.note(Reason.EMPTY_GRAPH)
            return []
        if not chosen and not len(retrieved.signals.named):
            stage.note(Reason.NOTHING_FOUND)
            return []
        passages = [numbers[one.id] for one in chosen]
        paths = Pathways(run, stage, retrieved).to(passages) if plan.flow else []
        more = beam_paths(retrieved, set(passages), paths, run.plan.paths)
        stage.found += len(more)
        return paths + more


def _of(passages: Sequence[Passage], numbers: dict[str, int]) -> Ints:
    return np.array([numbers[one.id] for one in passages if one.id in numbers], np.int64)


def _coverage(retrieved: Retrieved, numbers: Ints) -> float:
    """The share of the question's words, by weight, that passages have."""
    if not retrieved.terms or not len(numbers):
        return 0.0
    weight = np.array([retrieved.query.indexes.words.rarity(term) for term in retrieved.terms])
    has = retrieved.query.terms.having(retrieved.query.graph.chunks[numbers], retrieved.terms)
    return float(has.max(0, initial=0.0) @ weight / max(1e-9, float(weight.sum())))


def conveyed(
    run: Run, packed: Packed, coverage: float, offered: tuple[Sequence[Passage], int]
) -> Conveyance:
    """`offered` are the passages that could be packed, and how many paths and facts."""
    chosen, others = offered
    steps = [step for path in packed.paths for step in path.steps]
    named = {node.name for path in packed.paths for node in path.nodes if node.kind == "chunk"}
    named |= {step.chunk for step in steps}

    def sent(passages: Sequence[Passage], covered: float) -> Sent:
        ranked = [one for one in passages if "history" not in one.parts]
        joined = sum("names" in one.retrievers or one.id in named for one in ranked)
        count = max(1, len(ranked))
        return covered, joined / count, sum(one.belief.mean for one in ranked) / count

    found = max((one.coverage for one in run.reports if one.stage == "read"), default=0.0)
    told = len(packed.passages) + len(packed.facts)
    coherence = sum(one.id in named for one in packed.passages) / max(1, len(packed.passages))
    fit = sum(not one.capped and not one.early_stop for one in run.reports) / len(run.reports)
    cited = told + sum(bool(one.chunk or one.snippet) for one in steps)
    return conveyance(
        sent(packed.passages, coverage),
        sent(chosen, found),
        seconds=run.ms / 1000,
        context=min(packed.evidence_tokens / max(1, packed.tokens), 1.0),
        others=(coherence, fit, cited / max(1, told + len(steps))),
        compatibility=(told + len(packed.paths)) / max(1, len(chosen) + others),
    )
