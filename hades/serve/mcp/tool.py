"""A tool: a function with typed arguments and a typed reply, as a model sees it.

The schema comes from the signature, the description from the docstring. Schemas are kept
lean, since every client puts them before its model in every conversation.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar, get_args

import mcp_types as types
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic import create_model as model_of

from hades.domain.plain import plain
from hades.errors import InvalidInput
from hades.serve.mcp.call import Call

Value = TypeVar("Value")

QUESTION_CHARACTERS_AT_MOST = 8_000
NAME_CHARACTERS_AT_MOST = 2_000
NOTE_CHARACTERS_AT_MOST = 100_000
TEXT_CHARACTERS_AT_MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Reply(Generic[Value]):
    """What a tool gives back: for programs, and as a text a model reads cheaply."""

    value: Value
    text: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is listed and called."""

    shown: types.Tool
    writes: bool
    arguments: type[BaseModel]
    run: Callable[..., Awaitable[Reply[Any]]]

    @property
    def name(self) -> str:
        """What models call it by."""
        return self.shown.name

    async def call(self, call: Call, given: Mapping[str, Any]) -> types.CallToolResult:
        """Run it; a HadesError says what was wrong with the call."""
        arguments = self.checked(given)
        reply = await self.run(call, **arguments)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=reply.text)],
            structured_content=said(plain(reply.value)),
        )

    def checked(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as the function takes them. Null is: not said."""
        said = {name: value for name, value in given.items() if value is not None}
        try:
            model = self.arguments.model_validate(said)
        except ValidationError as error:
            raise InvalidInput(self._sentence(error)) from error
        return {name: getattr(model, name) for name in type(model).model_fields}

    def within(self, *, one_space: bool) -> types.Tool:
        """How it is listed: without the argument `space` where there is no choice."""
        if not one_space:
            return self.shown
        schema = dict(self.shown.input_schema)
        schema["properties"] = {
            name: kind for name, kind in schema["properties"].items() if name != "space"
        }
        return self.shown.model_copy(update={"input_schema": schema})

    def _sentence(self, error: ValidationError) -> str:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(self.arguments.model_fields)
            return f"{self.name} has no argument {where!r}: {known}."
        if first["type"] == "missing":
            return f"{self.name} needs the argument {where!r}."
        if first["type"] == "string_too_long":
            most = first["ctx"]["max_length"]
            return f"The argument {where!r} is longer than {most:,} characters: send less of it."
        return f"The argument {where!r} of {self.name} is wrong: {first['msg']}."


def tool(
    title: str, *, writes: bool = False, destroys: bool = False, repeatable: bool = True
) -> Callable[[Callable[..., Awaitable[Reply[Any]]]], Tool]:
    """Make a function of a `Call` and its arguments a tool. Its docstring is for models."""

    def make(function: Callable[..., Awaitable[Reply[Any]]]) -> Tool:
        signature = inspect.signature(function, eval_str=True)
        fields: dict[str, Any] = {
            name: (parameter.annotation, _default(parameter))
            for name, parameter in signature.parameters.items()
            if name != "call"
        }
        arguments = model_of(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)
        (reply,) = get_args(signature.return_annotation)
        shown = types.Tool(
            name=function.__name__,
            title=title,
            description=inspect.cleandoc(function.__doc__ or ""),
            input_schema=lean(arguments.model_json_schema()),
            output_schema=lean(TypeAdapter(reply).json_schema()),
            annotations=types.ToolAnnotations(
                title=title,
                read_only_hint=not writes,
                destructive_hint=destroys,
                idempotent_hint=repeatable,
                open_world_hint=False,
            ),
        )
        return Tool(shown, writes, arguments, function)

    return make


def _default(parameter: inspect.Parameter) -> Any:
    return ... if parameter.default is parameter.empty else parameter.default


def lean(schema: Any) -> Any:
    """A schema without what a model does not need: titles, and that an option may be null."""
    if isinstance(schema, list):
        return [lean(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {
        key: _lean_properties(value) if key in ("properties", "$defs") else lean(value)
        for key, value in schema.items()
        if key != "title" and not (key == "default" and value is None)
    }
    options = [one for one in kept.get("anyOf", ()) if one != {"type": "null"}]
    if len(options) == 1:
        del kept["anyOf"]
        kept = dict(options[0]) | kept
    return kept


def said(value: Any) -> Any:
    """Plain values without those that say nothing: a field that is not there costs nothing."""
    if isinstance(value, dict):
        return {key: said(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [said(one) for one in value]
    return value


def _lean_properties(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: lean(one) for name, one in properties.items()}


def _listed(value: Any) -> Any:
    """Some clients send a list as the JSON text of it."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _name(description: str) -> Any:
    return Field(description=description, min_length=1, max_length=NAME_CHARACTERS_AT_MOST)


Space = Annotated[str | None, _name("The space, where several are open. Usually left out.")]
Topic = Annotated[str, _name("The topic's name, a path such as design/approach_x.")]
Name = Annotated[str, _name("A topic's or an entity's name.")]
Relation = Annotated[str, _name("The relation, a verb such as rejected_because.")]
Question = Annotated[
    str,
    Field(
        description="A whole question, with the names it is about.",
        min_length=1,
        max_length=QUESTION_CHARACTERS_AT_MOST,
    ),
]
AsOf = Annotated[
    str | None,
    Field(
        description="As the world was then: 2024-03-01, 2024-03, yesterday, 3 weeks ago. "
        "Default: now.",
        max_length=100,
    ),
]
KnownAt = Annotated[
    str | None,
    Field(description="By what this memory knew then. Default: all it knows.", max_length=100),
]
Since = Annotated[
    str | None,
    Field(description="Since when it is true, if not from now on: 2024-03-01.", max_length=100),
]
Evidence = Annotated[
    str, Field(description="The words that show it, quoted.", max_length=NOTE_CHARACTERS_AT_MOST)
]
Tag = Annotated[str | None, _name("Only topics with this tag.")]
Glob = Annotated[str | None, _name("Only topics of this pattern, such as design/*.")]
Tags = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS_AT_MOST)]] | None,
    BeforeValidator(_listed),
    Field(description="A few words to filter by, such as decision.", max_length=50),
]
Share = Annotated[float | None, Field(ge=0, le=1)]
