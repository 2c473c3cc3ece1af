"""Writes that are sent again, and writes that belong together, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from rest_making import ADMIN, READER, WRITER, Asker, S, asking

KEY = {"Idempotency-Key": "note-17"}


@pytest.fixture
def ask(path: Path) -> Iterator[Asker]:
    with asking(path) as asker:
        yield asker


def _versions(ask: Asker, topic: str) -> int:
    return len(ask.get(f"{S}/history/{topic}").json()["items"])


def test_a_write_that_is_sent_again_is_done_once(ask: Asker) -> None:
    first = ask.put(f"{S}/states/a", {"content": "one"}, headers=KEY)
    ask.put(f"{S}/states/a", {"content": "two"})
    again = ask.put(f"{S}/states/a", {"content": "one"}, headers=KEY)
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert (again.status_code, again.json()) == (201, first.json())
    assert again.headers["etag"] == first.headers["etag"]
    assert _versions(ask, "a") == 2


def test_also_after_the_server_was_started_anew(path: Path) -> None:
    with asking(path) as ask:
        first = ask.post(f"{S}/edges", {"source": "a", "relation": "r", "target": "b"}, headers=KEY)
    with asking(path) as ask:
        again = ask.post(f"{S}/edges", {"source": "a", "relation": "r", "target": "b"}, headers=KEY)
        assert again.headers["idempotent-replayed"] == "true"
        assert again.json() == first.json()


@pytest.mark.parametrize(
    ("address", "body"),
    [
        (f"{S}/states/a", {"content": "other"}),
        (f"{S}/states/b", {"content": "one"}),
    ],
)
def test_a_key_is_for_one_request(ask: Asker, address: str, body: dict[str, str]) -> None:
    ask.put(f"{S}/states/a", {"content": "one"}, headers=KEY)
    other = ask.put(address, body, headers=KEY)
    assert (other.status_code, other.json()["code"]) == (409, "Conflict")


def test_callers_have_keys_of_their_own(ask: Asker) -> None:
    ask.put(f"{S}/states/a", {"content": "one"}, headers=KEY, caller=ADMIN)
    mine = ask.put(f"{S}/states/b", {"content": "two"}, headers=KEY, caller=WRITER)
    assert mine.status_code == 201


def test_a_write_that_failed_can_be_sent_again(ask: Asker) -> None:
    body = {"content": "one", "expect_version": 1}
    assert ask.put(f"{S}/states/a", body, headers=KEY).status_code == 409
    ask.put(f"{S}/states/a", {"content": "zero"})
    assert ask.put(f"{S}/states/a", body, headers=KEY).json()["version"] == 2


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_that_is_none_is_refused(ask: Asker, key: str) -> None:
    refused = ask.put(f"{S}/states/a", {"content": "x"}, headers={"Idempotency-Key": key})
    assert refused.status_code == 422


def test_every_kind_of_write_takes_a_key(ask: Asker) -> None:
    ask.put(f"{S}/states/a", {"content": "one"})
    calls = [
        ("POST", f"{S}/edges", {"source": "a", "relation": "r", "target": "b"}),
        ("POST", f"{S}/edges/change", {"source": "a", "relation": "r", "to": "c"}),
        ("POST", f"{S}/entities/alias", {"name": "b", "alias": "B!"}),
        ("POST", f"{S}/entities/merge", {"keep": "b", "others": ["c"]}),
        ("POST", f"{S}/entities/split", {"name": "c"}),
        ("PUT", f"{S}/inverses/r", {"inverse": "q"}),
        ("POST", f"{S}/edges/end", {"source": 2}),
        ("POST", f"{S}/proposals", {"name": "a", "alias": "x", "confidence": 0.1}),
        ("POST", "/v1/spaces", {"name": "other"}),
        ("DELETE", "/v1/spaces/other", None),
        ("DELETE", f"{S}/states/a", None),
    ]
    ask.put(f"{S}/inverses/r", {"inverse": "after_r"})
    for number, (method, path, body) in enumerate(calls):
        said = {"headers": {"Idempotency-Key": f"k{number}"}} | ({"json": body} if body else {})
        first, again = ask(method, path, **said), ask(method, path, **said)
        assert (again.status_code, again.json()) == (first.status_code, first.json()), path
        if first.is_success:
            assert again.headers["idempotent-replayed"] == "true", path
    assert ask.get(f"{S}/history/a").json()["items"][-1]["forgotten"] is True


# Batches


def _write(operation: str, **arguments: object) -> dict[str, object]:
    return {"operation": operation, "arguments": arguments}


def test_a_batch_is_all_or_nothing(ask: Asker) -> None:
    first = _write("remember", topic="a", content="one")
    late = _write("remember", topic="b", content="two", expect_version=3)
    refused = ask.post(f"{S}/batch", {"operations": [first, late]})
    assert (refused.status_code, ask.get(f"{S}/topics").json()["items"]) == (409, [])
    joined = _write("relate", source="a", relation="about", target="b")
    done = ask.post(f"{S}/batch", {"operations": [first, joined]}, headers=KEY)
    assert [one.get("version") for one in done.json()["items"]] == [1, None]
    again = ask.post(f"{S}/batch", {"operations": [first, joined]}, headers=KEY)
    assert (again.json(), _versions(ask, "a")) == (done.json(), 1)
    assert again.headers["idempotent-replayed"] == "true"


def test_a_batch_says_which_write_is_wrong(ask: Asker) -> None:
    good = _write("remember", topic="a", content="one")
    for bad in (
        _write("get", topic="a"),
        _write("index"),
        _write("remember", topic="a"),
        _write("remember", topic="a", content=5),
        _write("remember", topic="a", content="one", colour="red"),
    ):
        refused = ask.post(f"{S}/batch", {"operations": [good, bad]})
        assert refused.status_code == 422, bad
        assert "2" in refused.text or "operations.1" in refused.text
    assert ask.get(f"{S}/topics").json()["items"] == []


def test_a_batch_needs_what_its_writes_need(ask: Asker) -> None:
    good, purge = _write("remember", topic="a", content="one"), _write("purge", name="a")
    inverse = _write("set_inverse", relation="r", inverse="q")
    for caller, writes in ((READER, [good]), (WRITER, [good, purge]), (WRITER, [good, inverse])):
        assert ask.post(f"{S}/batch", {"operations": writes}, caller=caller).status_code == 403
    assert ask.get(f"{S}/topics").json()["items"] == []
    assert ask.post(f"{S}/batch", {"operations": [good]}, caller=WRITER).status_code == 200
