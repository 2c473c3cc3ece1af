"""What only the admin socket offers: the whole memory, files of the machine, keys, audit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from making import remember_story
from rest_making import LOCAL, Asker, S, asking
from served_making import Served

import hades

pytest_plugins = ["served_fixtures"]

A = "/v1/admin"


@pytest.fixture
def ask(path: Path) -> Iterator[Asker]:
    with hades.open(path) as memory:
        remember_story(memory)
    with asking(path, caller=LOCAL) as asker:
        yield asker


def test_everything_leaves_and_comes_back(ask: Asker, tmp_path: Path) -> None:
    sent = ask.get(f"{A}/export")
    assert sent.headers["content-type"] == "application/x-ndjson"
    with asking(tmp_path / "other.hades", caller=LOCAL) as other:
        counts = other("POST", f"{A}/import?into=copy", content=sent.content).json()
        assert counts["topics"] == 4
        assert other.get("/v1/spaces/copy/stats").json()["topics"] == 4
        bad = other("POST", f"{A}/import", content=b"{}\n{}")
        assert (bad.status_code, bad.json()["code"]) == (422, "InvalidInput")
        assert other("POST", f"{A}/import", content=b"").status_code == 422


def test_a_backup_is_made_and_put_back(ask: Asker, tmp_path: Path) -> None:
    backup = ask.get(f"{A}/backup")
    (tmp_path / "backup.hades").write_bytes(backup.content)
    with hades.open(tmp_path / "backup.hades") as memory:
        assert len(memory.topics()) == 4
    ask.put(f"{S}/states/later", {"content": "x"})
    restored = ask("POST", f"{A}/restore", content=backup.content)
    assert restored.status_code == 200, restored.text
    assert ask.get(f"{S}/states/later").status_code == 404
    assert ask.put(f"{S}/states/after", {"content": "x"}).status_code == 201
    for bad in (b"", b"no backup", backup.content[: len(backup.content) // 2]):
        assert ask("POST", f"{A}/restore", content=bad).status_code == 422
    assert ask.get(f"{S}/states/after").status_code == 200


def test_damage_is_looked_for_and_mended(ask: Asker) -> None:
    assert ask.post(f"{A}/check").json() == {"items": [], "next": None}
    assert ask.post(f"{A}/repair").json() == {"items": [], "next": None}


def test_the_memory_moves_to_another_encoder(
    ask: Asker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert ask.post(f"{A}/reembed", {"encoder": "minilm"}).status_code == 200
    assert ask.post(f"{A}/reembed", {"encoder": "nonsense:x"}).status_code == 422
    assert ask.post(f"{S}/search", {"question": "Bug Y"}).json()["items"]


def test_paths_of_the_machine_are_taken_in(ask: Asker, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Alpha.")
    job = ask.post(f"{A}/jobs", {"paths": [str(tmp_path / "docs")]}).json()
    assert "event: done" in ask.get(f"{S}/jobs/{job['id']}/events").text
    job = ask.get(f"{S}/jobs/{job['id']}").json()
    assert job["result"]["added"] == 1
    assert ask.get(f"{S}/states/docs/a.md").json()["content"] == "Alpha."
    assert ask.post(f"{A}/jobs", {"paths": []}).status_code == 422
    assert ask.post(f"{A}/jobs", {"paths": ["x"], "space": "nowhere"}).status_code == 404


def test_the_audit_log_is_read(served: Served) -> None:
    with served.by("http", served.key("reader", name="x")) as reader:
        assert reader.get(f"{S}/topics").status_code == 200
    with served.by("admin") as admin:
        items = admin.get(f"{A}/audit?limit=5").json()["items"]
        assert [(one["who"], one["status"]) for one in items] == [("key:x", 200)]
        assert admin.get(f"{A}/audit?limit=-1").status_code == 422


def test_a_server_without_an_audit_log_says_so(ask: Asker) -> None:
    refused = ask.get(f"{A}/audit")
    assert (refused.status_code, refused.json()["code"]) == (503, "Unavailable")


def test_a_server_that_only_reads_writes_nothing(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "x")
    with asking(path, caller=LOCAL, read_only=True) as ask:
        assert ask.get(f"{S}/states/a").json()["content"] == "x"
        assert ask.get("/v1").json()["read_only"] is True
        for refused in (
            ask.put(f"{S}/states/a", {"content": "y"}),
            ask.post(f"{S}/resolve"),
            ask.get(f"{A}/backup"),
            ask("POST", f"{A}/restore", content=b"x"),
        ):
            assert (refused.status_code, refused.json()["code"]) == (503, "Unavailable")
        assert ask.get(f"{A}/export").status_code == 200
