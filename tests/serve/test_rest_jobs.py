"""Jobs over a real server: files are sent, work is watched, stopped and taken up again."""

from __future__ import annotations

import json
import secrets
import tarfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from rest_making import WithCaller, serving
from test_uploads import small_files, special, tar_of

import hades
from hades.serve.app import build
from hades.serve.executor import Executor
from hades.serve.pool import Overloaded
from hades.store.drafts import remove_path

TAR = {"content-type": "application/x-tar"}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = build(Executor.open(tmp_path_factory.mktemp("jobs") / "notes.hades"))
    made.state.jobs.heartbeat_s = 0.05
    return made


@pytest.fixture(scope="module")
def url(app: Any) -> Iterator[str]:
    """One server for all tests of this file: each has spaces of its own."""
    with serving(app.state.executor, WithCaller(app)) as address:
        yield f"{address}/v1/spaces"


@pytest.fixture
def in_new_space(url: str) -> Iterator[Callable[[], httpx.Client]]:
    """Make a client of a new space: its paths are those below the space."""
    with ExitStack() as opened:

        def make() -> httpx.Client:
            name = secrets.token_hex(4)
            httpx.post(url, json={"name": name}, timeout=30).raise_for_status()
            return opened.enter_context(httpx.Client(base_url=f"{url}/{name}", timeout=30))

        yield make


@pytest.fixture
def client(in_new_space: Callable[[], httpx.Client]) -> httpx.Client:
    return in_new_space()


def left(app: Any) -> list[Path]:
    """What lies in the folder of uploads."""
    return list(app.state.executor.uploads.iterdir())


def events(client: httpx.Client, job: dict[str, Any], after: str = "") -> list[dict[str, Any]]:
    """What a job tells until it ends, read as a browser would."""
    headers = {"Last-Event-ID": after} if after else {}
    found: list[dict[str, Any]] = []
    with client.stream("GET", f"/jobs/{job['id']}/events", headers=headers) as stream:
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
    return [topic["name"] for topic in client.get("/topics").json()["items"]]


def send(client: httpx.Client, archive: bytes, query: str = "source=docs") -> httpx.Response:
    return client.post(f"/jobs?{query}", content=archive, headers=TAR)


def test_a_folder_is_taken_in_and_kept_up_to_date(client: httpx.Client, app: Any) -> None:
    first = done(client, send(client, tar_of(("a.md", b"# A\n\nApples."), ("b.md", b"Bees."))))
    assert (first["added"], first["skipped"]) == (2, [])
    assert topics(client) == ["docs/a.md", "docs/b.md"]
    again = done(client, send(client, tar_of(("a.md", b"# A\n\nApples."), ("b.md", b"Bees."))))
    assert (again["added"], again["unchanged"]) == (0, 2)
    less = done(client, send(client, tar_of(("a.md", b"# A\n\nPears."))))
    assert (less["changed"], less["removed"]) == (1, 1)
    assert topics(client) == ["docs/a.md"]
    found = client.post("/search", json={"question": "pears"}).json()["items"]
    assert found[0]["chunk"]["topic"] == "docs/a.md"
    assert left(app) == []  # what was sent is in the memory alone


def test_of_what_was_sent_no_name_stays_on_disk(client: httpx.Client, app: Any) -> None:
    plain = {"content-type": "text/markdown"}
    done(client, client.post("/jobs?name=secret.md", content=b"Delta.", headers=plain))
    done(client, send(client, tar_of(("a.md", b"A."), ("b.md", b"B."))))
    done(client, send(client, tar_of(("c.md", b"C.")), "source=tried&dry_run=true"))
    assert left(app) == []
    client.post("/purge", json={"name": "secret.md"}).raise_for_status()
    client.post("/purge", json={"name": "docs/a.md"}).raise_for_status()
    done(client, send(client, tar_of(("a.md", b"A again."), ("b.md", b"B."))))
    assert topics(client) == ["docs/a.md", "docs/b.md"]


def test_a_source_is_known_by_its_name_and_keeps_its_topics(client: httpx.Client) -> None:
    done(client, send(client, tar_of(("a.md", b"A.")), "source=docs"))
    other = done(client, send(client, tar_of(("a.md", b"B.")), "source=other&prefix=docs"))
    assert other["added"] == 0
    assert "comes from upload:docs" in other["skipped"][0][1]
    assert client.get("/states/docs/a.md").json()["content"] == "A."


