"""The graph arrays: repaired after each write, they are as if made anew."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import hades
from hades.domain.times import NOW
from hades.index import graph_cache
from hades.index import indexes as indexes_
from hades.index import tables as tables_
from hades.index.graph_build import build_graph
from hades.index.graph_view import GraphView
from hades.index.tables import Tables
from hades.operations.indexing import index_pending

NAMES = ("Ada Lovelace", "Ada", "Lovelace Prize", "Mercury", "Ed Wood", "Bug Y")
TOPICS = ("notes/ada", "notes/prize", "notes/mercury", "bugs/bug_y")

sentences = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(
    lambda names: "# " + names[0] + "\n\n" + ". ".join(f"we met {name} there" for name in names)
)
writes = st.one_of(
    st.tuples(st.just("remember"), st.sampled_from(TOPICS), sentences),
    st.tuples(st.just("forget"), st.sampled_from(TOPICS), st.just("")),
    st.tuples(st.just("relate"), st.sampled_from(TOPICS), st.sampled_from(NAMES)),
    st.tuples(st.just("unrelate"), st.sampled_from(TOPICS), st.sampled_from(NAMES)),
    st.tuples(st.just("merge"), st.just("Ada Lovelace"), st.just("Ada")),
    st.tuples(st.just("split"), st.just("Ada"), st.just("")),
)


def graph_of(view: hades.View) -> GraphView:
    with view.inside.engine.query_context(view.inside.scope()) as query:
        return query.graph


def arcs(graph: GraphView) -> dict[tuple[int, int], float]:
    """Every arc by the nodes themselves: numbers may differ between two graphs."""
    one, two, weight = graph.adjacency.arcs()
    return {
        (graph.node(int(a)), graph.node(int(b))): round(float(w), 5)
        for a, b, w in zip(one, two, weight, strict=True)
    }


def write(memory: hades.Memory, what: str, one: str, two: str) -> None:
    try:
        if what == "remember":
            memory.remember(one, two)
        elif what == "relate":
            memory.relate(one, "about", two)
        elif what == "unrelate":
            memory.unrelate(one, "about", two)
        elif what == "merge":
            memory.merge(one, two)
        else:
            getattr(memory, what)(one)
    except hades.HadesError:
        pass  # nothing to forget, to end or to split


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some notes, indexed once: each life begins with a copy of them."""
    folder = tmp_path_factory.mktemp("ground")
    with hades.open(folder / "m.hades") as memory:
        for number in range(12):
            memory.remember(f"ground/{number}", f"# Ground {number}\n\nNothing but Mercury here.")
        memory.recall("Mercury")
    return folder


