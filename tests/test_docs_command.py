"""`hades docs`: the built pages, served on this machine only."""

from __future__ import annotations

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hades.cli import app, docs

RUN = """
import signal, sys
from pathlib import Path
from hades.cli import docs, main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
docs.SITE = Path(sys.argv.pop())
main()
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    (site / "images").mkdir(parents=True)
    (site / "index.html").write_text("<h1>HADES</h1>")
    (site / "images" / "secret.png").write_text("a picture")
    (tmp_path / "secret.txt").write_text("not a page")
    return site


@pytest.fixture
def served(site: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to the real command, which ends by Ctrl+C without an error."""
    words = [sys.executable, "-c", RUN, "docs", "--no-browser", "--json", str(site)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        told = json.loads(b"".join(process.stdout.readline() for _ in range(4)))
        assert told["path"] == str(site)
        assert told["url"].startswith("http://127.0.0.1:")
        yield http.client.HTTPConnection(told["url"].split("/")[2])
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 0


def test_the_pages_are_served_and_nothing_else(served: http.client.HTTPConnection) -> None:
    def ask(path: str, method: str = "GET") -> tuple[int, bytes]:
        served.request(method, path)
        answer = served.getresponse()
        return answer.status, answer.read()

    assert ask("/") == ask("/index.html") == (200, b"<h1>HADES</h1>")
    assert ask("/images/secret.png") == (200, b"a picture")
    outside = ["/../secret.txt", "/%2e%2e/secret.txt", "/images/..%2f..%2fsecret.txt"]
    outside += ["//secret.txt", "/images/../../secret.txt", "/..%5csecret.txt", "/etc/passwd"]
    outside += ["/%00", "/index.html%00", "/%ed%a0%80"]
    assert [ask(path)[0] for path in outside] == [404] * len(outside)
    listed = ask("/images/")
    assert listed[0] == 404
    assert b"secret.png" not in listed[1]
    assert ask("/index.html", "POST")[0] == ask("/index.html", "DELETE")[0] == 501


def test_pages_that_are_not_built_are_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "SITE", tmp_path)
    result = CliRunner().invoke(app, ["docs"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "hades: The pages are not built: run `make site` in a checkout, or read its folder docs/.\n"
    )