def test_a_job_says_what_kind_it_is(client: httpx.Client, app: Any) -> None:
    done(client, send(client, tar_of(("a.md", b"A."))))
    facts = b'{"subject": "a", "relation": "uses", "object": "b"}'
    done(client, client.post("/jobs?kind=triples&name=facts.jsonl", content=facts))
    begun = client.post("/resolve")
    assert begun.json()["kind"] == "resolve"
    done(client, begun)
    assert client.get(f"/jobs/{begun.json()['id']}").json()["kind"] == "resolve"
    listed = client.get("/jobs").json()["items"]
    assert [job["kind"] for job in listed] == ["resolve", "triples", "ingest"]
    said = app.openapi()["components"]["schemas"]["JobStatus"]
    assert "kind" in said["required"]
    assert {job["kind"] for job in listed} < set(said["properties"]["kind"]["enum"])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/extract", {"glob": "x" * 2_001}),
        ("/extract", {"topic": ""}),
        ("/distil", {"since": "no time"}),
        ("/jobs?name=d.md&prefix=", None),
        (f"/jobs?kind=import-node-link&name={'x' * 2_001}", None),
    ],
)
def test_a_wrong_argument_is_refused_before_a_job_begins(
    client: httpx.Client, path: str, body: Any
) -> None:
    assert client.post(path, json=body).status_code == 422
    assert client.get("/jobs").json()["items"] == []


def test_a_source_of_one_space_is_none_of_another(
    in_new_space: Callable[[], httpx.Client],
) -> None:
    client, other = in_new_space(), in_new_space()
    done(client, send(client, tar_of(("a.md", b"A."))))
    done(other, send(other, tar_of(("z.md", b"Z."))))
    assert topics(client) == ["docs/a.md"]


def test_a_file_comes_alone(client: httpx.Client) -> None:
    alone = {"content-type": "text/markdown"}
    done(client, client.post("/jobs?name=d.md", content=b"Delta.", headers=alone))
    assert topics(client) == ["d.md"]


def test_a_folder_may_have_as_long_a_name_as_file_systems_take(client: httpx.Client) -> None:
    name = "a" * 255
    job = send(client, tar_of(("b.md", b"Bees.")), f"source=s&name={name}&prefix=p")
    assert done(client, job)["added"] == 1


def test_a_prefix_fields_and_a_dry_run_are_respected(client: httpx.Client) -> None:
    lines = b'{"key": "k1", "body": "Records too."}\n'
    query = "source=r&name=records.jsonl&field=id=key&field=text=body&prefix=rec"
    headers = {"content-type": "application/x-ndjson"}
    tried = done(client, client.post(f"/jobs?{query}&dry_run=true", content=lines, headers=headers))
    assert tried["added"] == 1
    assert topics(client) == []
    done(client, client.post(f"/jobs?{query}", content=lines, headers=headers))
    assert topics(client) == ["rec/k1"]


def test_facts_names_and_graphs_are_jobs_too(in_new_space: Callable[[], httpx.Client]) -> None:
    client, copy = in_new_space(), in_new_space()
    facts = b'{"subject": "Ann", "predicate": "knows", "object": "Bob"}\n'
    told = client.post("/jobs?kind=triples&name=facts.jsonl", content=facts)
    assert done(client, told)["added"] == 1
    assert done(client, client.post("/resolve"))["dry_run"] is False
    client.put("/states/diary", json={"content": "Ben reports to Carla."})
    read = done(client, client.post("/extract", json={"dry_run": True}))
    assert read["outcomes"] == {"applied": 1}
    graph = client.get("/export").content
    done(copy, copy.post("/jobs?kind=import-node-link", content=graph))
    edges = copy.get("/edges?name=Ann").json()["items"]
    assert [edge["relation"] for edge in edges] == ["knows"]


# What cannot be taken


OCTETS = "application/octet-stream"
REFUSED: list[tuple[str, bytes, str, int]] = [
    ("source=docs", tar_of(("../evil", b"x")), TAR["content-type"], 422),
    ("source=docs", b"no tar", TAR["content-type"], 422),
    ("source=docs", tar_of(), TAR["content-type"], 422),
    ("", tar_of(("a.md", b"x")), TAR["content-type"], 422),
    ("source=docs", b"x", OCTETS, 422),
    ("source=docs&name=../x", b"x", OCTETS, 422),
    ("source=..&name=..", tar_of(("a.md", b"x")), TAR["content-type"], 422),
    ("source=docs&history=true", tar_of(("a.md", b"x")), TAR["content-type"], 422),
    ("kind=magic", b"x", OCTETS, 422),
    ("kind=triples&name=facts.exe", b"x", OCTETS, 422),
    ("source=docs&field=nonsense", tar_of(("a.md", b"x")), TAR["content-type"], 422),
    ("source=docs&phase=later", tar_of(("a.md", b"x")), TAR["content-type"], 202),
    (f"source={'x' * 2000}&name=a.md", b"x", OCTETS, 202),
    ("", b'{"kind": "ingest"}', "application/json", 422),
    ("source=docs&name=a.md", b"--x\r\n--x--", "multipart/form-data; boundary=x", 422),
]


