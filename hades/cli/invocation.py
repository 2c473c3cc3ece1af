"""The frame of all commands: shared options, opening the memory, printing, errors.

A command is a function of an `Invocation` and its own arguments. `command` adds the shared options;
`Invocation` opens the memory that they name, and prints a result as text or as JSON.
"""

from __future__ import annotations

import errno
import importlib.util
import inspect
import json as jsonlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.domain.address import PROJECT, is_address, read_address
from hades.errors import HadesError, InvalidInput, lacking

if TYPE_CHECKING:
    from rich.console import Console

    from hades.context.text.layout import PlainText
    from hades.memory import Memory, View
    from hades.operations.declare import Operation
    from hades.store.records import Progress

MEMORY = Annotated[
    str | None,
    typer.Option(
        "--memory",
        "-m",
        metavar="PATH",
        help="The memory file or address; `project:` is the memory of the project in this folder "
        "(default: HADES_PATH, else your own).",
    ),
]
SPACE = Annotated[
    str | None, typer.Option("--space", "-s", help="The space (default: HADES_SPACE).")
]
JSON = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
AT = Annotated[
    str | None, typer.Option("--at", help="As the world was at this time: 2024-03, yesterday …")
]
KNOWN = Annotated[str | None, typer.Option("--known", help="As the memory knew it at this time.")]

READ_ONLY = Annotated[
    bool, typer.Option("--read-only", help="Write nothing: use only what is indexed.")
]

_PIPE_WIDTH = 4000

_SHARED = {"memory": MEMORY, "space": SPACE, "json": JSON}
_TIMED = {"at": AT, "known": KNOWN}
_ASKING = _TIMED | {"read_only": READ_ONLY}
_DEFAULTS = {"json": False, "read_only": False}


@dataclass(frozen=True, slots=True)
class Invocation:
    """The values of the shared options."""

    memory: str | None = None
    space: str | None = None
    json: bool = False
    at: str | None = None
    known: str | None = None
    read_only: bool = False

    def opened(self, *, create: bool = False, read_only: bool = False) -> Memory:
        """Open the memory that the options name."""
        from hades.opening import open_with_settings

        space = {"space": self.space} if self.space else {}
        return open_with_settings(self.memory, create=create, read_only=read_only, **space)

    def place(self) -> str | Path:
        """Return the memory file or database that the options name; refuse a server's address."""
        from hades.settings import load_settings

        path = self.memory or load_settings().ready_path()
        if is_address(path):
            where = read_address(str(path)).text
            raise InvalidInput(f"{where} is the address of a server: name a memory file.")
        return path

    @contextmanager
    def viewed(self) -> Iterator[View]:
        """Open the memory for reading, as of the time that the options name."""
        with self.opened(read_only=True) as memory:
            yield self._at(memory)

    @contextmanager
    def opened_for(self, operation: Operation) -> Iterator[tuple[Any, Progress]]:
        """Open the memory as an operation needs it: for writing, or as of a time."""
        if operation.asks:
            with self.asked() as asked:
                yield asked
        else:
            writes = operation.writes
            memory = self.opened(create=operation.creates) if writes else self.viewed()
            with memory as opened, self.progress() as progress:
                yield opened, progress

    @contextmanager
    def asked(self) -> Iterator[tuple[View, Progress]]:
        """Open the memory for a question, and at the end print what is not indexed yet.

        It is open for writing, so that new notes are indexed first, unless `--read-only` is given.
        """
        with self.opened(read_only=self.read_only) as memory, self.progress() as progress:
            yield self._at(memory), progress
            remark = self.waiting(memory)
        sys.stderr.write(remark)

    def waiting(self, memory: Memory) -> str:
        """Return a line that says what is not indexed or has no vector yet; "" if nothing."""
        waiting = memory.pending
        missing = memory.unembedded if waiting else 0
        if missing:
            return f"{missing:,} passages have no vector yet: `hades index` continues.\n"
        what = "1 note waits" if waiting == 1 else f"{waiting:,} notes wait"
        how = "ask once without --read-only" if self.read_only else "ask again later"
        return f"{what} to be indexed: {how}.\n" if waiting else ""

    def _at(self, memory: Memory) -> View:
        now = self.at is None and self.known is None
        return memory if now else memory.at(self.at, known=self.known)

    def show_result(self, value: Any, kind: Any) -> None:
        """Print a result of this type: with `--json` as JSON, else as text or a table."""
        from hades.cli.render import render

        self.show(value, lambda out: render(out, value, kind))

    def show(self, value: Any, render: Callable[[Console], None]) -> None:
        """Print a result: with `--json` as JSON, else by `render`."""
        if self.json:
            from hades.domain.plain import plain

            sys.stdout.write(jsonlib.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")
        else:
            render(console())

    def show_lines(self, value: Any, lines: PlainText) -> None:
        """Print a result as JSON with `--json`, else as these lines in colour."""
        from hades.cli.render import show_lines

        self.show(value, lambda out: show_lines(out, lines))

    def show_table(
        self, value: Any, titles: Sequence[str], rows: Iterable[Iterable[object]], empty: str = ""
    ) -> None:
        """Print a result as JSON with `--json`, else as a table; without rows, print `empty`."""
        from hades.cli.render import show_table

        self.show(value, lambda out: show_table(out, titles, rows, empty))

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Yield a progress function: it shows a bar on a terminal, and else does nothing."""
        if self.json or not sys.stderr.isatty():
            yield lambda _what, _done, _total: None
            return
        from hades.cli.bar import Bars

        bars = Bars(console(stderr=True))
        with bars.progress:
            yield bars.told

    def confirm(self, question: str, yes: bool) -> None:
        """Unless `yes`, ask the user; abort at a no, raise InvalidInput without a terminal."""
        if yes:
            return
        if not sys.stdin.isatty():
            raise InvalidInput(f"{question} Nobody can confirm it here: pass --yes.")
        typer.confirm(question, abort=True)


def require_extra(extra: str, *modules: str) -> None:
    """Raise Unavailable, naming the extra to install, if a module is missing."""
    if not all(map(importlib.util.find_spec, modules)):
        raise lacking("This command needs", extra)


def console(*, stderr: bool = False) -> Console:
    """Return the console for text."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    # In a pipe, lines are not wrapped, so that grep and cut work.
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, width=width, highlight=False, soft_wrap=True, emoji=False)


