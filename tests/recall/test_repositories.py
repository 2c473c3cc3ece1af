"""A paper and its code are joined by a path, when a question asks for the code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import hades

TITLE = "Recursive n-gram hashing of long sequences is pairwise independent, at the very best"


@pytest.fixture
def papers(path: Path, tmp_path: Path) -> hades.Memory:
    rows = [
        {"arxiv_id": "0705.4676", "title": TITLE, "abstract": "We prove it."},
        {"arxiv_id": "0707.1913", "title": "Removing boilerplate", "abstract": "Templates."},
    ]
    rows[0] |= {"comments": "See https://github.com/lemire/rollinghashcpp", "authors": "D. Lemire"}
    file = tmp_path / "papers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    memory = hades.open(path)
    memory.ingest(file)
    return memory


@pytest.mark.parametrize(
    "question",
    [
        f"Which code repository belongs to the paper {TITLE}?",
        f"Where is the code for {TITLE}?",
        f"{TITLE}: is there an implementation on GitHub?",
    ],
)
def test_the_code_of_a_paper(papers: hades.Memory, question: str) -> None:
    recall = papers.recall(question)
    assert [str(path.nodes[-1]) for path in recall.paths] == ["lemire/rollinghashcpp"]
    assert recall.paths[0].edge_types == ("implements",)
    assert "lemire/rollinghashcpp" in str(papers.ask(question))
    [repository] = [one for one in papers.entities() if one.kind == "repository"]
    assert repository.name == "lemire/rollinghashcpp"


def test_without_code_it_is_an_ordinary_question(papers: hades.Memory) -> None:
    recall = papers.recall("Where is the code for Removing boilerplate?")
    assert recall.intent != "relation"
    assert recall.passages[0].chunk.topic == "arxiv/0707.1913"


def test_a_title_of_fourteen_words_is_a_name(papers: hades.Memory) -> None:
    recall = papers.recall(f"What is known about {TITLE}?")
    assert any("lemire/rollinghashcpp" in map(str, path.nodes) for path in recall.paths)
