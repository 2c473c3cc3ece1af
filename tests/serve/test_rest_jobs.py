"""Jobs over a real server: files are sent, work is watched, stopped and taken up again."""

from __future__ import annotations

import json
import tarfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from rest_making import Door, S, serving
from test_uploads import special, tar_of

from hades.memory import Memory
from hades.serve.app import build
from hades.serve.executor.executor import Executor, Overloaded

TAR = {"content-type": "application/x-tar"}


@pytest.fixture
def app(path: Path) -> Any:
    return build(Executor.open(path))


@pytest.fixture
def client(app: Any) -> Iterator[httpx.Client]:
    app.state.jobs.heartbeat_s = 0.05
    with (
        serving(app.state.desk, Door(app)) as url,
        httpx.Client(base_url=url, timeout=30) as opened,
    ):
        yield opened


def events(client: httpx.Client, job: dict[str, Any], after: str = "") -> list[dict[str, Any]]:
    """What a job tells until it ends, read as a browser would."""
    headers = {"Last-Event-ID": after} if after else {}
    found: list[dict[str, Any]] = []
    with client.stream("GET", f"{S}/jobs/{job['id']}/events", headers=headers) as stream:
        assert stream.status_code == 200
        assert stream.headers["content-type"].startswith("text/event-stream")
        fields: dict[str, str] = {}
        for line in stream.iter_lines():
            if not line and fields:
                found.append({**fields, "data": json.loads(fields["data"])})
                fields = {}
            elif line and not line.startswith(":"):
                name, _, value = line.partition(": ")
                fields[name] = value
    return found


def done(client: httpx.Client, job: httpx.Response) -> Any:
    assert job.status_code == 202, job.text
    last = events(client, job.json())[-1]
    assert last["event"] == "done", last
    return last["data"]["result"]


def topics(client: httpx.Client) -> list[str]:
    return [topic["name"] for topic in client.get(f"{S}/topics").json()["items"]]


def send(client: httpx.Client, archive: bytes, query: str = "source=docs") -> httpx.Response:
    return client.post(f"{S}/jobs?{query}", content=archive, headers=TAR)


def test_a_folder_is_taken_in_and_kept_up_to_date(client: httpx.Client, path: Path) -> None:
    first = done(client, send(client, tar_of(("a.md", b"# A\n\nApples."), ("b.md", b"Bees."))))
    assert (first["added"], first["skipped"]) == (2, [])
    assert topics(client) == ["docs/a.md", "docs/b.md"]
    again = done(client, send(client, tar_of(("a.md", b"# A\n\nApples."), ("b.md", b"Bees."))))
    assert (again["added"], again["unchanged"]) == (0, 2)
    less = done(client, send(client, tar_of(("a.md", b"# A\n\nPears."))))
    assert (less["changed"], less["removed"]) == (1, 1)
    assert topics(client) == ["docs/a.md"]
    found = client.post(f"{S}/search", json={"question": "pears"}).json()["items"]
    assert found[0]["chunk"]["topic"] == "docs/a.md"
    left = [p for p in Path(f"{path}.uploads").rglob("*") if p.is_file()]
    assert left == []  # what was sent is in the memory alone


def test_of_a_purged_upload_no_name_stays_on_disk(client: httpx.Client, path: Path) -> None:
    def left() -> list[str]:
        return sorted(one.name for one in Path(f"{path}.uploads").glob("*/*"))

    plain = {"content-type": "text/markdown"}
    done(client, client.post(f"{S}/jobs?name=secret.md", content=b"Delta.", headers=plain))
    done(client, send(client, tar_of(("a.md", b"A."), ("b.md", b"B."))))
    assert left() == ["docs", "secret.md"]
    client.post(f"{S}/purge", json={"name": "secret.md"}).raise_for_status()
    client.post(f"{S}/purge", json={"name": "docs/a.md"}).raise_for_status()
    assert left() == ["docs"]  # it still owns docs/b.md
    client.post(f"{S}/purge", json={"name": "docs/b.md"}).raise_for_status()
    assert list(Path(f"{path}.uploads").iterdir()) == []
    done(client, send(client, tar_of(("a.md", b"A again."))))
    assert topics(client) == ["docs/a.md"]


def test_of_an_upload_that_gave_nothing_no_name_stays(client: httpx.Client, path: Path) -> None:
    done(client, send(client, tar_of(("a.md", b"A.")), "source=docs&dry_run=true"))
    assert list(Path(f"{path}.uploads").iterdir()) == []


