"""Questions about who wrote a file and when it changed, over a real repository with its history."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

import hades
from tests.shell import Shell

SHOP = "def price(item):\n    return item.net\n"
BASKET = "def add(basket, item):\n    basket.append(item)\n"
COMMITS: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    (
        "Ada Lind",
        "2024-01-12",
        "Add the shop\n\nIt sells tea.",
        {"shop.py": SHOP, "cache.py": "TTL = 60\n", "basket.py": BASKET, "README.md": "# Shop\n"},
    ),
    ("Ben Okoye", "2024-02-03", "Round prices up", {"shop.py": SHOP.replace("item.net", "1")}),
    ("Ada Lind", "2024-03-04", "Keep the cache for an hour", {"cache.py": "TTL = 3600\n"}),
    ("Chloe Roux", "2024-03-20", "Clear the cache at night", {"cache.py": "TTL = 3600\nOFF = 1\n"}),
    ("Ben Okoye", "2024-04-02", "Rename basket to cart", {"cart.py": BASKET}),
    ("Ada Lind", "2024-05-06", "Show the tax", {"shop.py": SHOP.replace("net", "gross")}),
)
ADA = "Ada Lind wrote shop/shop.py: 2 commits, from 12 January 2024 to 6 May 2024"
BEN = "Ben Okoye wrote shop/shop.py: 1 commit, on 3 February 2024"
CLEARED = "20 March 2024, Chloe Roux: Clear the cache at night (shop/cache.py"
KEPT = "4 March 2024, Ada Lind: Keep the cache for an hour (shop/cache.py"
ADDED = "12 January 2024, Ada Lind: Add the shop (shop/{}"


def _in_june() -> int:
    return int(datetime(2024, 6, 1, tzinfo=UTC).timestamp()) * 1_000_000


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repositories") / "shop"
    folder.mkdir()
    kept = {name: text for name, text in os.environ.items() if not name.startswith("GIT_")}

    def git(author: str, date: str, *command: str) -> None:
        own = {
            **dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), author),
            **dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "shop@example.org"),
            **dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), f"{date}T10:00:00+0000"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        subprocess.run(("git", "-C", str(folder), *command), env=kept | own, check=True)

    git("Ada Lind", "2024-01-12", "init", "-q", "-b", "main")
    for author, date, message, files in COMMITS:
        if "cart.py" in files:
            git(author, date, "mv", "basket.py", "cart.py")
        for name, text in files.items():
            (folder / name).write_text(text)
        git(author, date, "add", "-A")
        git(author, date, "commit", "-q", "-m", message)
    return folder


@pytest.fixture(scope="module")
def known(repository: Path) -> Path:
    """A memory that read the repository with its history."""
    path = repository.parent / "known.hades"
    with hades.open(path, clock=_in_june) as memory:
        memory.ingest(repository, history=True)
    return path


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who wrote shop.py?", [ADA, BEN]),
        ("Who are the authors of the file `shop.py`?", [ADA, BEN]),
        ("Who changed shop.py in February?", [BEN]),
        ("Who wrote README.md?", ["Ada Lind wrote shop/README.md: 1 commit, on 12 January 2024"]),
        ("What changed in cache.py?", [CLEARED, KEPT, ADDED.format("cache.py")]),
        ("Which commits touched shop/cache.py in March?", [CLEARED, KEPT]),
        ("What changed in cache.py in March?", [CLEARED, KEPT]),
        ("What changed in cache.py since 10 March?", [CLEARED]),
        ("What changed in cache.py before March?", [ADDED.format("cache.py")]),
        ("When was cache.py last changed?", [CLEARED]),
        ("Who changed cache.py last?", [CLEARED]),
        ("When was cache.py added?", [ADDED.format("cache.py")]),
        (
            "What changed in cart.py?",
            [
                "2 April 2024, Ben Okoye: Rename basket to cart (shop/cart.py",
                ADDED.format("cart.py"),
            ],
        ),
    ],
)
def test_commits_answer_completely(known: Path, question: str, expected: list[str]) -> None:
    with hades.open(known, clock=_in_june) as memory:
        answer = memory.ask(question)
    texts = [sentence.text for sentence in answer.sentences]
    assert [text[: len(start)] for text, start in zip(texts, expected, strict=True)] == expected
    assert not answer.shortfall


def test_a_commit_is_cited_and_known_as_of_a_time(known: Path) -> None:
    with hades.open(known) as memory:
        answer = memory.at("2024-03-10").ask("What changed in cache.py?")
        assert [fact.edge.cite for fact in answer.recall.facts] == [
            "shop/cache.py@2#0",
            "shop/cache.py@1#0",
        ]
        none = memory.ask("What changed in shop.py in March 2024?")
    assert str(none) == "No commit changed shop/shop.py at that time."


def test_the_command_line_shows_the_authors(known: Path) -> None:
    assert Shell(known)("ask", "Who wrote shop.py?").splitlines()[:2] == [
        f"{ADA} [F1]",
        f"{BEN} [F2]",
    ]


@pytest.mark.parametrize(
    "question",
    ["Who wrote the price function in shop.py?", "What changed in March?", "Who wrote tests?"],
)
def test_a_question_about_something_else_stays_ordinary(known: Path, question: str) -> None:
    with hades.open(known) as memory:
        assert memory.recall(question).intent is not hades.Intent.RELATION


def test_an_answer_says_that_the_history_was_not_read(
    repository: Path, memory: hades.Memory
) -> None:
    memory.ingest(repository)
    memory.remember("notes/shop", "Ask Dora about shop.py.", metadata={"commit": 4})
    expected = (
        "The memory has no commits of shop/shop.py: `hades ingest --history REPO` reads them."
    )
    assert str(memory.ask("Who wrote shop.py?")) == expected


def test_postgresql_answers_the_same(repository: Path, postgres: str) -> None:
    with hades.open(postgres) as memory:
        memory.ingest(repository, history=True)
        answer = memory.ask("Who wrote shop.py?")
    assert [sentence.text for sentence in answer.sentences] == [ADA, BEN]
