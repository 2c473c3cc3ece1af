"""Memories of question sets: made once from a corpus or documents, kept, and opened again.

A memory is in the cache under a hash of the corpus, the encoder and FORMAT. A stopped run continues
where it was, as ingestion does. Each conversation has its own space, so that names, their
frequencies and the graph are of that conversation only; a filter by topic would use a graph of all
conversations.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import Any

from hades.domain.topics import Chunk
from hades.errors import InvalidInput, Unavailable
from hades.evals.sets import CORPUS, LADDER_KINDS, TRIPLES, EvalQuestion, EvalSet, read_rows
from hades.memory import Memory, View
from hades.opening import open as open_memory
from hades.operations.inside import DEFAULT_SPACE
from hades.store.records import Progress

FORMAT = 4
"""Part of every hash: raise it when the same corpus must give another memory, or when the file
format changes."""
PREFIX = "passage"
"""The first part of each topic; the rest is the id of the passage."""
LOST_NAMED_AT_MOST = 5
"""How many lost gold ids are listed as examples; often they belong to another corpus."""
_FIELDS = {"id": "id", "title": "title", "text": "text"}

IdOf = Callable[[Chunk], str]
"""Returns the id of the passage or turn of a chunk."""


@dataclass(frozen=True, slots=True)
class Index:
    """The cost of making the memory, and its size."""

    seconds: float
    chunks: int
    edges: int
    """Mentions, derived edges, and told edges."""
    skipped: int = 0
    """Files or records that could not be read."""

    def sentences(self, questions: int, lost: Sequence[tuple[str, str]]) -> list[str]:
        """Return what was measured, and what is wrong with the set, in sentences."""
        remarks = [
            f"{questions:,} questions, {self.chunks:,} chunks, {self.edges:,} edges, "
            f"made in {self.seconds:g} s"
        ]
        if self.skipped:
            remarks.append(f"{self.skipped:,} files or records could not be read.")
        if lost:
            asked = len({question for question, _ in lost})
            named = ", ".join(f"{gold} (of {q})" for q, gold in lost[:LOST_NAMED_AT_MOST])
            more = len(lost) - LOST_NAMED_AT_MOST
            remarks.append(
                f"{asked:,} of {questions:,} questions have gold that is not in the corpus, "
                f"and counts as not found: {named}" + (f" and {more:,} more." if more > 0 else ".")
            )
        return remarks

    def plain(self, lost: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Return the costs and the lost gold as JSON values."""
        return {
            "lost_gold": {
                "questions": len({question for question, _ in lost}),
                "passages": len({gold for _, gold in lost}),
                "some": [gold for _, gold in lost[:LOST_NAMED_AT_MOST]],
            },
            "index": {"seconds": self.seconds, "chunks": self.chunks, "edges": self.edges},
        }


@dataclass(frozen=True, slots=True)
class OpenSet:
    """A set's memory, ready to be asked."""

    memory: Memory
    id_of: IdOf
    index: Index
    passages: int
    """How many passages, or turns, the corpus has."""

    def view(self, question: EvalQuestion) -> View:
        """Return the view for a question: the corpus, or its own conversation."""
        return self.memory.in_space(space_of(question.conversation))


@contextmanager
def open_set(
    eval_set: EvalSet,
    cache: Path,
    *,
    triples: bool = False,
    encoder: str = "minilm",
    on_progress: Progress | None = None,
) -> Iterator[OpenSet]:
    """Open the memory of a set's corpus from the cache, or make it and keep it there.

    With `triples`, it also has the facts of the set: edges between entities, which are then
    mentioned in the passage of each fact.
    """
    if eval_set.kind not in LADDER_KINDS:
        raise InvalidInput(f"The set {eval_set.name!r} has no passages: it is of {eval_set.kind}.")
    if triples and not eval_set.triples.is_file():
        raise InvalidInput(f"The set {eval_set.name!r} has no {TRIPLES}.")
    with open_cached(eval_set, cache, triples, encoder, on_progress) as (memory, index):
        id_of = _turn_of(memory, eval_set) if eval_set.kind == "turns" else _passage_of
        yield OpenSet(memory, id_of, index, sum(1 for _ in read_rows(eval_set.corpus)))


@contextmanager
def open_cached(
    eval_set: EvalSet, cache: Path, triples: bool, encoder: str, on_progress: Progress | None
) -> Iterator[tuple[Memory, Index]]:
    """Open the memory of a set's passages, turns or documents, made first if it is not there."""
    folder = cache / "evals" / f"{eval_set.name}-{_key(eval_set, triples, encoder)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(
            f"The folder {folder} cannot be made ({error.strerror}): set HADES_CACHE."
        ) from error
    with open_memory(folder / "set.hades", actor="evals", encoder=encoder) as memory:
        memory.inside.store.uses.counts = False
        memory.inside.store.query_log.kept = 0
        yield memory, _ready(memory, eval_set, folder, triples, on_progress)


def space_of(conversation: str | None) -> str:
    """Return the name of a conversation's own space; the default space for None."""
    return DEFAULT_SPACE if conversation is None else f"conversation-{conversation}"