def test_of_a_dropped_space_no_upload_stays(client: httpx.Client, path: Path) -> None:
    client.post("/v1/spaces", json={"name": "other"})
    job = client.post(
        "/v1/spaces/other/jobs?source=docs", content=tar_of(("z.md", b"Z.")), headers=TAR
    ).json()
    while client.get(f"/v1/spaces/other/jobs/{job['id']}").json()["status"] != "done":
        time.sleep(0.02)
    client.delete("/v1/spaces/other").raise_for_status()
    assert list(Path(f"{path}.uploads").iterdir()) == []


def test_a_job_says_what_kind_it_is(client: httpx.Client, app: Any) -> None:
    done(client, send(client, tar_of(("a.md", b"A."))))
    facts = b'{"subject": "a", "relation": "uses", "object": "b"}'
    done(client, client.post(f"{S}/jobs?kind=triples&name=facts.jsonl", content=facts))
    begun = client.post(f"{S}/jobs", json={"kind": "resolve"})
    assert begun.json()["kind"] == "resolve"
    done(client, begun)
    assert client.get(f"{S}/jobs/{begun.json()['id']}").json()["kind"] == "resolve"
    listed = client.get(f"{S}/jobs").json()["items"]
    assert [job["kind"] for job in listed] == ["resolve", "triples", "ingest"]
    said = app.openapi()["components"]["schemas"]["ShownJob"]
    assert "kind" in said["required"]
    assert {job["kind"] for job in listed} < set(said["properties"]["kind"]["enum"])


def test_a_source_of_one_space_is_none_of_another(client: httpx.Client) -> None:
    client.post("/v1/spaces", json={"name": "other"})
    done(client, send(client, tar_of(("a.md", b"A."))))
    job = client.post(
        "/v1/spaces/other/jobs?source=docs", content=tar_of(("z.md", b"Z.")), headers=TAR
    ).json()
    while client.get(f"/v1/spaces/other/jobs/{job['id']}").json()["status"] != "done":
        time.sleep(0.02)
    assert topics(client) == ["docs/a.md"]


def test_files_come_as_a_form_as_texts_or_alone(client: httpx.Client) -> None:
    form = [("file", ("sub/a.md", b"Alpha.")), ("file", ("b.txt", b"Beta."))]
    done(client, client.post(f"{S}/jobs?source=form", files=form))
    texts = {"kind": "ingest", "source": "notes", "texts": [{"name": "c.md", "text": "Gamma."}]}
    done(client, client.post(f"{S}/jobs", json=texts))
    alone = {"content-type": "text/markdown"}
    done(client, client.post(f"{S}/jobs?name=d.md", content=b"Delta.", headers=alone))
    assert topics(client) == ["d.md", "form/b.txt", "form/sub/a.md", "notes/c.md"]


def test_a_prefix_fields_and_a_dry_run_are_respected(client: httpx.Client) -> None:
    lines = b'{"key": "k1", "body": "Records too."}\n'
    query = "source=r&name=records.jsonl&field=id=key&field=text=body&prefix=rec"
    headers = {"content-type": "application/x-ndjson"}
    tried = done(
        client, client.post(f"{S}/jobs?{query}&dry_run=true", content=lines, headers=headers)
    )
    assert tried["added"] == 1
    assert topics(client) == []
    done(client, client.post(f"{S}/jobs?{query}", content=lines, headers=headers))
    assert topics(client) == ["rec/k1"]


def test_facts_names_and_graphs_are_jobs_too(client: httpx.Client) -> None:
    facts = b'{"subject": "Ann", "predicate": "knows", "object": "Bob"}\n'
    told = client.post(f"{S}/jobs?kind=triples&name=facts.jsonl", content=facts)
    assert done(client, told)["added"] == 1
    assert done(client, client.post(f"{S}/jobs", json={"kind": "resolve"}))["dry_run"] is False
    graph = client.get(f"{S}/export").content
    client.post("/v1/spaces", json={"name": "copy"})
    job = client.post("/v1/spaces/copy/jobs?kind=import-node-link", content=graph).json()
    while client.get(f"/v1/spaces/copy/jobs/{job['id']}").json()["status"] != "done":
        time.sleep(0.02)
    edges = client.get("/v1/spaces/copy/edges?name=Ann").json()["items"]
    assert [edge["relation"] for edge in edges] == ["knows"]


def test_a_text_is_taken_in_at_once(client: httpx.Client) -> None:
    body = {"topic": "standup", "text": "Approach X is viable again.", "tags": ["note"]}
    assert client.post(f"{S}/ingest/text", json=body).json()["id"] == "standup@1"
    assert client.get(f"{S}/pending").json() == {"value": 0}


