"""A question that names two things gets the paths between them, as `paths` gives them."""

from __future__ import annotations

from pathlib import Path

import pytest
from making import UNHURRIED
from shell import Shell

import hades

DEVLIN = (
    "Jacob Devlin <--[authored_by]-- BERT --[cites]--> Attention Is All You Need "
    "--[authored_by]--> Noam Shazeer"
)


@pytest.fixture
def papers(memory: hades.Memory) -> hades.Memory:
    memory.relate("BERT", "authored_by", "Jacob Devlin")
    memory.relate("BERT", "cites", "Attention Is All You Need")
    memory.relate("Attention Is All You Need", "authored_by", "Noam Shazeer")
    memory.remember("lunch", "Ann Smith had lunch with Bob Jones.")
    memory.relate("Bob Jones", "works_at", "Salt and Pepper")
    memory.relate("Island", "lies_in", "North Sea")
    return memory


@pytest.mark.parametrize(
    "question",
    [
        "How is Jacob Devlin connected with Noam Shazeer?",
        "What links “Jacob Devlin” and Noam Shazeer?",
        "how are Jacob Devlin and Noam Shazeer related to each other",
        "Is there a connection between Jacob Devlin and Noam Shazeer?",
        "Show me the path from Jacob Devlin to Noam Shazeer",
    ],
)
def test_two_names_get_their_path(papers: hades.Memory, question: str) -> None:
    found = papers.recall(question, plan=UNHURRIED)
    assert found.intent is hades.Intent.CONNECTION
    assert found.paths[0] == papers.paths("Jacob Devlin", "Noam Shazeer")[0]
    assert DEVLIN in found.context
    answer = papers.ask(question, plan=UNHURRIED)
    assert [(row.kind, row.text, row.mark) for row in answer.sentences] == [
        ("path", DEVLIN, "[P1]")
    ]
    assert str(answer) == f"{DEVLIN} [P1]"


def test_pathrag_finds_it_too(papers: hades.Memory) -> None:
    asked = "How is Jacob Devlin connected with Attention Is All You Need?"
    (path,) = hades.PathRAG(papers).retrieve_paths(asked)["paths"]
    assert path["edge_types"] == ("authored_by", "cites")


def test_a_path_through_texts_cites_them(papers: hades.Memory, path: Path) -> None:
    asked = "What is the relationship between Ann Smith and Salt and Pepper?"
    answer = papers.ask(asked, plan=UNHURRIED)
    assert answer.sentences[0].text == (
        "Ann Smith --[mentioned in]--> lunch@1#0 --[mentions]--> Bob Jones "
        "--[works_at]--> Salt and Pepper"
    )
    assert "[P1] path, lunch@1#0, belief" in Shell(path)("ask", asked)


def test_names_that_nothing_joins_are_reported(papers: hades.Memory, path: Path) -> None:
    asked = "How is Jacob Devlin connected with the North Sea?"
    answer = papers.ask(asked, plan=UNHURRIED)
    assert not [row for row in answer.sentences if row.kind == "path"]
    note = "no path of at most 6 steps joins Jacob Devlin with North Sea"
    assert note in " ".join(Shell(path)("ask", asked).split())
    assert [row.detail for row in answer.recall.reasons if row.stage == "paths"] == [note]


def test_unknown_names_make_a_plain_question(papers: hades.Memory) -> None:
    found = papers.recall("How is Jacob Devlin connected with Nobody Known?")
    assert found.intent is hades.Intent.LOOKUP
    assert found.asked.evidence == "the two names are not both known"


def test_the_caller_may_limit_how_far_paths_go(papers: hades.Memory) -> None:
    asked = "How is Jacob Devlin connected with Noam Shazeer?"
    assert "plan: raised (graph.hops 3 instead of 1)" in map(str, papers.recall(asked).reasons)
    one_hop, three_hops = (
        {**UNHURRIED, "graph": {"hops": hops, "timeout_ms": 60_000}} for hops in (1, 3)
    )
    for near in (
        papers.recall(asked, plan=one_hop),
        papers.recall(asked, mode="execution", plan=UNHURRIED),  # its hard caps hold …
    ):
        assert near.paths == ()
        assert "no path of at most 2 steps" in str(near.reasons[-1])
    # … unless the plan raises them.
    assert papers.recall(asked, mode="execution", plan=three_hops).paths


def test_a_connection_is_of_its_time(papers: hades.Memory) -> None:
    papers.relate("Ann Smith", "knows", "Noam Shazeer", valid_from="2020", valid_to="2022")
    asked = "How is Ann Smith connected with Noam Shazeer?"
    then = papers.at("2021").ask(asked, plan=UNHURRIED)
    assert [row.text for row in then.sentences] == ["Ann Smith --[knows]--> Noam Shazeer"]
    assert papers.at("2023").ask(asked, plan=UNHURRIED).sentences == ()
