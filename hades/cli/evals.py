"""The commands that measure how well questions are answered, and that train the ranker."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command, console
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from hades.evals import ByType, EvalSet, Ladder, Measured
    from hades.evals.by_type import Outcome

OPTIONS_OF = {
    "corpus": ("systems", "triples", "held-out", "answers", "ladder"),
    "turns": ("systems", "triples", "held-out", "answers", "ladder"),
    "everyday": ("notes", "show"),
    "facts": ("show",),
    "sessions": ("show",),
    "documents": ("systems", "show"),
}
"""The options that are allowed for each kind of set, besides those for all kinds."""


@command(app, "eval", of_memory=False)
def evaluate(
    invocation: Invocation,
    folder: Annotated[
        Path,
        typer.Argument(
            help="A set: questions.jsonl and corpus, turns, events, facts or sessions.jsonl,"
            " or a folder corpus of documents."
        ),
    ],
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Other questions about the same corpus.")
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option(
            "--systems",
            help="Some of dense,words,hybrid,ppr,fusion,full (default: all); of documents, ask"
            " too, and not ppr.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="Ask only the first N questions.")
    ] = None,
    fold: Annotated[
        int | None, typer.Option("--fold", help="Ask only half 0 or half 1 of the questions.")
    ] = None,
    triples: Annotated[
        bool, typer.Option("--triples", help="Also read the triples.jsonl of the set.")
    ] = False,
    held_out: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--held-out",
            help="Two rankers: the first was not trained on half 0, the second not on half 1.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", help="Write a report page and its data to this folder."),
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Measure the sentences of `ask` instead.")
    ] = False,
    ladder: Annotated[
        bool,
        typer.Option("--ladder", help="Measure flat, graph, HiRAG and PathRAG, with pictures."),
    ] = False,
    notes: Annotated[
        str | None,
        typer.Option("--notes", help="Measure everyday sets cut to N notes: 10,30,100,all."),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option("--show", help="Also show the misses of a question type, or of `all`."),
    ] = None,
) -> None:
    """Measure how well the questions of a set are answered.

    The memory of a corpus, of conversations or of documents is built once and cached (HADES_CACHE).
    """
    from hades.evals import load_set, measure_documents, measure_everyday, measure_sessions
    from hades.evals.documents import SYSTEMS_ASKED
    from hades.evals.measure import chosen_systems
    from hades.evals.sets import LADDER_KINDS
    from hades.recall.rank.baselines import SYSTEMS
    from hades.settings import load_settings

    if answers and (systems or report or held_out):
        raise InvalidInput("--answers measures `ask` alone: no --systems, --report or --held-out.")
    if ladder and (systems or answers or held_out):
        raise InvalidInput("--ladder has its own systems: no --systems, --answers or --held-out.")
    eval_set = load_set(folder, questions)
    eval_set = eval_set if fold is None else eval_set.half(fold)
    eval_set = eval_set if limit is None else eval_set.first(limit)
    given = {"systems": systems, "triples": triples, "held-out": held_out, "answers": answers}
    given |= {"notes": notes, "show": show, "ladder": ladder}
    for name, value in given.items():
        if value and name not in OPTIONS_OF[eval_set.kind]:
            raise InvalidInput(f"--{name} is not for sets of the kind {eval_set.kind}.")
    names = [name.strip() for name in (systems or "").split(",") if name.strip()]
    chosen = chosen_systems(names, SYSTEMS_ASKED if eval_set.kind == "documents" else SYSTEMS)
    if eval_set.kind in LADDER_KINDS:
        kind = "answers" if answers else "ladder" if ladder else "systems"
        _climb(invocation, eval_set, chosen, triples, held_out, kind, report)
        return
    sizes = _sizes(notes)
    with invocation.progress() as progress:
        options: dict[str, Any] = {"encoder": load_settings().encoder, "on_progress": progress}
        if eval_set.kind == "sessions":
            by_type = measure_sessions(eval_set, **options)
        elif eval_set.kind == "documents":
            cache = load_settings().cache_folder()
            by_type = measure_documents(eval_set, cache, chosen, **options)
        else:
            by_type = measure_everyday(eval_set, sizes, **options)
    misses = by_type.misses(show) if show else []
    data = {**by_type.plain(), **({"misses": misses} if show else {})}
    invocation.show(data, lambda out: show_by_type(by_type, misses, out))
    _write(by_type, report)


def _climb(
    invocation: Invocation,
    eval_set: EvalSet,
    systems: Sequence[str],
    triples: bool,
    held_out: tuple[Path, Path] | None,
    kind: str,
    report: Path | None,
) -> None:
    """Measure and print a set with a corpus: its systems, its ladder, or what `ask` answers."""
    from hades.evals import measure, measure_answers, measure_ladder, open_set
    from hades.recall.rank.ranker import Ranker
    from hades.settings import load_settings

    settings = load_settings()
    options: dict[str, Any] = {"triples": triples, "encoder": settings.encoder}
    with (
        invocation.progress() as progress,
        open_set(eval_set, settings.cache_folder(), on_progress=progress, **options) as opened,
    ):
        if kind == "ladder":
            climbed = measure_ladder(eval_set, opened, progress)
            invocation.show(climbed.plain(), lambda out: show_ladder(climbed, out))
            _write(climbed, report)
            return
        if kind == "answers":
            numbers = measure_answers(eval_set, opened, progress)
            rows = _answer_rows(numbers)
            invocation.show_table(numbers, ("measure", numbers["dataset"]), rows)
            return
        rankers = (Ranker.load(held_out[0]), Ranker.load(held_out[1])) if held_out else None
        measured = measure(eval_set, opened, systems, progress, rankers)
    invocation.show(measured.plain(), lambda out: show_measured(measured, out))
    _write(measured, report)


def _sizes(notes: str | None) -> list[int | None]:
    words = [word.strip() for word in (notes or "all").split(",")]
    if wrong := next((word for word in words if not re.fullmatch("all|[0-9]{1,9}", word)), None):
        raise InvalidInput(f"--notes takes numbers and `all`, such as 10,30,all, not {wrong!r}.")
    return [None if word == "all" else int(word) for word in words]


def _write(measured: Measured | ByType | Ladder, folder: Path | None) -> None:
    from hades.evals.report import write_report

    for path in write_report(measured, folder) if folder else []:
        console(stderr=True).print(f"wrote {path}", markup=False)


def show_measured(measured: Measured, out: Console) -> None:
    """Print the ladder as a table, with shares in per cent."""
    from hades.cli import render
    from hades.evals.report import ladder_table

    first, *wrong = measured.sentences()
    out.print(f"[bold]{render.clean(measured.dataset)}[/]: {first}")
    for sentence in wrong:
        out.print(f"[red]{render.clean(sentence)}[/]")
    titles, *rows = ladder_table(measured)
    render.show_table(out, titles, rows)


def show_ladder(climbed: Ladder, out: Console) -> None:
    """Print the rungs of a ladder as a table."""
    from hades.cli import render

    first, *more = climbed.sentences()
    out.print(f"[bold]{render.clean(climbed.dataset)}[/]: {first}")
    for sentence in more:
        out.print(render.clean(sentence), markup=False)
    titles, *rows = climbed.table()
    render.show_table(out, titles, rows)


def show_by_type(measured: ByType, misses: Sequence[Outcome], out: Console) -> None:
    """Print a table by type of question for each size or system, with shares in per cent."""
    from hades.cli import render
    from hades.evals.report import type_tables

    for sentence in measured.sentences():
        out.print(render.clean(sentence), markup=False)
    for outcome in misses:
        out.print(render.printable(str(outcome)), markup=False)
    for name, (titles, *rows) in type_tables(measured).items():
        out.print(f"[bold]{render.clean(measured.dataset)}[/]: {name}")
        render.show_table(out, titles, rows)


def _answer_rows(numbers: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the measures of `ask` in words, with shares in per cent."""
    from hades.evals.answers import SHARES

    for name, value in numbers.items():
        if name in SHARES:
            value = "–" if value is None else f"{100 * value:.1f} %"
        if name != "dataset":
            yield name.replace("_", " "), str(value)


@command(app, "train-ranker", of_memory=False)
def train_ranker(
    invocation: Invocation,
    folders: Annotated[list[Path], typer.Argument(help="The sets to train on.")],
    to: Annotated[Path, typer.Option("--to", help="The weights file to write.")],
    fold: Annotated[
        int | None, typer.Option("--fold", help="Train on half 0 or half 1 of the questions.")
    ] = None,
) -> None:
    """Train the ranker on question sets.

    To use the weights, set `ranker` to the path of the file. Report results only on questions it
    was not trained on: the other half, or other sets.
    """
    from hades.evals.sets import load_set
    from hades.evals.train import train
    from hades.settings import load_settings

    sets = [load_set(folder) for folder in folders]
    if fold is not None:
        sets = [eval_set.half(fold) for eval_set in sets]
    settings = load_settings()
    options: dict[str, Any] = {"cache": settings.cache_folder(), "encoder": settings.encoder}
    with invocation.progress() as progress:
        counts = train(sets, to, on_progress=progress, **options)
    lines = [f"{name}: {count:,} questions" for name, count in counts.items()]
    invocation.show({"file": str(to), "questions": counts}, lambda out: out.print("\n".join(lines)))