# What cannot be taken


@pytest.mark.parametrize(
    ("query", "body", "kind", "status"),
    [
        ("source=docs", tar_of(("../evil", b"x")), "application/x-tar", 422),
        ("source=docs", b"no tar", "application/x-tar", 422),
        ("source=docs", tar_of(), "application/x-tar", 422),
        ("", tar_of(("a.md", b"x")), "application/x-tar", 422),
        ("source=docs", b"x", "application/octet-stream", 422),
        ("source=docs&name=../x", b"x", "application/octet-stream", 422),
        ("source=..&name=..", tar_of(("a.md", b"x")), "application/x-tar", 422),
        ("source=docs&history=true", tar_of(("a.md", b"x")), "application/x-tar", 422),
        ("kind=magic", b"x", "application/octet-stream", 422),
        ("kind=triples&name=facts.exe", b"x", "application/octet-stream", 422),
        ("source=docs&field=nonsense", tar_of(("a.md", b"x")), "application/x-tar", 422),
        ("source=docs&phase=later", tar_of(("a.md", b"x")), "application/x-tar", 202),
        ("", b"{", "application/json", 400),
        ("", b'{"kind": "ingest"}', "application/json", 422),
        ("", b'{"kind": "sleep"}', "application/json", 422),
        ("source=docs", b"--x\r\n", "multipart/form-data", 422),
        ("source=docs", b"--x\r\n", "multipart/form-data; boundary=x", 422),
    ],
)
def test_what_cannot_be_taken_is_refused(
    client: httpx.Client, path: Path, query: str, body: bytes, kind: str, status: int
) -> None:
    answer = client.post(f"{S}/jobs?{query}", content=body, headers={"content-type": kind})
    assert answer.status_code == status, answer.text
    if status == 202:  # found out only when it is done
        assert events(client, answer.json())[-1]["event"] == "failed"
    assert topics(client) == []
    assert list(Path(f"{path}.uploads").glob("draft-*")) == []


