"""Repositories are proposed for papers that name none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hades

PAPERS = (
    ("2001.00001", "Rolling hashes of windows", "Fast sums.", "Daniel Lemire"),
    ("2001.00002", "BADREX finds abbreviations", "BADREX reads reports.", "Phil Gooch"),
    ("2001.00003", "A survey of lakes", "See https://github.com/cyd/lake-levels.", "Cyd Poe"),
    ("2001.00004", "Deeper waters", "Currents below the ice are measured.", "Bea Moss"),
)
REPOSITORIES = ("lemire/rolling-hashes", "philgooch/BADREX", "poe/tides")
EXPECTED = {
    ("Rolling hashes of windows", "lemire/rolling-hashes"),
    ("BADREX finds abbreviations", "philgooch/BADREX"),
}


@pytest.fixture
def papers(memory: hades.Memory, tmp_path: Path) -> hades.Memory:
    fields = ("arxiv_id", "title", "abstract", "author_text")
    lines = (json.dumps(dict(zip(fields, paper, strict=True))) for paper in PAPERS)
    file = tmp_path / "papers.jsonl"
    file.write_text("\n".join(lines))
    memory.ingest(file)
    for name in REPOSITORIES:
        memory.remember(name, f"{name} is code.")
    return memory


def test_likely_repositories_wait_for_review_with_their_signs(papers: hades.Memory) -> None:
    proposed = papers.resolve(repositories=True).proposed
    assert {(pair.keep, pair.other) for pair in proposed} == EXPECTED
    waiting = {proposal.fields["target"]: proposal for proposal in papers.proposals()}
    found = waiting["philgooch/BADREX"]
    assert found.fields["relation"] == "implements"
    assert {"an author in the owner", "a word in capitals"} <= set(
        found.why.removeprefix("signs: ").split(", ")
    )
    assert len(papers.edges(relation="implements")) == 1


def test_a_second_run_proposes_nothing_and_a_rejected_pair_stays_away(
    papers: hades.Memory,
) -> None:
    papers.resolve(repositories=True)
    first, second = papers.proposals()
    papers.reject(first.id)
    papers.approve(second.id)
    papers.unrelate(*(second.fields[end] for end in ("source", "relation", "target")))
    assert papers.resolve(repositories=True).proposed == ()
    assert papers.proposals() == []


def test_an_accepted_proposal_joins_paper_and_repository(papers: hades.Memory) -> None:
    papers.resolve(repositories=True)
    for proposal in papers.proposals():
        papers.approve(proposal.id)
    paths = papers.paths("Rolling hashes of windows", "lemire/rolling-hashes")
    assert "implements" in str(paths[0])


def test_a_dry_run_shows_proposals_and_writes_none(papers: hades.Memory) -> None:
    change = papers.change
    assert len(papers.resolve(repositories=True, dry_run=True).proposed) == len(EXPECTED)
    assert papers.proposals() == []
    assert papers.change == change


def test_resolve_alone_proposes_no_repositories(papers: hades.Memory) -> None:
    assert papers.resolve().proposed == ()
    assert papers.proposals() == []


def test_a_repository_of_another_paper_is_not_proposed(papers: hades.Memory) -> None:
    papers.relate("A survey of lakes", "implements", "philgooch/BADREX")
    (pair,) = papers.resolve(repositories=True).proposed
    assert pair.other == "lemire/rolling-hashes"


def test_a_repository_may_be_a_name_without_text(papers: hades.Memory) -> None:
    papers.relate("Bea Moss", "maintains", "bmoss/deeper-waters")
    papers.set_kind("bmoss/deeper-waters", "repository")
    proposed = papers.resolve(repositories=True).proposed
    assert ("Deeper waters", "bmoss/deeper-waters") in {
        (pair.keep, pair.other) for pair in proposed
    }
