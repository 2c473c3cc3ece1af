"""Calls for a sweep of roles: arguments made from declared parameters, and every GraphQL field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import hades

SECRET = "zarquonite"
"""A word that only the spaces VAULT and SPARE contain. No argument contains it."""
MINE, VAULT, SPARE = "mine", "vault", "spare"
TOPIC, ENTITY, RELATION = "plans/door", "Vera Quill", "keeps"
"""Names that callers pass. MINE has none of them, so an answer about them comes from elsewhere."""
QUESTION = "What does Vera Quill keep behind the door of plans/door?"
TIME = "2024-01-10"
_TIMES = ("as_of", "known_at", "since", "until", "valid_from", "valid_to", "at", "when", "after")
_ENTITIES = ("name", "names", "source", "keep", "other", "entity")
VALUES: Mapping[str, Any] = {
    **dict.fromkeys(_ENTITIES, ENTITY),
    **dict.fromkeys((*_TIMES, "older_than"), TIME),
    **dict.fromkeys(("question", "query", "answer"), QUESTION),
    **dict.fromkeys(("topic", "path", "summary"), TOPIC),
    **dict.fromkeys(("glob", "tag"), "*"),
    "relation": RELATION,
    "before": "lives_in",
    "relations": [RELATION],
    "content": "The caller wrote this.",
    "text": "The caller wrote this.",
    "dry_run": False,
    "budget": 500,
    "max_tokens": 500,
}
NOT_OPTIONAL = {"cursor", "after", "model", "plan", "expect_version", "Idempotency-Key", "encoder"}
"""Optional parameters that are left out, since any value but one from an answer is refused."""
HOSTILE = (
    f"{VAULT}/{TOPIC}",
    f"../{VAULT}/{TOPIC}",
    f"hades://{VAULT}/plans%2Fdoor",
    f"{TOPIC}@1#0",
    f"{VAULT}' OR 1=1 --",
    "*",
    "\x00",
    "c_1",
    "9" * 30,
)
"""Texts that name the vault in every way that a parser could take for an address."""
OTHER_SPELLINGS = (
    f"{MINE}/../{VAULT}",
    f" {VAULT}",
    VAULT.upper(),
    f"{VAULT}\x00",
    f"{MINE},{VAULT}",
)
"""Names of spaces that somebody could take for the vault."""
ANY_TEXT = "*"
"""The key under which `ids` has a value for every text."""


def fill_space(memory: hades.Memory, *, organise: bool) -> dict[str, Any]:
    """Write the secret into a space in every way; return the ids of its rows by parameter."""
    memory.remember(TOPIC, "Vera Quill keeps the door shut.", tags=["decision"])
    memory.remember(
        TOPIC,
        f"The door code is {SECRET}. Vera Quill keeps it. To do: change the {SECRET} lock.",
        tags=[SECRET],
        metadata={SECRET: SECRET},
    )
    memory.remember(f"{SECRET}/lock", f"Vera Quill decided to keep the {SECRET} lock.")
    edge = memory.relate(ENTITY, RELATION, f"{SECRET} Ltd", evidence=f"the {SECRET} paper")
    memory.relate(TOPIC, f"{SECRET}_of", ENTITY)
    memory.relate(ENTITY, "lives_in", f"{SECRET} street")
    memory.change_fact(ENTITY, "lives_in", to=f"{SECRET} lane")
    memory.add_alias(ENTITY, f"Vera {SECRET}")
    proposal = memory.propose(TOPIC, "hides", f"a {SECRET}", confidence=0.1)
    memory.core_append("persona", f"Speaks of {SECRET}.")
    memory.distil([{"role": "user", "content": f"Never send the {SECRET} code by mail."}])
    memory.index()
    if organise:
        memory.organise()
    recall = memory.recall(f"Where is the {SECRET}? {QUESTION}")
    return {
        "edge": edge.id,
        "proposal": proposal.id,
        "recall": recall.id,
        "cluster": "c_1",
        "conversation": memory.sessions()[0].conversation,
    }


def schemas_of(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a JSON schema without references, and without the choices after the first."""
    while True:
        if "$ref" in schema:
            schema = shapes[schema["$ref"].rpartition("/")[2]]
        elif choices := [
            choice
            for word in ("anyOf", "oneOf", "allOf")
            for choice in schema.get(word, ())
            if choice != {"type": "null"}
        ]:
            schema = choices[0]
        else:
            return schema


def value_of(
    name: str, schema: Mapping[str, Any], shapes: Mapping[str, Any], ids: Mapping[str, Any]
) -> Any:
    """Return a value for a parameter, by its name and its JSON schema."""
    schema = schemas_of(schema, shapes)
    kind = schema.get("type")
    if name in ids:
        return ids[name]
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if kind == "array":
        return [value_of(name, schema.get("items", {}), shapes, ids)]
    if kind == "object":
        return object_of(schema, shapes, ids, optional=False)
    if kind == "boolean":
        return VALUES.get(name, True)
    if kind in ("integer", "number"):
        return VALUES.get(name, max(1, schema.get("minimum", 1)))
    value = ids.get(ANY_TEXT) or VALUES.get(name, TOPIC)
    return value[0] if isinstance(value, list) else value


