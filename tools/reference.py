"""Write the reference pages from the code: commands, settings, Python, REST, MCP, plan, metrics.

Run by `make docs` and `make dist`. The pages are not kept in git; other pages link to them.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import inspect
import re
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import typer.main
import yaml
from pydantic import BaseModel

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

import hades  # noqa: E402
from hades.cli import app  # noqa: E402
from hades.operations.declare import OPERATIONS  # noqa: E402
from hades.recall.plan import Plan  # noqa: E402
from hades.serve.graphql.app import SCHEMA  # noqa: E402
from hades.serve.mcp.server import TOOLS  # noqa: E402
from hades.serve.rest import routers  # noqa: E402
from hades.serve.telemetry import metrics  # noqa: E402
from hades.settings import PREFIX, Settings  # noqa: E402

REFERENCE = ROOT / "docs" / "reference"
WRITTEN = "Written by tools/reference.py from the code."
NOTE = f"<!-- {WRITTEN} -->\n"


@cache
def pages() -> dict[Path, str]:
    """Every page and what it should say."""
    return {
        REFERENCE / "commands.md": "\n".join(_commands()) + "\n",
        REFERENCE / "settings.md": "\n".join(_settings()) + "\n",
        REFERENCE / "python.md": "\n".join(_python()) + "\n",
        REFERENCE / "rest.md": "\n".join(_rest()) + "\n",
        REFERENCE / "mcp.md": "\n".join(_mcp()) + "\n",
        REFERENCE / "plan.md": "\n".join(_plan()) + "\n",
        REFERENCE / "metrics.md": "\n".join(_metrics()) + "\n",
        REFERENCE / "schema.graphql": f"# {WRITTEN}\n\n{SCHEMA.as_str()}\n",
    }


def undocumented() -> list[str]:
    """Return the commands and settings without a description."""
    missing = [name for name, command in all_commands() if not command.help]
    missing += [
        f"{name} {parameter.name}"
        for name, command in all_commands()
        for parameter in command.params
        if not getattr(parameter, "help", None)
    ]
    missing += [name for name, field in Settings.model_fields.items() if not field.description]
    missing += [key for key, field in _plan_fields(Plan) if not field.description]
    for name in hades.__all__:
        thing = getattr(hades, name)
        missing += [] if _sentence(thing) else [name]
        if inspect.isclass(thing):
            missing += [f"{name}.{m}" for m, method in methods_of(thing) if not _sentence(method)]
    return missing


def all_commands() -> Iterator[tuple[str, Any]]:
    root = typer.main.get_command(app)
    for name, command in root.commands.items():  # type: ignore[attr-defined]
        if hasattr(command, "commands"):
            for inner, sub in command.commands.items():
                yield f"{name} {inner}", sub
        else:
            yield name, command


def _commands() -> Iterator[str]:
    yield f"# Commands\n\n{NOTE}"
    yield "Every command on a memory takes `--memory PATH`, `--space NAME` and `--json`. Commands"
    yield "that can look back take `--at` and `--known`. An error is one sentence on standard"
    yield "error, and the exit code is 2.\n"
    for name, command in all_commands():
        words = [f"hades {name}"]
        for parameter in command.params:
            if parameter.param_type_name == "argument":
                words.append(
                    parameter.name.upper() if parameter.required else f"[{parameter.name.upper()}]"
                )
        yield f"## `{' '.join(words)}`\n\n{command.help}\n"
        yield "| option | meaning |\n|---|---|"
        for parameter in command.params:
            if parameter.name == "help":
                continue
            label = (
                parameter.name.upper()
                if parameter.param_type_name == "argument"
                else ", ".join(parameter.opts)
            )
            yield f"| `{label}` | {parameter.help} |"
        yield ""


def _settings() -> Iterator[str]:
    yield f"# Settings\n\n{NOTE}"
    yield "Settings come from `config.yaml` in the user's configuration folder, or from the file"
    yield "named by `HADES_CONFIG`. The environment overrides the file, and the arguments of a"
    yield "call override both. `hades settings` shows the settings in force.\n"
    yield "| in the file | in the environment | default | meaning |\n|---|---|---|---|"
    for name, field in Settings.model_fields.items():
        default = "" if field.default is None else f"`{field.default}`"
        yield f"| `{name}` | `{PREFIX}{name.upper()}` | {default} | {field.description} |"


def _rest() -> Iterator[str]:
    commands = {name for name, _ in all_commands()}
    yield f"# REST\n\n{NOTE}"
    yield "Paths are below `/v1/spaces/SPACE`. The role is the lowest one that may make the call."
    yield "`/openapi.json` of a server describes arguments and results.\n"
    yield "| call | role | command | Python | meaning |\n|---|---|---|---|---|"
    for one in OPERATIONS.values():
        command = one.command or one.name.replace("_", "-")
        shown = f"`hades {command}`" if command in commands else ""
        yield (
            f"| `{one.verb} {one.path}` | {one.role.name.lower()} | {shown} | `{one.name}` "
            f"| {one.summary} |"
        )
    yield "\n## Other calls\n\n| call | meaning |\n|---|---|"
    declared = {(one.verb, f"/v1/spaces/{{space}}{one.path}") for one in OPERATIONS.values()}
    for router in routers():
        for route in router.routes:
            path = re.sub(r":\w+}", "}", route.path)
            for verb in sorted(route.methods):
                if (verb, path) not in declared and route.include_in_schema:
                    yield f"| `{verb} {path}` | {_sentence(route.endpoint).splitlines()[0]} |"


def _mcp() -> Iterator[str]:
    yield f"# MCP tools\n\n{NOTE}"
    yield "[MCP](../mcp.md) says how a client gets them. Required arguments come first, in bold.\n"
    yield "| tool | arguments | meaning |\n|---|---|---|"
    for name, tool in sorted(TOOLS.items()):
        required = tool.parameters.get("required", [])
        words = [f"**`{argument}`**" for argument in required]
        others = (word for word in tool.parameters["properties"] if word not in required)
        words += [f"`{argument}`" for argument in others]
        meaning = " ".join(tool.description.split())
        yield f"| `{name}` | {', '.join(words)} | {meaning} |"


def _plan() -> Iterator[str]:
    yield f"# The plan of a question\n\n{NOTE}"
    yield "[Answers](../answers.md#modes-and-the-plan) says how to give a plan. A default that a"
    yield "mode or a kind of question changes is that of a look-up in the mode `execution`.\n"
    yield "| key | default | range | meaning |\n|---|---|---|---|"
    for key, field in _plan_fields(Plan):
        ends = {
            name: getattr(limit, name)
            for limit in field.metadata
            for name in ("ge", "gt", "le", "lt")
            if hasattr(limit, name)
        }
        least = ends.get("ge", ends.get("gt", ""))
        most = ends.get("le", ends.get("lt", ""))
        shown = f"{least:,} to {most:,}" if most != "" else ""
        default = "" if field.default is None else f"`{field.default}`"
        yield f"| `{key}` | {default} | {shown} | {field.description} |"


def _plan_fields(part: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Return the fields of a plan by their keys, such as `graph.hops`, without its reasons."""
    for name, field in part.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _plan_fields(type(field.default), f"{name}.")
        elif name != "reasons":
            yield f"{prefix}{name}", field


