"""`hades ui` as people run it: how the start link reaches the browser."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.serve.process_making import COMMAND, environment

BROWSER = """#!/bin/sh
echo "$@" > "$0.words"
"""


@contextmanager
def shown(folder: Path) -> Iterator[tuple[str, str]]:
    """Run `hades ui`; yield the link that it prints, and the words that start the browser."""
    browser, words = folder / "browser", folder / "browser.words"
    browser.write_text(BROWSER)
    browser.chmod(0o700)
    place = folder / "notes.hades"
    with hades.open(place) as memory:
        memory.remember("a", "Ann lives in Oslo.")
    command = [*COMMAND, "ui", "--memory", str(place), "--port", "0"]
    given = {**environment(), "BROWSER": f"{browser} %s"}
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        link = process.stdout.readline().strip()
        while not words.exists() or not words.read_text():
            assert process.poll() is None
            time.sleep(0.05)
        try:
            yield link, words.read_text().strip()
        finally:
            process.kill()


def test_the_command_line_of_the_browser_does_not_have_the_start_link(tmp_path: Path) -> None:
    with shown(tmp_path) as (link, words):
        token = link.rpartition("/")[2]
        assert len(token) > 40
        assert words == (tmp_path / "notes.hades.start.html").as_uri()
        assert token not in words


@pytest.mark.slow
def test_the_page_for_the_browser_signs_the_owner_in(tmp_path: Path, browser: Any) -> None:
    with shown(tmp_path) as (_, words):
        page = browser.new_page()
        page.goto(words)
        page.get_by_role("link", name="Keys and spaces").wait_for()
        assert not (tmp_path / "notes.hades.start.html").exists()
        page.close()