def test_what_cannot_be_taken_is_refused(client: httpx.Client, app: Any) -> None:
    for query, body, kind, status in REFUSED:
        answer = client.post(f"/jobs?{query}", content=body, headers={"content-type": kind})
        assert answer.status_code == status, (query, body[:100], answer.text)
        if status == 202:  # found out only when it is done
            assert events(client, answer.json())[-1]["event"] == "failed", query
    assert topics(client) == []
    assert left(app) == []


def test_a_full_disk_is_told_and_leaves_nothing(client: httpx.Client, app: Any) -> None:
    big = b"x" * 2_000_000
    with small_files(1_000_000):
        for answer in (
            send(client, tar_of(("a.md", big))),
            client.post("/jobs?name=a.md", content=big, headers={"content-type": "text/plain"}),
        ):
            assert (answer.status_code, answer.json()["code"]) == (507, "Unavailable")
    assert left(app) == []
    done(client, send(client, tar_of(("a.md", b"A."))))


def test_the_event_loop_removes_no_files(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = []

    def watched(path: Path) -> None:
        threads.append(threading.current_thread().name)
        remove_path(path)

    monkeypatch.setattr("hades.serve.sent_files.remove_path", watched)
    done(client, send(client, tar_of(("a.md", b"A."))))
    assert send(client, b"no tar").status_code == 422
    assert [name.rpartition("_")[0] for name in threads] == ["hades-work", "asyncio"]


def test_links_in_an_archive_are_named_and_passed_over(client: httpx.Client) -> None:
    link = special("passwd.md", tarfile.SYMTYPE, "/etc/passwd")[:512]
    summary = done(client, send(client, link + tar_of(("a.md", b"A."))))
    assert summary["skipped"] == [["passwd.md", "Only files are ingested, no links or devices."]]
    assert topics(client) == ["docs/a.md"]


# Watching, stopping, taking up again


class Slow:
    """Work that goes on until it is let go, a step at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        self.go = threading.Event()
        monkeypatch.setattr(hades.Memory, "resolve", self._resolve)

    def _resolve(self, *, dry_run: bool = False, on_progress: Any) -> Any:
        while not self.go.wait(0.02):
            self.steps += 1
            on_progress("stepping", self.steps, 0)
        return {"steps": self.steps}


def test_events_are_taken_up_where_they_stopped(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    job = client.post("/resolve").json()
    with client.stream("GET", f"/jobs/{job['id']}/events") as stream:
        ids = (line[4:] for line in stream.iter_lines() if line.startswith("id: "))
        seen = [next(ids), next(ids)]
    slow.go.set()
    rest = events(client, job, after=seen[-1])
    assert int(rest[0]["id"]) > int(seen[-1])
    assert rest[-1]["event"] == "done"
    assert events(client, job) == rest[-1:]
    assert events(client, job, after=rest[-1]["id"]) == []


def test_a_quiet_job_says_that_it_is_still_there(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr(hades.Memory, "resolve", lambda *_a, **_k: go.wait(60))
    job = client.post("/resolve").json()
    with client.stream("GET", f"/jobs/{job['id']}/events") as stream:
        comments = (line for line in stream.iter_lines() if line.startswith(":"))
        assert [next(comments), next(comments)] == [": here", ": still here"]
    go.set()


def test_a_job_is_cancelled_at_its_next_step(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    Slow(monkeypatch)
    job = client.post("/resolve").json()
    assert client.get(f"/jobs/{job['id']}").json()["status"] in ("waiting", "running")
    assert client.delete(f"/jobs/{job['id']}").status_code == 200
    assert events(client, job)[-1]["event"] == "cancelled"
    assert client.get(f"/jobs/{job['id']}").json()["status"] == "cancelled"


def test_a_cancelled_ingestion_leaves_no_files_and_goes_on_when_sent_again(
    client: httpx.Client, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest, began, go = hades.Memory.ingest, threading.Event(), threading.Event()

    def slowly(self: hades.Memory, *paths: Any, on_progress: Any, **options: Any) -> Any:
        def told(*what: Any) -> None:
            began.set()
            assert go.wait(60)
            on_progress(*what)

        return ingest(self, *paths, on_progress=told, **options)

    monkeypatch.setattr(hades.Memory, "ingest", slowly)
    archive = tar_of(*((f"n{number}.md", b"Text.") for number in range(50)))
    job = send(client, archive).json()
    assert began.wait(60)
    client.delete(f"/jobs/{job['id']}")
    go.set()
    assert events(client, job)[-1]["event"] == "cancelled"
    assert left(app) == []
    monkeypatch.setattr(hades.Memory, "ingest", ingest)
    done(client, send(client, archive))
    assert len(topics(client)) == 50


def test_a_source_is_taken_in_by_one_job_at_a_time(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = threading.Event()
    monkeypatch.setattr(hades.Memory, "ingest", lambda *_a, **_k: go.wait(60))
    first = send(client, tar_of(("a.md", b"A.")))
    second = send(client, tar_of(("a.md", b"A.")))
    assert (first.status_code, second.status_code) == (202, 409)
    go.set()


def test_too_many_jobs_are_turned_away(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(monkeypatch)
    answers = [client.post("/resolve") for _ in range(9)]
    assert [one.status_code for one in answers] == [202] * 8 + [503]
    assert answers[-1].headers["retry-after"]
    slow.go.set()
    for one in answers[:8]:
        assert events(client, one.json())[-1]["event"] == "done"


def test_one_upload_too_many_is_refused_and_leaves_nothing(
    client: httpx.Client, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hades.serve.uploads.UPLOADS_AT_ONCE", 0)
    refused = send(client, tar_of(("a.md", b"A.")))
    assert (refused.status_code, "being sent" in refused.text) == (503, True)
    assert refused.headers["retry-after"]
    assert left(app) == []


def test_an_overload_is_told_before_a_job_is_begun(
    client: httpx.Client, app: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> Any:
        raise Overloaded("Too many calls are waiting.")

    monkeypatch.setattr(app.state.executor.pools["work"], "submit", full)
    refused = send(client, tar_of(("a", b"x")))
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
    assert client.get("/jobs").json()["items"] == []
    assert left(app) == []
    said = client.put("/states/standup", json={"content": "Approach X is viable again."})
    assert said.status_code == 201
    assert client.get("/export").status_code == 200  # has a pool of its own
    found = client.post("/search", json={"question": "viable"}).json()["items"]
    assert found[0]["chunk"]["topic"] == "standup"


def test_jobs_go_with_their_space(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(monkeypatch)
    old = client.post("/resolve").json()
    spaces, _, name = str(client.base_url).rstrip("/").rpartition("/")
    httpx.delete(f"{spaces}/{name}", timeout=30).raise_for_status()
    httpx.post(spaces, json={"name": name}, timeout=30).raise_for_status()
    assert client.get("/jobs").json()["items"] == []
    assert client.get(f"/jobs/{old['id']}").status_code == 404
    slow.go.set()
    new = client.post("/resolve").json()
    assert new["id"] != old["id"]


def test_a_job_fails_with_a_sentence(client: httpx.Client) -> None:
    job = client.post("/jobs?kind=import-node-link", content=b"{}").json()
    last = events(client, job)[-1]
    assert (last["event"], last["data"]["code"]) == ("failed", "InvalidInput")
    assert client.get(f"/jobs/{job['id']}").json()["problem"] == last["data"]


def test_what_goes_wrong_inside_is_not_told(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_a: Any, **_k: Any) -> None:
        raise RuntimeError("secret of the house")

    monkeypatch.setattr(hades.Memory, "resolve", broken)
    job = client.post("/resolve").json()
    assert "secret" not in json.dumps(events(client, job))
    assert "secret of the house" in caplog.text


def test_a_job_nobody_began_is_not_found(client: httpx.Client) -> None:
    assert client.get("/jobs/nothing").status_code == 404
    assert client.delete("/jobs/nothing").status_code == 404
    assert client.get("/jobs/nothing/events").status_code == 404


def test_a_key_of_another_request_is_refused(client: httpx.Client) -> None:
    key = {"Idempotency-Key": "once"}
    first = client.post("consolidate", json={"at_least": 2}, headers=key)
    again = client.post("consolidate", json={"at_least": 2}, headers=key)
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    for path, body in (("consolidate", {"at_least": 3}), ("organise", {})):
        refused = client.post(path, json=body, headers=key)
        assert refused.status_code == 409, refused.text
        assert "was used for a different request: choose a new key" in refused.json()["detail"]
