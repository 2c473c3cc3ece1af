"""SQLite and PostgreSQL give the same: random steps on both, results and errors compared.

The steps of a life are shared out between two openings of each memory, so that each also sees what
the other wrote. In the slow form the second opening is in another process.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine_steps
import pytest
from engine_steps import Step, StepRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import HeldClock
from tests.making import UNHURRIED

if TYPE_CHECKING:
    from postgres_template import PostgresTemplate

Run = Callable[[str, int, Step], Any]

TOPICS = ["a", "B", "ä/b", "Z", "_x", "a b", "100%", "é", "E\u0301", "10", "9", "𝒳", "İ", "ß"]
PEOPLE = ["Ann Lee", "ann lee", "Bob", "Ünal", "O'Neil", 'Q"', "-", "李四"]
TEXTS = [
    "Ann Lee met Bob in Rome.",
    "Bob left Rome because of the heat.",
    "The plan of Ünal was rejected.",
    "line\n" * 30,
    "line\n" * 29 + "İ ß \x00 🜏",
    "",
]
topics, people, texts = (st.sampled_from(one) for one in (TOPICS, PEOPLE, TEXTS))
names = topics | people
relations = st.sampled_from(["knows", "rejected_because", "Ärger"])
times = st.sampled_from([None, None, "2023-12-24", "2024-01-01T00:20", "2025"])
edges = st.integers(1, 6)
evidence = texts.map(lambda text: text.replace("\0", ""))  # which PostgreSQL refuses in columns


def step(name: str, *arguments: st.SearchStrategy[Any], **named: st.SearchStrategy[Any]) -> Any:
    return st.tuples(st.just(name), st.tuples(*arguments), st.fixed_dictionaries(named))


tags = st.sampled_from([None, ["b", "a"], ["É"]])
STEPS = st.lists(
    st.one_of(
        step("remember", topics, texts, valid_from=times, tags=tags),
        step("remember", topics, texts),
        step("relate", names, relations, names, valid_from=times, evidence=evidence),
        step("relate", people, relations, people),
        step("unrelate", edges, mistake=st.booleans()),
        step("change_fact", names, relations, to=st.none() | names),
        step("forget", topics),
        step("withdraw", topics, st.integers(1, 3)),
        step("purge", topics),
        step("merge", people, people),
        step("split", people),
        step("add_alias", people, names),
        step("set_kind", people, st.sampled_from(["person", "Person", "firm"])),
        # Not of edges: PostgreSQL numbers an edge that is only tried, so the next has another id.
        step("propose", topics, content=texts, confidence=st.sampled_from([0.3, 0.95])),
        step("approve", edges),
    ),
    min_size=3,
    max_size=25,
)
UNASKED: list[Step] = [
    ("topics", (), {}),
    ("entities", (), {}),
    ("edges", (), {"all": True}),
    ("proposals", (), {}),
    ("log", (100,), {}),
    ("check", (), {}),
]
PLAN: dict[str, Any] = {"plan": UNHURRIED}
ASKED: list[Step] = [
    *(("recall", (question,), PLAN) for question in ("Who met Bob?", "Why was it rejected?")),
    ("search", ("Rome heat",), {}),
    ("about", ("Bob",), {}),
    ("mentions", ("Ann Lee",), {}),
]


def _live(steps: list[Step], places: tuple[str, str], runs: tuple[Run, Run]) -> None:
    """Do the same to both places, every other step by the second opening, and compare."""
    clock = HeldClock()
    clock.set("2024-01-01")

    def compare(number: int, wanted: Step) -> None:
        file, database = (runs[number % 2](place, clock.micros, wanted) for place in places)
        assert file == database, wanted

    for number, wanted in enumerate(steps):
        clock.tick(60)
        compare(number, wanted)
    for number, topic in enumerate(TOPICS):
        compare(number, ("history", (topic,), {}))
        compare(number, ("get", (topic,), {}))
    for wanted in [*UNASKED, *ASKED]:
        compare(0, wanted)
        compare(1, wanted)


def _test(
    steps: list[Step], template: PostgresTemplate, folder: Path, runs: tuple[Run, Run], close: Any
) -> None:
    with template.copied() as address:
        try:
            _live(steps, (str(folder / "m.hades"), address), runs)
        finally:
            close()


@settings(max_examples=2)
@given(STEPS)
def test_both_engines_give_the_same(
    tmp_path_factory: pytest.TempPathFactory,
    postgres_template: PostgresTemplate,
    steps: list[Step],
) -> None:
    first, second = StepRunner(), StepRunner()

    def close() -> None:
        first.close()
        second.close()

    folder = tmp_path_factory.mktemp("same")
    _test(steps, postgres_template, folder, (first.run, second.run), close)


@pytest.mark.slow
def test_both_engines_give_the_same_to_two_processes(
    tmp_path_factory: pytest.TempPathFactory, postgres_template: PostgresTemplate
) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as other:

        def run_there(place: str, micros: int, step: Step) -> Any:
            return other.submit(engine_steps.run_here, place, micros, step).result(240)

        @settings(max_examples=40)
        @given(STEPS)
        def live(steps: list[Step]) -> None:
            here = StepRunner()

            def close() -> None:
                here.close()
                other.submit(engine_steps.close_here).result(60)

            folder = tmp_path_factory.mktemp("same")
            _test(steps, postgres_template, folder, (here.run, run_there), close)

        live()
