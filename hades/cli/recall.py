"""Commands that answer: recall, ask, paths, neighbours and what else is around a name."""

from __future__ import annotations

import json as jsonlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.door import Door, command
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from hades.store.records import Progress
    from hades.view import View

QUESTION = Annotated[str, typer.Argument(help="What to ask.")]
BUDGET = Annotated[
    int | None, typer.Option("--budget", "-b", help="Tokens of the context at most.")
]
MODE = Annotated[
    str | None,
    typer.Option("--mode", help="execution, planning or brainstorming (else by the question)."),
]
PLAN = Annotated[
    str | None,
    typer.Option("--plan", help="The plan, or parts of it: JSON, or @FILE with JSON."),
]
TAG = Annotated[str | None, typer.Option("--tag", "-t", help="Topics with this tag.")]
KIND = Annotated[
    str | None, typer.Option("--kind", help="note, document, code, conversation, record, paper.")
]
GLOB = Annotated[str | None, typer.Option("--glob", help="Topics like 'docs/*'.")]
LIMIT = Annotated[int, typer.Option("--limit", "-n", help="At most so many.")]


@command(app, "recall", asks=True)
def recall(
    door: Door,
    question: QUESTION,
    budget: BUDGET = None,
    mode: MODE = None,
    plan: PLAN = None,
    tag: TAG = None,
    kind: KIND = None,
    glob: GLOB = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the stages and what each score is made of.")
    ] = False,
    context: Annotated[
        bool, typer.Option("--context", help="Print only the text for a model.")
    ] = False,
) -> None:
    """What is known about a question: passages, paths, how sure, and why these."""
    options = _options(budget, mode, plan, tag, kind, glob)
    with _asked(door, question) as (view, progress):
        found = view.recall(question, on_progress=progress, **options)
    from hades.cli import answers, show

    if context and not door.json:
        sys.stdout.write(show.printable(found.context) + "\n")
    else:
        door.show(found, lambda out: answers.recall(out, found, explain=explain))


@command(app, "ask", asks=True)
def ask(
    door: Door,
    question: QUESTION,
    budget: BUDGET = None,
    mode: MODE = None,
    plan: PLAN = None,
    tag: TAG = None,
    kind: KIND = None,
    glob: GLOB = None,
) -> None:
    """The sentences that answer a question, as they stand in the texts, each cited."""
    options = _options(budget, mode, plan, tag, kind, glob)
    with _asked(door, question) as (view, progress):
        found = view.ask(question, on_progress=progress, **options)
    from hades.cli import answers

    door.show(found, lambda out: answers.answer(out, found))


@command(app, "paths", asks=True)
def paths(
    door: Door,
    start: Annotated[str, typer.Argument(help="The topic or entity to start from.")],
    end: Annotated[str, typer.Argument(help="The topic or entity to reach.")],
    limit: LIMIT = 5,
    hops: Annotated[int, typer.Option("--hops", help="Edges of a path at most.")] = 3,
) -> None:
    """How two things hang together: the most reliable paths between them."""
    with _asked(door, start) as (view, _):
        found = view.paths(start, end, limit=limit, hops=hops)
    from hades.cli import answers

    door.show(found, lambda out: answers.paths(out, found))


@command(app, "neighbours", asks=True)
def neighbours(
    door: Door,
    name: Annotated[str, typer.Argument(help="The topic or entity.")],
    hops: Annotated[int, typer.Option("--hops", help="So many edges away at most.")] = 1,
    limit: LIMIT = 20,
) -> None:
    """What stands around a thing in the graph, nearest and strongest first."""
    with _asked(door, name) as (view, _):
        found = view.neighbours(name, hops=hops, limit=limit)
    from hades.cli import answers

    door.show(found, lambda out: answers.neighbours(out, found))


@command(app, "subgraph", asks=True)
def subgraph(
    door: Door,
    names: Annotated[list[str], typer.Argument(help="The topics or entities.")],
    hops: Annotated[int, typer.Option("--hops", help="So many edges away at most.")] = 1,
    limit: LIMIT = 100,
) -> None:
    """The part of the graph around some things, to be drawn: nodes and edges."""
    with _asked(door, names[0]) as (view, _):
        found = view.subgraph(*names, hops=hops, limit=limit)
    from hades.cli import answers

    door.show(found, lambda out: answers.subgraph(out, found))


@command(app, "working-memory", asks=True)
def working_memory(
    door: Door,
    topic: Annotated[str, typer.Argument(help="The topic to work on.")],
    budget: Annotated[int, typer.Option("--budget", "-b", help="Tokens at most.")] = 2_000,
) -> None:
    """What to have in mind when working on a topic: its states, and related topics."""
    with _asked(door, topic) as (view, _):
        found = view.working_memory(topic, budget=budget)
    from hades.cli import answers

    door.show(found, lambda out: answers.working_set(out, found))


@contextmanager
def _asked(door: Door, question: str) -> Iterator[tuple[View, Progress]]:
    """The memory at the time asked for; the question must say something."""
    if not question.strip():
        raise InvalidInput("Ask something: the question is empty.")
    with door.asked() as asked:
        yield asked


def _options(
    budget: int | None,
    mode: str | None,
    plan: str | None,
    tag: str | None,
    kind: str | None,
    glob: str | None,
) -> dict[str, Any]:
    """What the command line says about a question, as `recall` takes it."""
    wanted = {
        "budget": budget,
        "mode": None if mode is None else _mode(mode),
        "plan": None if plan is None else read_plan(plan),
        "tag": tag,
        "kind": kind,
        "glob": glob,
    }
    return {name: value for name, value in wanted.items() if value is not None}


def _mode(word: str) -> str:
    from hades.domain.answer import Mode

    if word not in set(Mode):
        raise InvalidInput(f"There is no mode {word!r}: {', '.join(Mode)}.")
    return word


def read_plan(given: str) -> dict[str, Any]:
    """A plan as the command line gives it: JSON, or @ and the file it is in."""
    text = given
    if given.startswith("@"):
        try:
            text = Path(given[1:]).expanduser().read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidInput(f"The plan {given[1:]} cannot be read: {error}.") from error
    try:
        plan = jsonlib.loads(text)
    except ValueError as error:
        raise InvalidInput(f"The plan is not JSON: {error}.") from error
    if not isinstance(plan, dict):
        raise InvalidInput('A plan is a JSON object such as {"graph": {"hops": 1}}.')
    return plan
