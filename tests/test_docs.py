"""What the docs and examples show is run, so that it stays true."""

from __future__ import annotations

import json
import os
import re
import runpy
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.shell import run_hades

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which `hades` is this checkout's, with a memory of its own."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "hades"
    command.write_text(f"#!{sys.executable}\nfrom hades.cli import main\nmain()\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("HADES_PATH", str(tmp_path / "docs.hades"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    for file in tmp_path.glob("*.pid"):  # a server ends with its page
        with suppress(ProcessLookupError):
            os.kill(int(file.read_text()), signal.SIGKILL)


def _commands(body: str) -> Iterator[str]:
    """The commands of a block: what stands after `$`, with lines that go on."""
    lines = iter(body.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\") or _has_open_quote(command):
                command += "\n" + next(lines)
            yield command


def _has_open_quote(command: str) -> bool:
    try:
        shlex.split(command)
    except ValueError as error:
        return "quotation" in str(error)
    return False


def _words(command: str) -> list[str] | None:
    """The words of a command that needs no shell: no pipe, file, variable or background."""
    lexer = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    needs_shell = "$" in command or any(word and set(word) <= set("();<>|&") for word in words)
    return None if needs_shell else words


def _run(command: str) -> None:
    """Run a command: one of ours in this process, any other in a shell."""
    words = _words(command)
    with pytest.MonkeyPatch.context() as environment:
        while words and re.match(r"[A-Z_]+=", words[0]):
            environment.setenv(*words.pop(0).split("=", 1))
        if words and words[0] == "hades":
            told = run_hades(*words[1:], catch_exceptions=False)
            assert told.exit_code == 0, f"$ {command}\n{told.output}"
            return
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_shown_command_works(page: Path, folder: Path) -> None:
    """Commands run in the order shown, in one folder; `python` blocks share one script.

    An excerpt that cannot run by itself is a block of `py`.
    """
    script = ""
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            script += body
            continue
        for command in _commands(body):
            if not command.startswith(("make ", "git ", "pip ")):
                _run(command)
    if script:
        (folder / "script.py").write_text(script, encoding="utf-8")
        runpy.run_path(str(folder / "script.py"), run_name="__main__")


FRAMEWORKS = {
    "langchain_retriever.py": ("langchain_core", "langchain-core"),
    "llamaindex_retriever.py": ("llama_index", "llama-index-core"),
}
"""The module that an example needs and that the extra `dev` need not bring, and its package."""

SHOWS = {
    "bug_tracking.py": (
        "release/2.1 blocked by bugs/412, since 4 March 2024",
        "27 May 2024: rejected_because bugs/412 gave way to viable_after_fix proxy/1.9",
    ),
    "codebase.py": (
        "cache.evict calls cache.is_fresh (shop/cache.py:18)",
        "The price service allows 100 requests a minute",
    ),
    "langchain_retriever.py": ("- We use Redis as job queue. (infra/queue, 2024-01-10 to",),
    "langgraph_agent.py": ("She joined in 2021.", "4 messages kept"),
    "llamaindex_retriever.py": ("Ann Lee looks after the job queue.",),
    "novel.py": (
        "What did Sarah know in chapter 3?\n   Soldiers in masks",
        "Cinder, not Ember",
        "The first draft: Who ordered the murder?\n   secret/the_order: The king",
    ),
    "user_memory.py": (
        "In April:\n   users/ana/preferences/send_reports",
        "Taken back: the first one holds again\n   Send me the reports as PDF",
        "Erased, but for Ben\n   users/ben/",
    ),
    "research.py": ("As of 1960:\n   idea/cause_of_ulcers: Ulcers are caused by acid and stress.",),
}
"""What the output of an example must contain."""

QUICK = {"approach_x.py", "first_search.py", "recall.py"}
EXAMPLES = [
    pytest.param(path, id=path.name, marks=[] if path.name in QUICK else pytest.mark.slow)
    for path in sorted((ROOT / "examples").glob("*.py"))
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_runs(
    example: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module, package = FRAMEWORKS.get(example.name, ("hades", ""))
    if find_spec(module) is None:
        pytest.skip(f"{package} is not installed")
    if package:  # in a process of its own: a framework may leave connections open, an error here
        done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told = done.stdout
    else:
        runpy.run_path(str(example), run_name="__main__")
        told = capsys.readouterr().out
    assert told
    assert [text for text in SHOWS.get(example.name, ()) if text not in told] == []
    if example.name == "approach_x.py":
        _check_approach_x(told)


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "examples").glob("*.ipynb")), ids=lambda p: p.name
)
def test_every_notebook_runs_and_is_stored_without_output(notebook: Path, folder: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []
    namespace: dict[str, object] = {"__name__": "__main__"}
    for cell in code:
        exec(compile("".join(cell["source"]), f"{notebook.name}, {cell['id']}", "exec"), namespace)


def _check_approach_x(told: str) -> None:
    now, then = told.split("Why was approach X rejected")
    assert "Approach X now viable after Bug Y fix" in now
    assert "holds since 2024-02-20: design/approach_x --[viable_after_fix]-->" in now
    assert "held until 2024-02-20: design/approach_x --[rejected_because]-->" in now
    assert "rejected due to Bug Y" in then
    assert "design/approach_x --[rejected_because]--> bugs/bug_y" in then
    assert "2024-02-20: rejected_because gave way to viable_after_fix" in then


def test_the_list_of_extras_is_complete_and_no_page_names_a_package_of_an_index() -> None:
    """Until HADES is published, an extra is installed from a checkout or a wheel."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    users = set(extras["optional-dependencies"]) - {"dev", "bench", "frameworks"}
    readme = (ROOT / "README.md").read_text("utf-8")
    rows = readme.partition("| extra | for |")[2].partition("\n\n")[0]
    listed = [row.split("|")[1] for row in rows.splitlines()[2:]]
    assert set(re.findall("`([a-z-]+)`", " ".join(listed))) == users
    assert [page.name for page in PAGES if "hades-memory[" in page.read_text("utf-8")] == []
