"""One declaration is enough: an operation nobody wrote a route, method or command for has all
three.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import httpx
import pytest
import typer
from serve.rest_described import OPERATIONS as DESCRIBED
from serving import Server
from typer.testing import CliRunner

import hades
from hades.cli.commands import add_command
from hades.client import client as clients
from hades.memory import method
from hades.operations.declare import OPERATIONS, Operation, Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import Limit, TopicName
from hades.operations.states import get, remember
from hades.serve.rest.operations import route_path


def shout(
    inside: Inside,
    topic: TopicName,
    *,
    times: Annotated[int, Param("How often.", flag="--times/-x", least=1, most=9)] = 1,
    limit: Limit = 3,
) -> list[str]:
    """A topic's content in capitals, so many times."""
    return [get(inside, topic).content.upper()] * min(times, limit)


def whisper(
    inside: Inside,
    topic: TopicName,
    content: Annotated[str, Param("What to say.", example="Hush")],
) -> dict[str, int]:
    """Remember a content in small letters."""
    return {"version": remember(inside, topic, content.lower()).version}


@pytest.fixture
def declared() -> Iterator[dict[str, Operation]]:
    operation("GET", "/shout/{topic}", command="shout", timed=True)(shout)
    operation("POST", "/whisper", role=Role.WRITER, command="whisper", creates=True)(whisper)
    new = {name: OPERATIONS[name] for name in ("shout", "whisper")}
    for kind, function in ((hades.View, shout), (hades.Memory, whisper)):
        setattr(kind, function.__name__, method(OPERATIONS[function.__name__].function))
    for one in new.values():
        clients.add_method(one)
    yield new
    for name in new:
        del OPERATIONS[name]
    for owner, name in (
        (hades.View, "shout"),
        (hades.Memory, "whisper"),
        (clients.RemoteView, "shout"),
        (clients.Client, "whisper"),
    ):
        delattr(owner, name)


def test_it_is_a_command(declared: dict[str, Operation], path: Path) -> None:
    app = typer.Typer()
    for name, one in declared.items():
        add_command(app, name, one)
    run = CliRunner().invoke
    done = run(app, ["whisper", "a", "HELLO", "-m", str(path), "--json"])
    assert (done.exit_code, json.loads(done.output)) == (0, {"version": 1})
    shouted = run(app, ["shout", "a", "--times", "2", "-m", str(path)])
    assert shouted.output == "HELLO\nHELLO\n"
    assert "How often." in run(app, ["shout", "--help"]).output
    refused = run(app, ["shout", "b", "-m", str(path)])
    assert refused.exit_code == 2
    assert "'b'" in refused.stderr


@pytest.fixture
def fresh_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose app is made after the declarations."""
    started = Server(tmp_path_factory.mktemp("new") / "admin.sock")
    started.start()
    yield started
    started.stop()


def test_it_is_a_route_and_a_method(
    declared: dict[str, Operation], fresh_server: Server, path: Path
) -> None:
    address = fresh_server.address
    with fresh_server.serving(path), hades.open(address) as client:
        told: Any = client
        assert told.whisper("a/b", "HELLO") == {"version": 1}
        assert told.shout("a/b", times=2) == ["HELLO", "HELLO"]
        with pytest.raises(hades.NotFound):
            told.at("2020").shout("a/b")
        with pytest.raises(hades.InvalidInput):
            told.shout("a/b", times=10)
        with client.batch():
            told.whisper("a/b", "TWO")
        assert told.shout("a/b") == ["TWO"]
        socket = httpx.HTTPTransport(uds=address.removeprefix("unix://"))
        with httpx.Client(transport=socket, base_url="http://hades", timeout=60) as http:
            found = http.get("/v1/spaces/default/shout/a%2Fb", params={"times": 2})
            assert found.json() == {"items": ["TWO", "TWO"], "next": None}
            schema = http.get("/openapi.json").json()
    route = schema["paths"]["/v1/spaces/{space}/shout/{topic}"]["get"]
    assert {one["name"] for one in route["parameters"]} >= {"topic", "times", "as_of", "known_at"}
    assert "WhisperRequest" in schema["components"]["schemas"]
    assert route_path(declared["shout"]) == "/shout/{topic:topic}"


def test_arguments_are_checked_by_the_rules_of_their_parameters(
    declared: dict[str, Operation], path: Path
) -> None:
    call = declared["shout"].of
    with hades.open(path) as memory:
        memory.remember("a", "hello")
        assert call(memory, "a", times=2, limit=1) == ["HELLO"]
        for wrong in (0, "two", True):
            with pytest.raises(hades.InvalidInput, match="The limit is a whole number"):
                call(memory, "a", limit=wrong)
        for name in (" ", None, "a\0"):
            with pytest.raises(hades.InvalidInput, match="The topic's name"):
                call(memory, name)
        with pytest.raises(TypeError, match="topic"):
            call(memory)


def test_what_is_asked_of_a_time_takes_both_times() -> None:
    timed = {one.name for one in OPERATIONS.values() if one.timed and one.verb == "GET"}
    for verb, path, about in DESCRIBED:
        if verb == "GET" and about["operationId"] in timed:
            names = {parameter["name"] for parameter in about.get("parameters", [])}
            assert names >= {"as_of", "known_at"}, path
