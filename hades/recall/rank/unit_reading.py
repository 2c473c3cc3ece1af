"""Unit reading: the reader judges the units of documents that may answer a question.

The units of the best passages are compared with the question by their words, and the reader reads
the best of them. A unit that answers lifts its passage.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import ReadUnit
from hades.domain.topics import Chunk
from hades.graph.arrays import Ints
from hades.index.graph_view import GraphView
from hades.language.english.stems import stem
from hades.language.names import name_key
from hades.language.sentences import with_heading
from hades.language.units import Unit, units
from hades.language.words import words
from hades.models.reader import SentenceReader
from hades.recall.find.results import SearchQuery
from hades.recall.rank.code_signs import is_code
from hades.recall.rank.ranking import Ranking, never_rising
from hades.recall.rank.reading import is_lookup
from hades.recall.run import Stage

PASSAGES_FOR_UNIT = 3
"""For each unit to read, this many of the best passages are divided into units. More of them do not
change the order."""
AT_ONCE = 2
ENOUGH = 2.0
"""Units are read AT_ONCE at a time, until one reaches the logit ENOUGH or the plan's number is
read."""
HEADINGS_READ = 2
"""How many of the innermost headings are read before a unit."""
HEADING_SHARE = 0.5
RANK_LOSS = 0.12
"""To choose the units to read: the weight of a word of the question that stands only in the
headings, and the loss by the logarithm of the passage's rank."""
NEAREST = 2.0
NEAREST_FEW = 3
"""A passage gains NEAREST · NEAREST_FEW / (NEAREST_FEW + its rank by cosine), in points of the
ranker, so that the nearest passages are read even in a collection unlike those that it learnt
from."""
NEAREST_PART = 3.0
NEAREST_FEW_PARTS = 10
PART_BEHIND = 20.0
"""The same for parts of documents, which also lose PART_BEHIND times the cosine by which they are
behind the nearest. It would harm turns of conversations and encyclopedia paragraphs
(docs/lab/details.md)."""
PARTS_SHARE = 0.25
"""The share of candidates in the middle of a document from which all count as its parts."""
LIFT = 1.0
LOGIT_LEAST = -3.0
"""A passage gains LIFT times the amount by which the highest logit of its units exceeds
LOGIT_LEAST, in points of the ranker."""
SPEAKS = 0.7
RANK = -0.67
CONSTANT = -0.8
"""The logit of the probability that a unit answers: from the reader's logit and the logarithm of
the passage's rank. These weights and the next ones were learnt on collections that the reader had
not seen."""
SOFT = 2.0
TOGETHER = 2.3
ANSWERED = 0.3
"""The logit of the probability that at least one unit answers is ANSWERED + TOGETHER · ln Σ
exp(logit / SOFT), over all units read. It works for any number of units."""

