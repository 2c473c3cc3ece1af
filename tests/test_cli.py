"""The command line, as a person uses it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from damaging import edit
from shell import Shell, run_hades

import hades

ROOT = Path(__file__).parent.parent


@pytest.fixture
def shell(path: Path) -> Shell:
    return Shell(path)


def test_a_day_with_the_command_line(shell: Shell) -> None:
    assert "remembered design/x@1" in shell("remember", "design/x", "Rejected", "--tag", "decision")
    assert "nothing new in design/x@1" in shell("remember", "design/x", "Rejected")
    shell("relate", "design/x", "rejected_because", "bugs/y", "--evidence", "it bites")
    shell("remember", "bugs/y", "Corrupts data")
    out = shell("edges", "design/x")
    assert "rejected_because" in out
    assert "it bites" in out
    said = shell("change-fact", "design/x", "rejected_because", "--to", "q1", "--content", "Viable")
    assert "ended: design/x --[rejected_because]--> bugs/y  edge 1  since " in said
    assert "holds: design/x --[viable_after_fix]--> q1  edge 2  since" in said
    assert "written: design/x@2" in said
    first = shell("change-fact", "Ann", "works_at", "--to", "Acme")
    assert "holds: Ann --[works_at]--> Acme  edge 4  since" in first
    assert "Viable" in shell("get", "design/x")
    assert "Rejected" in shell("get", "design/x", "--version", "1")
    assert "viable_after_fix" in shell("when-changed", "design/x", "rejected_because")
    diff = shell("diff", "design/x")
    assert "-Rejected" in diff
    assert "+Viable" in diff
    history = shell("history", "design/x")
    assert history.count("\n") == 3
    assert shell("topics", "design/*").count("design/x") == 1
    assert "no topics" in shell("topics", "nothing*")
    assert "rejected_because" in shell("edges", "--all")
    assert shell("edge", "1").count("rejected_because") == 2
    assert "change_fact" in shell("log")
    assert "topics" in shell("stats")
    assert "everything is as it should be" in shell("check")
    shell("forget", "bugs/y")
    assert "forgotten" in shell.refused("get", "bugs/y")


def test_every_command_speaks_json(shell: Shell, tmp_path: Path) -> None:
    assert shell.json("remember", "a", "one", "--metadata", '{"k": 1}')["metadata"] == {"k": 1}
    assert shell.json("get", "a")["id"] == "a@1"
    assert shell.json("history", "a")[0]["content"] == "one"
    assert shell.json("diff", "a")["text"] == ""
    assert shell.json("topics")[0]["name"] == "a"
    assert shell.json("relate", "a", "knows", "b", "--weight", "0.5")["weight"] == 0.5
    assert shell.json("relate", "c", "knows", "b")["id"] == 2
    assert shell.json("edges", "a")[0]["target"] == {"kind": "entity", "name": "b"}
    assert len(shell.json("edge", "1")) == 1
    assert shell.json("change-fact", "a", "knows", "--to", "c")["closed"][0]["id"] == 1
    assert shell.json("when-changed", "a", "knows")["before"]["id"] == 1
    assert len(shell.json("unrelate", "c", "knows", "b")) == 1
    assert shell.json("set-inverse", "x", "y")["x"] == "y"
    assert shell.json("inverses")["x"] == "y"
    assert shell.json("alias", "b", "bee")["aliases"] == ["bee"]
    assert shell.json("merge", "b", "c")["merged"] == ["c"]
    assert shell.json("split", "c")["name"] == "c"
    assert shell.json("entities", "b")[0]["name"] == "b"
    assert shell.json("spaces", "create", "work")["name"] == "work"
    assert len(shell.json("spaces", "list")) == 2
    assert len(shell.json("spaces", "drop", "work", "--yes")) == 1
    assert shell.json("stats")["topics"] == 1
    assert shell.json("log", "--limit", "1")[0]["action"] == "drop_space"
    assert shell.json("export", str(tmp_path / "x.jsonl"))["format"] == "jsonl"
    assert shell.json("backup", str(tmp_path / "b.hades"))["path"]
    assert shell.json("check") == []
    assert shell.json("settings")["path"] == str(shell.path)
    assert shell.json("forget", "a")["forgotten"] is True
    assert shell.json("purge", "a", "--yes")["topics"] == 1
    assert shell.json("restore", str(tmp_path / "b.hades"), "--yes")["restored"]
    other = Shell(tmp_path / "other.hades")
    assert other.json("import", str(tmp_path / "x.jsonl"))["topics"] == 1
    assert other.json("get", "a")["content"] == "one"


def test_errors_are_json_too(shell: Shell) -> None:
    shell("remember", "a", "one")
    result = shell.run("get", "b", "--json")
    assert result.exit_code == 2
    assert json.loads(result.stderr)["error"] == "NotFound"


def test_content_from_argument_file_and_stdin(shell: Shell, tmp_path: Path) -> None:
    text = "tab\tand\r\nlines – ünïcödé\n"
    (tmp_path / "note.md").write_bytes(text.encode())
    shell("remember", "from/file", "--file", str(tmp_path / "note.md"))
    shell("remember", "from/stdin", stdin=text)
    shell("remember", "from/dash", "--file", "-", stdin=text)
    for name in ("from/file", "from/stdin", "from/dash"):
        raw = shell.run("get", name, "--raw")
        assert raw.stdout_bytes == text.encode()
    assert "not both" in shell.refused("remember", "x", "text", "--file", "y")
    assert "cannot be read" in shell.refused("remember", "x", "--file", str(tmp_path / "none"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in shell.refused("remember", "x", "--file", str(tmp_path / "binary"))


def test_time_travel(shell: Shell) -> None:
    shell("remember", "a", "one", "--valid-from", "2020")
    shell("remember", "a", "two", "--valid-from", "2022-06")
    assert "one" in shell("get", "a", "--at", "2021")
    assert "two" in shell("get", "a")
    assert "at that time" in shell.refused("get", "a", "--known", "2021")
    assert "Cannot read the time" in shell.refused("get", "a", "--at", "whenever")
    shell("relate", "a", "knows", "b", "--valid-from", "2020", "--valid-to", "2021")
    assert "knows" in shell("edges", "--at", "2020-05")
    assert "no edges" in shell("edges")
    assert "topic" in shell("topics", "--at", "2021", "--since", "2019", "--until", "2021")


REFUSED = [
    ("get", "nope"),
    ("remember", "", "x"),
    ("remember", "a", "x", "--confidence", "7"),
    ("remember", "a", "x", "--metadata", "[1]"),
    ("remember", "a", "x", "--metadata", "{"),
    ("remember", "a", "x", "--expect-version", "3"),
    ("edges", "--direction", "sideways"),
    ("unrelate", "a"),
    ("unrelate", "99"),
    ("review", "list", "--status", "lost"),
    ("merge", "a", "b"),
    ("purge", "kept"),
    ("spaces", "drop", "default", "--yes"),
    ("export", "/dev/null/x"),
    ("export", "x", "--format", "nonsense"),
    ("import", "no-such-file"),
    ("restore", "no-such-file", "--yes"),
    ("get", "kept", "--space", "nope"),
]


def test_what_is_wrong_is_said_in_one_sentence(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shell("remember", "kept", "x")
    for words in REFUSED:
        shell.refused(*words)
    with hades.open(shell.path) as memory:
        assert memory.change == 1
        assert memory.get("kept").content == "x"


def test_reading_makes_no_memory(shell: Shell) -> None:
    assert "no memory at" in shell.refused("get", "a")
    assert not shell.path.exists()


def test_purging_asks_first(shell: Shell) -> None:
    shell("remember", "a", "one")
    assert "--yes" in shell.refused("purge", "a")
    assert "one" in shell("get", "a")
    shell("purge", "a", "--yes")
    shell.refused("get", "a")


def test_spaces(shell: Shell) -> None:
    shell("spaces", "create", "work")
    shell("remember", "a", "in work", "--space", "work")
    shell.refused("get", "a")
    assert "in work" in shell("get", "a", "--space", "work")
    assert "--yes" in shell.refused("spaces", "drop", "work")
    shell("spaces", "drop", "work", "--yes")
    assert "work" not in shell("spaces", "list")


def test_check_says_what_is_wrong_and_mends_it(shell: Shell) -> None:

    shell("remember", "a", "one")
    shell("remember", "a", "two")
    edit(shell.path, "UPDATE topics SET latest = 1")
    result = shell.run("check")
    assert result.exit_code == 1
    assert "--repair" in result.output
    shell("check", "--repair")
    assert "two" in shell("get", "a")


def test_what_is_shown_cannot_play_tricks(shell: Shell) -> None:
    shell("remember", "[red]x[/red]", "\x1b[31mred\x1b[0m and [bold]markup[/]")
    out = shell("get", "[red]x[/red]")
    assert "\x1b" not in out
    assert '"[red]x[/red]"@1' in out
    assert "[bold]markup[/]" in out


def test_export_to_standard_output(shell: Shell) -> None:
    shell("remember", "a", "one")
    assert json.loads(shell("export", "-").splitlines()[0]) == {"hades": 2}
    assert "<graphml" in shell("export", "-", "--format", "graphml")


def _hades(*words: str, **given: Any) -> subprocess.CompletedProcess[str]:
    code = "from hades.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, **given
    )


def test_the_real_command(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADES_PATH", str(path))
    monkeypatch.setenv("HADES_ACTOR", "robot")
    assert _hades("remember", "a", input="from a pipe").returncode == 0
    shown = json.loads(_hades("log", "--json").stdout)
    assert (shown[0]["actor"], shown[0]["subject"]) == ("robot", "a")
    missing = _hades("get", "b")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert _hades("--", "get", "a", "--raw").stdout == "from a pipe"
    assert "approve" in _hades("review", "--help").stdout
    full = run_hades("--help").output
    options = _hades("--help").stdout.split("Options:")[1]
    assert options.split() == full.split("Options:")[1].split()


def test_a_command_imports_only_what_it_needs(shell: Shell, path: Path) -> None:
    def imported(*command: str, before: str = "", status: int = 0) -> set[str]:
        code = (
            "import atexit, sys\n"
            "atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
            f"{before}\nfrom hades.cli import main\nmain()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, *command], capture_output=True, text=True, check=False
        )
        assert done.returncode == status
        modules = set(done.stderr.split())
        assert "hades.cli" in modules
        return modules

    shell("remember", "team/lead", "Maria Lopez leads the Falcon project.")
    shell("recall", "Who leads the Falcon project?")
    shown = imported("--help")
    assert not {"pydantic", "rich", "asyncio", "numpy", "hades.store.store"} & shown
    read = imported("get", "team/lead", "--memory", str(path))
    assert not {"asyncio", "numpy", "httpx", "hades.recall.engine"} & read
    remote = imported("get", "team/lead", "--memory", "http://127.0.0.1:9", status=2)
    assert "httpx" in remote
    assert not {"numpy", "hades.recall.engine", "hades.exchange.formats"} & remote
    many = "from hades.index import vectors; vectors.KERNEL_FROM_ROWS = 0"
    asked = imported("recall", "Who leads Falcon?", "--memory", str(path), before=many)
    assert not {"asyncio", "numba", "httpx", "hades.ingest.phases"} & asked


def test_what_is_told_without_a_memory() -> None:
    assert run_hades("--version").output == f"hades {hades.__version__}\n"
    assert "Usage" in run_hades("--help").output
    assert run_hades("get").exit_code == 2


def test_a_reader_that_goes_away_is_no_error(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "more than a pipe holds\n" * 10_000)
    code = "from hades.cli import main; main()"
    done = subprocess.run(
        f'"{sys.executable}" -c "{code}" get a --memory "{path}" | head -1',
        shell=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith("a@1")
    assert "Traceback" not in done.stderr


def test_the_default_memory_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_hades("remember", "a", "one").exit_code == 0
    shown = run_hades("get", "a", "--json")
    assert json.loads(shown.output)["content"] == "one"
    with hades.open() as memory:
        assert memory.get("a").content == "one"


def test_taking_knowledge_in_and_finding_it(shell: Shell, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "cache.md").write_text("# Cache\n\nAnn Lee chose an LRU cache for Acme Institute.\n")
    assert shell.json("ingest", str(docs), "--dry-run")["added"] == 1
    assert "nothing at" in shell.refused("ingest", str(tmp_path / "none"))
    assert "no memory" in shell.refused("topics")  # neither of them made one
    assert "1 added" in shell("ingest", str(docs))
    assert "1 unchanged" in shell("ingest", str(docs))
    assert shell.json("ingest", str(docs), "--dry-run")["unchanged"] == 1
    assert "[1] docs/cache.md@1, line 1" in shell("search", "which cache?")
    assert shell.json("search", "cache", "--retriever", "words")[0]["retrievers"]["words"] > 0
    assert "nothing found" in shell("search", "cache", "--kind", "code")
    assert "Acme Institute" in shell("about", "Ann Lee")
    assert shell.json("about", "Ann Lee")["near"][0]["count"] == 1
    (tmp_path / "facts.jsonl").write_text('{"subject": "A", "predicate": "r", "object": "B"}\n')
    assert shell.json("import-triples", str(tmp_path / "facts.jsonl"))["added"] == 1
    (docs / "empty.md").touch()
    assert "empty.md is empty" in shell("ingest", str(docs))
    assert shell.run("ingest", str(docs / "empty.md")).exit_code == 1  # it was asked for by name
    for number in range(9):
        (docs / f"{number}.png").write_bytes(b"\x89PNG\x00")
    assert "skipped 10 files: 9 .png, 1 .md" in shell("ingest", str(docs))
    assert "No reader knows files like .png" in shell("ingest", str(docs), "--verbose")
    assert "nothing at" in shell.refused("ingest", str(tmp_path / "none"))
    assert "no retriever" in shell.refused("search", "x", "--retriever", "window")
    assert "empty" in shell.refused("search", " ")
    assert "Unknown encoder" in shell.refused("reembed", "nonsense")


def test_the_history_of_a_file_tells_its_commits(shell: Shell) -> None:
    with hades.open(shell.path) as memory:
        said = {"commit": "d36471e" * 5, "author": "Ann", "message": "Close the door\n\nAt once."}
        memory.remember("door.py", "def close(): ...", metadata=said)
    assert "d36471ed36 Ann: Close the door" in shell("history", "door.py")


def test_an_unknown_kind_is_refused_with_those_there_are(shell: Shell) -> None:
    shell("remember", "a", "one")
    said = shell.refused("search", "one", "--kind", "nope")
    assert "note, document, code, conversation, record, paper" in said
    assert "[1] a@1, line 1" in shell("search", "one", "--kind", "note")


def test_a_search_for_reading_says_what_it_cannot_see(shell: Shell) -> None:
    shell("remember", "a", "one")
    assert shell.run("search", "one").stderr == ""
    shell("remember", "b", "two")
    shell("remember", "c", "three")
    found = shell.run("search", "two", "--read-only")
    assert found.stderr == "2 notes wait to be indexed: ask once without --read-only.\n"
    assert "b@1" not in found.stdout
    with hades.open(shell.path, read_only=True) as memory:
        assert memory.pending == 2
    assert "[1] b@1, line 1" in shell("search", "two")
    assert shell.run("search", "two", "--read-only").stderr == ""


ASKING = [
    ("search", "two"),
    ("recall", "two"),
    ("ask", "two"),
    ("paths", "a", "b"),
    ("neighbours", "a"),
    ("subgraph", "a"),
    ("working-memory", "a"),
    ("about", "Zoe"),
    ("mentions", "Zoe"),
]


@pytest.mark.slow
def test_whatever_asks_can_be_told_to_write_nothing(shell: Shell, tmp_path: Path) -> None:
    shell("remember", "a", "Zoe has two cats.")
    shell("relate", "Zoe", "knows", "a")
    shell("remember", "b", "Zoe has one dog.")
    for words in ASKING:
        own = Shell(shutil.copy(shell.path, tmp_path / f"{words[0]}.hades"))
        found = own.run(*words, "--read-only")
        assert found.exit_code == 0, found.output
        assert found.stderr == "2 notes wait to be indexed: ask once without --read-only.\n", words
        with hades.open(own.path, read_only=True) as memory:
            assert memory.pending == 2, words
        assert own.run(*words).stderr == "", words
        with hades.open(own.path, read_only=True) as memory:
            assert memory.pending == 0, words


def test_a_proposal_is_listed_approved_and_rejected(shell: Shell) -> None:
    shell("propose", "Ann", "knows", "Bob", "--evidence", "a rumour")
    shell("propose", "notes/x", "--content", "It works.", "--confidence", "0.3")
    listed = shell("review", "list")
    assert "1  waiting  Ann --[knows]--> Bob\n" in listed
    assert "a rumour" in listed
    assert "notes/x: It works." in listed
    done = shell.json("review", "approve", "1")
    assert (done["status"], done["fields"]["target"]) == ("applied", "Bob")
    rejected = shell("review", "reject", "2", "--why", "a mistake")
    assert "2  rejected" in rejected
    assert "a mistake" in rejected
    assert "nothing waits" in shell("review", "list")
    assert len(shell.json("review", "list", "--status", "all")) == 2
    again = shell.refused("review", "approve", "1")
    assert again == f"hades: Proposal 1 was applied already by {done['decided_by']}.\n"


def test_a_note_that_settles_its_topic_shows_what_waits_for_review(shell: Shell) -> None:
    shell("relate", "project/a", "blocked_by", "bugs/y")
    assert "review" not in shell("remember", "bugs/y", "Crash on save.")
    said = shell("remember", "bugs/y", "Fixed in 1.2.")
    assert "remembered bugs/y@2" in said
    assert "end project/a --[blocked_by]--> bugs/y" in said
    assert "bugs/y@2 says “fixed”" in shell("review", "list")
    assert "applied" in shell("review", "approve", "1")
    assert "no edges" in shell("edges", "project/a")


def test_a_note_that_changes_a_fact_says_so_and_how_to_undo_it(shell: Shell) -> None:
    shell("remember", "hr/1", "Ann works at Acme.", "--valid-from", "2024-01-01")
    shell("extract")
    said = shell("remember", "notes/ann", "Ann works at Bolt since 2 March 2026.")
    assert "1  applied  Ann --[works_at]--> Bolt, since 2026-03-02" in said
    steps = re.findall(r"`hades (.*?)`", said.partition("to undo: ")[2])
    for step in steps:
        shell(*shlex.split(step))
    assert "Acme  edge 1  since 2024-01-01" in shell("edges", "Ann")
    assert "Bolt" not in shell("edges", "Ann")
    listed = shell("review", "list", "--status", "applied", "--since", "2024-01-01")
    assert "against Ann --[works_at]--> Acme" in listed


def test_a_note_that_contradicts_a_told_fact_shows_both_sides(shell: Shell) -> None:
    shell("relate", "Ann", "works_at", "Acme", "--evidence", "her card")
    said = shell("remember", "notes/ann", "Ann works at Bolt.", "--confidence", "0.4")
    assert "1  waiting  Ann --[works_at]--> Bolt" in said
    assert "sure 0.4 of 1" in said
    assert "“her card”" in said
    assert "Acme" in shell("edges", "Ann")


def test_what_one_is_sure_of_is_applied_at_once(shell: Shell) -> None:
    shell("relate", "Ann", "knows", "Bob")
    said = shell("propose", "Ann", "--alias", "Annie", "--confidence", "0.9")
    assert "Ann, alias Annie" in said
    assert "applied" in said
    assert "person" in shell("kind", "Annie", "person")


def test_a_part_of_the_graph_and_a_working_memory(shell: Shell) -> None:
    shell("remember", "design/x", "Rejected due to Bug Y.")
    shell("remember", "bugs/y", "Bug Y corrupts data.")
    shell("relate", "design/x", "rejected_because", "bugs/y", "--evidence", "seen")
    drawn = shell("subgraph", "design/x")
    assert 'design/x --[rejected_because]--> bugs/y  "seen"' in drawn
    nodes = shell.json("subgraph", "design/x")["nodes"]
    assert {"design/x", "bugs/y"} <= {node["name"] for node in nodes}
    shown = shell("working-memory", "design/x")
    assert "[latest] design/x@1" in shown
    assert "Bug Y corrupts data." in shown
    found = shell.json("working-memory", "design/x")
    assert [item["why"] for item in found["items"]] == ["latest", "related"]


def test_the_help_lists_every_command_under_a_heading_with_a_whole_sentence() -> None:
    shown = run_hades("--help", terminal_width=80).output
    everyday = shown.split("Everyday:\n")[1].split("\n\n")[0]
    assert 10 <= len(everyday.splitlines()) <= 13
    lines = {line.split()[0]: line for line in shown.splitlines() if line.startswith("  ")}
    listed = (ROOT / "docs/reference/names.txt").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[0].split()[1] for line in listed if line.startswith("command ")]
    for name in names:
        assert name in lines, f"{name} stands under no heading of hades/cli/panels.py"
        assert len(lines[name]) <= 78, lines[name]
        assert "..." not in lines[name]


def test_a_terminal_without_unicode_still_shows_everything(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("u", "ünïcödé 🜏")
    done = subprocess.run(
        [sys.executable, "-c", "from hades.cli import main; main()", "get", "u", "-m", str(path)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    assert b"\\xfc" in done.stdout