def _metrics() -> Iterator[str]:
    yield f"# Metrics and alerts\n\n{NOTE}"
    yield "[The server](../server.md#metrics) says who may read `/metrics`. A histogram has the"
    yield "series `_bucket`, `_sum` and `_count`. There are also the usual `process_*` and"
    yield "`python_*`.\n"
    yield "| family | labels | meaning |\n|---|---|---|"
    of_calls = {f"hades_{name}": labels for name, (_, *labels) in metrics.COUNTERS.items()}
    of_calls |= {
        f"hades_{name}": list(labels) for name, (_, _, labels) in metrics.HISTOGRAMS.items()
    }
    for family in sorted(_families(), key=lambda one: one.name):
        labels = of_calls.get(family.name, getattr(family, "_labelnames", ("version",)))
        suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
        yield f"| `{family.name}{suffix}` | {', '.join(labels)} | {family.documentation} |"
    yield "\nThe alerts of `deploy/alerts.yml`:\n\n| alert | when | what to do |\n|---|---|---|"
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yml").read_text(encoding="utf-8"))
    for rule in (rule for group in rules["groups"] for rule in group["rules"]):
        said = rule["annotations"]
        summary = re.sub(r"\{\{ \$labels\.(\w+) \}\}", r"`\1`", said["summary"])
        yield f"| {rule['alert']} | {summary} ({rule['for']}) | {said['description']} |"


