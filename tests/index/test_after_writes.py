"""After a write, a plan that came true or a purge, a search finds what holds and nothing else."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

import hades
from tests.conftest import HeldClock


def test_a_search_inside_a_batch_cannot_poison_the_index(memory: hades.Memory) -> None:
    memory.remember("a", "alpha walrus")
    with pytest.raises(hades.InvalidInput, match="not inside"), memory.batch():  # noqa: PT012
        memory.remember("c", "gamma octopus")
        memory.search("octopus")
    memory.remember("d", "delta squid")
    assert [h.chunk.topic for h in memory.search("squid", retriever="words")] == ["d"]
    assert memory.search("octopus", retriever="words") == []


def test_a_purge_leaves_other_handles_searching(path: Path) -> None:
    with hades.open(path) as first, hades.open(path) as second:
        first.remember("a", "alpha")
        first.remember("b", "beta")
        for memory in (first, second):
            assert memory.search("alpha", retriever="words")
        first.purge("b")
        for memory in (second, first, second):
            assert [h.chunk.topic for h in memory.search("alpha", retriever="words")] == ["a"]
            assert memory.search("beta", retriever="words") == []
        second.remember("c", "gamma")
        assert first.search("gamma", retriever="words")


def test_a_purge_in_a_batch_leaves_no_word_in_the_index(path: Path) -> None:
    with hades.open(path) as memory, hades.open(path) as other:
        memory.remember("a", "the xylophonist")
        memory.remember("b", "beta")
        assert memory.search("xylophonist", retriever="words")
        with memory.batch():
            memory.purge("a")
            thread = threading.Thread(target=other.search, args=("xylophonist",))
            thread.start()
            thread.join()
        assert memory.search("xylophonist", retriever="words") == []
        searcher = memory.inside.finder.indexes.words._searcher
        assert searcher.doc_freq("exact", "xylophonist") == 0


def test_a_plan_that_came_true_is_found(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "apples are green")
    memory.remember("a", "zebras will run", valid_from="in 2 hours")
    for retriever in ("meaning", "words"):
        assert [h.chunk.version for h in memory.search("zebras apples", retriever=retriever)] == [1]
    clock.tick(3 * 3600)
    for retriever in ("meaning", "words"):
        assert [h.chunk.version for h in memory.search("zebras apples", retriever=retriever)] == [2]


@pytest.mark.embedded("a server gives at most 1,000 hits")
def test_a_huge_limit_is_no_more_than_there_is(memory: hades.Memory) -> None:
    memory.remember("a", "alpha")
    assert len(memory.search("alpha", 10**12)) == 1


@pytest.mark.embedded("a client ingests outside batches only")
def test_text_of_an_undone_batch_never_comes_back(memory: hades.Memory, tmp_path: Path) -> None:
    note = tmp_path / "n.md"
    note.write_text("The cat sleeps in the kitchen all day long.\n")
    with suppress(RuntimeError), memory.batch():
        memory.ingest(note)
        raise RuntimeError("undone")
    note.write_text("Dogs run in the garden every morning.\n")
    memory.ingest(note)
    (hit,) = memory.search("who runs in the garden?")
    assert hit.chunk.text.startswith("Dogs run")
    assert hit.retrievers["meaning"] > 0.3


def test_purging_a_merged_entity_leaves_other_handles_right(path: Path) -> None:
    with hades.open(path) as memory, hades.open(path) as other:
        memory.remember("n", "# Note\n\nZed met Yps in Paris.")
        memory.relate("Zed", "knows", "Hub")
        memory.relate("Yps", "knows", "Hub")
        memory.merge("Zed", "Yps")
        other.recall("Zed")
        memory.purge("Yps")
        memory.relate("Paris", "in", "France")
        expected = [one.node.name for one in memory.neighbours("Zed")]
        assert [one.node.name for one in other.neighbours("Zed")] == expected


def test_an_alias_of_today_was_not_known_then(memory: hades.Memory) -> None:
    memory.remember("a", "# Note\n\nWe met Mister Zeb there.")
    memory.relate("Mister Zeb", "is", "person")
    memory.search("Zeb")
    then = memory.log()[0].at
    memory.add_alias("Mister Zeb", "Zebulon")
    assert memory.search("Zebulon", retriever="names")
    assert not memory.at(known=then).search("Zebulon", retriever="names")


def test_what_was_related_later_joins_nothing_in_what_was_known(memory: hades.Memory) -> None:
    memory.remember("a", "We saw a blue whale in the north.")
    memory.remember("b", "A blue whale eats krill.")
    memory.search("whale")
    then = memory.log()[0].at
    memory.relate("blue whale", "is", "animal")
    memory.remember("c", "Something else.")  # new names are looked for in old texts, too
    assert memory.paths("a", "b")
    assert not memory.at(known=then).paths("a", "b")


def test_a_topic_true_since_the_first_day(memory: hades.Memory) -> None:
    memory.remember("a", "The sky is blue.", valid_from="0001-01-01")
    memory.remember("a", "The sky is blue because of scattering.")
    assert memory.recall("why is the sky blue?").passages


def test_a_plan_leaves_todays_text_in_todays_graph(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "What holds today.", valid_from="2022")
        memory.relate("a", "needs", "b", valid_from="2022")
        memory.remember("a", "What is planned.", valid_from="2999")
        memory.search("today")
    with hades.open(path) as memory:
        assert "a@1#0" in [one.node.name for one in memory.neighbours("a")]