def command(
    app: typer.Typer, name: str, **about: bool
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that registers a function as a command; options as in `register`."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        register(app, name, function, lambda: own_parameters(function, "invocation"), **about)
        return function

    return decorate


def own_parameters(function: Callable[..., None], *others: str) -> list[inspect.Parameter]:
    """Return the parameters of a function without the `others`, with their types resolved."""
    parameters = inspect.signature(function, eval_str=True).parameters
    return [parameter for name, parameter in parameters.items() if name not in others]


def register(
    app: typer.Typer,
    name: str,
    function: Callable[..., None],
    own: Callable[[], Iterable[inspect.Parameter]],
    *,
    timed: bool = False,
    asks: bool = False,
    of_memory: bool = True,
    spaced: bool = True,
) -> None:
    """Register a function as a command: it gets an Invocation and the parameters `own` returns.

    A `timed` command takes --at and --known; one that `asks` also takes --read-only. A command
    that is not `of_memory` takes only --json. One that is not `spaced` concerns the whole memory
    and takes no --space.
    """
    shared = (_SHARED if of_memory else {"json": JSON}) | (_TIMED if timed else {})
    shared |= _ASKING if asks else {}
    if not spaced:
        shared.pop("space")
    app.command(name)(CommandFunction(function, own, shared))


class CommandFunction:
    """A command as Typer calls it.

    Its options are read when Typer asks for the signature, because reading those of all commands
    takes longer than running many of them.
    """

    def __init__(
        self,
        function: Callable[..., None],
        own: Callable[[], Iterable[inspect.Parameter]],
        shared: Mapping[str, Any],
    ) -> None:
        self._function = function
        self._own = own
        self._shared = shared
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self.__annotations__ = {}  # Typer finds the types in the signature

    def __call__(self, **given: Any) -> None:
        shared = {option: given.pop(option) for option in self._shared}
        with edge(as_json=shared["json"]):
            shared |= {"memory": _project_memory(shared.get("memory"))}
            self._function(Invocation(**shared), **given)

    @property
    def __signature__(self) -> inspect.Signature:
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters = [parameter.replace(kind=keyword) for parameter in self._own()]
        parameters += [
            inspect.Parameter(option, keyword, default=_DEFAULTS.get(option), annotation=annotation)
            for option, annotation in self._shared.items()
        ]
        return inspect.Signature(parameters)


def _project_memory(memory: str | None) -> str | None:
    """Return a memory as it was given; for `project:FOLDER` the path of the project's memory."""
    if memory is None or not memory.startswith(PROJECT):
        return memory
    from hades.project import current_project, make_project_folder, project_root

    folder = memory.removeprefix(PROJECT)
    return str(make_project_folder(project_root(Path(folder)) if folder else current_project()))


@contextmanager
def edge(*, as_json: bool) -> Iterator[None]:
    """Turn a HadesError or a full disk into one line on standard error and exit code 2."""
    try:
        yield
    except HadesError as error:
        if as_json:
            report = {"error": type(error).__name__, "message": str(error)}
            sys.stderr.write(jsonlib.dumps(report, ensure_ascii=False) + "\n")
        else:
            sys.stderr.write(f"hades: {error}\n")
        raise typer.Exit(2) from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        sys.stderr.write("hades: The disk is full: free some space, then try again.\n")
        raise typer.Exit(2) from error
