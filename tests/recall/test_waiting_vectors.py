"""What was told and noted answers at once, however much of it waits for vectors."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from pathlib import Path

import pytest
from making import UNHURRIED
from serving import Server

import hades
from tests.shell import Shell

FACTS = 5_000
"""Beyond what a question makes vectors of before it answers."""
OF_WORDS = {**UNHURRIED, "retriever": {"timeout_ms": 60_000, "retrievers": ["words", "names"]}}


def names(end: str) -> Iterator[str]:
    """Made-up names, each other than the others by more than a letter."""
    first = ("Bra", "Cor", "Dal", "Elm", "Fen", "Gar", "Hol", "Ist", "Jor", "Kal", "Lor", "Mer")
    second = ("ba", "de", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "ze")
    return ("".join((*parts, end)) for parts in product(first, second, second, second))


LANDS = list(islice(names("land"), FACTS // 2))
TOWNS = list(islice(names("ville"), FACTS))
ASKED = (7, 1_234, 2_499)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A memory in which each land has one capital until 2020, and another since."""
    path = tmp_path_factory.mktemp("told") / "m.hades"
    with hades.open(path) as memory, memory.batch():
        for land, old, new in zip(LANDS, TOWNS[::2], TOWNS[1::2], strict=True):
            memory.relate(
                *(land, "has_capital", old),
                valid_from="2010-01-01",
                valid_to="2020-05-01",
                create=True,
            )
            memory.relate(land, "has_capital", new, valid_from="2020-05-01", create=True)
    return path


def test_a_named_thing_is_found_among_the_facts_of_a_hub(memory: hades.Memory) -> None:
    memory.remember("Old Item", "It came with the house.")
    with memory.batch():
        for number in range(60):
            memory.relate(f"Item {number}", "part_of", "Hub")
        for name in ("New Item", "Old Item"):
            memory.relate(name, "part_of", "Hub")
    for question in ("What is {} part of?", "Which hub does {} belong to?"):
        for name in ("New Item", "Old Item"):
            assert f"{name} part of Hub" in best(memory, question.format(name), **OF_WORDS)


def best(view: hades.View, question: str, **plan: object) -> str:
    found = view.ask(question, plan=plan or UNHURRIED)
    return found.sentences[0].text if found.sentences else found.shortfall


@pytest.mark.slow
def test_told_facts_answer_while_their_vectors_wait(told: Path) -> None:
    with hades.open(told) as memory:
        for number in ASKED:
            land, old, new = LANDS[number], TOWNS[2 * number], TOWNS[2 * number + 1]
            question = f"What is the capital of {land}?"
            assert best(memory, question) == f"{land} has capital {new}, since 1 May 2020"
            assert old in best(memory.at("2015-06-01"), question)
            assert old in best(memory, f"What was the capital of {land} in June 2015?")
            assert "1 May 2020" in best(memory, f"Since when is {new} the capital of {land}?")
            assert land in best(memory, f"Of which land is {new} the capital?")
            assert new in best(memory, question, **OF_WORDS)
        found = memory.recall(f"What is the capital of {LANDS[0]}?", plan=UNHURRIED)
        waits = [one.detail for one in found.reasons if one.reason is hades.Reason.NO_EMBEDDINGS]
        assert waits == ["2,500 of 2,500 facts have no vector yet"]
        assert memory.ask("What is the capital of Nowhereland?").unsaid == ("Nowhereland",)


def test_they_answer_on_the_command_line_and_over_a_server(told: Path, server: Server) -> None:
    question = f"What is the capital of {LANDS[42]}?"
    answer = f"{LANDS[42]} has capital {TOWNS[85]}, since 1 May 2020"
    assert answer in Shell(told)("ask", question)
    assert answer in Shell(told)("recall", question, "--context")
    with server.serving(told), hades.open(server.address) as client:
        assert best(client, question) == answer
        assert answer in client.recall(question, plan=UNHURRIED).context


def test_notes_without_a_vector_are_found_among_others_that_have_one(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(path) as memory:
        for firm in TOWNS[:30]:
            memory.remember(f"firm/{firm}", f"Ada Brask is our contact at {firm}, since spring.")
        memory.index()
        monkeypatch.setattr("hades.operations.indexing.EMBEDDED_AT_ONCE", -1)
        monkeypatch.setattr("hades.ingest.sharing.VECTORS_AT_ONCE", 0)
        for firm in TOWNS[900:920]:
            memory.remember(f"firm/{firm}", f"Otis Quist is our contact at {firm}, since spring.")
        for firm in TOWNS[900:920:3]:
            found = memory.recall(f"Who is our contact at {firm}?", plan=UNHURRIED)
            (own,) = (one for one in found.passages if one.chunk.topic == f"firm/{firm}")
            assert "meaning" not in own.retrievers
        assert memory.unembedded == 20
