"""Hostile files: each costs itself, within its limits, and nothing else."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import Any

import docx
import files
import pytest

import hades

pytestmark = pytest.mark.workers

SLOW, LARGE = "It takes longer than", "It takes more than"
HOSTILE = {
    "merged_rows.docx": (lambda: files.merged_rows(rows=600), SLOW),
    "wide_cell.docx": (files.wide_cell, ""),
    "many_paragraphs.docx": (lambda: files.many_paragraphs(4_000_000), ""),
    "picture_bomb.docx": (lambda: files.picture_bomb(300), ""),
    "zip_bomb.epub": (files.zip_bomb, "unpacks to 600 MB"),
    "pdf_text_bomb.pdf": (lambda: files.pdf_text_bomb(3_000_000), ""),
    "pdf_many_pages.pdf": (files.pdf_many_pages, ""),
    "deep.json": (files.deep_json, "data rather than text"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a good file, and small limits."""
    monkeypatch.setenv("HADES_INGEST_SECONDS", "8")
    monkeypatch.setenv("HADES_INGEST_MEMORY_MB", "256")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "z.md").write_text("# Last\n\nAnn Lee wrote this.")
    return folder


@pytest.fixture
def memory(tmp_path: Path) -> hades.Memory:
    return hades.open(tmp_path / "m.hades")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The worker processes, as they start."""
    begun: list[subprocess.Popen[bytes]] = []

    class Noted(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **named: Any) -> None:
            super().__init__(*args, **named)
            begun.append(self)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    return begun


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_named_and_the_rest_goes_on(
    folder: Path, memory: hades.Memory, name: str
) -> None:
    make, why = HOSTILE[name]
    (folder / name).write_bytes(make())
    summary = memory.ingest(folder, phases=("nodes",))
    assert [topic.name for topic in memory.topics()] == ["docs/z.md"]
    ((where, told),) = summary.skipped
    assert where == f"docs/{name}"
    assert why in told


def test_a_far_row_of_a_sheet_is_not_waited_for(folder: Path, memory: hades.Memory) -> None:
    (folder / "sheet.xlsx").write_bytes(files.far_row())
    assert memory.ingest(folder, phases=("nodes",)).skipped == []
    assert memory.get("docs/sheet.xlsx").content == "# Sheet\n\n- x"


@pytest.mark.slow
def test_others_write_while_a_file_is_read(
    folder: Path, memory: hades.Memory, tmp_path: Path
) -> None:
    (folder / "slow.docx").write_bytes(files.merged_rows(rows=600))
    reading = threading.Event()
    found: list[Any] = []

    def told(what: str, done: int, total: int) -> None:
        reading.set()

    thread = threading.Thread(
        target=lambda: found.append(memory.ingest(folder, phases=("nodes",), on_progress=told))
    )
    thread.start()
    reading.wait()
    with hades.open(tmp_path / "m.hades", busy_timeout_s=0) as other:
        other.remember("notes/a", "Written meanwhile.")
    assert thread.is_alive()
    thread.join()
    assert SLOW in found[0].skipped[0][1]


def test_stopping_ends_the_workers_at_once(
    folder: Path,
    memory: hades.Memory,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HADES_INGEST_SECONDS", "3600")
    (folder / "slow.docx").write_bytes(files.merged_rows())

    def told(what: str, done: int, total: int) -> None:
        if started:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.ingest(folder, on_progress=told)
    assert started
    assert all(process.returncode is not None for process in started)


def test_a_worker_that_is_killed_is_replaced(
    folder: Path,
    memory: hades.Memory,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("hades.ingest.workers.cores", lambda: 2)
    for name in ("a.docx", "b.docx"):
        (folder / name).write_bytes(files.merged_rows())

    def told(what: str, done: int, total: int) -> None:
        for process in started[:2]:
            process.kill()

    summary = memory.ingest(folder, phases=("nodes",), on_progress=told)
    crashed = "Its reader crashed (SIGKILL)."
    assert summary.skipped == [("docs/a.docx", crashed), ("docs/b.docx", crashed)]
    assert summary.added == 1


def test_a_worker_that_holds_much_memory_gives_it_back(
    folder: Path,
    memory: hades.Memory,
    started: list[subprocess.Popen[bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HADES_INGEST_MEMORY_MB", "128")
    monkeypatch.setattr("hades.ingest.workers.cores", lambda: 1)
    for name in ("a.docx", "b.docx"):
        docx.Document().save(str(folder / name))
    summary = memory.ingest(folder, phases=("nodes",))
    assert summary.added == 1  # the others have no text
    assert len(started) > 1


def test_reading_in_this_process_gives_the_same(folder: Path, tmp_path: Path) -> None:
    (folder / "t.csv").write_text("name,age\nAnn,7\nBob,8\n")
    (folder / "c.jsonl").write_text('{"speaker": "Ann", "text": "Hi \\ud83d\\ude00"}\n')
    (folder / "f.py").write_text("def evict_all():\n    return '\u00e9'\n")
    rows = []
    for in_process in (True, False):
        with hades.open(tmp_path / f"{in_process}.hades", clock=lambda: 10**15) as memory:
            memory.ingest(folder, phases=("nodes",), in_process=in_process)
            run = memory.inside.store.database.rows
            rows.append([list(run(f"SELECT * FROM {table}")) for table in TABLES])
    assert rows[0] == rows[1]


TABLES = ("topics", "states", "sources", "pending")


def test_modules_of_the_folder_are_not_imported(
    folder: Path, memory: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "json.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(folder)
    assert memory.ingest(".", phases=("nodes",)).skipped == []


def test_what_is_no_file_and_what_has_no_name_is_named_and_the_rest_goes_on(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.md").write_text("Good.")
    Path(os.fsdecode(os.fsencode(folder) + b"/bad\xff.md")).write_text("Bad.")
    os.mkfifo(folder / "pipe.md")
    (folder / "device.md").symlink_to("/dev/zero")
    with hades.open(tmp_path / "m.hades") as memory:
        report = memory.ingest(folder)
        assert {where for where, _ in report.skipped} == {
            *("notes/bad?.md", "notes/pipe.md", "notes/device.md")
        }
        assert [one.name for one in memory.topics()] == ["notes/good.md"]
        ((_, why),) = memory.ingest(folder / "pipe.md").skipped
        assert "neither a file nor a folder" in why


def test_a_huge_ignore_file_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "good.md").write_text("Good.")
    with (folder / ".gitignore").open("wb") as file:
        file.truncate(2**31)
    with hades.open(tmp_path / "m.hades") as memory:
        ((_, why),) = memory.ingest(folder).skipped
        assert ".gitignore" in why
