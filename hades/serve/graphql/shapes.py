"""Shapes: what has no ways on, as GraphQL shows it. Times are ISO strings, as everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import strawberry
from strawberry.scalars import JSON

from hades.domain import answer, graph, trace
from hades.domain.plain import plain
from hades.domain.times import iso


def iso_or_none(moment: datetime | None) -> str | None:
    """A time as it is shown; an open end is null."""
    return None if moment is None else iso(moment)


def json(value: Mapping[str, Any]) -> JSON:
    """An object whose names are not known beforehand."""
    return JSON(plain(value))


@strawberry.type(description="One version of a topic.")
class State:
    id: str = strawberry.field(description="How to cite it: `design/approach_x@2`.")
    topic: str
    version: int
    content: str
    valid_from: str = strawberry.field(description="Since when it was true.")
    valid_to: str | None = strawberry.field(description="Until when; null: it still is.")
    recorded_at: str
    confidence: float
    importance: float
    tags: list[str]
    metadata: JSON
    level: int = strawberry.field(description="Consolidation: 0 raw, 1 daily, 2 weekly, 3 monthly.")
    forgotten: bool

    @classmethod
    def of(cls, state: trace.State) -> State:
        return cls(
            id=state.id,
            topic=state.topic,
            version=state.version,
            content=state.content,
            valid_from=iso(state.valid_from),
            valid_to=iso_or_none(state.valid_to),
            recorded_at=iso(state.recorded_at),
            confidence=state.confidence,
            importance=state.importance,
            tags=list(state.tags),
            metadata=json(state.metadata),
            level=state.level,
            forgotten=state.forgotten,
        )


@strawberry.type(description="A passage of a state.")
class Chunk:
    id: str = strawberry.field(description="How to cite it: `docs/guide.md@3#0`.")
    topic: str
    version: int
    ordinal: int
    text: str
    start: int
    end: int
    heading: str
    tokens: int

    @classmethod
    def of(cls, chunk: trace.Chunk) -> Chunk:
        return cls(
            id=chunk.id,
            topic=chunk.topic,
            version=chunk.version,
            ordinal=chunk.ordinal,
            text=chunk.text,
            start=chunk.start,
            end=chunk.end,
            heading=chunk.heading,
            tokens=chunk.tokens,
        )


@strawberry.type(description="How sure: an expected probability, and where it lies mostly.")
class Interval:
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, interval: answer.Interval) -> Interval:
        return cls(mean=interval.mean, low=interval.low, high=interval.high)


@strawberry.type(description="What changed between two versions of a topic.")
class Diff:
    before: int
    after: int
    text: str = strawberry.field(description="A unified difference of the contents.")
    added: int
    removed: int

    @classmethod
    def of(cls, diff: trace.Diff) -> Diff:
        return cls(
            before=diff.before,
            after=diff.after,
            text=diff.text,
            added=diff.added,
            removed=diff.removed,
        )


@strawberry.type(description="A passage that mentions a name, and where.")
class Mention:
    chunk: Chunk
    line: int
    positions: list[int] = strawberry.field(description="Characters of the passage, from 0.")

    @classmethod
    def of(cls, found: graph.Mentioned) -> Mention:
        return cls(chunk=Chunk.of(found.chunk), line=found.line, positions=list(found.positions))


@strawberry.type(description="A passage that a search found.")
class Hit:
    chunk: Chunk
    score: float
    retrievers: JSON = strawberry.field(description="What each retriever gave it.")
    line: int

    @classmethod
    def of(cls, hit: trace.Hit) -> Hit:
        return cls(
            chunk=Chunk.of(hit.chunk),
            score=hit.score,
            retrievers=json(hit.retrievers),
            line=hit.line,
        )


@strawberry.type(description="A passage that was chosen, with what spoke for it.")
class Passage:
    chunk: Chunk
    line: int
    end_line: int
    valid_from: str
    valid_to: str | None
    score: float
    parts: JSON
    retrievers: list[str]
    belief: Interval

    @classmethod
    def of(cls, passage: answer.Passage) -> Passage:
        return cls(
            chunk=Chunk.of(passage.chunk),
            line=passage.line,
            end_line=passage.end_line,
            valid_from=iso(passage.valid_from),
            valid_to=iso_or_none(passage.valid_to),
            score=passage.score,
            parts=json(passage.parts),
            retrievers=list(passage.retrievers),
            belief=Interval.of(passage.belief),
        )


@strawberry.type(description="Something that was trimmed, stopped or done another way.")
class Note:
    reason: str
    stage: str
    detail: str

    @classmethod
    def of(cls, note: answer.Note) -> Note:
        return cls(reason=note.reason.value, stage=note.stage, detail=note.detail)


@strawberry.type(description="A state to have in mind.")
class WorkingItem:
    why: str = strawberry.field(description="`latest`, `recent`, `important` or `related`.")
    state: State
    text: str
    tokens: int
    path: str

    @classmethod
    def of(cls, item: answer.WorkingItem) -> WorkingItem:
        return cls(
            why=item.why,
            state=State.of(item.state),
            text=item.text,
            tokens=item.tokens,
            path=item.path,
        )


@strawberry.type(description="What to have in mind when working on a topic.")
class WorkingSet:
    items: list[WorkingItem]
    context: str
    tokens: int
    budget: int
    reasons: list[Note]

    @classmethod
    def of(cls, found: answer.WorkingSet) -> WorkingSet:
        return cls(
            items=[WorkingItem.of(item) for item in found.items],
            context=found.context,
            tokens=found.tokens,
            budget=found.budget,
            reasons=[Note.of(note) for note in found.reasons],
        )


@strawberry.type(description="A thing that is mentioned together with another.")
class Related:
    name: str
    kind: str
    count: int = strawberry.field(description="In how many passages they stand together.")
    strength: float

    @classmethod
    def of(cls, related: graph.Related) -> Related:
        return cls(
            name=related.name, kind=related.kind, count=related.count, strength=related.strength
        )


@strawberry.type(description="Where an edge was read.")
class Provenance:
    chunk: str
    start: int
    end: int


@strawberry.type
class StatePage:
    items: list[State]
    next: str | None = strawberry.field(description="`after` of the page that follows.")


@strawberry.type
class ChunkPage:
    items: list[Chunk]
    next: str | None = strawberry.field(description="`after` of the page that follows.")