def _key(eval_set: EvalSet, triples: bool, encoder: str) -> str:
    key = blake2b(f"{FORMAT}\n{encoder}\n{triples}\n".encode(), digest_size=8)
    if eval_set.kind == "documents":
        paths = sorted(path for path in eval_set.corpus.rglob("*") if path.is_file())
        key.update(b"\0".join(os.fsencode(path.relative_to(eval_set.folder)) for path in paths))
    else:
        paths = [eval_set.corpus, *([eval_set.triples] if triples else [])]
    for path in paths:
        with path.open("rb") as file:
            key.update(file_digest(file, blake2b).digest())
    return key.hexdigest()


# Making it


def _ready(
    memory: Memory, eval_set: EvalSet, folder: Path, triples: bool, told: Progress | None
) -> Index:
    """Ingest the corpus unless that is done; return the cost of all runs together."""
    mark = folder / "index.json"
    spent = folder / "seconds.txt"
    if mark.is_file():
        return Index(**json.loads(mark.read_text()))
    start = time.perf_counter() - (float(spent.read_text()) if spent.is_file() else 0.0)
    try:
        if eval_set.kind == "turns":
            skipped = _take_conversations(memory, eval_set, folder, told)
        elif eval_set.kind == "documents":
            # The source gets a name, so that a continued run finds it even if the set was moved.
            taken = memory.ingest(eval_set.corpus, source=eval_set.corpus.name, on_progress=told)
            skipped = len(taken.skipped)
        else:
            skipped = _take_passages(memory, eval_set, folder, triples, told)
        for space in memory.spaces():
            memory.in_space(space.name).index(told)
            # The first search builds the derived indexes, which is part of the cost.
            memory.in_space(space.name).search("anything", 1, on_progress=told)
    finally:
        seconds = time.perf_counter() - start
        spent.write_text(str(seconds))
    stats = [memory.in_space(space.name).stats() for space in memory.spaces()]
    index = Index(
        seconds=round(seconds, 1),
        chunks=sum(one["chunks"] for one in stats),
        edges=sum(one[kind] for one in stats for kind in ("mentions", "derived_edges", "edges")),
        skipped=skipped,
    )
    # Renamed into place, so that a half-written file is never read.
    draft = mark.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(index)))
    draft.replace(mark)
    return index


def _take_passages(
    memory: Memory, eval_set: EvalSet, folder: Path, triples: bool, told: Progress | None
) -> int:
    # Read from a copy, so that a continued run finds the same file even if the set was moved.
    corpus = folder / CORPUS
    shutil.copyfile(eval_set.corpus, corpus)
    phases = ["nodes", "chunks"]
    taken = memory.ingest(corpus, prefix=PREFIX, fields=_FIELDS, phases=phases, on_progress=told)
    if triples:
        # Imported before names are searched, so that names of the facts are found in every text.
        rows = (_with_topic(row) for _, row in read_rows(eval_set.triples))
        _write_rows(folder / TRIPLES, rows)
        memory.import_triples(folder / TRIPLES, told)
    memory.ingest(corpus, prefix=PREFIX, fields=_FIELDS, phases=["edges"], on_progress=told)
    return len(taken.skipped)


def _with_topic(row: Mapping[str, object]) -> dict[str, object]:
    """Return the row of a fact, with the topic of its passage in place of the passage's id."""
    return {**row, "chunk": f"{PREFIX}/{row['chunk']}"} if "chunk" in row else dict(row)


def _take_conversations(
    memory: Memory, eval_set: EvalSet, folder: Path, told: Progress | None
) -> int:
    conversations: dict[str, list[Mapping[str, object]]] = {}
    for where, row in read_rows(eval_set.corpus):
        if missing := [name for name in ("id", "conversation") if row.get(name) is None]:
            raise InvalidInput(f"{where} is a turn without {missing[0]!r}.")
        conversations.setdefault(str(row["conversation"]), []).append(row)
    there = {space.name for space in memory.spaces()}
    skipped = 0
    for number, (conversation, rows) in enumerate(conversations.items()):
        space = space_of(conversation)
        if space not in there:
            memory.create_space(space)
        path = folder / f"turns-{number}.jsonl"
        _write_rows(path, rows)
        taken = memory.in_space(space).ingest(path, prefix=PREFIX, on_progress=told)
        skipped += len(taken.skipped)
    return skipped


def _write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


# From chunks back to the corpus


def _passage_of(chunk: Chunk) -> str:
    return chunk.topic.removeprefix(f"{PREFIX}/")


def _turn_of(memory: Memory, eval_set: EvalSet) -> IdOf:
    """Return a function from a chunk to the id of the first turn that ends after it begins."""
    rows = {str(row["id"]): row for _, row in read_rows(eval_set.corpus)}
    turns: dict[str, tuple[list[int], list[str]]] = {}
    for space in memory.spaces():
        view = memory.in_space(space.name)
        for topic in view.topics():
            state = view.get(topic.name)
            ids = [str(one) for one in state.metadata["turn_ids"]]
            ends: list[int] = []
            for id_ in ids:
                words = f"{' '.join(rows[id_]['speaker'].split())}: {rows[id_]['text'].strip()}"
                at = state.content.index(words, ends[-1] if ends else 0)
                ends.append(at + len(words))
            turns[topic.name] = ends, ids

    def turn_of(chunk: Chunk) -> str:
        ends, ids = turns[chunk.topic]
        return ids[bisect_right(ends, chunk.start)]

    return turn_of
