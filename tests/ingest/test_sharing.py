"""Who waits for whose notes to be indexed: nobody for the giants of another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path

import pytest

import hades
from hades.ingest import phases, sharing
from hades.operations.indexing import index_share, is_behind, phases_of
from hades.serve.executor import Executor
from hades.store import topics
from hades.store.records import Pending, Phase, Rank
from tests.callers import caller

PARAGRAPH = "The pump of hall {n} was tested. It held. Nobody was near it. " + "It ran on. " * 40
GIANT = "\n\n".join(PARAGRAPH.format(n=n) for n in range(6))


@pytest.fixture(autouse=True)
def _small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts as a giant here is a few thousand characters long."""
    monkeypatch.setattr(topics, "SMALL_CHARACTERS", 1_000)
    monkeypatch.setattr(sharing, "ENCODED_TEXTS", 2)


@pytest.fixture(params=["file", "postgres"])
def memory(request: pytest.FixtureRequest, path: Path) -> Iterator[hades.Memory]:
    is_file = request.param == "file"
    with hades.open(path if is_file else request.getfixturevalue("postgres")) as opened:
        yield opened


def _background(
    memory: hades.Memory, kind: type[sharing.Background] = sharing.Background
) -> sharing.Background:
    """Background indexing by a clock that counts how often it is looked at."""
    ticks = count()
    finder = memory.inside.finder
    return kind(
        memory.inside.store,
        memory.inside.space_id,
        lambda space: phases_of(memory.inside, space, None),
        finder.encoder,
        finder.indexing,
        lambda *_: None,
        lambda: float(next(ticks)),
    )


def _waiting(memory: hades.Memory, space: int | None = None) -> list[tuple[str, Rank]]:
    return [(p.topic, Rank(p.rank)) for p in memory.inside.store.waiting.fair_order(space, 100)]


def _have_vectors(memory: hades.Memory) -> set[str]:
    """The topics all of whose chunks have a vector."""
    store, model = memory.inside.store, memory.inside.finder.encoder.model
    found = {
        topic.name: store.chunks.of_topic(memory.inside.space_id, topic.name)
        for topic in memory.topics()
    }
    lacking = set(store.chunks.unembedded(model, 0, 1_000))
    return {topic for topic, chunks in found.items() if chunks and not lacking & set(chunks)}


def test_small_states_come_first_in_turns_by_actor(memory: hades.Memory) -> None:
    other = memory.in_space("default", actor="other")
    memory.remember("a/giant", GIANT)
    memory.remember("a/1", "One.")
    memory.remember("a/2", "Two.")
    other.remember("b/giant", GIANT + "\n\nMore.")
    other.remember("b/1", "Three.")
    assert _waiting(memory) == [
        ("a/1", Rank.SMALL_WORDS),
        ("b/1", Rank.SMALL_WORDS),
        ("a/2", Rank.SMALL_WORDS),
        ("b/giant", Rank.LARGE_WORDS),
        ("a/giant", Rank.LARGE_WORDS),
    ]


def test_versions_of_a_topic_stay_in_order(memory: hades.Memory) -> None:
    memory.remember("a", GIANT)
    memory.in_space("default", actor="other").remember("a", "Short now.")
    assert _waiting(memory) == [("a", Rank.LARGE_WORDS), ("a", Rank.LARGE_WORDS)]
    assert sharing.small_share(memory.inside.store, memory.inside.space_id) == []
    _background(memory).run()
    assert memory.pending == 0
    assert [hit.chunk.text for hit in memory.search("short")] == ["Short now."]
    assert memory.check() == []


def test_a_question_of_a_server_waits_for_small_notes_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.hades"
    with hades.open(path) as memory:
        giants = memory.in_space("default", actor="key:a")
        for number in range(3):
            giants.remember(f"giant/{number}", f"Giant {number}.\n\n{GIANT}")
        memory.in_space("default", actor="key:b").remember("b", "The locker has the code 4711.")
        index_share(memory.inside)
        assert _have_vectors(memory) == {"b"}
        assert [one for one, _ in _waiting(memory)] == [f"giant/{n}" for n in range(3)]
        assert not is_behind(memory.inside)


