"""The commands of the operations: one for each declaration in `hades/operations/`."""

from __future__ import annotations

import inspect
import json as jsonlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import typer

from hades.cli.invocation import Invocation, own_parameters, register
from hades.errors import InvalidInput
from hades.operations.declare import KEYWORD, OPERATIONS, Operation, Parameter, types_of
from hades.store.records import Progress

GROUPS = {
    "review": "Approve or reject proposed changes.",
    "weights": "Show, compare and restore weights learned from feedback.",
    "core": "Edit core blocks: text that a model always sees.",
    "sessions": "List conversations with decisions, outcomes and plans.",
}
"""The help of each group of commands."""


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

    def own() -> list[inspect.Parameter]:
        confirmation = [_YES] if operation.confirm is not None else []
        return [*options_of(operation), *confirmation]

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
    """Return a decorator that registers a command which does more than call its operation.

    The function takes the operation's values as one mapping, and its own options by name. The
    parameters named in `optional` may be left out on the command line.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def mine() -> list[inspect.Parameter]:
            return own_parameters(function, "invocation", "given")

        def own() -> list[inspect.Parameter]:
            return [*options_of(operation, *optional), *mine()]

        def run(invocation: Invocation, **values: Any) -> None:
            further = {parameter.name: values.pop(parameter.name) for parameter in mine()}
            function(invocation, values, **further)

        run.__doc__ = function.__doc__
        run.__name__ = function.__name__
        register(app, operation.name, run, own, timed=operation.timed, asks=operation.asks)
        return function

    return decorate


def call(operation: Operation, memory: Any, given: Mapping[str, Any], progress: Progress) -> Any:
    """Call an operation with the values of the command line, and return its result."""
    values = dict(given)
    for parameter in operation.parameters:
        if parameter.about.json and parameter.name in values:
            is_list = any(get_origin(kind) is Sequence for kind in types_of(parameter.type))
            values[parameter.name] = read_json(
                values[parameter.name], parameter.name, is_list=is_list
            )
    args, named = operation.arguments(values)
    if operation.tells_progress:
        named["on_progress"] = progress
    return getattr(memory, operation.name)(*args, **named)


def options_of(operation: Operation, *optional: str) -> list[inspect.Parameter]:
    """Return the parameters of an operation that the command line has, as Typer reads them."""
    return [
        as_option(parameter, optional=parameter.name in optional)
        for parameter in operation.parameters
        if is_offered(parameter)
    ]


def is_offered(parameter: Parameter) -> bool:
    """Return whether the command line has a parameter: it is positional, or has a flag."""
    is_positional = parameter.kind is not KEYWORD
    return is_positional or parameter.about.flag is not None


def as_option(parameter: Parameter, *, optional: bool = False) -> inspect.Parameter:
    """Return a parameter as Typer reads it; with `optional`, its default is None."""
    about = parameter.about
    kind = _cli_type(parameter)
    option: Any = typer.Argument(help=about.help)
    if about.flag is not None:
        option = typer.Option(*about.flag.split("/"), help=about.help)
    default = inspect.Parameter.empty if parameter.is_list else parameter.default
    if optional:
        default = None
        kind = kind | None
    annotation: Any = Annotated[kind, option]
    return inspect.Parameter(parameter.name, KEYWORD, annotation=annotation, default=default)


YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
_YES = inspect.Parameter("yes", KEYWORD, annotation=YES, default=False)


def _cli_type(parameter: Parameter) -> Any:
    """Return the type on the command line: str, int, float, bool, or a list of strings."""
    if parameter.is_list:
        return list[str]
    types = get_args(parameter.type) or (parameter.type,)
    kinds = [type_ for type_ in types if type_ is not type(None)]
    optional = parameter.default is None
    several = any(get_origin(type_) is Iterable for type_ in kinds)
    text = parameter.about.json or str in kinds or not set(kinds) & {int, float, bool}
    kind: Any = list[str] if several else str if text else kinds[0]
    return kind | None if optional else kind


def read_json(given: str | None, what: str, *, is_list: bool = False) -> Any:
    """Return JSON given as text, or as @ and the path of a file; None for None.

    Raise InvalidInput unless it is an object, or a list with `is_list`.
    """
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
    if is_list and not isinstance(value, list):
        raise InvalidInput(f"The {what} must be a JSON list.")
    if not is_list and not isinstance(value, Mapping):
        raise InvalidInput(f'The {what} must be a JSON object, such as {{"source": "chat"}}.')
    return value