def test_what_is_too_large_is_refused(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hades.serve.rest.receiving.SENT_BYTES_AT_MOST", 1000)
    assert send(client, tar_of(("a.md", b"x" * 2000))).status_code == 413
    parts = client.post(
        f"{S}/jobs?source=docs", content=iter([b"x" * 800, b"x" * 800]), headers=TAR
    )
    assert parts.status_code == 413


def test_json_is_held_to_less_than_files_are(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hades.serve.rest.receiving.JSON_BYTES_AT_MOST", 1000)
    texts = [{"name": "a.md", "text": "x" * 2000}]
    body = {"kind": "ingest", "source": "docs", "texts": texts}
    assert client.post(f"{S}/jobs", json=body).status_code == 413


def test_links_in_an_archive_are_named_and_passed_over(client: httpx.Client) -> None:
    link = special("passwd.md", tarfile.SYMTYPE, "/etc/passwd")[:512]
    summary = done(client, send(client, link + tar_of(("a.md", b"A."))))
    assert summary["skipped"] == [["passwd.md", "Only files are taken, no links or devices."]]
    assert topics(client) == ["docs/a.md"]


# Watching, stopping, taking up again


class Slow:
    """Work that goes on until it is let go, a step at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        self.go = threading.Event()
        monkeypatch.setattr(Memory, "resolve", self._resolve)

    def _resolve(self, *, dry_run: bool, on_progress: Any) -> Any:
        while not self.go.wait(0.02):
            self.steps += 1
            on_progress("stepping", self.steps, 0)
        return {"steps": self.steps}


def test_events_are_taken_up_where_they_stopped(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    job = client.post(f"{S}/jobs", json={"kind": "resolve"}).json()
    with client.stream("GET", f"{S}/jobs/{job['id']}/events") as stream:
        ids = (line[4:] for line in stream.iter_lines() if line.startswith("id: "))
        seen = [next(ids), next(ids)]
    slow.go.set()
    rest = events(client, job, after=seen[-1])
    assert int(rest[0]["id"]) == int(seen[-1]) + 1
    assert rest[-1]["event"] == "done"
    everything = events(client, job)
    assert [int(one["id"]) for one in everything] == list(range(1, len(everything) + 1))
    assert events(client, job, after=rest[-1]["id"]) == []


def test_a_quiet_job_says_that_it_is_still_there(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr(Memory, "resolve", lambda *_a, **_k: go.wait(10))
    job = client.post(f"{S}/jobs", json={"kind": "resolve"}).json()
    with client.stream("GET", f"{S}/jobs/{job['id']}/events") as stream:
        comments = (line for line in stream.iter_lines() if line.startswith(":"))
        assert [next(comments), next(comments)] == [": here", ": still here"]
    go.set()


def test_a_job_is_cancelled_at_its_next_step(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Slow(monkeypatch)
    job = client.post(f"{S}/jobs", json={"kind": "resolve"}).json()
    assert client.get(f"{S}/jobs/{job['id']}").json()["status"] in ("waiting", "running")
    assert client.delete(f"{S}/jobs/{job['id']}").status_code == 200
    assert events(client, job)[-1]["event"] == "cancelled"
    assert client.get(f"{S}/jobs/{job['id']}").json()["status"] == "cancelled"


def test_a_cancelled_ingestion_leaves_no_files_and_goes_on_when_sent_again(
    client: httpx.Client, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest = Memory.ingest

    def slowly(self: Memory, *paths: Any, on_progress: Any, **options: Any) -> Any:
        def told(*what: Any) -> None:
            time.sleep(0.1)
            on_progress(*what)

        return ingest(self, *paths, on_progress=told, **options)

    monkeypatch.setattr(Memory, "ingest", slowly)
    archive = tar_of(*((f"n{number}.md", b"Text.") for number in range(50)))
    job = send(client, archive).json()
    client.delete(f"{S}/jobs/{job['id']}")
    assert events(client, job)[-1]["event"] == "cancelled"
    assert [p for p in Path(f"{path}.uploads").rglob("*") if p.is_file()] == []
    monkeypatch.setattr(Memory, "ingest", ingest)
    done(client, send(client, archive))
    assert len(topics(client)) == 50


def test_a_source_is_taken_in_by_one_job_at_a_time(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr(Memory, "ingest", lambda *_a, **_k: go.wait(10))
    first = send(client, tar_of(("a.md", b"A.")))
    second = send(client, tar_of(("a.md", b"A.")))
    assert (first.status_code, second.status_code) == (202, 409)
    go.set()


def test_too_many_jobs_are_turned_away(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    answers = [client.post(f"{S}/jobs", json={"kind": "resolve"}) for _ in range(17)]
    assert [one.status_code for one in answers] == [202] * 16 + [503]
    assert answers[-1].headers["retry-after"]
    slow.go.set()
    for one in answers[:16]:
        assert events(client, one.json())[-1]["event"] == "done"


def test_a_job_that_is_sent_again_is_the_same_job(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "j1"}
    first = client.post(f"{S}/jobs", json={"kind": "resolve"}, headers=key).json()
    again = client.post(f"{S}/jobs", json={"kind": "resolve"}, headers=key)
    assert again.json()["id"] == first["id"]
    assert again.headers["idempotent-replayed"] == "true"
    changed = client.post(f"{S}/jobs", json={"kind": "resolve", "dry_run": True}, headers=key)
    assert changed.status_code == 409
    other = client.post(f"{S}/jobs?source=x", content=tar_of(("a", b"x")), headers={**key, **TAR})
    assert other.status_code == 409
    listed = client.get(f"{S}/jobs").json()["items"]
    assert [job["id"] for job in listed] == [first["id"]]


def test_a_key_holds_in_one_space_and_for_the_bytes_it_came_with(client: httpx.Client) -> None:
    client.post("/v1/spaces", json={"name": "other"})
    headers = {**TAR, "Idempotency-Key": "k"}
    sent = tar_of(("a", b"A"))
    mine, theirs = (
        client.post(f"/v1/spaces/{space}/jobs?source=d", content=sent, headers=headers)
        for space in ("default", "other")
    )
    assert (mine.json()["space"], theirs.json()["space"]) == ("default", "other")
    again = client.post(f"{S}/jobs?source=d", content=sent, headers=headers)
    assert again.json()["id"] == mine.json()["id"]
    changed = client.post(f"{S}/jobs?source=d", content=tar_of(("a", b"B")), headers=headers)
    assert changed.status_code == 409
    form_key = {"Idempotency-Key": "f"}
    forms = [
        client.post(f"{S}/jobs?source=f", files=[("file", ("a", text))], headers=form_key)
        for text in (b"A", b"A", b"B")
    ]
    assert [one.status_code for one in forms] == [202, 202, 409]
    assert forms[0].json()["id"] == forms[1].json()["id"]


class Trickle:
    """A body that comes in two parts, the second when it is let go."""

    def __init__(self) -> None:
        self.began, self.go = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[bytes]:
        yield b'{"subject": "A", "predicate": "p", "object": "B"}\n'
        self.began.set()
        assert self.go.wait(20)
        yield b'{"subject": "A", "predicate": "p", "object": "C"}\n'


def test_a_key_is_taken_while_its_files_come_and_few_send_at_once(
    client: httpx.Client, app: Any
) -> None:
    path = f"{S}/jobs?kind=triples&name=f.jsonl"
    slow = [Trickle(), Trickle()]
    key = {"Idempotency-Key": "r"}
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(client.post, path, content=slow[0], headers=key)
        assert slow[0].began.wait(20)
        while not list(app.state.desk.uploads.glob("draft-*")):
            time.sleep(0.01)
        second = client.post(path, content=b"{}", headers=key)
        assert (second.status_code, "under way" in second.text) == (503, True)
        assert second.headers["retry-after"]
        other = threads.submit(client.post, path, content=slow[1])
        while len(list(app.state.desk.uploads.glob("draft-*"))) < 2:
            time.sleep(0.01)
        third = client.post(path, content=b"{}")
        assert (third.status_code, "being sent" in third.text) == (503, True)
        for one in slow:
            one.go.set()
        assert {first.result().status_code, other.result().status_code} == {202}
    assert len(client.get(f"{S}/jobs").json()["items"]) == 2


def test_a_form_is_whole_and_holds_files_only(client: httpx.Client) -> None:
    headers = {"content-type": "multipart/form-data; boundary=b"}
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nA\r\n'
    cut = client.post(f"{S}/jobs?source=x", content=part, headers=headers)
    assert (cut.status_code, "end is missing" in cut.text) == (422, True)
    field = part.replace(b'; filename="a"', b"") + b"--b--\r\n"
    assert client.post(f"{S}/jobs?source=x", content=field, headers=headers).status_code == 422
    long = part.replace(b"form-data", b"form-data" + b" " * 20_000) + b"--b--\r\n"
    assert client.post(f"{S}/jobs?source=x", content=long, headers=headers).status_code == 422
    done(client, client.post(f"{S}/jobs?source=x", content=part + b"--b--\r\n", headers=headers))


def test_a_full_line_is_told_before_a_job_is_begun(
    client: httpx.Client, app: Any, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise Overloaded("Too many calls are waiting.")

    monkeypatch.setattr(app.state.desk._work, "submit", full)
    refused = send(client, tar_of(("a", b"x")))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert client.get(f"{S}/jobs").json()["items"] == []
    assert list(Path(f"{path}.uploads").glob("draft-*")) == []
    body = {"topic": "standup", "text": "Approach X is viable again."}
    assert client.post(f"{S}/ingest/text", json=body).json()["id"] == "standup@1"
    assert client.get(f"{S}/export").status_code == 200  # has a line of its own
    found = client.post(f"{S}/search", json={"question": "viable"}).json()["items"]
    assert found[0]["chunk"]["topic"] == "standup"


def test_jobs_go_with_their_space(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.post("/v1/spaces", json={"name": "other"})
    slow = Slow(monkeypatch)
    key = {"Idempotency-Key": "k"}
    old = client.post("/v1/spaces/other/jobs", json={"kind": "resolve"}, headers=key).json()
    client.delete("/v1/spaces/other")
    client.post("/v1/spaces", json={"name": "other"})
    assert client.get("/v1/spaces/other/jobs").json()["items"] == []
    assert client.get(f"/v1/spaces/other/jobs/{old['id']}").status_code == 404
    slow.go.set()
    new = client.post("/v1/spaces/other/jobs", json={"kind": "resolve"}, headers=key).json()
    assert new["id"] != old["id"]


def test_a_job_fails_with_a_sentence(client: httpx.Client) -> None:
    job = client.post(f"{S}/jobs?kind=import-node-link", content=b"{}").json()
    last = events(client, job)[-1]
    assert (last["event"], last["data"]["code"]) == ("failed", "InvalidInput")
    assert client.get(f"{S}/jobs/{job['id']}").json()["problem"] == last["data"]


def test_what_goes_wrong_inside_is_not_told(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_a: Any, **_k: Any) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(Memory, "resolve", broken)
    job = client.post(f"{S}/jobs", json={"kind": "resolve"}).json()
    assert "secret" not in json.dumps(events(client, job))
    assert "secret of the house" in caplog.text


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_job_nobody_began_is_not_found(client: httpx.Client, method: str) -> None:
    assert client.request(method, f"{S}/jobs/nothing").status_code == 404
    assert client.get(f"{S}/jobs/nothing/events").status_code == 404
