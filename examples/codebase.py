"""Ask a code base: what calls what, what changed when, and why.

Makes a small git repository and reads it in, with a version of every file for every commit.
Run it: python examples/codebase.py   (needs git)
"""

import os
import subprocess
import tempfile
from pathlib import Path

import hades

CACHE = '''"""A cache in front of the price service."""

TTL_SECONDS = 60


def load(key, entries, now):
    """Return the entry of a key, or None if it is too old."""
    entry = entries.get(key)
    return entry if entry and is_fresh(entry, now) else None


def is_fresh(entry, now):
    return now - entry["at"] < TTL_SECONDS
'''
SHOP = '''"""Prices as the shop shows them."""

from cache import load


def price(article, entries, now):
    """Return the price of an article in cents."""
    entry = load(article, entries, now)
    return entry["cents"] if entry else None


def basket(articles, entries, now):
    return sum(price(article, entries, now) or 0 for article in articles)
'''
EVICT = '''

def evict(entries, now):
    """Drop entries that are too old."""
    for key in [key for key, entry in entries.items() if not is_fresh(entry, now)]:
        del entries[key]
'''
COMMITS = [
    ("2024-01-15", "Ann Lee", "Cache prices for a minute", {"cache.py": CACHE}),
    ("2024-02-01", "Bo Berg", "Show prices and the sum of a basket", {"shop.py": SHOP}),
    (
        "2024-03-10", "Ann Lee",
        "Raise the TTL to ten minutes\n\nThe price service allows 100 requests a minute, "
        "and the sale on Friday needed 400.",
        {"cache.py": CACHE.replace("= 60", "= 600")},
    ),
    (
        "2024-04-05", "Bo Berg",
        "Evict old entries\n\nThe cache grew by 2 GB a day because nothing was ever removed.",
        {"cache.py": CACHE.replace("= 60", "= 600") + EVICT},
    ),
]  # fmt: skip


def make_repository(folder: Path) -> None:
    """Commit the story above, with its own days and authors."""
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", folder], check=True)
    for day, author, message, files in COMMITS:
        for name, text in files.items():
            (folder / name).write_text(text)
        who = {"NAME": author, "EMAIL": "shop@example.com", "DATE": f"{day}T12:00:00Z"}
        names = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}
        git = ["git", "-C", folder, "-c", "commit.gpgsign=false"]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run(
            [*git, "commit", "--quiet", "-m", message], check=True, env=os.environ | names
        )


def show(title: str, *lines: object) -> None:
    print(f"\n{title}")
    for line in lines:
        print("   " + str(line).replace("\n", "\n   "))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as m:
        repository = Path(folder) / "shop"
        make_repository(repository)
        m.ingest(repository, history=True)
        for question in (
            "What calls is_fresh?",
            "What does shop.py import?",
            "How is basket connected with is_fresh?",
            "Why was the TTL raised?",
            "When was evict added?",
            "What was the TTL in February 2024?",
        ):
            show(question, m.ask(question))

        before = m.at("2024-03-31")
        show("What called is_fresh before April?", *before.edges("is_fresh", relation="calls"))
        states = m.history("cache.py")
        show(
            "The commits of cache.py",
            *(f"{s.valid_from:%d %b}  {s.metadata['author']}  {_subject(s)}" for s in states),
        )
        show("The second of them", m.diff("cache.py", 1, 2).text)


def _subject(state: hades.State) -> str:
    return state.metadata["message"].partition("\n")[0]


if __name__ == "__main__":
    main()
