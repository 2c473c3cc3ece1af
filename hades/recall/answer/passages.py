"""Passages of an answer: read the best candidates, without duplicates, each with its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

import numpy as np

from hades.domain.answer import Passage
from hades.domain.graph import Reason
from hades.domain.strength import strength_of
from hades.domain.times import from_micros
from hades.domain.topics import Chunk, PlacedChunk, State
from hades.graph.arrays import Ints
from hades.recall.answer.events import with_events
from hades.recall.answer.told import SHARE_OF_BEST
from hades.recall.find.results import Retrieved, SearchQuery
from hades.recall.query_context import QueryContext
from hades.recall.rank import belief
from hades.recall.rank.ranking import Ranking
from hades.recall.run import Run, Stage
from hades.store.records import Phase

ENTITIES_AT_MOST = 20
"""The most names shown with a passage."""
RELEVANT = 0.01
"""The least belief of a passage beyond the usual number, however large the budget."""


def choose_passages(
    run: Run, retrieved: Retrieved, ranking: Ranking, usual: int
) -> tuple[list[Passage], dict[str, int]]:
    """Return the best candidates as passages, as many as the plan has room for.

    Passages beyond the first `usual` ones must be likely answers. Also return the chunk
    number of each passage, by id.
    """
    query = retrieved.search.query
    with run.stage("read") as stage:
        placed, doubles = _chosen(query, ranking, run.plan.final_context, usual)
        placed = _with_current(query, ranking, placed, run.plan.final_context)
        passages = [_passage(retrieved, ranking, place, one) for place, one in placed.items()]
        at = ranking.numbers[list(placed)]
        stage.found = len(passages)
        stage.cut = len(ranking.numbers) - len(passages)
        stage.dedupe_rate = doubles / max(1, len(passages) + doubles)
        stage.coverage = coverage_of(retrieved.search, at)
        _note_what_is_missing(stage, query, passages)
        if ranking.are_notes and passages:  # a promoted state repeats sentences noted earlier
            begun = map(from_micros, query.indexes.spans(at, query.as_of)[0].tolist())
            passages = [
                replace(passage, valid_from=min(passage.valid_from, noted))
                for passage, noted in zip(passages, begun, strict=True)
            ]
            passages = with_events(retrieved.search, passages, query.notes[at].tolist())
        passages = _with_entities(query, passages, at)
        ids = (passage.id for passage in passages)
        numbers = dict(zip(ids, at.tolist(), strict=True))
        return passages, numbers


def coverage_of(search: SearchQuery, numbers: Ints) -> float:
    """Return the share of the question's words, by weight, that these chunks contain together."""
    has_term, weight = search.term_table(numbers)
    return float(has_term.max(0, initial=0.0) @ weight)


def _chosen(
    query: QueryContext, ranking: Ranking, wanted: int, usual: int
) -> tuple[dict[int, PlacedChunk], int]:
    """Return the best chunks by their place in the ranking, and the number of duplicates left out.

    A duplicate has the text of a better chunk. Two notes with the same text are both kept, because
    each is about its own topic.
    """
    chosen: dict[int, PlacedChunk] = {}
    texts: set[tuple[str, str]] = set()
    doubles = 0
    ids = query.graph.chunks[ranking.numbers].tolist()
    for place, placed in enumerate(_in_batches(query, ids, wanted)):
        if placed is None:
            continue
        text = (placed.chunk.topic if ranking.are_notes else "", placed.chunk.text.strip())
        if text in texts:
            doubles += 1
            continue
        if len(chosen) >= wanted:
            break
        if len(chosen) >= usual and float(ranking.belief[place]) < RELEVANT:
            break
        texts.add(text)
        chosen[place] = placed
    return chosen, doubles


def _in_batches(
    query: QueryContext, ids: Sequence[int], at_once: int
) -> Iterator[PlacedChunk | None]:
    """Yield chunks in order, None for a missing one; read in batches, since few are needed."""
    for first in range(0, len(ids), at_once):
        part = ids[first : first + at_once]
        placed = query.store.chunks.find(part, query.as_of)
        yield from (placed.get(chunk) for chunk in part)


def _with_current(
    query: QueryContext, ranking: Ranking, chosen: dict[int, PlacedChunk], wanted: int
) -> dict[int, PlacedChunk]:
    """Add the current version of each note of which only earlier versions were chosen.

    Passages are keyed by their place in the ranking. If there is no room, the current version
    replaces the last passage of another topic, or else the last version of its own note. If the
    belief in the chosen version is below SHARE_OF_BEST, passages of other topics stay.
    """
    ranked = ranking.numbers.tolist()
    current = ranking.current
    topic = query.indexes.chunks["topic"]
    least = SHARE_OF_BEST * ranking.belief.max(initial=0.0)
    kept = [*chosen]
    added = dict[int, int]()

    def holds(place: int) -> bool:
        return bool(current.get(ranked[place]) == ranked[place])

    for place in chosen:
        number = current.get(ranked[place])
        own = [at for at in (*kept, *added) if topic[ranked[at]] == topic[ranked[place]]]
        if place not in own or number not in ranked or any(map(holds, own)):
            continue
        if len(kept) + len(added) >= wanted:
            others = [at for at in kept if at not in own]
            if others and ranking.belief[place] >= least:
                kept.remove(others[-1])
            elif len(own) > 1:
                kept.remove(own[-1])
            else:
                continue
        added[ranked.index(number)] = int(query.graph.chunks[number])
    read = query.store.chunks.find([*added.values()], query.as_of) if added else {}
    more = {place: read[chunk] for place, chunk in added.items() if chunk in read}
    return dict(sorted({**{place: chosen[place] for place in kept}, **more}.items()))


