"""What the docs and examples show is run, so that it stays true."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def _servers_end_with_their_page(tmp_path: Path) -> Iterator[None]:
    yield
    for file in tmp_path.glob("*.pid"):
        with suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)


def _environment(folder: Path) -> dict[str, str]:
    """A shell in which `hades` is this checkout's, with a memory of its own."""
    (folder / "bin").mkdir()
    command = folder / "bin" / "hades"
    command.write_text(f"#!{sys.executable}\nfrom hades.cli import main\nmain()\n")
    command.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "HADES_PATH": str(folder / "docs.hades"),
        "PYTHONPATH": str(ROOT),
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_shown_command_works(page: Path, tmp_path: Path) -> None:
    """Commands run in the order shown, in one folder; python blocks share one script."""
    environment = _environment(tmp_path)
    script: list[str] = []
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            script.append(body)
            continue
        for command in re.findall(r"^\$ ((?:.*\\\n)*.*)", body, re.MULTILINE):
            if command.startswith(("make ", "git ", "pip ")):
                continue
            done = subprocess.run(
                command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    if script:
        done = subprocess.run(
            [sys.executable, "-c", "\n".join(script)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.name)
def test_every_example_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example)],
        cwd=tmp_path,
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_approach_x_answers_as_expected(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "approach_x.py")],
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    now, then = done.stdout.split("Why was approach X rejected")
    assert "Approach X now viable after Bug Y fix" in now
    assert "holds since 2024-02-20: design/approach_x --[viable_after_fix]-->" in now
    assert "held until 2024-02-20: design/approach_x --[rejected_because]-->" in now
    assert "rejected due to Bug Y" in then
    assert "design/approach_x --[rejected_because]--> bugs/bug_y" in then
    assert "2024-02-20: rejected_because gave way to viable_after_fix" in then
