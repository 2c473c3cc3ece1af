"""The command that measures how well questions are answered."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command, console

if TYPE_CHECKING:
    from rich.console import Console

    from hades.evals import AnswerScores, ByType, Measured

OPTIONS_OF = {
    "corpus": ("systems", "triples", "held-out", "answers"),
    "turns": ("systems", "triples", "held-out", "answers"),
    "everyday": ("notes", "show"),
    "facts": ("show",),
    "sessions": ("show",),
}
"""Options that only some kinds of sets have."""


@command(app, "eval", of_memory=False)
def evaluate(
    invocation: Invocation,
    folder: Annotated[
        Path,
        typer.Argument(
            help="A set: questions.jsonl, and corpus, turns, events, facts or sessions.jsonl."
        ),
    ],
    questions: Annotated[
        Path | None, typer.Option("--questions", help="Other questions about the same corpus.")
    ] = None,
    systems: Annotated[
        str | None,
        typer.Option("--systems", help="Of dense,words,hybrid,ppr,paths,full; else all of them."),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", help="Only the first so many questions.")
    ] = None,
    fold: Annotated[
        int | None, typer.Option("--fold", help="0 or 1: only this half of the questions.")
    ] = None,
    triples: Annotated[
        bool, typer.Option("--triples", help="Take in the set's triples.jsonl as well.")
    ] = False,
    held_out: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            "--held-out",
            help="Two rankers: one that has not seen half 0, one that has not seen half 1.",
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", help="Write a page, data and picture here.")
    ] = None,
    answers: Annotated[
        bool, typer.Option("--answers", help="Measure `ask` instead: do its sentences answer?")
    ] = False,
    notes: Annotated[
        str | None,
        typer.Option("--notes", help="Cut everyday sets to memories of so many: 10,30,100,all."),
    ] = None,
    show: Annotated[
        str | None, typer.Option("--show", help="Also the misses of a type of question, or `all`.")
    ] = None,
) -> None:
    """Measure how well the questions of a set are answered, by system or type of question.

    The memory of a corpus or of turns is made once and kept in the cache (HADES_CACHE).
    """
    from hades.errors import InvalidInput
    from hades.evals import (
        load_set,
        measure,
        measure_answers,
        measure_everyday,
        measure_sessions,
        open_set,
    )
    from hades.evals.measure import chosen_systems
    from hades.evals.sets import LADDER_KINDS
    from hades.recall.ranker import Ranker
    from hades.settings import load_settings

    if answers and (systems or report or held_out):
        raise InvalidInput("--answers measures `ask` alone: no --systems, --report or --held-out.")
    chosen = chosen_systems(_named(systems))
    eval_set = load_set(folder, questions)
    if fold is not None:
        eval_set = eval_set.half(fold)
    if limit is not None:
        eval_set = eval_set.first(limit)
    given = {"systems": systems, "triples": triples, "held-out": held_out, "answers": answers}
    given |= {"notes": notes, "show": show}
    for name in (name for name, value in given.items() if value):
        if name not in OPTIONS_OF[eval_set.kind]:
            raise InvalidInput(f"--{name} is not for sets of the kind {eval_set.kind}.")
    settings = load_settings()
    if eval_set.kind not in LADDER_KINDS:
        sizes = _sizes(notes)
        with invocation.progress() as progress:
            options: dict[str, Any] = {"encoder": settings.encoder, "on_progress": progress}
            if eval_set.kind == "sessions":
                by_type = measure_sessions(eval_set, **options)
            else:
                by_type = measure_everyday(eval_set, sizes, **options)
        misses = {"misses": by_type.misses(show)} if show else {}
        invocation.show({**by_type.plain(), **misses}, lambda out: show_by_type(by_type, show, out))
        if report is not None:
            _write(by_type, report)
        return
    with (
        invocation.progress() as progress,
        open_set(
            eval_set,
            settings.cache_folder(),
            triples=triples,
            encoder=settings.encoder,
            on_progress=progress,
        ) as opened,
    ):
        if answers:
            told = measure_answers(eval_set, opened, progress)
            invocation.show(told.plain(), lambda out: show_answers(told, out))
            return
        rankers = None
        if held_out is not None:
            rankers = Ranker.load(held_out[0]), Ranker.load(held_out[1])
        measured = measure(eval_set, opened, chosen, progress, rankers)
    invocation.show(measured.plain(), lambda out: show_measured(measured, out))
    if report is not None:
        _write(measured, report)


def _named(systems: str | None) -> list[str]:
    return [one.strip() for one in (systems or "").split(",") if one.strip()]


def _sizes(notes: str | None) -> list[int | None]:
    from hades.errors import InvalidInput

    words = [one.strip() for one in (notes or "all").split(",")]
    if wrong := next((one for one in words if not re.fullmatch("all|[0-9]{1,9}", one)), None):
        raise InvalidInput(f"--notes takes numbers and `all`, such as 10,30,all, not {wrong!r}.")
    return [None if one == "all" else int(one) for one in words]


def _write(measured: Measured | ByType, folder: Path) -> None:
    from hades.evals.measure import Measured
    from hades.evals.picture import can_draw
    from hades.evals.report import write_report

    out = console(stderr=True)
    for path in write_report(measured, folder):
        out.print(f"wrote {path}", markup=False)
    if isinstance(measured, Measured) and not can_draw():
        sys.stderr.write("No picture was drawn: pip install '.[eval]' for one.\n")


def show_measured(measured: Measured, out: Console) -> None:
    """The ladder as a table; shares in per cent."""
    from hades.cli import render as show
    from hades.evals.measure import METRICS
    from hades.evals.report import label

    index = measured.index
    out.print(
        f"[bold]{show.clean(measured.dataset)}[/]: {measured.questions:,} questions, "
        f"{index.chunks:,} chunks, {index.edges:,} edges, made in {index.seconds:g} s"
        + (f", [red]{index.skipped:,} records skipped[/]" if index.skipped else "")
    )
    if measured.lost.gold:
        out.print(f"[red]{show.clean(measured.lost.told(measured.questions))}[/]")
    rows = show.table("system", *map(label, METRICS), "p50 ms", "p95 ms", "context tokens", "ECE")
    for name, scores in measured.systems.items():
        rows.add_row(
            name,
            *(f"{100 * scores.values[metric]:.1f}" for metric in METRICS),
            f"{scores.p50_ms:.1f}",
            f"{scores.p95_ms:.1f}",
            f"{scores.context_tokens:.0f}",
            "–" if scores.ece is None else f"{scores.ece:.3f}",
        )
    out.print(rows)


def show_by_type(measured: ByType, misses_of: str | None, out: Console) -> None:
    """A table by type of question for each size or system; shares in per cent."""
    from hades.cli import render
    from hades.evals.by_type import cell

    for one in measured.misses(misses_of) if misses_of else []:
        out.print(render.printable(str(one)), markup=False)
    for name, rows in measured.tables().items():
        out.print(f"[bold]{render.clean(measured.dataset)}[/]: {name}")
        shown = render.table("type", "n", *measured.columns)
        for of, row in rows.items():
            shown.add_row(render.clean(of), *(cell(*one) for one in row.items()))
        out.print(shown)


def show_answers(told: AnswerScores, out: Console) -> None:
    """What asking is worth, a number a line; shares in per cent."""
    from hades.cli import render as show

    rows = show.table("measure", show.clean(told.dataset))
    for name, value in told.plain().items():
        if name in ("held", "reachable", "cited", "empty", "silent_without"):
            value = "–" if value is None else f"{100 * float(str(value)):.1f} %"
        if name != "dataset":
            rows.add_row(name.replace("_", " "), str(value))
    out.print(rows)


@command(app, "train-ranker", of_memory=False)
def train_ranker(
    invocation: Invocation,
    folders: Annotated[list[Path], typer.Argument(help="Sets to learn from.")],
    to: Annotated[Path, typer.Option("--to", help="The file of weights to write.")],
    fold: Annotated[
        int | None, typer.Option("--fold", help="0 or 1: learn from this half of the questions.")
    ] = None,
) -> None:
    """Learn the ranker's weights from question sets; `ranker` in the settings uses them.

    Report only on questions it has not seen: the other half, or other sets.
    """
    from hades.evals.sets import load_set
    from hades.evals.train import train
    from hades.settings import load_settings

    sets = [load_set(folder) for folder in folders]
    if fold is not None:
        sets = [one.half(fold) for one in sets]
    settings = load_settings()
    with invocation.progress() as progress:
        counts = train(
            sets,
            to,
            cache=settings.cache_folder(),
            encoder=settings.encoder,
            on_progress=progress,
        )
    lines = [f"{name}: {count:,} questions" for name, count in counts.items()]
    invocation.show({"file": str(to), "questions": counts}, lambda out: out.print("\n".join(lines)))