def _passage(retrieved: Retrieved, ranking: Ranking, place: int, placed: PlacedChunk) -> Passage:
    seeds = retrieved.seeds
    walks = retrieved.walks
    number = int(ranking.numbers[place])
    chance = float(ranking.belief[place])
    scores = ranking.scores
    low = float(scores.min())
    high = float(scores.max())
    # The ranker's score on a scale of 0 to 1: the best candidate is 1, the last 0.
    score = (float(scores[place]) - low) / (high - low) if high > low else 1.0
    parts = {
        "meaning": float(seeds.cosine[number]),
        "words": float(seeds.words[number]),
        "names": float(walks.from_names[number]),
        "walk": float(walks.joined[number]) / max(1e-12, float(walks.joined.max(initial=0.0))),
        "prior": float(seeds.prior[number]),
        "rank": float(scores[place]),
    }
    if ranking.recency is not None:
        parts["recency"] = float(ranking.recency[place])
    return Passage(
        chunk=placed.chunk,
        line=placed.line,
        end_line=placed.end_line,
        valid_from=placed.valid_from,
        recorded_at=placed.recorded_at,
        score=round(score, 6),
        parts={name: round(value, 6) for name, value in parts.items()},
        retrievers=_retrievers(retrieved, number),
        belief=belief.interval(belief.of_probability(chance * placed.confidence)),
        valid_to=placed.valid_to,
        confidence=placed.confidence,
        importance=placed.importance,
        superseded=number in ranking.superseded,
        held=ranking.held.get(number, ""),
        best=ranking.best.get(number, ""),
        units=ranking.units.get(number, ()),
        strength=strength_of(placed, from_micros(retrieved.search.query.valid)),
    )


def state_passage(
    state: State, chunk: Chunk, found_by: str, score: float, chance: float, now: datetime
) -> Passage:
    """Return a chunk of a state as a passage, though it was not ranked.

    It comes from the history or a summary; `chance` is how likely it answers.
    """
    content = state.content
    lines = [
        content.count("\n", 0, at) + 1 for at in (chunk.start, max(chunk.start, chunk.end - 1))
    ]
    return _unranked(state, chunk, lines, found_by, score, chance, now)


def placed_passage(placed: PlacedChunk, found_by: str, chance: float, now: datetime) -> Passage:
    """Return a placed chunk as a passage, though it was not ranked; `chance` is its score, too."""
    lines = (placed.line, placed.end_line)
    return _unranked(placed, placed.chunk, lines, found_by, chance, chance, now)


def _unranked(
    of: State | PlacedChunk,
    chunk: Chunk,
    lines: Sequence[int],
    found_by: str,
    score: float,
    chance: float,
    now: datetime,
) -> Passage:
    score = round(score, 6)
    return Passage(
        chunk=chunk,
        line=lines[0],
        end_line=lines[1],
        valid_from=of.valid_from,
        recorded_at=of.recorded_at,
        score=score,
        parts={found_by: score},
        retrievers=(found_by,),
        belief=belief.interval(belief.of_probability(chance * of.confidence)),
        valid_to=of.valid_to,
        confidence=of.confidence,
        importance=of.importance,
        strength=strength_of(of, now),
    )


def _retrievers(retrieved: Retrieved, number: int) -> tuple[str, ...]:
    """Return the names of the retrievers that found a chunk; a walk counts as `graph`."""
    seeds = retrieved.seeds
    retrievers = [
        retriever
        for retriever, scores in (("meaning", seeds.cosine), ("words", seeds.words))
        if scores[number] > 0 and scores[number] >= seeds.least[retriever]
    ]
    if "meaning" in retrievers and not retrieved.search.query.indexes.has_vector(number):
        retrievers.remove("meaning")  # its cosine was estimated from its words
    at = int(np.searchsorted(seeds.naming, number))
    if at < len(seeds.naming) and seeds.naming[at] == number:
        retrievers.append("names")
    if not retrievers or ("names" not in retrievers and retrieved.walks.from_names[number] > 0):
        retrievers.append("graph")
    return tuple(retrievers)


def _note_what_is_missing(stage: Stage, query: QueryContext, passages: Sequence[Passage]) -> None:
    if not passages and not query.graph.size and not query.graph.adjacency.has_arcs:
        stage.note(Reason.NOTHING_KNOWN, "nothing was known at that time")
    count = query.store.chunks.pending_count
    if waiting := count(query.space) - count(query.space, Phase.EMBEDDINGS):
        why = "open the memory for writing once" if query.store.read_only else "ask again later"
        stage.note(Reason.NOT_INDEXED, f"{waiting} states wait: {why}")


def _with_entities(
    query: QueryContext, passages: Sequence[Passage], numbers: Ints
) -> list[Passage]:
    """Return copies of the passages, each with the rarest names that it mentions, rarest first."""
    graph = query.graph
    entities = list[list[int]]()
    for number in numbers.tolist():
        _, near, _ = graph.adjacency.of(np.array([number]))
        near = near[(near >= graph.first_entity) & (near < graph.first_topic)]
        near = near[~graph.barred[near]] - graph.first_entity
        rarest = near[np.lexsort((near, graph.frequency[near]))][:ENTITIES_AT_MOST]
        entities.append(graph.entities[rarest].tolist())
    names = query.store.entities.names([*{entity for own in entities for entity in own}])
    return [
        replace(passage, entities=tuple(names[entity] for entity in own))
        for passage, own in zip(passages, entities, strict=True)
    ]