def test_one_who_wrote_many_notes_waits_alone(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing, "VECTORS_AT_ONCE", 3)
    many = memory.in_space("default", actor="many")
    for number in range(5):
        many.remember(f"many/{number}", f"Number {number}.")
    memory.remember("one", "The locker has the code 4711.")
    index_share(memory.inside)
    assert _have_vectors(memory) == {"one"}
    assert {rank for _, rank in _waiting(memory)} == {Rank.SMALL_VECTORS}
    assert not is_behind(memory.inside)


def test_the_background_takes_turns(memory: hades.Memory) -> None:
    for actor in ("a", "b"):
        own = memory.in_space("default", actor=actor)
        for number in range(2):
            own.remember(f"{actor}/{number}", f"Note {number} of {actor}.\n\n{GIANT}")
    served: list[str] = []

    class Recorded(sharing.Background):
        def _index(self, queue: tuple[int, int], states: Sequence[Pending]) -> None:
            served.append(states[0].topic[0])
            super()._index(queue, states)

    _background(memory, Recorded).run()
    assert served == ["a", "b"] * (len(served) // 2)
    assert (memory.pending, memory.unembedded) == (0, 0)


def test_words_of_a_giant_are_found_before_its_vectors(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("giant", f"{GIANT}\n\nThe xylophone is last.")
        assert _background(memory).index_next()
        inside = memory.inside
        assert inside.store.chunks.pending_count(inside.space_id, Phase.EMBEDDINGS) == 1
    with hades.open(path, read_only=True) as memory:
        found = memory.recall("xylophone")
        assert "xylophone" in found.passages[0].chunk.text
        assert "no vector yet" in str(found.reasons)


def test_a_giant_has_few_vectors_of_sentences(
    memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phases, "CHUNKS_WITH_SENTENCES", 2)
    memory.remember("giant", GIANT)
    memory.index()
    store, encoder = memory.inside.store, memory.inside.finder.encoder
    chunks = store.chunks.of_topic(memory.inside.space_id, "giant")
    assert len(chunks) > 3
    packed = store.chunks.vectors(encoder.model, [chunk << 3 | 2 for chunk in chunks])
    counts = [len(packed[chunk << 3 | 2]) // (2 * encoder.dims) for chunk in chunks]
    assert min(counts[:2]) > 1
    assert set(counts[2:]) == {1}


def test_a_fact_of_one_space_does_not_wait_for_those_of_another(memory: hades.Memory) -> None:
    memory.create_space("other")
    own = memory.in_space("other")
    with memory.batch():
        for number in range(300):
            memory.relate(f"item {number}", "part_of", "Hub")
    own.relate("Ann", "works_at", "Acme")
    index_share(own.inside)
    model = memory.inside.finder.encoder.model
    assert memory.inside.store.edges.unembedded(model, 10, own.inside.space_id) == []
    assert len(memory.inside.store.edges.unembedded(model, 999, memory.inside.space_id)) == 300


def test_a_server_finds_a_new_note_while_giants_wait(tmp_path: Path) -> None:
    greedy, ann = caller("key:greedy", "writer"), caller("key:ann", "writer")
    ask = partial(hades.View.recall, question="Which code has the locker?")

    async def life() -> hades.Recall:
        for number in range(3):
            text = f"Giant {number}.\n\n{GIANT}"
            write = partial(hades.Memory.remember, topic=f"giant/{number}", content=text)
            await executor.write(greedy, "default", write)
        note = partial(hades.Memory.remember, topic="b", content="The locker has the code 4711.")
        await executor.write(ann, "default", note)
        return await executor.read(ann, "default", ask, fresh=True)

    executor = Executor.open(tmp_path / "m.hades")
    try:
        found = asyncio.run(life())
        assert found.passages[0].chunk.topic == "b"
    finally:
        executor.close()