def _families() -> Iterator[Any]:
    """Return the families that a server shows, without samples."""
    registry = metrics.Metrics().registry
    with tempfile.TemporaryDirectory() as folder, hades.open(f"{folder}/m.hades") as memory:
        registry.register(metrics.ExecutorMetrics({}, dict))
        registry.register(metrics.ScheduleMetrics(()))
        registry.register(metrics.ModelMetrics())
        registry.register(metrics.MemoryMetrics(memory))
        yield from (one for one in registry.collect() if one.name.startswith("hades"))


def _python() -> Iterator[str]:
    yield f"# Python\n\n{NOTE}"
    yield "Everything below is a name of `hades`: `import hades`.\n"
    names = ["open", "Memory", "View"]
    names += [name for name in hades.__all__ if name not in names]
    for name in names:
        thing = getattr(hades, name)
        if inspect.isclass(thing):
            yield f"## `hades.{name}`\n\n{_sentence(thing)}\n"
            yield from _class(thing)
        else:
            yield f"## `hades.{name}{_signature(thing)}`\n\n{_sentence(thing)}\n"


def _class(thing: type) -> Iterator[str]:
    if fields := fields_of(thing):
        kind = "Values" if issubclass(thing, enum.Enum) else "Fields"
        yield f"{kind}: {', '.join(f'`{field}`' for field in fields)}.\n"
    if thing is hades.Client:
        yield "Methods that are not listed are those of `Memory`.\n"
    for name, method in methods_of(thing):
        signature = "" if isinstance(method, property) else _signature(method, of_class=True)
        yield f"### `{name}{signature}`\n\n{_sentence(method)}\n"


def fields_of(thing: type) -> list[str]:
    """The fields of a dataclass or a model, or the values of an enumeration."""
    if issubclass(thing, enum.Enum):
        return [str(member.value) for member in thing]
    if dataclasses.is_dataclass(thing):
        return [field.name for field in dataclasses.fields(thing)]
    return [*getattr(thing, "model_fields", ())]


def _parts_of(thing: type) -> list[type]:
    """Classes that are only a part of this one, kept in a file of their own."""
    public = {getattr(hades, name) for name in hades.__all__}
    own = takewhile(lambda one: one is thing or one not in public, thing.__mro__)
    return [one for one in own if one is not thing and one.__module__.startswith("hades")]


def methods_of(thing: type) -> list[tuple[str, Any]]:
    """Its public methods and properties, without those a public class above it has as well."""
    found: dict[str, Any] = {}
    parts = (thing, *_parts_of(thing))
    for owner in parts:
        for name, member in vars(owner).items():
            shown = inspect.isfunction(member) or isinstance(member, property)
            above = [getattr(one, name, None) for one in thing.__mro__ if one not in parts]
            same = member.__doc__ is not None and member.__doc__ in {a.__doc__ for a in above}
            if shown and not same and not name.startswith("_"):
                found.setdefault(name, member)
    return list(found.items())


@cache
def _parameter_types() -> dict[str, ast.expr]:
    """The types that operations name together with what is said about them, as `TopicName`."""
    types = {}
    for file in sorted((ROOT / "hades" / "operations").glob("*.py")):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and _is_annotated(node.value):
                types[node.targets[0].id] = node.value  # type: ignore[attr-defined]
    return types


def _is_annotated(node: ast.expr) -> bool:
    return isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Annotated"


class _PlainTypes(ast.NodeTransformer):
    """Leaves out what is said about a type: `Annotated[str, Param(…)]` is `str`."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        named = _parameter_types().get(node.id)
        return node if named is None else self.visit(named)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if _is_annotated(node):
            return self.visit(node.slice.elts[0])  # type: ignore[attr-defined]
        return self.generic_visit(node)  # type: ignore[return-value]


class _Written:
    """An annotation as it is written in the source, without quotes around it."""

    def __init__(self, text: object) -> None:
        tree = ast.parse(str(text), mode="eval")
        self._text = ast.unparse(_PlainTypes().visit(tree))

    def __repr__(self) -> str:
        return self._text


def _signature(function: Any, *, of_class: bool = False) -> str:
    signature = inspect.signature(function)
    kept = [
        p.replace(annotation=p.annotation if p.annotation is p.empty else _Written(p.annotation))
        for p in list(signature.parameters.values())[1 if of_class else 0 :]
    ]
    text = str(
        signature.replace(parameters=kept, return_annotation=_Written(signature.return_annotation))
    )
    return re.sub(r"<function (\w+) at 0x[0-9a-f]+>", r"\1", text)


def _sentence(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__) if thing.__doc__ else ""


if __name__ == "__main__":
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        print(path.relative_to(ROOT))
