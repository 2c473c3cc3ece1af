"""The commands of the operations: one for each declaration in `hades/operations/`."""

from __future__ import annotations

import inspect
import json as jsonlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from hades.cli.invocation import Invocation, register
from hades.errors import InvalidInput
from hades.operations.declare import OPERATIONS, Operation, Parameter
from hades.store.records import Progress

GROUPS = {
    "review": "Approve or reject proposed changes.",
    "core": "Edit core blocks: text that a model always sees.",
}
"""What the commands with a first word in common are about."""


def add_commands(app: typer.Typer) -> None:
    """Add every command that is made from a declaration."""
    groups: dict[str, typer.Typer] = {}
    for operation in OPERATIONS.values():
        if operation.command is not None:
            group, _, name = operation.command.rpartition(" ")
            if group and group not in groups:
                groups[group] = typer.Typer(help=GROUPS[group], no_args_is_help=True)
                app.add_typer(groups[group], name=group)
            add_command(groups.get(group, app), name, operation)


def add_command(app: typer.Typer, name: str, operation: Operation) -> None:
    """Add the command of one operation."""
    own = [as_option(one) for one in operation.parameters if is_offered(one)]
    if operation.confirm is not None:
        own.append(_YES)

    def run(invocation: Invocation, **given: Any) -> None:
        sure = given.pop("yes", True)
        with invocation.opened_for(operation) as (memory, progress):
            if operation.confirm is not None:
                invocation.confirm(operation.confirm.format(**given), sure)
            value = call(operation, memory, given, progress)
        invocation.show_result(value, operation.returns)

    run.__doc__ = operation.summary
    run.__name__ = operation.name
    register(app, name, run, own, timed=operation.timed, asks=operation.asks)


def extended(
    app: typer.Typer, operation: Operation, *optional: str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command for an operation that does more than call it.

    The function takes its own options by name, and those of the operation as one mapping;
    the operation's parameters named in `optional` may be left out on the command line.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True).parameters
        own = [one for name, one in signature.items() if name not in ("invocation", "given")]
        names = {one.name for one in own}
        theirs = [
            as_option(one, optional=one.name in optional)
            for one in operation.parameters
            if is_offered(one)
        ]

        def run(invocation: Invocation, **values: Any) -> None:
            mine = {name: values.pop(name) for name in names}
            function(invocation, values, **mine)

        run.__doc__ = function.__doc__
        run.__name__ = function.__name__
        parameters = [*theirs, *own]
        register(app, operation.name, run, parameters, timed=operation.timed, asks=operation.asks)
        return function

    return decorate


def call(operation: Operation, memory: Any, given: Mapping[str, Any], progress: Progress) -> Any:
    """Call an operation with what the command line gave."""
    values = {
        one.name: read_json(given[one.name], one.name) if one.about.json else given[one.name]
        for one in operation.parameters
        if one.name in given
    }
    args, named = operation.arguments(values)
    if operation.tells_progress:
        named["on_progress"] = progress
    return getattr(memory, operation.name)(*args, **named)


def is_offered(parameter: Parameter) -> bool:
    """Whether the command line has it: an argument by its place, or an option by its flag."""
    by_place = parameter.kind is not inspect.Parameter.KEYWORD_ONLY
    return by_place or parameter.about.flag is not None


def as_option(parameter: Parameter, *, optional: bool = False) -> inspect.Parameter:
    """A parameter as Typer reads it."""
    about, kind = parameter.about, _cli_type(parameter)
    option: Any = typer.Argument(help=about.help)
    if about.flag is not None:
        option = typer.Option(*about.flag.split("/"), help=about.help)
    default = inspect.Parameter.empty if parameter.is_list else parameter.default
    if optional:
        default, kind = None, kind | None
    annotation: Any = Annotated[kind, option]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(parameter.name, keyword, annotation=annotation, default=default)


_YES = inspect.Parameter(
    "yes",
    inspect.Parameter.KEYWORD_ONLY,
    annotation=Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")],
    default=False,
)


def _cli_type(parameter: Parameter) -> Any:
    """The type a command line can give: one of str, int, float, bool, or several strings."""
    if parameter.is_list:
        return list[str]
    kinds = [one for one in get_args(parameter.type) or (parameter.type,) if one is not type(None)]
    optional = parameter.default is None
    several = any(get_origin(one) is Iterable for one in kinds)
    text = parameter.about.json or str in kinds or not set(kinds) & {int, float, bool}
    kind: Any = list[str] if several else str if text else kinds[0]
    return kind | None if optional else kind


def read_json(given: str | None, what: str) -> Any:
    """A JSON object as the command line gives it: as text, or @ and the file it is in."""
    if given is None:
        return None
    text = given
    if given.startswith("@"):
        try:
            text = Path(given[1:]).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"The {what} {given[1:]} cannot be read: {error}.") from error
    try:
        value = jsonlib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The {what} is not JSON: {error}.") from error
    if not isinstance(value, Mapping):
        raise InvalidInput(f'The {what} must be a JSON object, such as {{"source": "chat"}}.')
    return value