DEFINED_LEAST = -1.0
"""The least logit of a unit that says what something is."""
DEFINING_READ = 24
"""The most units that `definition` reads."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    place: int
    """The position of its passage in the ranking."""
    unit: Unit
    read: str
    """The text that the reader reads."""
    worth: float


def read_as(heading: str, unit: Unit) -> str:
    """Return a unit as the reader reads it: after its last headings and its lead."""
    return with_heading(" > ".join(heading.split(" > ")[-HEADINGS_READ:]), unit.told)


def read_units(
    reader: SentenceReader, stage: Stage, search: SearchQuery, ranking: Ranking
) -> Ranking:
    """Let the reader judge units of the best passages; return the ranking in the order it finds.

    The ranking is unchanged if the question is too short, or if no time is left.
    """
    if is_lookup(search.text):
        return ranking
    query = search.query
    unread = ranking
    ranking = _with_nearest(ranking, query.graph)
    limit = stage.run.plan.reranker.units
    ids = query.graph.chunks[ranking.numbers[: PASSAGES_FOR_UNIT * limit]].tolist()
    placed = query.store.chunks.find(ids, query.as_of)
    rows = [(place, placed[chunk].chunk) for place, chunk in enumerate(ids) if chunk in placed]
    candidates = list(_candidates(search, rows))
    chosen = {one.read: one for one in sorted(candidates, key=lambda one: one.worth)}
    best = list(reversed(chosen.values()))[:limit]
    if not best:
        return unread

    def read() -> list[float]:
        logits: list[float] = []
        while len(logits) < len(best) and max(logits, default=-math.inf) < ENOUGH:
            few = best[len(logits) : len(logits) + AT_ONCE]
            logits += reader.speaks(search.text, [one.read for one in few]).tolist()
        return logits

    logits = stage.waited(read, "without the reader", local=True)
    if logits is None:
        return unread
    return _reordered(ranking, best[: len(logits)], logits)


def _with_nearest(ranking: Ranking, graph: GraphView) -> Ranking:
    """Return the ranking with what each passage gains by its cosine and by its rank by cosine."""
    ranks = np.argsort(np.argsort(-ranking.near, kind="stable"), kind="stable")
    if _are_parts(graph, ranking.numbers):
        behind = ranking.near.max() - ranking.near
        gain = NEAREST_PART * NEAREST_FEW_PARTS / (NEAREST_FEW_PARTS + ranks) - PART_BEHIND * behind
    else:
        gain = NEAREST * NEAREST_FEW / (NEAREST_FEW + ranks)
    return replace(ranking, scores=ranking.scores + gain).in_order()


def _are_parts(graph: GraphView, numbers: Ints) -> bool:
    """Return whether many passages are in the middle of documents other than conversations."""
    in_middle = (graph.previous[numbers] >= 0) & (graph.next[numbers] >= 0)
    return float((in_middle & ~graph.spoken[numbers]).mean()) >= PARTS_SHARE


def _candidates(search: SearchQuery, rows: Sequence[tuple[int, Chunk]]) -> Iterator[_Candidate]:
    """Yield the units of passages, each with its worth by words.

    Passages of source code, settings and commits are left out.
    """
    rarity = {term: search.query.indexes.words.rarity(term) for term in search.terms}
    for place, chunk in rows:
        if is_code(chunk):
            continue
        heading = _shared(f"{chunk.heading} {chunk.topic.rpartition('/')[2]}", rarity)
        for unit in units(chunk.text):
            own = _shared(unit.told, rarity)
            covered = sum(own.values()) + HEADING_SHARE * sum(
                weight for term, weight in heading.items() if term not in own
            )
            worth = covered / (sum(rarity.values()) or 1.0) - RANK_LOSS * math.log1p(place)
            yield _Candidate(place, unit, read_as(chunk.heading, unit), worth)


def _shared(text: str, rarity: Mapping[str, float]) -> dict[str, float]:
    """Return the terms of the question that a text has, with their rarity."""
    stems = {stem(word) for word in words(text)}
    return {term: weight for term, weight in rarity.items() if term in stems}


def _reordered(ranking: Ranking, read: Sequence[_Candidate], logits: Sequence[float]) -> Ranking:
    """Return the ranking with what each passage gains by its best unit."""
    highest = np.full(len(ranking.numbers), LOGIT_LEAST)
    by_number: dict[int, list[ReadUnit]] = {}
    loss = RANK * np.log1p(np.arange(len(highest)))
    for one, logit in sorted(zip(read, logits, strict=True), key=lambda pair: -pair[1]):
        highest[one.place] = max(highest[one.place], logit)
        chance = _chance(SPEAKS * logit + float(loss[one.place]) + CONSTANT)
        own = by_number.setdefault(int(ranking.numbers[one.place]), [])
        own.append(ReadUnit(one.unit.told, round(chance, 4)))
    scores = ranking.scores + LIFT * (highest - LOGIT_LEAST)
    order = np.argsort(-scores, kind="stable")
    belief = 1 / (1 + np.exp(-(SPEAKS * highest + loss + CONSTANT)))
    together = math.log(sum(math.exp(logit / SOFT) for logit in logits))
    return replace(
        replace(ranking, scores=scores).at(order),
        belief=never_rising(belief[order]),
        units={number: tuple(own) for number, own in by_number.items()},
        answered=_chance(TOGETHER * together + ANSWERED),
    )


def _chance(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def definition(
    reader: SentenceReader | None, names: Sequence[str], chunks: Sequence[Chunk]
) -> tuple[str, str]:
    """Return the unit that says best what something is, and its chunk; ("", "") if none does.

    Only units that begin with one of the names, or come first under such a heading, are read.
    """
    keys = [f" {name_key(name)} " for name in names]
    readable = [
        (read_as(chunk.heading, unit), unit.told, chunk.id)
        for chunk in chunks
        if not is_code(chunk)
        for place, unit in enumerate(units(chunk.text))
        for told, title in [(f" {name_key(unit.told)} ", f" {name_key(chunk.heading)} ")]
        if any(told.startswith(key) or (place == 0 and key in title) for key in keys)
    ][:DEFINING_READ]
    if reader is None or not readable:
        return "", ""
    logits = reader.speaks(f"What is {names[0]}?", [read for read, *_ in readable])
    best = int(logits.argmax())
    return readable[best][1:] if logits[best] >= DEFINED_LEAST else ("", "")
