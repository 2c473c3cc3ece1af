"""Questions over documents, answered by the part that answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hades

MANUAL = """# Kettle server

Kettle keeps small files for a group of people.

## Install

Kettle runs on Linux and needs Python 3.11 or newer.

Start it for the first time with:

```sh
kettle init --folder /srv/kettle
```

## Options

| Option | Default | Description |
|---|---|---|
| `--port` | 8412 | The port on which Kettle listens. |
| `--keep` | 30 | After how many days a deleted file is gone for good. |
| `--quota` | 2048 | How many megabytes one person may store. |

## Backups

Backups are written every night at two o'clock to the folder `snapshots`.
To restore one, stop the server first, since an open database cannot be replaced.

The following file types are never backed up:

- temporary files
- thumbnails
- files larger than 4 GB

## Accounts

An account is locked after five wrong passwords. An administrator can [unlock](unlock.md) it.
"""

HOUSES = ("Harbour", "Mill", "Quarry", "Orchard", "Bakery")


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    folder: Path = tmp_path_factory.mktemp("manual")
    (folder / "docs").mkdir()
    (folder / "docs" / "kettle.md").write_text(MANUAL)
    with hades.open(folder / "m.hades") as memory:
        memory.ingest(folder / "docs")
        yield memory


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("Which port does Kettle listen on?", "8412"),
        ("How long are deleted files kept?", "30"),
        ("When are backups written?", "two o'clock"),
        ("Why do I have to stop the server before restoring?", "cannot be replaced"),
        ("how do I start it the first time", "kettle init --folder /srv/kettle"),
        ("what happens after too many wrong passwords?", "locked after five"),
    ],
)
def test_the_part_that_answers_is_said_first(
    manual: hades.Memory, question: str, right: str
) -> None:
    found = manual.ask(question)
    assert right in found.sentences[0].text
    assert not found.shortfall


def test_a_list_is_quoted_whole_after_its_lead(manual: hades.Memory) -> None:
    told = manual.ask("Which file types are never backed up?").sentences[0].text
    assert told.splitlines() == [
        "The following file types are never backed up:",
        "- temporary files",
        "- thumbnails",
        "- files larger than 4 GB",
    ]


@pytest.mark.parametrize(
    "question", ["How much does a licence of Kettle cost?", "Who wrote Kettle's first version?"]
)
def test_what_no_document_says_is_doubted(manual: hades.Memory, question: str) -> None:
    found = manual.ask(question)
    assert found.shortfall or not found.sentences


def test_a_recall_says_which_parts_were_read_and_how_likely_each_answers(
    manual: hades.Memory,
) -> None:
    found = manual.recall("Which port does Kettle listen on?")
    first = found.passages[0]
    assert "8412" in first.units[0].text
    assert first.belief.mean == pytest.approx(first.units[0].chance, abs=0.01)
    assert [unit.chance for unit in first.units] == sorted(
        (unit.chance for unit in first.units), reverse=True
    )


def test_a_plan_says_how_many_parts_are_read(manual: hades.Memory) -> None:
    def read(found: hades.Recall) -> int:
        return sum(len(passage.units) for passage in found.passages)

    question = "Who paints the kettle?"  # nothing answers, so reading does not stop early
    assert read(manual.recall(question)) == 4
    assert read(manual.ask(question).recall) == 8
    plan = {"reranker": {"units": 2}}
    assert read(manual.recall(question, plan=plan)) == 2
    assert read(manual.ask(question, plan=plan).recall) == 2


def test_without_the_reader_words_decide(manual: hades.Memory) -> None:
    found = manual.ask("Which port does Kettle listen on?", plan={"reranker": {"reader": False}})
    assert found.recall.answered is None
    assert not any(passage.units for passage in found.recall.passages)
    assert "8412" in str(found)


def test_parts_of_one_document_do_not_hide_each_other(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    houses = [f"{first} {last}" for first in ("Old", "New", "East", "West") for last in HOUSES]
    for house, other in zip(houses, houses[1:] + houses[:1], strict=True):
        text = f"# {house} House\n\n{house} House works with {other} House every day.\n"
        (docs / f"{house.lower().replace(' ', '-')}.md").write_text(text)
    sections = (
        f"## Ledgers of {year}\n\n"
        + f"The ledgers of {year} in Ledger House are kept on shelf {year % 7}. " * 8
        for year in range(1990, 1996)
    )
    (docs / "ledger.md").write_text("# Ledger House\n\n" + "\n\n".join(sections))
    with hades.open(tmp_path / "m.hades") as memory:
        memory.ingest(docs)
        found = memory.recall("Where are the ledgers of Ledger House kept?")
    assert [one.chunk.topic for one in found.passages[:4]] == ["docs/ledger.md"] * 4
