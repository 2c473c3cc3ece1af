"""arXiv metadata: papers are entities, joined to authors, code and each other."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hades.ingest.document import Bad, Document, IntroducedName, Origin
from hades.ingest.readers.arxiv import (
    AUTHORS_AT_MOST,
    cited_ids,
    code_links,
    looks_like_paper,
    paper_id,
    plain_letters,
    read_arxiv,
)

HARVEST = {
    "arxiv_id": "0705.4676",
    "title": "Recursive hashing",
    "abstract": "We hash\n  n-grams, as arXiv:1706.03762v5 does.",
    "author_text": "Daniel Lemire, Owen Kaser",
    "categories": "cs.DB,cs.CL",
    "comments": "See https://github.com/lemire/rollinghashcpp.",
    "created": "2007-05-31",
}
KAGGLE = {
    "id": "hep-th/9901001",
    "submitter": "P. Erdos",
    "authors": 'P. Erd\\H{o}s and R. Schr{\\"o}der (Univ. of X (Y), Z)',
    "authors_parsed": [["Erd\\H{o}s", "P.", ""], ['Schr{\\"o}der', "R.", "Jr."]],
    "title": "On  graphs",
    "comments": None,
    "doi": "10.1/x",
    "categories": "math.CO cs.DM",
    "abstract": "  About graphs.\n",
    "versions": [{"version": "v1", "created": "Mon, 2 Apr 2007 19:18:42 GMT"}],
    "update_date": "2008-11-13",
}


def read(folder: Path, *rows: object) -> list[Document | Bad]:
    path = folder / "papers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(read_arxiv(path))


def paper(folder: Path, row: dict[str, Any]) -> Document:
    (document,) = read(folder, row)
    assert isinstance(document, Document)
    return document


def test_a_paper_with_its_names_and_links(tmp_path: Path) -> None:
    document = paper(tmp_path, HARVEST)
    assert (document.topic, document.kind) == ("arxiv/0705.4676", "paper")
    assert document.content == (
        "Recursive hashing\n\n"
        "We hash n-grams, as arXiv:1706.03762v5 does.\n\n"
        "See https://github.com/lemire/rollinghashcpp."
    )
    assert document.valid_from == datetime(2007, 5, 31, tzinfo=UTC)
    assert document.tags == ("cs.DB", "cs.CL")
    assert document.names == (
        IntroducedName("Recursive hashing", Origin.TITLE, "paper"),
        IntroducedName("0705.4676", Origin.ALIAS, "paper"),
        IntroducedName("arXiv:0705.4676", Origin.ALIAS, "paper"),
        IntroducedName("Daniel Lemire", Origin.AUTHOR, "person"),
        IntroducedName("Owen Kaser", Origin.AUTHOR, "person"),
        IntroducedName("lemire/rollinghashcpp", Origin.EXTRACTED, "repository"),
        IntroducedName("1706.03762", Origin.EXTRACTED, "paper"),
    )
    assert [(link.source, link.relation, link.target, link.block) for link in document.links] == [
        ("Recursive hashing", "authored_by", "Daniel Lemire", 0),
        ("Recursive hashing", "authored_by", "Owen Kaser", 0),
        ("Recursive hashing", "in_category", "cs.DB", 0),
        ("Recursive hashing", "in_category", "cs.CL", 0),
        ("Recursive hashing", "implements", "lemire/rollinghashcpp", 1),
        ("Recursive hashing", "cites", "1706.03762", 0),
    ]
    assert "github.com/lemire/rollinghashcpp" in document.links[4].evidence
    texts = [document.content[block.start : block.end] for block in document.blocks]
    assert texts == document.content.split("\n\n")[1:]


def test_kaggles_fields(tmp_path: Path) -> None:
    document = paper(tmp_path, KAGGLE)
    assert document.topic == "arxiv/hep-th/9901001"
    assert document.content == "On graphs\n\nAbout graphs."
    assert document.metadata["authors"] == ["P. Erdős", "R. Schröder Jr."]
    assert document.metadata["doi"] == "10.1/x"
    assert document.tags == ("math.CO", "cs.DM")
    assert document.valid_from == datetime(2007, 4, 2, 19, 18, 42, tzinfo=UTC)


def test_authors_as_a_text_lose_their_affiliations(tmp_path: Path) -> None:
    row = {**KAGGLE, "authors_parsed": None}
    assert paper(tmp_path, row).metadata["authors"] == ["P. Erdős", "R. Schröder"]


def test_a_collaboration_is_bounded(tmp_path: Path) -> None:
    row = {**HARVEST, "author_text": ", ".join(f"Author {n}" for n in range(3000))}
    authors = [n for n in paper(tmp_path, row).names if n.origin is Origin.AUTHOR]
    assert len(authors) == AUTHORS_AT_MOST


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Code: https://github.com/lemire/Fast.git.", ["lemire/Fast"]),
        ("(http://www.github.com/a-b/c_d.e/)", ["a-b/c_d.e"]),
        ("\\url{https://github.com/a/b}, GitHub.com/A/B", ["a/b"]),
        ("https://github.com/a/b/blob/master/x.ipynb; gitlab.com/c/d", ["a/b", "c/d"]),
        ("git@bitbucket.org:owner/repo.git", ["owner/repo"]),
        ("https://github.com/DataDeps/DataDeps.jl/", ["DataDeps/DataDeps.jl"]),
        ("github.com/owner is all, so is https://github.com/owner/.", []),
        ("gist.github.com/a/b and notgithub.com/a/b and github.com/topics/nlp", []),
        ("https://user.github.io/project", []),
        ("see https://bitbucket.org/owner/ for access", []),
    ],
)
def test_repositories_are_found_and_normalised(text: str, found: list[str]) -> None:
    assert [name for name, _ in code_links(text)] == found


def test_an_escaped_underscore_in_an_address(tmp_path: Path) -> None:
    row = {**HARVEST, "comments": "https://github.com/a/b\\_c"}
    assert "a/b_c" in [link.target for link in paper(tmp_path, row).links]


def test_cited_ids_are_found_once_and_without_version() -> None:
    text = (
        "arXiv:1611.07112, arxiv.org/abs/1611.07112v2, https://arxiv.org/pdf/1706.03762.pdf, "
        "10.48550/arXiv.2301.00001, arXiv:math/0309136, arXiv:submit/2277826, 1234.56789"
    )
    assert [found for found, _ in cited_ids(text)] == [
        "1611.07112",
        "1706.03762",
        "2301.00001",
        "math/0309136",
    ]


def test_a_paper_does_not_cite_itself(tmp_path: Path) -> None:
    row = {**HARVEST, "abstract": "This is arXiv:0705.4676."}
    assert "cites" not in [link.relation for link in paper(tmp_path, row).links]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("arXiv:1706.03762v5", "1706.03762"),
        ("cs.LG/0101001", "cs.LG/0101001"),
        ("1501.0266199999999", "1501.0266199999999"),
        ("x", None),
        ("", None),
    ],
)
def test_ids_are_taken_without_prefix_and_version(written: str, meant: str | None) -> None:
    assert paper_id(written) == meant


def test_bad_papers_are_named_and_reading_goes_on(tmp_path: Path) -> None:
    read_back = read(tmp_path, {**HARVEST, "title": " "}, {**HARVEST, "arxiv_id": "p7"}, HARVEST)
    path = tmp_path / "papers.jsonl"
    assert [item for item in read_back if isinstance(item, Bad)] == [
        Bad(f"{path}, line 1", "The paper has no title."),
        Bad(f"{path}, line 2", "'p7' is not an arXiv id."),
    ]
    assert len(read_back) == 3


def test_what_looks_like_a_paper() -> None:
    assert looks_like_paper(HARVEST)
    assert looks_like_paper(KAGGLE)
    assert not looks_like_paper({"id": "p1", "title": "T", "text": "t"})
    assert not looks_like_paper({"id": "p1", "abstract": "t"})


@pytest.mark.parametrize(
    ("latex", "plain"),
    [
        (r"Erd\H{o}s", "Erdős"),
        (r"Ren\'e", "René"),
        (r"{\'{E}}cole", "École"),
        (r"\v{C}ech, Ha\v cek", "Čech, Haček"),
        (r"\L{}ukasz, {\O}re, Stra\ss e", "Łukasz, Øre, Straße"),
        (r"na\"{\i}ve", "naïve"),
        (r"$\alpha \cdot \rho$", r"$\alpha \cdot \rho$"),
        ("plain", "plain"),
    ],
)
def test_accents(latex: str, plain: str) -> None:
    assert plain_letters(latex) == plain