@pytest.mark.slow
@settings(max_examples=15, deadline=None, phases=(Phase.explicit, Phase.generate))
@given(life=st.lists(writes, min_size=1, max_size=12))
def test_a_repaired_graph_equals_one_built_anew(
    ground: Path, life: list[tuple[str, str, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ground, folder, dirs_exist_ok=True)
        memory = hades.open(Path(folder) / "m.hades")
        for step in life:
            write(memory, *step)
            index_pending(memory.inside, None)
            repaired = graph_of(memory)
            tables = Tables(memory.inside.store, Path(folder) / "other")
            indexes = memory.inside.finder.indexes
            tables.catch_up(indexes.chunks, memory.inside.space_id)
            anew = build_graph(tables, indexes.chunks["id"], repaired.moment)
            assert arcs(repaired) == arcs(anew)
            for field in ("frequency", "title_of", "previous", "next", "hub"):
                assert np.array_equal(getattr(repaired, field), getattr(anew, field)), field
            for field, counted in repaired.names._asdict().items():
                assert np.array_equal(counted, getattr(anew.names, field)), field
        memory.close()


def test_the_graph_is_that_of_the_moment(memory: hades.Memory) -> None:
    memory.remember("films/ed_wood", "# Ed Wood\n\nA film by Tim Burton.", valid_from="2020-01-01")
    memory.remember("people/burton", "# Tim Burton\n\nHe made films.", valid_from="2021-01-01")
    index_pending(memory.inside, None)

    def titles(view: hades.View) -> set[int]:
        graph = graph_of(view)
        return set(graph.title_of[graph.visible].tolist())

    assert len(titles(memory)) == 2
    assert len(titles(memory.at("2020-06-01"))) == 1


def test_a_note_is_linked_from_texts_that_were_there_before(memory: hades.Memory) -> None:
    memory.remember("films/ed_wood", "# Ed Wood\n\nA film by tim burton, they say.")
    before = graph_of(memory)
    memory.remember("people/burton", "# Tim Burton\n\nHe made films.")
    index_pending(memory.inside, None)
    after = graph_of(memory)
    assert len(arcs(after)) > len(arcs(before))
    title = int(after.title_of[after.visible].max())
    assert after.frequency[title] == 2


def test_an_index_of_no_memory_is_made_anew(memory: hades.Memory, path: Path) -> None:
    memory.remember("a", "# Ed Wood\n\nText.")
    memory.recall("Ed Wood")
    for file in memory.inside.store.index_folder.rglob("*"):
        if file.is_file():
            file.write_bytes(b"broken")
    with hades.open(path) as again:
        assert again.recall("Ed Wood").passages[0].chunk.topic == "a"


def test_now_is_what_is_asked_about_by_default(memory: hades.Memory) -> None:
    assert memory.inside.scope().as_of == NOW


def test_a_saved_graph_is_repaired_by_what_was_written_since(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph_cache, "SAVED_FROM_MENTIONS", 1)
    monkeypatch.setattr(tables_, "SAVED_AFTER_ROWS", 1)
    with hades.open(path) as memory:
        for number in range(30):
            memory.remember(f"ground/{number}", f"# Ground {number}\n\nNothing but Mercury here.")
        memory.recall("Mercury")
        folder = memory.inside.store.index_folder
        assert list(folder.glob("graph*"))
    monkeypatch.setattr(
        graph_cache, "build_graph", None
    )  # from here on it is read, never made anew
    with hades.open(path) as memory:
        assert memory.recall("What is on Ground 3?").passages
        memory.remember("films/ed_wood", "# Ed Wood\n\nA film about Mercury.")
        memory.forget("ground/3")
        with memory.inside.engine.query_context(memory.inside.scope()) as query:
            repaired = query.graph
        indexes = memory.inside.finder.indexes
        tables = Tables(memory.inside.store, path.parent / "other")
        tables.catch_up(indexes.chunks, memory.inside.space_id)
        anew = build_graph(tables, indexes.chunks["id"], repaired.moment)
        assert arcs(repaired) == arcs(anew)


def test_indexes_are_saved_after_many_small_writes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (tables_, indexes_):
        monkeypatch.setattr(module, "SAVED_AFTER_ROWS", 12)

    def saved() -> list[str]:
        return sorted(file.name for file in folder.iterdir() if file.name in ("arrays", "links"))

    with hades.open(path) as memory:
        folder = memory.inside.store.index_folder
        for number in range(8):
            memory.remember(f"ground/{number}", f"Ground {number} lies beside Mercury.")
            memory.recall("Mercury")
            assert number or not saved()  # one note has fewer rows
        assert saved() == ["arrays", "links"]
    with hades.open(path) as memory:
        assert memory.search("Ground 7", limit=1)[0].chunk.topic == "ground/7"


def test_an_older_file_put_back_by_hand_drops_the_newer_indexes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (tables_, indexes_):
        monkeypatch.setattr(module, "SAVED_AFTER_ROWS", 1)
    with hades.open(path) as memory:
        memory.remember("a", "# First\n\nOf Mercury.")
        memory.recall("Mercury")
    older = path.read_bytes()
    with hades.open(path) as memory:
        for number in range(20):
            memory.remember(f"b/{number}", f"# Later {number}\n\nOf Mercury.")
        memory.recall("Mercury")
    path.write_bytes(older)
    with hades.open(path) as memory:
        assert [one.chunk.topic for one in memory.recall("Mercury").passages] == ["a"]
        assert [hit.chunk.topic for hit in memory.search("Mercury")] == ["a"]


def test_a_question_reads_the_words_of_its_own_space_only(path: Path) -> None:
    with hades.open(path) as memory:
        memory.create_space("other")
        other = memory.in_space("other")
        memory.remember("a", "# First\n\nOf Mercury.")
        other.remember("b", "# Second\n\nOf Venus.")
        index_pending(memory.inside, None)
        assert other.recall("What is of Venus?").passages
        terms = memory.inside.finder.graphs.tables.terms
        assert len(terms) == 1
        # The memory is unchanged since, and yet the words of this space are missing.
        assert memory.recall("What is of Mercury?").passages
        assert len(terms) == 2
