"""A client and the command line against `hades serve` in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import hades
from tests.callers import new_key
from tests.shell import run_hades

pytestmark = pytest.mark.slow

NOWHERE = "http://127.0.0.1:9"
HADES = [sys.executable, "-c", "from hades.cli import main; main()"]


@dataclass(frozen=True)
class Served:
    """Where a server listens, and a key for each role."""

    http: str
    rw: str
    admin: str
    keys: dict[str, str]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with hades.open(folder / "m.hades") as memory:
        memory.create_space("work")
    tokens = {
        role: new_key(folder / "m.hades", role, name=role) for role in ("reader", "writer", "admin")
    }
    tokens["work"] = new_key(folder / "m.hades", "writer", "work")
    command = [*HADES, "serve", "--memory", "m.hades", "--port", "0", "--json"]
    command += ["--rw-socket", "rw.sock", "--admin-socket", "admin.sock"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            where = {
                one["listener"]: one["where"]
                for one in json.loads(process.stdout.readline())["listening"]
            }
            sockets = [f"unix://{folder}/{name}.sock" for name in ("rw", "admin")]
            yield Served(where["http"], *sockets, tokens)
        finally:
            process.terminate()
    assert process.returncode == 0


def test_a_key_says_who_writes(served: Served) -> None:
    with hades.open(served.http, key=served.keys["writer"]) as client:
        client.remember("notes/a", "one")
        assert client.log(1)[0].actor == "key:writer"


def test_the_key_may_stand_in_the_environment_or_the_address(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(served.http.replace("://", f"://:{served.keys['reader']}@")) as client:
        assert client.change >= 0
    monkeypatch.setenv("HADES_KEY", served.keys["reader"])
    with hades.open(served.http) as client, pytest.raises(hades.Denied, match="role writer"):
        client.remember("notes/a", "one")


def test_a_wrong_key_is_denied(served: Served) -> None:
    for key in ("hades_12345678_nonsense", "nonsense", "é"):
        with pytest.raises((hades.Denied, hades.InvalidInput)):
            hades.open(served.http, key=key)
    with pytest.raises(hades.Denied, match="hades keys create"):
        hades.open(served.http)


def test_a_key_of_one_space_sees_that_space(served: Served) -> None:
    with hades.open(served.http, key=served.keys["work"], space="work") as client:
        client.remember("a", "at work")
        assert [space.name for space in client.spaces()] == ["work"]
        with pytest.raises(hades.Denied, match="'default'"):
            client.in_space("default")


def test_what_is_for_operators_is_denied_elsewhere(served: Served, tmp_path: Path) -> None:
    for opened in (
        hades.open(served.rw),
        hades.open(served.http, key=served.keys["admin"]),
    ):
        with opened as client:
            for call in (
                lambda client=client: client.check(),
                lambda client=client: client.backup(tmp_path / "b.hades"),
                lambda client=client: client.export(tmp_path / "all.jsonl"),
                lambda client=client: client.reembed("minilm"),
            ):
                with pytest.raises(hades.Denied, match="admin socket"):
                    call()
            with pytest.raises(hades.Denied, match="on the repository's machine"):
                client.ingest(tmp_path, history=True)
    assert list(tmp_path.glob("*.*")) == []


def test_a_backup_goes_out_and_comes_back(served: Served, tmp_path: Path) -> None:
    told: list[str] = []
    with hades.open(served.admin) as client:
        client.remember("kept", "before")
        client.backup(tmp_path / "b.hades", lambda what, _done, _total: told.append(what))
        client.remember("kept", "after")
        with hades.open(tmp_path / "b.hades", read_only=True) as copy:
            assert copy.get("kept").content == "before"
        assert (tmp_path / "b.hades").stat().st_mode & 0o777 == 0o600
        client.restore(tmp_path / "b.hades", lambda what, _done, _total: told.append(what))
        assert client.get("kept").content == "before"
        assert client.check() == client.repair() == []
        with pytest.raises(hades.InvalidInput, match="exists already"):
            client.backup(tmp_path / "b.hades")
        (tmp_path / "no.hades").write_bytes(b"no memory at all" * 100)
        with pytest.raises(hades.HadesError):
            client.restore(tmp_path / "no.hades")
        assert client.get("kept").content == "before"
    assert set(told) == {"copying", "sending"}


def test_files_of_this_machine_are_taken_in(served: Served, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "deep").mkdir(parents=True)
    (docs / "guide.md").write_text("# Guide\n\nApproach X was rejected because of Bug Y.\n")
    (docs / "deep" / "notes.txt").write_text("Bug Y corrupts data on restart.\n")
    (docs / ".hidden.md").write_text("not this")
    (docs / "picture.xyz").write_text("nobody reads this")
    single = tmp_path / "single.md"
    single.write_text("# Single\n\nA file of its own.\n")
    told: set[str] = set()
    with hades.open(served.rw) as client:
        done = client.ingest(
            docs, single, tmp_path / "none", on_progress=lambda what, _d, _t: told.add(what)
        )
        assert (done.added, done.unchanged) == (3, 0)
        assert {where for where, _ in done.skipped} == {
            "docs/picture.xyz",
            str(tmp_path / "none"),
        }
        assert "sending" in told
        assert len(told) > 1
        names = [topic.name for topic in client.topics("*d*")]
        assert {"docs/guide.md", "docs/deep/notes.txt"} <= set(names)
        assert "Bug Y" in client.recall("Why was approach X rejected?").context

        (docs / "guide.md").write_text("# Guide\n\nApproach X is viable.\n")
        (docs / "picture.xyz").unlink()
        (docs / "deep" / "notes.txt").unlink()
        again = client.ingest(docs, single)
        assert (again.added, again.changed, again.unchanged, again.removed) == (0, 1, 1, 1)
        foreseen = client.ingest(docs, prefix="other", dry_run=True)
        assert foreseen.renamed == 1
        assert client.topics("other/*") == []
        with pytest.raises(hades.InvalidInput, match="nothing at"):
            client.ingest(tmp_path / "none")
        with pytest.raises(hades.InvalidInput, match="phase"):
            client.ingest(docs, phases=["nonsense"])


def test_facts_of_your_own_are_taken_in(served: Served, tmp_path: Path) -> None:
    facts = tmp_path / "facts.csv"
    facts.write_text("subject,predicate,object\nAnn Lee,leads,the index\nno,good\n")
    with hades.open(served.rw) as client:
        done = client.import_triples(facts)
        assert done.added == 1
        assert len(done.skipped) == 1
        assert [str(edge) for edge in client.edges("Ann Lee")] == ["Ann Lee --[leads]--> the index"]
        assert client.resolve(dry_run=True).dry_run


def test_a_history_is_read_by_the_server_itself(served: Served, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    who = ["-c", "user.name=ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", "init", "-q", repo], check=True)
    for text in ("one", "two"):
        (repo / "a.md").write_text(text)
        subprocess.run(["git", "-C", repo, "add", "."], check=True)
        subprocess.run(["git", "-C", repo, *who, "commit", "-qm", text], check=True)
    with hades.open(served.admin) as client:
        client.ingest(repo, history=True)
        assert [state.content for state in client.history("repo/a.md")] == ["one", "two"]


def test_commands_work_against_a_server(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*words: str, address: str = served.rw) -> str:
        monkeypatch.setenv("HADES_PATH", address)
        return run_hades(*words).output

    assert "remembered cli/x@1" in run("remember", "cli/x", "Approach X was rejected")
    assert "Approach X was rejected" in run("get", "cli/x")
    assert "cli/x" in run("topics", "cli/*")
    assert "Approach X" in run("recall", "What became of approach X?")
    assert "Approach X" in run("get", "cli/x", "--memory", served.admin, address=NOWHERE)
    assert "No server answers at http://127.0.0.1:9" in run("get", "x", address=NOWHERE)
    assert "is the address of a server" in run("keys", "list")
    assert "hades keys create" in run("get", "cli/x", address=served.http)


def test_secrets_are_not_shown(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HADES_PATH", "http://:hidden@127.0.0.1:9")
    monkeypatch.setenv("HADES_KEY", "hidden")
    shown = run_hades("settings").output
    assert "http://127.0.0.1:9" in shown
    assert "hidden" not in shown
    assert "hidden" not in run_hades("get", "x").output
