"""`hades docs`: the pages of this documentation, served on this machine only."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hades.cli import docs
from tests.shell import run_hades

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tools"))

import reference  # noqa: E402

RUN = """
import signal
from hades.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
main()
"""
LACKS = "from hades.errors import install_command; print(install_command('organise'))"


@contextmanager
def served(package: Path, pages: Path) -> Iterator[http.client.HTTPConnection]:
    """A connection to the real command of an installation, which ends by Ctrl+C without an error.

    `package` is the folder that has the package `hades`, `pages` the one that has its pages.
    """
    words = [sys.executable, "-c", RUN, "docs", "--no-browser", "--json"]
    environment = {**os.environ, "PYTHONPATH": str(package)}
    with subprocess.Popen(
        words, env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        told = json.loads(b"".join(process.stdout.readline() for _ in range(4)))
        assert told["path"] == str(pages)
        assert told["url"].startswith("http://127.0.0.1:")
        try:
            yield http.client.HTTPConnection(urlsplit(told["url"]).netloc, timeout=60)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 0


def ask(connection: http.client.HTTPConnection, path: str, method: str = "GET") -> tuple[int, str]:
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode("utf-8", "replace")


def test_the_pages_are_served_and_nothing_else() -> None:
    with served(ROOT, ROOT) as connection:
        status, page = ask(connection, "/docs/index.md")
        assert status == 200
        assert '<h2 id="all-pages">All pages</h2>' in page
        assert '<a href="tutorial-agent.md">' in page
        assert ask(connection, "/README.md")[0] == 200
        assert ask(connection, "/docs/images/ask.png")[0] == 200
        assert 'href="/docs/mcp.md"' in ask(connection, "/search?q=claude-desktop")[1]
        assert "&lt;script&gt;" in ask(connection, "/search?q=%3Cscript%3E")[1]
        outside = ["/docs/../pyproject.toml", "/%2e%2e/secret.txt", "/docs/..%2fpyproject.toml"]
        outside += ["/pyproject.toml", "//etc/passwd", "/.git/config", "/etc/passwd", "/docs/"]
        outside += ["/%00", "/docs/index.md%00", "/%ed%a0%80", "//[x"]
        assert [ask(connection, path)[0] for path in outside] == [404] * len(outside)
        assert ask(connection, "/docs/index.md", "POST")[0] == 501


def test_every_link_of_a_page_leads_to_a_page(tmp_path: Path) -> None:
    """As in a wheel: with the reference that `make dist` writes, without the laboratory notes."""
    files = docs.pages_of(ROOT)
    assert [path for path in files if path.startswith("/docs/lab/")] == []
    for path, text in reference.pages().items():
        (tmp_path / path.name).write_text(text, encoding="utf-8")
        files[f"/{path.relative_to(ROOT).as_posix()}"] = tmp_path / path.name
    for path in files:
        page = docs.answer(files, path)
        assert page is not None
        for link in re.findall(r'(?:href|src)="([^"#]+)', page[1].decode("utf-8", "replace")):
            if page[0].startswith("text/html") and "://" not in link and link != "/search":
                target = os.path.normpath(os.path.join(os.path.dirname(path), link))
                in_sources = target.startswith("/docs/lab/") and (ROOT / target[1:]).is_file()
                assert target in files or in_sources, f"{path} links to {link}"


@pytest.mark.parametrize("path", ["/docs/lab/recall.md", "/docs/reference/rest.md"])
def test_a_page_that_is_not_installed_says_where_it_is(path: str) -> None:
    kind, page = docs.answer({}, path) or ("", b"")
    assert kind.startswith("text/html")
    assert b"<h1" in page
    assert (b"sources of HADES" if "lab" in path else b"make docs") in page
    assert docs.answer({}, "/docs/nothing.md") is None


def test_pages_that_are_not_installed_are_told_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docs, "PLACES", (tmp_path,))
    result = run_hades("docs")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "hades: The pages are not installed: read the folder docs/ of the sources.\n"
    )


@pytest.mark.slow
def test_every_installation_has_the_pages_and_names_its_own_extras(tmp_path: Path) -> None:
    """From a checkout by `pip install .`, and from a wheel; dependencies are those of the tests."""

    def pip(*words: str) -> None:
        command = [sys.executable, "-m", "pip", *words, "--no-deps", "--quiet"]
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)

    pip("wheel", ".", "--wheel-dir", str(tmp_path))
    (wheel,) = tmp_path.glob("*.whl")
    for number, source in enumerate([ROOT, wheel]):
        place = tmp_path / str(number)
        pip("install", str(source), "--target", str(place))
        with served(place, place / "hades" / "pages") as connection:
            assert "All pages" in ask(connection, "/docs/index.md")[1]
            assert "in the sources" in ask(connection, "/docs/lab/index.md")[1]
            assert "Ten lines on the command line" in ask(connection, "/README.md")[1]
        told = subprocess.run(
            [sys.executable, "-c", LACKS],
            env={**os.environ, "PYTHONPATH": str(place)},
            cwd=tmp_path,
            check=True,
            capture_output=True,
            text=True,
        )
        assert told.stdout == f"pip install '{source}[organise]'\n"
