"""The audit log: one line a call, reads and writes apart, bounded, private, without contents."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from served_making import STATES, Served
from test_uploads import small_files

from hades.serve.auth.audit import Audit, Mode

pytest_plugins = ["served_fixtures"]


def _add(audit: Audit, number: int, mode: Mode = "RO") -> None:
    audit.add(
        who="key:ann",
        listener="http",
        space="default",
        call=f"GET /v1/{number}",
        mode=mode,
        status=200,
        ms=1.234,
        request=str(number),
    )


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_reads_and_writes_have_files_of_their_own(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit")
    _add(audit, 1)
    _add(audit, 2, "RW")
    _add(audit, 3)
    assert [line["request"] for line in _lines(tmp_path / "audit/reads.jsonl")] == ["1", "3"]
    assert [line["request"] for line in _lines(tmp_path / "audit/writes.jsonl")] == ["2"]
    assert [line["request"] for line in audit.tail(2)] == ["3", "2"]
    assert audit.tail(0) == []
    audit.close()


def test_it_is_for_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0)
    audit = Audit(tmp_path / "audit")
    os.umask(before)
    assert stat.S_IMODE(audit.folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in audit.folder.iterdir()} == {0o600}
    audit.close()


def test_it_is_bounded_and_the_newest_lines_stay(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit", file_bytes_at_most=1000, files_kept=2)
    for number in range(100):
        _add(audit, number)
    files = sorted(audit.folder.glob("reads*"))
    assert [file.name for file in files] == ["reads.jsonl", "reads.jsonl.1", "reads.jsonl.2"]
    assert all(file.stat().st_size <= 1000 for file in files)
    kept = [line["request"] for file in reversed(files) for line in _lines(file)]
    assert kept == [str(number) for number in range(100 - len(kept), 100)]
    audit.close()


def test_a_restart_goes_on_in_the_same_files(tmp_path: Path) -> None:
    for number in (1, 2):
        audit = Audit(tmp_path / "audit")
        _add(audit, number)
        audit.close()
    assert len(_lines(tmp_path / "audit/reads.jsonl")) == 2


def test_a_torn_line_costs_itself_and_no_other(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit")
    _add(audit, 1)
    audit.close()
    with (tmp_path / "audit/reads.jsonl").open("a") as file:
        file.write('not json\n[1]\n{"at": "2024')  # as after a crash or a full disk
    audit = Audit(tmp_path / "audit")
    _add(audit, 2)
    assert [line["request"] for line in audit.tail()] == ["2", "1"]
    audit.close()


def test_the_last_calls_are_there_after_a_rotation(tmp_path: Path) -> None:
    audit = Audit(tmp_path / "audit", file_bytes_at_most=1000, files_kept=3)
    for number in range(12):
        _add(audit, number)
    assert len(_lines(tmp_path / "audit/reads.jsonl")) < 8
    assert [line["request"] for line in audit.tail(8)] == [str(n) for n in range(11, 3, -1)]
    audit.close()


def test_a_full_disk_does_not_make_a_call_fail(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    audit = Audit(tmp_path / "audit")
    _add(audit, 1)
    with small_files(1):
        _add(audit, 2)
    assert "the audit log cannot be written" in caplog.text
    _add(audit, 3)
    assert audit.tail(1)[0]["request"] == "3"
    audit.close()


def test_every_call_is_written_down_and_nothing_it_was_about(served: Served) -> None:
    token = served.key("reader")
    with served.by("http", token) as client:
        client.get(f"{STATES}/plans/treasure?version=1")
        client.put(f"{STATES}/plans/treasure", json={"content": "under the oak"})
        client.post("/v1/spaces/default/search", json={"question": "where is the treasure"})
        client.get("/nowhere/treasure")
    with served.by("http", "hades_00000000_wrong") as client:
        client.get("/v1?token=treasure")
    reads = _lines(served.audit.folder / "reads.jsonl")
    writes = _lines(served.audit.folder / "writes.jsonl")
    assert [(line["mode"], line["status"]) for line in reads] == [
        ("RO", 404),
        ("RO", 200),
        ("RO", 404),
        ("RO", 401),
    ]
    assert [(line["who"], line["status"], line["space"]) for line in writes] == [
        ("key:reader-0", 403, "default")
    ]
    assert reads[3]["who"] == "nobody"
    states = "/v1/spaces/{space:name}/states/{topic:topic}"
    assert [line["call"] for line in (*reads[:3], *writes)] == [
        f"GET {states}",
        "POST /v1/spaces/{space:name}/search",
        "GET (nothing)",
        f"PUT {states}",
    ]
    told = (served.audit.folder / "reads.jsonl").read_text() + json.dumps(writes)
    for secret in ("treasure", "oak", token, "wrong"):
        assert secret not in told
