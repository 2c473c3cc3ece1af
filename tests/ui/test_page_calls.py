"""Calls of pages: the operations, with the rights of the visitor's key as it is now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hades.errors import Denied, InvalidInput, NotFound, Unavailable
from hades.serve.auth.audit import Audit
from hades.serve.auth.browsers import BrowserSessions, SignedOut
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Keys
from hades.serve.executor import Executor
from hades.serve.jobs import Jobs
from hades.serve.telemetry.metrics import Metrics
from hades.serve.uploads import Uploads
from hades.ui.calls import Calls, Visitor


class Site:
    """A served memory with one note, for visitors with different keys."""

    def __init__(self, folder: Path, *, read_only: bool = False) -> None:
        if read_only:
            Executor.open(folder / "notes.hades").close()
        self.executor = Executor.open(folder / "notes.hades", read_only=read_only)
        self.keys = Keys(folder / "notes.hades.keys")
        self.audit = Audit(folder / "audit")
        self.calls = Calls(
            self.executor,
            BrowserSessions(self.keys),
            self.audit,
            Jobs(self.executor),
            Uploads(self.executor.uploads),
            Metrics(),
            self.keys,
        )

    def visitor(self, role: Role, spaces: list[str] | None = None) -> Visitor:
        key, _ = self.keys.create(f"{role.name.lower()}-{len(self.keys.listed())}", role, spaces)
        return Visitor(self.calls, self.calls.sessions.begin(key))

    def close(self) -> None:
        self.executor.close()
        self.audit.close()


def called(visitor: Visitor, name: str, /, space: str = "default", **given: Any) -> Any:
    return asyncio.run(visitor.call(name, space, **given))


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    called(made.visitor(Role.WRITER), "remember", topic="a", content="Ann lives in Oslo.")
    yield made
    made.close()


def test_a_reader_reads_and_cannot_write(site: Site) -> None:
    reader = site.visitor(Role.READER)
    assert called(reader, "get", topic="a").content == "Ann lives in Oslo."
    assert not reader.may(Role.WRITER, "default")
    for name, given in {
        "remember": {"topic": "a", "content": "changed"},
        "forget": {"topic": "a"},
        "feedback": {"recall": "x", "useful": ["1"]},
        "relate": {"source": "a", "relation": "r", "target": "b"},
    }.items():
        with pytest.raises(Denied, match="role writer"):
            called(reader, name, **given)
    assert called(reader, "get", topic="a").version == 1


def test_figures_of_the_whole_server_need_a_key_for_all_spaces(site: Site) -> None:
    asyncio.run(site.visitor(Role.READER).measured())
    with pytest.raises(Denied, match="all spaces"):
        asyncio.run(site.visitor(Role.ADMIN, ["default"]).measured())


def test_a_reader_adds_no_files_and_only_the_owner_uses_keys(site: Site) -> None:
    reader, writer = site.visitor(Role.READER), site.visitor(Role.WRITER)
    with pytest.raises(Denied, match="role writer"):
        asyncio.run(reader.add_files("default", []))
    for visitor in (reader, writer):
        for work in (
            visitor.keys(),
            visitor.create_key("new", Role.ADMIN, None),
            visitor.revoke_key(reader.caller.name.removeprefix("key:")),
            visitor.create_space("new"),
        ):
            with pytest.raises(Denied, match="role admin"):
                asyncio.run(work)
    with pytest.raises(Denied, match="own machine"):
        asyncio.run(site.visitor(Role.ADMIN).create_key("new", Role.ADMIN, None))
    with pytest.raises(Denied, match="role admin"):
        called(writer, "approve", proposal=1)
    assert "new" not in [key.name for key in site.keys.listed()]
    assert reader.caller.role == Role.READER


def test_a_key_for_some_spaces_sees_only_those(site: Site) -> None:
    limited = site.visitor(Role.ADMIN, ["other"])
    assert asyncio.run(limited.spaces()) == []
    with pytest.raises(Denied, match="space 'default'"):
        called(limited, "topics")


def test_a_revoked_key_ends_what_is_open(site: Site) -> None:
    writer = site.visitor(Role.WRITER)
    site.keys.revoke(writer.caller.name.removeprefix("key:"))
    with pytest.raises(SignedOut):
        called(writer, "remember", topic="a", content="too late")


def test_arguments_are_checked_as_requests_are(site: Site) -> None:
    reader = site.visitor(Role.READER)
    for given in ({"budget": 3}, {"budget": "many"}, {"mode": "loud"}, {"depth": 1}):
        with pytest.raises(InvalidInput):
            called(reader, "ask", question="Where does Ann live?", **given)


def test_a_space_that_is_gone_is_said(site: Site) -> None:
    with pytest.raises(NotFound, match="no space 'gone'"):
        called(site.visitor(Role.ADMIN), "topics", "gone")


def test_a_read_only_server_refuses_writes_of_all(tmp_path: Path) -> None:
    site = Site(tmp_path, read_only=True)
    writer = site.visitor(Role.WRITER)
    assert not writer.may(Role.WRITER, "default")
    with pytest.raises(Unavailable, match="read-only"):
        called(writer, "remember", topic="a", content="b")
    site.close()


def test_calls_of_pages_are_in_the_audit_log(site: Site) -> None:
    reader = site.visitor(Role.READER)
    called(reader, "topics")
    with pytest.raises(Denied):
        called(reader, "forget", topic="a")
    refused, listed = site.audit.tail(2)
    assert (listed["call"], listed["mode"], listed["status"]) == ("page topics", "RO", 200)
    assert (refused["call"], refused["mode"], refused["status"]) == ("page forget", "RW", 403)
    assert refused["who"] == reader.caller.name
