"""A space tells nothing of another: what is in one changes no score of a reader of the other."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from making import UNHURRIED

import hades
from tests.conftest import HeldClock

WORDS = ("mercury", "Ada Lovelace", "disk", "failed", "zebra", "Bob", "the", "payments", "xyzzy")
QUESTIONS = ("Why did the disk of payments fail?", "zebra", "What did Ada Lovelace say to Bob?")

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
topics = st.sampled_from(("notes/one", "notes/two", "people/ada", "lists/three"))
kept = st.one_of(
    st.tuples(st.just("remember"), topics, texts),
    st.tuples(st.just("relate"), topics, st.sampled_from(WORDS)),
    st.tuples(st.just("forget"), topics, st.just("")),
    st.tuples(st.just("search"), st.sampled_from(QUESTIONS), st.just("")),
)
writes = kept | st.tuples(st.just("purge"), topics, st.just(""))
SYSTEMS = ("dense", "words", "hybrid", "ppr", "fusion", "full")
lives = st.lists(writes, min_size=1, max_size=6)


@pytest.fixture(scope="module", autouse=True)
def _kernels(tmp_path_factory: pytest.TempPathFactory) -> None:
    with hades.open(tmp_path_factory.mktemp("warm") / "m.hades") as memory:
        memory.warm()  # both ways of walking agree only up to rounding


def write(memory: hades.Memory, what: str, one: str, two: str) -> None:
    try:
        if what == "relate":
            memory.relate(one, "about", two)
        elif what == "remember":
            memory.remember(one, two)
        else:
            getattr(memory, what)(one)
    except hades.HadesError:
        pass  # nothing to forget or to purge


def plain(found: Any) -> Any:
    """Everything that is told, to the last digit; but numbers of rows and how long it took."""
    if dataclasses.is_dataclass(found) and not isinstance(found, type):
        fields = (field.name for field in dataclasses.fields(found))
        gone = {"id", "ms", "begun_ms", "conveyance"} | (
            {"edge"} if isinstance(found, hades.Step) else set()
        )
        kept = [name for name in fields if name not in gone]
        return {name: plain(getattr(found, name)) for name in kept}
    if isinstance(found, dict):
        return {str(key): plain(value) for key, value in found.items() if key != "id"}
    if isinstance(found, list | tuple):
        return [plain(one) for one in found]
    return re.sub(r"\b\d+ ms\b|\bedge \d+", "", repr(found))


def answers(memory: hades.Memory) -> list[Any]:
    told: list[Any] = []
    for question in QUESTIONS:
        for retriever in (None, "meaning", "words", "names"):
            told.append(memory.search(question, retriever=retriever))
        told.append(memory.recall(question, plan=UNHURRIED))
        told += [memory.rank(question, system=system, limit=20) for system in SYSTEMS]
    for topic in memory.topics():
        told += [memory.neighbours(topic.name, hops=2), memory.subgraph(topic.name)]
    told.append(memory.entities())
    return [plain(one) for one in told]


@pytest.mark.slow
@settings(max_examples=12, phases=(Phase.explicit, Phase.generate))
@given(own=lives, other=st.lists(st.tuples(st.integers(0, 6), kept), max_size=8))
def test_another_space_changes_no_score(
    own: list[tuple[str, str, str]], other: list[tuple[int, tuple[str, str, str]]]
) -> None:
    told = []
    with tempfile.TemporaryDirectory() as folder:
        for number, others in enumerate(([], other)):
            clock = HeldClock()
            with hades.open(Path(folder) / f"{number}.hades", clock=clock) as admin:
                admin.create_space("own")
                admin.create_space("other")
                mine, theirs = admin.in_space("own"), admin.in_space("other")
                for at, step in enumerate(own):
                    for before, their_step in others:
                        if before == at:
                            write(theirs, *their_step)
                    clock.tick()
                    write(mine, *step)
                for _, their_step in others:
                    write(theirs, *their_step)
                clock.tick()
                told.append(answers(mine))
    assert told[0] == told[1]
