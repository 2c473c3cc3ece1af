"""Every call of REST, MCP and GraphQL by every role: no answer tells of a space of others.

The calls come from the declarations, so a new operation, tool or field is swept without a change
here. The space `vault` contains a secret word, and callers pass names that exist only there.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from serve.mcp_making import stdio
from serve.served_making import PATIENCE_S, Served, running

import hades
from hades.operations.declare import OPERATIONS, Role
from hades.serve.mcp.tool import TOOLS
from tests.attack.sweeping import (
    ANY_TEXT,
    HOSTILE,
    INTROSPECTION,
    MINE,
    OTHER_SPELLINGS,
    QUESTION,
    SECRET,
    SPARE,
    VAULT,
    RestRequest,
    fill_space,
    graphql_queries,
    object_of,
    object_types,
    rest_request,
)

LONG = os.environ.get("HADES_ATTACK") == "long"
FORMS = (False, True) if LONG else (False,)
"""Whether a call gets its optional arguments, too."""


@dataclass(frozen=True)
class Rights:
    """A caller of the sweep."""

    role: Role | None
    """None: no key."""
    spaces: tuple[str, ...] | None = None
    """None: all."""

    def sees(self, space: str) -> bool:
        return self.role is not None and (self.spaces is None or space in self.spaces)


CALLERS = {
    "nobody": Rights(None, ()),
    "reader of one": Rights(Role.READER, (MINE,)),
    "writer of one": Rights(Role.WRITER, (MINE,)),
    "admin of one": Rights(Role.ADMIN, (MINE,)),
    "reader of all": Rights(Role.READER),
    "writer of all": Rights(Role.WRITER),
    "admin of all": Rights(Role.ADMIN),
}
QUICK = ("nobody", "reader of one", "writer of one", "reader of all")
"""The callers of `make test`; `make test-all` tries the others, too."""
ALL_CALLERS = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in CALLERS
]
LIMITED = [name for name, rights in CALLERS.items() if rights.spaces == (MINE,)]
USES = re.compile(r'"(?:access_count|last_used)": ?[^,}]*')
"""The uses of a note, which reading adds to."""
IF_ORGANISED = {"/clusters/{cluster}"}
READS_BY_POST = {"/search", "/recall", "/ask", "/rank", "/warm", "/context"}


@dataclass
class Swept:
    """The server of the sweep, with what its callers need."""

    served: Served
    path: Path
    ids: dict[str, dict[str, Any]]
    api: dict[str, Any]
    tokens: dict[str, str | None]

    def client(self, caller: str) -> httpx.Client:
        return self.served.by("http", self.tokens[caller])

    def contents(self, space: str) -> list[str]:
        """Return everything that is stored about a space, except for uses of its notes."""
        at = f"/v1/spaces/{space}"
        parts = (
            "export?as_of=2100",
            "log?limit=1000",
            "proposals?status=all",
            "weights/snapshots",
            "core",
        )
        with self.served.by("admin") as admin:
            read = [admin.get(f"{at}/{part}") for part in parts]
            for topic in admin.get(f"{at}/topics").raise_for_status().json()["items"]:
                read.append(admin.get(f"{at}/history/{quote(topic['name'], safe='')}"))
        return [USES.sub("", answer.raise_for_status().text) for answer in read]


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swept]:
    """One server for the whole sweep."""
    folder = tmp_path_factory.mktemp("sweep")
    path = folder / "notes.hades"
    with hades.open(path) as memory:
        for space in (MINE, VAULT, SPARE):
            memory.create_space(space)
        memory.in_space(MINE).remember("mine/a", "Ada likes tea.")
        memory.in_space(MINE).relate("Ada", "likes", "tea")
        memory.in_space(MINE).index()
        ids = {space: fill_space(memory.in_space(space), organise=LONG) for space in (VAULT, SPARE)}
    with running(folder) as served:
        with served.by("admin") as admin:
            for space in (VAULT, SPARE):
                job = admin.post(f"/v1/spaces/{space}/index").raise_for_status().json()
                ids[space]["id"] = job.get("id", "none")
            api = admin.get("/openapi.json").raise_for_status().json()
        tokens = {
            name: None
            if rights.role is None
            else served.key(rights.role.name.lower(), *(rights.spaces or ()))
            for name, rights in CALLERS.items()
        }
        yield Swept(served, path, ids, api, tokens)


@pytest.fixture(autouse=True)
def _vault_stays_as_it_is(swept: Swept) -> Iterator[None]:
    before = swept.contents(VAULT)
    yield
    assert swept.contents(VAULT) == before


def _check(rights: Rights, what: object, status: int, text: str) -> None:
    """Assert that an answer tells no secret of another space, and nothing of the inside."""
    assert status < 500, (what, status, text[:500])
    assert "Traceback" not in text, what
    if not rights.sees(VAULT):
        assert SECRET not in text.casefold(), (what, text[:2000])


# REST


def _routes(swept: Swept) -> list[tuple[str, str]]:
    return [
        (method.upper(), path) for path, methods in swept.api["paths"].items() for method in methods
    ]


def _needed(method: str, path: str) -> Role:
    """Return the role that a route needs at least."""
    for operation in OPERATIONS.values():
        if (operation.verb, f"/v1/spaces/{{space}}{operation.path}") == (method, path):
            return operation.role
    reads = method == "GET" or any(path.endswith(end) for end in READS_BY_POST)
    return Role.READER if reads else Role.WRITER


def _send(client: httpx.Client, request: RestRequest) -> tuple[int, str]:
    """Send a request, follow the job that it begins; return the status and all that was told."""
    answer = client.request(request.method, request.path, **request.options)
    told = f"{answer.headers}{answer.text}"
    if answer.status_code == 202:
        events = client.get(f"{answer.headers['location']}/events")
        told += events.text + client.get(answer.headers["location"]).text
    return answer.status_code, told


def _refused(answer: tuple[int, str]) -> bool:
    status, told = answer
    if LONG and status in (400, 422):
        return True  # an argument is wrong, which is said before anything is read
    return status in (401, 403, 404) and '"detail":"' in told and "." in told


def _requests(swept: Swept, method: str, path: str, space: str) -> Iterator[RestRequest]:
    """Yield the requests for a route that name rows of the vault, or of the spare space."""
    ids = swept.ids[SPARE if space == SPARE else VAULT]
    texts = [{}, *({ANY_TEXT: value} for value in HOSTILE)] if LONG else [{}]
    for text in texts:
        for optional in FORMS:
            given = {**ids, **text}
            yield rest_request(swept.api, method, path, space=space, ids=given, optional=optional)


@pytest.mark.parametrize("caller", ALL_CALLERS)
def test_rest_tells_no_caller_of_a_space_of_others(swept: Swept, caller: str) -> None:
    rights = CALLERS[caller]
    spaces = (MINE, VAULT, *(OTHER_SPELLINGS if LONG else ())) if caller in LIMITED else (SPARE,)
    spare = swept.contents(SPARE)
    with swept.client(caller) as client:
        for method, path in _routes(swept):
            in_space = "{space}" in path
            for space in spaces if in_space else spaces[:1]:
                if path.endswith("{space}") and rights.sees(space):
                    continue  # dropping a space, which the sweep needs
                may = rights.role is not None and rights.role >= _needed(method, path)
                may = may and (rights.sees(space) or not in_space)
                for request in _requests(swept, method, path, space):
                    answer = _send(client, request)
                    _check(rights, request, *answer)
                    if not may or path.startswith("/v1/admin"):
                        assert _refused(answer), (request, answer)
    if rights.role in (None, Role.READER):
        assert swept.contents(SPARE) == spare


def test_the_calls_of_the_sweep_do_tell_the_secret_to_who_may_read_it(swept: Swept) -> None:
    unanswered = set()
    telling = 0
    with swept.client("reader of all") as client:
        for method, path in _routes(swept):
            if "{space}" not in path or _needed(method, path) is not Role.READER:
                continue
            request = rest_request(swept.api, method, path, space=VAULT, ids=swept.ids[VAULT])
            status, told = _send(client, request)
            telling += SECRET in told.casefold()
            if status != 200:
                unanswered.add(path.removeprefix("/v1/spaces/{space}"))
    assert unanswered <= {"/jobs/{id}", "/jobs/{id}/events", "/originals/{summary}", *IF_ORGANISED}
    assert telling >= 20


def test_every_operation_has_a_route_that_is_swept(swept: Swept) -> None:
    swept_routes = set(_routes(swept))
    for operation in OPERATIONS.values():
        route = (operation.verb, f"/v1/spaces/{{space}}{operation.path}")
        assert route in swept_routes, operation.name


# GraphQL


def _graphql_schema(swept: Swept) -> dict[str, Any]:
    with swept.client("reader of all") as client:
        answer = client.post("/graphql", json={"query": INTROSPECTION}).json()
    schema: dict[str, Any] = answer["data"]["__schema"]
    return schema


@pytest.mark.parametrize("caller", CALLERS if LONG else QUICK[:2])
def test_graphql_tells_no_caller_of_a_space_of_others(swept: Swept, caller: str) -> None:
    rights = CALLERS[caller]
    schema = _graphql_schema(swept)
    with swept.client(caller) as client:
        for space in (MINE, VAULT):
            own = f'own: space(name: "{MINE}") {{ name }}'
            for query in graphql_queries(schema, space, swept.ids[VAULT]):
                text = f"{{ {own} {query.text} }}"
                answer = client.post("/graphql", json={"query": text})
                _check(rights, text, answer.status_code, answer.text)
                if not rights.sees(space) and query.text.startswith("space("):
                    told = answer.json()
                    sentence = told.get("detail") or told["errors"][0]["message"]
                    assert sentence.endswith("."), told


def test_every_field_of_graphql_is_swept_and_answers(swept: Swept) -> None:
    schema = _graphql_schema(swept)
    queries = list(graphql_queries(schema, VAULT, swept.ids[VAULT]))
    declared = {(kind, name) for kind, fields in object_types(schema).items() for name in fields}
    assert set().union(*(query.reads for query in queries)) == declared
    with swept.client("reader of all") as client:
        for query in queries:
            answer = client.post("/graphql", json={"query": f"{{ {query.text} }}"})
            assert "errors" not in answer.json(), (query.text, answer.text)


# MCP

Life = Callable[[Client], Awaitable[None]]


async def _meet_http(swept: Swept, caller: str, life: Life) -> None:
    token = swept.tokens[caller]
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    address = f"{swept.served.listening['http'].where}/mcp?tools=all"
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        await life(client)


async def _tools(swept: Swept) -> dict[str, dict[str, Any]]:
    """Return every tool with the schema of its arguments, as a client with all rights lists it."""
    tools: dict[str, dict[str, Any]] = {}

    async def life(client: Client) -> None:
        listed = await client.list_tools()
        tools.update({tool.name: tool.input_schema for tool in listed.tools})

    await _meet_http(swept, "admin of all", life)
    return tools


async def _answer(asked: Awaitable[Any]) -> str:
    """Return everything that an MCP client is told, also if it is refused."""
    try:
        result = await asked
    except MCPError as error:
        return f"{error}"
    return str(result.model_dump_json())


async def _sweep_mcp(swept: Swept, client: Client, rights: Rights, spaces: tuple[str, ...]) -> None:
    """Call every tool, read every kind of resource and get the prompt, in each space."""
    tools = await _tools(swept)
    assert set(tools) == set(TOOLS)
    hostile = HOSTILE if LONG else ()
    for name, schema in tools.items():
        for space in spaces:
            ids = {**swept.ids[VAULT if space == MINE else space], "space": space}
            calls = [
                object_of(schema, schema.get("$defs", {}), ids, optional=optional)
                | {"space": space}
                for optional in FORMS
            ]
            calls += [
                {**calls[0], argument: value}
                for value in hostile
                for argument, about in schema["properties"].items()
                if about.get("type") == "string" and argument != "space"
            ]
            if "space" not in schema["properties"]:
                for call in calls:
                    del call["space"]
            for call in calls:
                told = await _answer(client.call_tool(name, call))
                _check(rights, (name, call), 200, told)
                if not rights.sees(space) and "space" in call and call in calls[:1]:
                    assert "You may not use the space" in told or "needs the role" in told, told
    for space in spaces:
        uri = f"hades://{space}/plans%2Fdoor"
        prompt = {"question": QUESTION, "space": space}
        for asked in (
            client.read_resource(uri),
            client.read_resource(f"{uri}/1"),
            client.get_prompt("answer_from_paths", prompt),
        ):
            _check(rights, (space, "resource or prompt"), 200, await _answer(asked))
    for listed in (
        client.list_resources(),
        client.list_resource_templates(),
        client.list_prompts(),
    ):
        _check(rights, "a list", 200, await _answer(listed))


@pytest.mark.parametrize("caller", ALL_CALLERS[1:])
def test_mcp_tells_no_caller_of_a_space_of_others(swept: Swept, caller: str) -> None:
    rights = CALLERS[caller]
    spaces = (MINE, VAULT) if caller in LIMITED else (SPARE,)
    spare = swept.contents(SPARE)

    async def life(client: Client) -> None:
        await _sweep_mcp(swept, client, rights, spaces)

    asyncio.run(_meet_http(swept, caller, life))
    if rights.role is None or rights.role < Role.WRITER:
        assert swept.contents(SPARE) == spare


def test_mcp_answers_nobody_without_a_key(swept: Swept) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    with swept.client("nobody") as client:
        assert client.post("/mcp", json=body).status_code == 401


@pytest.mark.slow
@pytest.mark.parametrize("caller", LIMITED[:2] if LONG else ["writer of one"])
def test_mcp_over_standard_input_stays_in_its_space(swept: Swept, caller: str) -> None:
    rights = CALLERS[caller]
    options = ["--space", MINE, "--tools", "all"]
    options += ["--read-only"] if rights.role is Role.READER else []

    async def meet() -> None:
        async with Client(stdio(swept.path, *options)) as client:
            await _sweep_mcp(swept, client, rights, (MINE, VAULT) if LONG else (VAULT,))

    asyncio.run(meet())
