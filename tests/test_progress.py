"""Long work shows how far it is: on a terminal, and nowhere else."""

from __future__ import annotations

import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

import hades
from hades.cli.bar import Bars

ROOT = Path(__file__).parent.parent


@pytest.fixture
def told() -> list[tuple[str, int, int]]:
    return []


@pytest.mark.slow
def test_every_phase_tells_how_much_there_is(
    memory: hades.Memory, tmp_path: Path, told: list[tuple[str, int, int]]
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(450):
        (folder / f"{number}.md").write_text(f"# Item {number}\n\nSeen by Ann Lee.\n")
    memory.ingest(folder, on_progress=lambda *news: told.append(news))
    memory.search("item", on_progress=lambda *news: told.append(news))
    for what in ("reading", "embedding", "reading names", "linking", "indexing words"):
        steps = [(done, total) for name, done, total in told if name == what]
        assert {total for _, total in steps} == {450}, what
        assert steps[-1][0] == 450
    assert ("looking", 400, 0) in told


def test_triples_tell_how_many_there_are(
    memory: hades.Memory, tmp_path: Path, told: list[tuple[str, int, int]]
) -> None:
    rows = [{"subject": f"s{n}", "predicate": "is", "object": "thing"} for n in range(1_100)]
    file = tmp_path / "facts.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    memory.import_triples(file, lambda *news: told.append(news))
    assert told == [("relating", 500, 1_100), ("relating", 1_000, 1_100)]


def test_a_bar_shows_amount_rate_and_time_left() -> None:
    out = io.StringIO()
    bars = Bars(Console(file=out, force_terminal=True, width=120))
    now = 0.0
    bars.progress.get_time = lambda: now
    bars.told("embedding", 0, 1_000)
    now = 10.0
    bars.told("embedding", 250, 1_000)
    bars.progress.refresh()
    bars.progress.console.print(bars.progress.get_renderable())
    shown = out.getvalue()
    assert "embedding" in shown
    assert "250 of 1,000" in shown
    assert "25/s" in shown
    assert "0:00:30 left" in shown
    bars.told("linking", 3, 0)
    bars.progress.console.print(bars.progress.get_renderable())
    (task,) = bars.progress.tasks
    assert (task.description, task.completed, task.total) == ("linking", 3, None)


def _ingest_on_a_terminal(tmp_path: Path, *options: str) -> str:
    """What `hades ingest` writes to a standard error that is a terminal."""
    (tmp_path / "note.md").write_text("# Note\n\nFor Ann Lee.\n")
    ours, theirs = pty.openpty()
    worker = subprocess.Popen(
        [sys.executable, "-c", "from hades.cli import main; main()", "ingest", "note.md", *options],
        cwd=tmp_path,
        env={
            **os.environ,
            "HADES_PATH": str(tmp_path / "m.hades"),
            "PYTHONPATH": str(ROOT),
            "TERM": "xterm",
        },
        stdout=subprocess.DEVNULL,
        stderr=theirs,
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # Linux says so when the other end is closed
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert worker.wait() == 0, written
    return written.decode()


@pytest.mark.slow
def test_the_bar_is_for_terminals_only(tmp_path: Path) -> None:
    assert "linking" in _ingest_on_a_terminal(tmp_path)
    (tmp_path / "m.hades").unlink()
    assert _ingest_on_a_terminal(tmp_path, "--json") == ""
