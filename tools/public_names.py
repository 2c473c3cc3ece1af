"""Write docs/reference/names.txt, the list of the public names.

A line has a name and, after a colon, its parts: parameters, fields, values, options. `make docs`
only adds to the list. A name or part that is gone stays in it, and a test fails: take it out by
hand, and name it in the changelog.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import reference
from graphql import GraphQLEnumType, GraphQLInputObjectType, GraphQLObjectType
from reference import OPERATIONS, REFERENCE, SCHEMA, hades

from hades.serve.mcp import resources
from hades.serve.mcp.prompts import PROMPT
from hades.serve.mcp.tool import TOOLS
from hades.serve.rest import routers
from hades.settings import PREFIX, Settings

HEAD = "# Public names: `make docs` adds new ones. The changelog lists each that is taken out."
FILE = REFERENCE / "names.txt"
BY_MODULE = [
    "adapters.claude_agent_sdk.hades_server",
    "adapters.google_adk.HadesMemoryService",
    "adapters.langchain.HadesChatHistory",
    "adapters.langchain.HadesRetriever",
    "adapters.langgraph.HadesStore",
    "adapters.llamaindex.HadesMemoryBlock",
    "adapters.llamaindex.HadesNodeRetriever",
    "adapters.openai_agents.HadesSession",
    "adapters.pydantic_ai.hades_toolset",
    "agents.chat.Chat",
    "agents.checkpointer.HadesCheckpointer",
    "agents.memory_agent.MemoryAgent",
    "agents.query.QueryAgent",
]
"""The public names that are imported from a module of their own, because they need an extra."""
Names = dict[str, list[str]]


def public_names() -> Names:
    """Return every public name of the code with its parameters or fields."""
    names = _python() | {f"hades.{name}": [] for name in BY_MODULE if _is_defined(name)}
    for name, command in reference.all_commands():
        options = [parameter.opts[0] for parameter in command.params]
        names[f"command {name}"] = [option for option in options if option != "--help"]
    names |= {f"setting {PREFIX}{name.upper()}": [] for name in Settings.model_fields}
    for one in OPERATIONS.values():
        parameters = [parameter.name for parameter in one.parameters]
        names[f"REST {one.verb} /v1/spaces/{{space}}{one.path}"] = parameters
    for route in (route for router in routers() for route in router.routes):
        path = re.sub(r":\w+}", "}", route.path)
        names |= {f"REST {verb} {path}": [] for verb in route.methods if route.include_in_schema}
    names |= {f"MCP tool {name}": [*tool.parameters["properties"]] for name, tool in TOOLS.items()}
    names |= {f"MCP resource {template.uri_template}": [] for template in resources.TEMPLATES}
    names[f"MCP prompt {PROMPT.name}"] = [given.name for given in PROMPT.arguments or ()]
    return names | _graphql()


def lost(listed: Names, now: Names) -> list[str]:
    """Return a sentence for each listed name or part that is gone."""
    gone = [name for name in listed if name not in now]
    gone += [
        f"{part!r} of {name}"
        for name, parts in listed.items()
        for part in parts
        # A field that became a property is still there.
        if name in now and part not in now[name] and f"{name}.{part}" not in now
    ]
    return [
        f"{name} is public but was removed: restore it, or say so in the changelog."
        for name in gone
    ]


def read() -> Names:
    """Return the names of the file."""
    lines = FILE.read_text(encoding="utf-8").splitlines() if FILE.exists() else []
    split = [line.partition(": ") for line in lines if not line.startswith("#")]
    return {name: parts.split() for name, _, parts in split}


def text(names: Names) -> str:
    """Return names as the text of the file."""
    lines = [f"{name}: {' '.join(parts)}" if parts else name for name, parts in names.items()]
    return "\n".join([HEAD, *sorted(lines)]) + "\n"


def with_news(listed: Names, now: Names) -> Names:
    """Return the listed names with those that are new."""
    return listed | {
        name: [*dict.fromkeys([*listed.get(name, ()), *parts])] for name, parts in now.items()
    }


def _python() -> Names:
    names: Names = {}
    for name in hades.__all__:
        thing = getattr(hades, name)
        if not inspect.isclass(thing):
            names[f"hades.{name}"] = _parameters(thing)
            continue
        names[f"hades.{name}"] = [*reference.fields_of(thing)]
        for method, member in reference.methods_of(thing):
            is_property = isinstance(member, property)
            names[f"hades.{name}.{method}"] = [] if is_property else _parameters(member)[1:]
    return names


def _parameters(function: Any) -> list[str]:
    parameters: Iterable[inspect.Parameter] = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters]


def _is_defined(name: str) -> bool:
    """Return whether a module defines a name. It is not imported: its framework may be missing."""
    module, _, own = name.rpartition(".")
    file = reference.ROOT / "hades" / f"{module.replace('.', '/')}.py"
    return re.search(rf"^(?:class|def) {own}\b", file.read_text("utf-8"), re.MULTILINE) is not None


def _graphql() -> Names:
    names: Names = {}
    for name, kind in SCHEMA._schema.type_map.items():
        if name.startswith("__"):
            continue
        if isinstance(kind, GraphQLEnumType):
            names[f"GraphQL {name}"] = [*kind.values]
        elif isinstance(kind, GraphQLObjectType | GraphQLInputObjectType):
            names[f"GraphQL {name}"] = [*kind.fields]
            for field, declared in kind.fields.items():
                if arguments := getattr(declared, "args", None):
                    names[f"GraphQL {name}.{field}"] = [*arguments]
    return names


if __name__ == "__main__":
    FILE.write_text(text(with_news(read(), public_names())), encoding="utf-8")
    print(FILE.relative_to(reference.ROOT))
