"""States over HTTP: writing, reading, versions, times, conditions, pages, names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_making import ADMIN, WRITER, Asker, S, asking

import hades


@pytest.fixture
def ask(path: Path, clock: Any) -> Iterator[Asker]:
    with asking(path, clock=clock) as asker:
        yield asker


def test_what_is_remembered_is_read_again(ask: Asker) -> None:
    made = ask.put(f"{S}/states/design/x", {"content": "Rejected.", "tags": ["decision"]})
    assert made.status_code == 201
    assert made.json()["id"] == "design/x@1"
    again = ask.put(f"{S}/states/design/x", {"content": "Viable."})
    assert (again.status_code, again.json()["version"]) == (200, 2)
    read = ask.get(f"{S}/states/design/x")
    assert read.json() == again.json()
    assert read.json()["tags"] == ["decision"]
    assert ask.get(f"{S}/states/design/x?version=1").json()["content"] == "Rejected."


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "one"}])
def test_what_the_gate_refuses_is_listed_and_can_be_kept(
    ask: Asker, headers: dict[str, str]
) -> None:
    said = {"content": "Thanks a lot!", "gate": True}
    refused = ask.put(f"{S}/states/chat", said, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (409, "Refused")
    (listed,) = ask.get(f"{S}/proposals?status=refused").json()["items"]
    assert ask.get(f"{S}/states/chat").status_code == 404
    ask.post(f"{S}/proposals/{listed['id']}/approve")
    assert ask.get(f"{S}/states/chat").json()["content"] == "Thanks a lot!"


def test_a_topic_has_a_history_and_a_diff(ask: Asker) -> None:
    ask.put(f"{S}/states/a", {"content": "one\n"})
    ask.put(f"{S}/states/a", {"content": "two\n"})
    assert ask.delete(f"{S}/states/a").json()["forgotten"] is True
    states = ask.get(f"{S}/history/a").json()["items"]
    assert [(s["version"], s["forgotten"]) for s in states] == [(1, False), (2, False), (3, True)]
    diff = ask.get(f"{S}/diff/a?before=1&after=2").json()
    assert (diff["added"], diff["removed"]) == (1, 1)
    assert ask.get(f"{S}/states/a").status_code == 404


def test_chunks_are_there_once_they_are_indexed(ask: Asker) -> None:
    ask.put(f"{S}/states/a", {"content": "Approach X is viable."})
    assert ask.get(f"{S}/pending").json() == {"value": 1}
    assert ask.post(f"{S}/index").json() == {"value": 1}
    chunks = ask.get(f"{S}/chunks/a").json()["items"]
    assert [chunk["text"] for chunk in chunks] == ["Approach X is viable."]


def test_only_an_admin_purges(ask: Asker) -> None:
    ask.put(f"{S}/states/secret", {"content": "x"})
    assert ask.post(f"{S}/purge", {"name": "secret"}, caller=WRITER).status_code == 403
    gone = ask.post(f"{S}/purge", {"name": "secret"}, caller=ADMIN)
    assert (gone.status_code, gone.json()["wiped"]) == (200, 1)
    assert ask.get(f"{S}/history/secret").status_code == 404


# Times


def test_every_read_can_be_asked_of_another_time(ask: Asker, clock: Any) -> None:
    ask.put(f"{S}/states/a", {"content": "then", "valid_from": "2023-01"})
    clock.set("2024-06-01")
    ask.put(f"{S}/states/a", {"content": "now", "valid_from": "2023-06"})
    ask.put(f"{S}/states/b", {"content": "new"})

    def content(query: str) -> str:
        return str(ask.get(f"{S}/states/a?{query}").json().get("content"))

    assert content("") == "now"
    assert content("as_of=2023-03") == "then"
    assert content("as_of=2023-08") == "now"
    assert content("as_of=2023-08&known_at=2024-02") == "then"
    names = ask.get(f"{S}/topics?known_at=2024-02").json()["items"]
    assert [topic["name"] for topic in names] == ["a"]
    assert len(ask.get(f"{S}/history/a?known_at=2024-02").json()["items"]) == 1
    assert ask.get(f"{S}/states/a?as_of=2022").status_code == 404


def test_a_time_nobody_understands_is_refused_with_a_sentence(ask: Asker) -> None:
    refused = ask.get(f"{S}/topics?as_of=03/04/2024")
    assert refused.status_code == 422
    assert refused.json()["code"] == "InvalidInput"
    assert "03/04/2024" in refused.json()["detail"]


# Conditions


def test_an_etag_names_one_state(ask: Asker) -> None:
    first = ask.put(f"{S}/states/a", {"content": "one"}).headers["etag"]
    assert ask.get(f"{S}/states/a").headers["etag"] == first
    same = ask.get(f"{S}/states/a", headers={"If-None-Match": f'"other", W/{first}'})
    assert (same.status_code, same.content) == (304, b"")
    ask.put(f"{S}/states/a", {"content": "two"})
    fresh = ask.get(f"{S}/states/a", headers={"If-None-Match": first})
    assert (fresh.status_code, fresh.headers["etag"] != first) == (200, True)


def test_a_write_for_another_state_than_the_current_one_is_refused(ask: Asker) -> None:
    etag = ask.put(f"{S}/states/a", {"content": "one"}).headers["etag"]
    match = {"If-Match": etag}
    assert ask.put(f"{S}/states/a", {"content": "two"}, headers=match).status_code == 200
    late = ask.put(f"{S}/states/a", {"content": "three"}, headers=match)
    assert (late.status_code, late.json()["code"]) == (412, "Conflict")
    assert ask.delete(f"{S}/states/a", headers=match).status_code == 412
    new = {"If-None-Match": "*"}
    assert ask.put(f"{S}/states/a", {"content": "x"}, headers=new).status_code == 412
    assert ask.put(f"{S}/states/b", {"content": "x"}, headers=new).status_code == 201
    assert ask.put(f"{S}/states/c", {"content": "x"}, headers={"If-Match": "*"}).status_code == 412


def test_a_topic_that_was_purged_and_made_anew_is_another(ask: Asker, clock: Any) -> None:
    etag = ask.put(f"{S}/states/a", {"content": "one"}).headers["etag"]
    ask.post(f"{S}/purge", {"name": "a"})
    clock.tick()
    ask.put(f"{S}/states/a", {"content": "someone else's"})
    late = ask.put(f"{S}/states/a", {"content": "two"}, headers={"If-Match": etag})
    assert late.status_code == 412


def test_an_expected_version_is_a_conflict_without_headers(ask: Asker) -> None:
    ask.put(f"{S}/states/a", {"content": "one", "expect_version": 0})
    late = ask.put(f"{S}/states/a", {"content": "two", "expect_version": 0})
    assert (late.status_code, late.json()["code"]) == (409, "Conflict")


# Pages


def test_pages_miss_nothing_and_repeat_nothing_while_others_write(ask: Asker) -> None:
    for name in "bdfhj":
        ask.put(f"{S}/states/{name}", {"content": name})
    page = ask.get(f"{S}/topics?limit=2").json()
    seen = [topic["name"] for topic in page["items"]]
    for name in "acg":  # before, at and after where the cursor stands
        ask.put(f"{S}/states/{name}", {"content": name})
    ask.delete(f"{S}/states/d")  # the cursor's own topic
    while page["next"]:
        page = ask.get(f"{S}/topics?limit=2&cursor={page['next']}").json()
        seen += [topic["name"] for topic in page["items"]]
    assert seen == ["b", "d", "f", "g", "h", "j"]


@pytest.mark.parametrize("cursor", ["x", "!", "W10", "WzFd", "bnVsbA", "%00", "[]"])
def test_what_is_no_cursor_of_ours_is_refused(ask: Asker, cursor: str) -> None:
    refused = ask.get(f"{S}/topics", params={"cursor": cursor})
    assert (refused.status_code, refused.json()["code"]) == (422, "InvalidInput")


# Names

TRICKS = ["../../etc/passwd", "..", ".", "a/../b", "/a", "a//b", "a?b#c", "a%2Fb", "a b", "ünï/☃"]


@pytest.mark.parametrize("name", TRICKS)
def test_any_name_has_an_address(ask: Asker, name: str) -> None:
    address = quote(name, safe="")
    address = address.replace(".", "%2E") if not name.strip(".") else address
    made = ask.put(f"{S}/states/{address}", {"content": "here"})
    assert (made.status_code, made.json()["topic"]) == (201, name)
    assert ask.get(f"{S}/states/{address}").json()["content"] == "here"
    assert [t["name"] for t in ask.get(f"{S}/topics").json()["items"]] == [name]


def test_slashes_may_stand_as_they_are(ask: Asker) -> None:
    ask.put(f"{S}/states/history/a/states", {"content": "x"})
    assert ask.get(f"{S}/states/history%2Fa%2Fstates").status_code == 200


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("a%00b", 404),
        ("%ff", 422),
        ("%", 404),
        ("%20", 404),
        ("a" * 3000, 404),
        ("", 404),
    ],
)
def test_what_is_no_name_is_not_found(ask: Asker, address: str, status: int) -> None:
    refused = ask.get(f"{S}/states/{address}")
    assert refused.status_code == status
    assert refused.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("address", ["a%00b", "%20", "a" * 3000])
def test_what_is_no_name_is_not_written(ask: Asker, address: str) -> None:
    assert ask.put(f"{S}/states/{address}", {"content": "x"}).status_code == 422


def test_names_lead_back_to_themselves(path: Path) -> None:
    with asking(path) as ask:

        @given(st.text(min_size=1, max_size=20))
        def roundtrip(name: str) -> None:
            address = "".join(f"%{byte:02X}" for byte in name.encode("utf-8", "surrogatepass"))
            made = ask.put(f"{S}/states/{address}", {"content": "x"})
            try:
                hades.domain.rules.clean_name(name)
            except hades.InvalidInput:
                assert made.status_code == 422
            else:
                assert made.json()["topic"] == name

        roundtrip()


# What does not fit


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"", "application/json", 422),
        (b"\xff", "application/json", 400),
        (b"[" * 50_000, "application/json", 400),
        (b"[" * 100_000, "application/json", 413),
        (b"null", "application/json", 422),
        (b"[]", "application/json", 422),
        (b'{"content": 1}', "application/json", 422),
        (b'{"content": "x", "more": 1}', "application/json", 422),
        (b'{"content": "x", "tags": "a"}', "application/json", 422),
        (b'{"content": "x", "confidence": "0.5"}', "application/json", 422),
        (b'{"content": "x", "confidence": NaN}', "application/json", 422),
        (b'{"content": "x", "confidence": 2}', "application/json", 422),
        (b'{"content": "x", "metadata": {"a": Infinity}}', "application/json", 422),
        (b'{"content": "\\ud800"}', "application/json", 422),
        (b'{"content": "x", "expect_version": -1}', "application/json", 422),
        (b'{"content": "x", "expect_version": 1e400}', "application/json", 422),
        (b'{"content": "x", "expect_version": ' + b"9" * 5000 + b"}", "application/json", 400),
        (b'{"content": "x"}', "text/plain", 415),
        (b"content=x", "application/x-www-form-urlencoded", 415),
    ],
)
def test_a_body_that_does_not_fit_is_told_why(
    ask: Asker, body: bytes, kind: str, status: int
) -> None:
    refused = ask("PUT", f"{S}/states/a", content=body, headers={"content-type": kind})
    assert refused.status_code == status, refused.text
    assert refused.json()["code"] == "InvalidInput"
    assert refused.json()["status"] == status
    assert "Traceback" not in refused.text
    assert ask.get(f"{S}/states/a").status_code == 404


def test_a_content_over_the_limit_is_refused(ask: Asker) -> None:
    refused = ask.put(f"{S}/states/a", {"content": "x" * (16 * 2**20 + 1)})
    assert refused.status_code == 422


def test_an_address_takes_the_methods_it_says(ask: Asker) -> None:
    refused = ask("PATCH", f"{S}/states/a")
    assert (refused.status_code, refused.headers["allow"]) == (405, "DELETE, GET, PUT")
    assert ask.get("/v1/nothing").json()["detail"] == "There is nothing at this address."
