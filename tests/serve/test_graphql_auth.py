"""GraphQL behind the real middleware: keys, sockets and the audit log."""

from __future__ import annotations

from served_making import Served

pytest_plugins = ["served_fixtures"]

ASKED = {"query": '{ space { topic(name: "a") { state { content } } } }'}


def test_who_may_read_may_ask_and_nobody_else(served: Served) -> None:
    with served.by("rw") as writer:
        writer.put("/v1/spaces/default/states/a", json={"content": "one"}).raise_for_status()
    with served.by("http") as stranger:
        assert stranger.post("/graphql", json=ASKED).status_code == 401
    with served.by("http", served.key("reader", "work")) as other:
        refused = other.post("/graphql", json=ASKED)
        assert refused.status_code == 403
        assert refused.json()["errors"][0]["extensions"] == {"code": "Denied"}
        assert other.post("/graphql", json={"query": "{ spaces { name } }"}).json() == {
            "data": {"spaces": []}
        }
    with served.by("http", served.key("reader")) as reader, served.by("ro") as local:
        for client in (reader, local):
            told = client.post("/graphql", json=ASKED).json()
            assert told == {"data": {"space": {"topic": {"state": {"content": "one"}}}}}


def test_the_audit_log_names_the_space(served: Served) -> None:
    with served.by("ro") as client:
        client.post("/graphql", json=ASKED)
    entry = served.audit.tail(1)[0]
    assert (entry["space"], entry["mode"], entry["status"]) == ("default", "RO", 200)
