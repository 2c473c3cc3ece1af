"""Who may do what over HTTP: every endpoint, tried by those who may not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from making import remember_story
from rest_described import OPERATIONS, SHAPES
from rest_making import (
    ADMIN,
    LOCAL,
    READER,
    WRITER,
    Asker,
    S,
    WithCaller,
    asking,
)

import hades
from tests.callers import caller

STRANGER = caller("key:mallory", "admin", "elsewhere")

ASKING = {"/search", "/recall", "/ask", "/rank", "/warm", "/context"}
"""They are sent with POST, for questions may be long, and only read."""


IN_A_SPACE = [one for one in OPERATIONS if one[1].startswith("/v1/spaces/{space}")]
ADMINS = [one for one in OPERATIONS if one[1].startswith("/v1/admin")]


def _call(ask: Asker, one: tuple[str, str, dict[str, Any]], caller: Any) -> int:
    """Call an endpoint as its own example says; the status of the answer."""
    method, path, about = one
    said: dict[str, Any] = {"params": {}}
    for parameter in about.get("parameters", []):
        example = (parameter.get("examples") or parameter["schema"].get("examples") or [""])[0]
        if parameter["in"] == "path":
            value = "default" if parameter["name"] == "space" else str(example)
            path = path.replace("{" + parameter["name"] + "}", quote(value, safe=""))
        elif parameter["in"] == "query" and (
            parameter.get("required") or parameter["name"] == "names"
        ):
            said["params"][parameter["name"]] = example
    content = about.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        schema = (schema.get("oneOf") or schema.get("anyOf") or [schema])[0]
        said["json"] = SHAPES[schema["$ref"].rpartition("/")[2]]["examples"][0]
    elif content:
        said |= {"content": b"x", "headers": {"content-type": next(iter(content))}}
    return ask(method, path, caller=caller, **said).status_code


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    path = tmp_path_factory.mktemp("roles") / "notes.hades"
    with hades.open(path) as memory:
        remember_story(memory)
        memory.index()
    with asking(path) as asker:
        yield asker


@pytest.fixture(scope="module", autouse=True)
def _nothing_is_written(ask: Asker) -> Iterator[None]:
    before = ask.get("/v1/spaces/default/change").json()
    yield
    assert ask.get("/v1/spaces/default/change").json() == before


def _writes(one: tuple[str, str, dict[str, Any]]) -> bool:
    method, path, _ = one
    return method != "GET" and not any(path.endswith(end) for end in ASKING)


def test_a_reader_writes_nothing_and_reads_everything(ask: Asker) -> None:
    for one in IN_A_SPACE:
        if one[1].endswith("/tiers"):
            continue  # it concerns all spaces
        status = _call(ask, one, READER)
        # A job or the like may not be there; being refused is something else.
        assert (status == 403) if _writes(one) else (status in (200, 404)), (status, one[:2])


def test_nobody_enters_a_space_of_others(ask: Asker) -> None:
    for one in IN_A_SPACE:
        assert _call(ask, one, STRANGER) == 403, one[:2]


def test_admin_calls_are_nowhere_but_at_the_admin_socket(ask: Asker) -> None:
    for one in ADMINS:
        for who in (ADMIN, WRITER, READER):
            assert _call(ask, one, who) == 404, (one[:2], who.title)


def test_without_authentication_nothing_is_served(ask: Asker) -> None:
    closed = Asker(WithCaller(ask.app.app, None), ask.loop)
    for one in OPERATIONS:
        assert _call(closed, one, None) == 403, one[:2]  # type: ignore[arg-type]


def test_a_writer_does_not_decide_on_spaces_and_proposals(ask: Asker) -> None:
    for method, path in (
        ("POST", "/v1/spaces"),
        ("DELETE", "/v1/spaces/{space}"),
        ("POST", "/v1/spaces/{space}/purge"),
        ("POST", "/v1/spaces/{space}/proposals/{proposal}/approve"),
        ("POST", "/v1/spaces/{space}/proposals/{proposal}/reject"),
    ):
        one = next(one for one in OPERATIONS if one[:2] == (method, path))
        assert _call(ask, one, WRITER) == 403, path


def test_lists_show_only_the_spaces_of_the_caller(path: Path) -> None:
    with asking(path) as ask:
        assert ask.post("/v1/spaces", {"name": "secret"}).status_code == 201
        seen = ask.get("/v1/spaces", caller=READER).json()["items"]
        assert [space["name"] for space in seen] == ["default"]
        assert ask.get("/v1", caller=READER).json()["spaces"] == ["default"]
        assert ask.get("/v1", caller=READER).json()["role"] == "reader"
        # Whether a space is there is no business of those who may not use it.
        there = ask.get("/v1/spaces/secret/stats", caller=READER)
        not_there = ask.get("/v1/spaces/nothing/stats", caller=READER)
        assert there.status_code == not_there.status_code == 403


def test_a_writer_of_one_space_sets_no_inverses_for_all(path: Path) -> None:
    everywhere = caller("key:w", "writer")
    at, told = "/v1/spaces/default/inverses", {"inverse": "q"}
    with asking(path) as ask:
        assert ask.put(f"{at}/r", told, caller=WRITER).status_code == 403
        assert "r" not in ask.get(at, caller=WRITER).json()
        assert ask.put(f"{at}/r", told, caller=everywhere).status_code == 200


def test_a_reader_of_one_space_is_not_told_where_the_rest_lies(path: Path) -> None:
    with asking(path) as ask:
        assert ask.get("/v1/spaces/default/tiers", caller=READER).status_code == 403
        everywhere = caller("key:r", "reader")
        assert ask.get("/v1/spaces/default/tiers", caller=everywhere).status_code == 200


def test_an_admin_of_one_space_makes_no_other(path: Path) -> None:
    one = caller("key:x", "admin", "default")
    with asking(path) as ask:
        assert ask.post("/v1/spaces", {"name": "other"}, caller=one).status_code == 403
        assert ask.post("/v1/admin/check", caller=LOCAL).status_code == 200


def test_jobs_are_seen_and_cancelled_by_who_began_them_and_by_admins(
    ask: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, told = threading.Event(), threading.Event()

    def resolve(_memory: Any, *, dry_run: bool = False, on_progress: Any) -> Any:
        while not go.wait(0.02):
            on_progress("comparing names", 1, 2)
            told.set()
        on_progress("comparing names", 2, 2)

    monkeypatch.setattr(hades.Memory, "resolve", resolve)
    other = caller("key:wilma", "writer", "default")
    job = ask.post(f"{S}/resolve", {}, caller=WRITER).json()
    assert told.wait(60)
    for stranger in (other, READER):
        assert job["id"] not in ask.get(f"{S}/jobs", caller=stranger).text
        for path in (f"{S}/jobs/{job['id']}", f"{S}/jobs/{job['id']}/events"):
            assert ask.get(path, caller=stranger).status_code == 404
    assert ask.delete(f"{S}/jobs/{job['id']}", caller=other).status_code == 404
    for owner in (WRITER, ADMIN):
        assert [one["id"] for one in ask.get(f"{S}/jobs", caller=owner).json()["items"]] == [
            job["id"]
        ]
        assert ask.get(f"{S}/jobs/{job['id']}", caller=owner).json()["status"] == "running"
    second = ask.post(f"{S}/resolve", {}, caller=WRITER).json()
    for owner, begun in ((ADMIN, job), (WRITER, second)):
        assert ask.delete(f"{S}/jobs/{begun['id']}", caller=owner).status_code == 200
        events = ask.get(f"{S}/jobs/{begun['id']}/events", caller=owner).text
        assert "event: cancelled" in events
    go.set()