def object_of(
    schema: Mapping[str, Any],
    shapes: Mapping[str, Any],
    ids: Mapping[str, Any],
    *,
    optional: bool,
) -> dict[str, Any]:
    """Return an object with the required properties of a schema, or with all of them."""
    needed = schema.get("required", ())
    return {
        name: value_of(name, property, shapes, ids)
        for name, property in schema.get("properties", {}).items()
        if name in needed or (optional and name not in NOT_OPTIONAL | set(_TIMES))
    }


@dataclass(frozen=True)
class RestRequest:
    """One request of REST, ready to be sent."""

    method: str
    path: str
    options: dict[str, Any]


def rest_request(
    api: Mapping[str, Any],
    method: str,
    path: str,
    *,
    space: str,
    ids: Mapping[str, Any],
    optional: bool = False,
) -> RestRequest:
    """Return the request for a route of OpenAPI, with arguments for all or the required parts."""
    about = api["paths"][path][method.lower()]
    shapes = api["components"]["schemas"]
    ids = {**ids, "space": space}
    params: dict[str, Any] = {}
    for parameter in about.get("parameters", ()):
        name = parameter["name"]
        value = value_of(name, parameter["schema"], shapes, ids)
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
        elif parameter["in"] == "query" and (
            parameter.get("required")
            or name == "names"
            or (optional and name not in NOT_OPTIONAL | set(_TIMES))
        ):
            params[name] = value
    options: dict[str, Any] = {"params": params}
    content = about.get("requestBody", {}).get("content", {})
    if "application/json" in content:
        schema = schemas_of(content["application/json"]["schema"], shapes)
        options["json"] = object_of(schema, shapes, ids, optional=optional)
    elif content:
        options |= {"content": b"x", "headers": {"content-type": next(iter(content))}}
    return RestRequest(method, path, options)


# GraphQL

INTROSPECTION = """{ __schema { queryType { name } types { name kind
  fields { name type { ...t } args { name defaultValue type { ...t } } } } } }
fragment t on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }"""


@dataclass(frozen=True)
class GraphQuery:
    """A query that reads one field of an object type, with the plain fields of what it returns."""

    text: str
    reads: frozenset[tuple[str, str]]
    """The types and names of the fields that it reads."""


def graphql_queries(
    schema: Mapping[str, Any], space: str, ids: Mapping[str, Any]
) -> Iterator[GraphQuery]:
    """Yield a query for every field that leads to an object, by the shortest way from the root."""
    types = object_types(schema)
    root = schema["queryType"]["name"]
    ways: dict[str, Sequence[str]] = {root: ()}
    waiting = [root]
    while waiting:
        kind = waiting.pop(0)
        for about in types[kind].values():
            leads_to = _bare(about["type"])
            if leads_to not in types:
                continue
            step = _called(about, space, ids)
            if leads_to not in ways:
                ways[leads_to] = (*ways[kind], step)
                waiting.append(leads_to)
            plain = [n for n, f in types[leads_to].items() if _bare(f["type"]) not in types]
            text = f"{step} {{ {' '.join(['__typename', *plain])} }}"
            for outer in reversed(ways[kind]):
                text = f"{outer} {{ {text} }}"
            reads = {(kind, about["name"]), *((leads_to, name) for name in plain)}
            yield GraphQuery(text, frozenset(reads))


def object_types(schema: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the fields of every object type by name."""
    return {
        kind["name"]: {field["name"]: field for field in kind["fields"]}
        for kind in schema["types"]
        if kind["kind"] == "OBJECT" and not kind["name"].startswith("__")
    }


def _bare(kind: Mapping[str, Any]) -> str:
    while kind.get("ofType"):
        kind = kind["ofType"]
    return str(kind["name"])


def _called(about: Mapping[str, Any], space: str, ids: Mapping[str, Any]) -> str:
    """Return a field with values for its required arguments, and the space."""
    given = {
        one["name"]: _argument(about["name"], one, space, ids)
        for one in about["args"]
        if one["type"]["kind"] == "NON_NULL" and one["defaultValue"] is None
    }
    if about["name"] == "space":
        given["name"] = json.dumps(space)
    shown = ", ".join(f"{name}: {value}" for name, value in given.items())
    return f"{about['name']}({shown})" if shown else str(about["name"])


def _argument(field_name: str, about: Mapping[str, Any], space: str, ids: Mapping[str, Any]) -> str:
    kind = about["type"]["ofType"]
    if kind["name"] == "Int":
        return str(ids.get(about["name"], 1))
    if kind["kind"] == "LIST":
        return json.dumps([ENTITY, TOPIC])
    by_name = {**VALUES, "name": TOPIC if field_name == "topic" else ENTITY}
    return json.dumps(by_name.get(about["name"], TOPIC))
