"""Every key of a plan acts: for each there is a question whose answer it changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from making import UNHURRIED, with_more
from pydantic import BaseModel
from test_limits import JumpingClock
from word_encoder import write_word_encoder

import hades

FIRST = ("Ada", "Bela", "Cleo", "Dora", "Emil", "Fritz", "Gerda", "Hugo")
LAST = ("North", "Winter", "Holm", "Lind", "Berg")
TOWNS = ("Port Vale", "Old Hythe", "Marl Bay")
QUESTION = "Which town did Ada North and her teacher Bela Winter leave?"
WAYS = "How is Mill Lane connected with the Salt House?"
"""Two ways lead there, so less than half of the flow goes along either."""
TOLD = "Who was the head of the Harbour Board in March 2023?"

CHANGES: dict[str, tuple[Any, str]] = {
    "retriever.k": (1, QUESTION),
    "retriever.mmr": (1.0, QUESTION),
    "retriever.retrievers": (["words"], QUESTION),
    "retriever.read_on": (0, QUESTION),
    "retriever.time_words": (False, TOLD),
    "retriever.timeout_ms": (1, QUESTION),
    "graph.walk": (False, QUESTION),
    "graph.beam_search": (False, QUESTION),
    "graph.flow": (False, QUESTION),
    "graph.hops": (0, QUESTION),
    "graph.fanout": (1, QUESTION),
    "graph.beam": (1, QUESTION),
    "graph.damping": (0.9, QUESTION),
    "graph.decay_rate": (0.1, QUESTION),
    "graph.pruning_threshold": (0.9, WAYS),
    "graph.timeout_ms": (1, QUESTION),
    "reranker.on": (False, QUESTION),
    "reranker.fusion": ((1.0, 0.0, 0.0), QUESTION),
    "reranker.strength": (0.0, QUESTION),
    "reranker.m": (2, QUESTION),
    "reranker.timeout_ms": (1, QUESTION),
    "final_context": (1, QUESTION),
    "facts": (0, TOLD),
    "paths": (0, QUESTION),
    "history": (5, QUESTION),
    "level": (3, QUESTION),
    "budget.docs_max": (3, QUESTION),
    "budget.latency_ms": (1, QUESTION),
    "budget.tokens": (60, QUESTION),
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    """Forty documents of people who name each other, two of them written twice, and facts."""
    names = [f"{first} {last}" for last in LAST for first in FIRST]
    folder = tmp_path_factory.mktemp("plan")
    words = write_word_encoder(folder / "words")
    with hades.open(folder / "m.hades", encoder=f"folder:{words}") as memory:
        for turn in ("came to", "left"):
            for at, name in enumerate(names if turn == "left" else names[:2]):
                town, other = TOWNS[at % 3], names[(at * 7 + 9) % len(names)]
                text = f"# {name}\n\n{name}, a teacher of {other}, {turn} the town of {town}."
                since = "2020-01-01" if turn == "came to" else None
                weight = 0.9 if at in (0, 8) else None
                memory.remember(
                    f"people/{at}", text, kind="document", valid_from=since, importance=weight
                )
        memory.relate("Harbour Board", "has_head", "Cleo North", valid_from="2023", valid_to="2024")
        memory.relate("Harbour Board", "has_head", "Dora North", valid_from="2024")
        for street in ("Quay Street", "Dock Road"):
            memory.relate("Mill Lane", "leads_to", street)
            memory.relate(street, "leads_to", "Salt House")
        for place in ("Mill Lane", "Salt House"):
            memory.remember(place, f"# {place}\n\n{place} is in the north.", kind="document")
        memory.consolidate(at_least=1)
        memory.index()
        yield memory


def leaves(part: type[BaseModel], before: str = "") -> Iterator[str]:
    for name, field in part.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from leaves(inner, f"{before}{name}.")
        else:
            yield before + name


def told(memory: hades.Memory, question: str, plan: dict[str, Any], ms: int) -> Any:
    found = memory.inside.engine.recall(
        memory.inside.scope(), question, budget=None, mode=None, plan=plan, on_progress=None,
        clock=JumpingClock([ms]),
    )  # fmt: skip
    passages = [(one.id, one.score) for one in found.passages]
    return passages, [(str(one), one.reliability) for one in found.paths], found.facts


def test_every_key_is_tried() -> None:
    # These need the reader: tests/recall/test_reading.py, test_document_answers.py.
    elsewhere = {"reranker.reader", "reranker.units"}
    assert {*CHANGES, *elsewhere, "reasons"} == {*leaves(hades.Plan)}


BEAM_ALONE = {"graph": {"flow": False}, "paths": 20, "final_context": 8}
BESIDE: dict[str, dict[str, Any]] = {
    "retriever.k": BEAM_ALONE,
    "retriever.mmr": BEAM_ALONE,
    "graph.beam": BEAM_ALONE,
    "graph.pruning_threshold": {"paths": 20},
    "reranker.fusion": {"reranker": {"on": False}},
}
"""What else a plan says, for keys that act where other things are off."""


@pytest.mark.parametrize("key", CHANGES)
def test_every_key_changes_an_answer(people: hades.Memory, key: str) -> None:
    value, question = CHANGES[key]
    part, _, name = key.rpartition(".")
    base = with_more(UNHURRIED, BESIDE.get(key, {}))
    changed = with_more(base, {part: {name: value}} if part else {name: value})
    ms = 10 if name in ("timeout_ms", "latency_ms") else 0
    assert told(people, question, base, ms) != told(people, question, changed, ms)
