"""Budgets in tokens: whatever is packed has the tokens that it says, and no more than it may."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from context.test_tokens import hostile_text
from hierarchy.notes_making import remember_subjects
from hypothesis import given, settings
from hypothesis import strategies as st
from making import remember_story
from shell import Shell

import hades
from hades.context.tokens import token_family


def tokens_of(text: str, family: str = "minilm") -> int:
    """The tokens of a text, counted as a whole."""
    return token_family(family).count([text])[0]


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    chapters = "\n\n".join(f"Chapter {n}. Bug Y is in part {n}." for n in range(400))
    with hades.open(tmp_path_factory.mktemp("manual") / "m.hades") as memory:
        remember_story(memory)
        memory.remember("manual", chapters)
        memory.index()
        memory.warm()
        yield memory


@pytest.mark.parametrize("end", ["", " And so on and on?" * 5_400], ids=["short", "100 kilobytes"])
def test_a_recall_has_the_tokens_it_says(story: hades.Memory, end: str) -> None:
    found = story.recall(f"Why was approach X rejected?{end}")
    assert found.tokens == tokens_of(found.context) <= found.plan["budget"]["tokens"]


def test_a_context_that_a_command_shows_has_them_too(story: hades.Memory, path: Path) -> None:
    shell = Shell(path)
    words = ("recall", "Why was approach X rejected?", "--budget", "60")
    context = shell(*words, "--context")
    assert shell.json(*words)["tokens"] == tokens_of(context) <= 60


def test_sections_keep_the_budget(manual: hades.Memory) -> None:
    found = manual.retrieve_within_budget("What about approach X and Bug Y?", max_tokens=2_000)
    assert found.tokens == tokens_of(found.text) <= 1_800


@settings(max_examples=8)
@given(
    question=hostile_text.map(lambda text: re.sub("[\ud800\x00]", "?", text) + " Bug Y"),
    most=st.integers(200, 3_000),
    name=st.sampled_from(["minilm", "cl100k", "o200k", "claude", "llama3", "qwen"]),
    latest=st.floats(0, 1),
)
def test_sections_keep_the_budget_of_any_family_of_models(
    manual: hades.Memory, question: str, most: int, name: str, latest: float
) -> None:
    found = manual.retrieve_within_budget(
        question, max_tokens=most, tokens=name, sections={"latest": latest}
    )
    used = tokens_of(found.text, name)
    assert used <= found.max_tokens - found.reserve
    assert all(0 <= one.used <= one.allowed for one in found.sections)


@settings(max_examples=10)
@given(
    budget=st.integers(50, 600),
    name=st.text("ab/ ", min_size=1, max_size=300).filter(str.strip),
    texts=st.lists(st.text("ab. \n", max_size=800).filter(str.strip), min_size=1, max_size=5),
)
def test_a_working_memory_never_exceeds_its_budget(
    tmp_path_factory: pytest.TempPathFactory, budget: int, name: str, texts: list[str]
) -> None:
    path: Path = tmp_path_factory.mktemp("working") / "m.hades"
    with hades.open(path) as memory:
        for text in texts:
            memory.remember(name, text)
        found = memory.working_memory(name, budget=budget)
        assert found.tokens == tokens_of(found.context) <= budget
        assert found.topic == name


def test_the_themes_in_a_context_are_short(memory: hades.Memory) -> None:
    remember_subjects(memory)
    memory.organise()
    found = memory.recall("What are the main themes?")
    assert 0 < tokens_of(found.context.partition("Themes:")[2].partition("Passages:")[0]) <= 300


def test_the_hierarchy_in_a_prompt_of_paths_is_short() -> None:
    prompt = hades.format_path_prompt([], "bread and boats and stars\n" * 1_000)
    assert 0 < tokens_of(prompt.partition("HiRAG):\n")[2].partition("\n\nRelational")[0]) <= 300


def test_a_window_of_paths_has_at_most_the_tokens_it_says() -> None:
    window = hades.ContextWindowManager(max_tokens=50, reserve_tokens=10)
    for text, priority in (("Third.", "low"), ("First.", "high"), ("Second.", "high")):
        window.add_path({"text": text, "reliability": 0.9}, f"{priority}_priority")
    assert 0 < tokens_of(window.get_formatted_context()) <= window.current_token_count
