"""How results look on a terminal: their plain text in colour, and tables for lists.

The words come from `hades.context.text`. A table is a list of columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from pathlib import PurePosixPath
from types import GenericAlias
from typing import TYPE_CHECKING, Any, get_args, get_origin

from rich.markup import escape
from rich.table import Table
from rich.text import Text

from hades.context.text import (  # noqa: F401 - they fill WRITERS
    answers,
    briefs,
    edges,
    paths,
    reports,
    sessions,
    states,
)
from hades.context.text.layout import WRITERS, PlainText, TextBody, TextLine, flat, moment, writes
from hades.context.text.reports import beginning
from hades.domain.answer import Neighbour
from hades.domain.compare import commit_of
from hades.domain.context import CoreBlock
from hades.domain.feedback import KINDS, LoggedQuery, ParameterChange, WeightSnapshot
from hades.domain.graph import Entity
from hades.domain.mirror import MirrorSummary
from hades.domain.plain import counted, one_line
from hades.domain.promotion import Suggestion
from hades.domain.tiers import Tier
from hades.domain.topics import Change, Chunk, Space, State, Topic
from hades.ingest.summary import Summary
from hades.language.wording import own_heading
from hades.models.chat import ModelReport

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[["Console", Any], None]

SKIPPED_LISTED = 3
"""Up to this many skipped files are named; more are counted by kind."""
KINDS_SHOWN = 6
STYLES = {
    "head": "bold",
    "quiet": "dim",
    "time": "cyan",
    "warning": "yellow",
    "added": "green",
    "removed": "red",
}
"""The rich style for each style of a line."""


def clean(text: str) -> str:
    """Return a name on one line, without control characters, and escaped for rich's markup."""
    return escape(one_line(text))


def printable(text: str) -> str:
    """Return a text with characters that control a terminal replaced by U+FFFD."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def show_lines(console: Console, lines: PlainText) -> None:
    """Print the plain text of a result in colour."""
    for line in lines:
        if isinstance(line, TextBody):
            # Written past the console, which would expand tabs and wrap lines.
            console.file.write(printable(line.text) + "\n")
            continue
        details = one_line("".join(f"  {part}" for part in line.details))
        console.print(Text(one_line(line.text), STYLES.get(line.style, "")).append(details, "dim"))


def table(*columns: str) -> Table:
    """Return an empty table with these columns and a head line."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def show_table(
    console: Console, titles: Sequence[str], rows: Iterable[Iterable[object]], empty: str = ""
) -> None:
    """Print rows as a table. Without rows, print the text `empty` if it is given."""
    shown = table(*map(clean, titles))
    for row in rows:
        shown.add_row(*map(_cell, row))
    console.print(shown if shown.row_count or not empty else empty)


def _listed(empty: str, *columns: str | tuple[str, Callable[[Any], object]]) -> Show:
    """Return a function that prints a list as a table, or the text `empty` for an empty list.

    A column is `title`, `title=attribute`, or a title and a function of an item.
    """
    read: dict[str, Callable[[Any], object]] = {}
    for column in columns:
        if isinstance(column, str):
            title, _, attribute = column.partition("=")
            column = title, attrgetter(attribute or title)
        read |= [column]

    def show(console: Console, items: Sequence[Any]) -> None:
        rows = ([value(item) for value in read.values()] for item in items)
        show_table(console, [*read], rows, empty)

    return show


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return moment(value)
    if value is None:
        return ""
    return clean(", ".join(value) if isinstance(value, tuple) else str(value))


def _brought(state: State) -> str:
    """Describe a version: by its commit if it has one, else by its first words."""
    if state.forgotten:
        return f"(forgotten) {commit_of(state)}".strip()
    return commit_of(state) or beginning(state.content.strip().split("\n")[0])


_of_one_topic = _listed(
    "", "version", "true since=valid_from", "recorded=recorded_at", ("content", _brought)
)
_of_many = _listed("none", "state=id", "true since=valid_from", ("content", _brought))


def _history(console: Console, versions: Sequence[State]) -> None:
    """Print states as a table; the columns differ for the versions of one topic."""
    one = len({state.topic for state in versions}) == 1 and not versions[0].level
    (_of_one_topic if one else _of_many)(console, versions)


def _shown_counts(query: LoggedQuery) -> str:
    return ", ".join(counted(query.count(kind), kind) for kind in KINDS)


def _percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


TABLES: dict[Any, Show] = {
    State: _history,
    Topic: _listed(
        "no topics",
        "topic=name",
        "version",
        "true since=valid_from",
        ("tags", lambda topic: " ".join(topic.tags)),
    ),
    Entity: _listed(
        "no entities",
        "entity=name",
        "kind",
        "passages=frequency",
        "edges",
        "also=aliases",
        "merged",
    ),
    Space: _listed("", "space=name", "topics", "created=created_at"),
    Change: _listed(
        "", "change=number", "at", "who=actor", "what=action", "about=subject", "changed=summary"
    ),
    Chunk: _listed(
        "no passages: it is not indexed yet",
        "passage=ordinal",
        ("characters", lambda chunk: f"{chunk.start}–{chunk.end}"),
        "tokens",
        ("heading", lambda chunk: own_heading(chunk.topic, chunk.heading)),
        ("text", lambda chunk: beginning(chunk.text)),
    ),
    Neighbour: _listed(
        "no neighbours",
        "name=node.name",
        "kind=node.kind",
        "hops",
        ("score", lambda neighbour: f"{neighbour.score:.3f}"),
        ("by way of", lambda neighbour: flat(str(neighbour.path))),
    ),
    ModelReport: _listed(
        "no language model is set: HADES_MODEL or `models:` names one",
        "name",
        "model",
        "reads=context_tokens",
        "price in=input_price",
        "price out=output_price",
        ("answers", lambda one: {None: "", True: "yes", False: f"no: {one.why}"}[one.answers]),
        "calls=totals.calls",
        "failures=totals.failures",
        ("tokens", lambda one: one.totals.prompt_tokens + one.totals.completion_tokens),
        ("cost", lambda one: "" if one.input_price is None else f"{one.totals.cost:.6g}"),
    ),
    CoreBlock: _listed(
        "no core blocks",
        "block=name",
        ("tokens", lambda block: f"{block.tokens} of {block.limit}"),
        ("pinned", lambda block: "yes" if block.pinned else "no"),
        "description",
        ("text", lambda block: " / ".join(block.text.splitlines())),
    ),
    Tier: _listed(
        "",
        "tier=name",
        "where",
        ("items", lambda tier: "" if tier.items is None else f"{tier.items:,}"),
        ("bytes", lambda tier: "" if tier.bytes is None else f"{tier.bytes:,}"),
        ("at most", lambda tier: "" if tier.bound is None else f"{tier.bound:,}"),
        ("hits", lambda tier: "" if tier.hit_rate is None else f"{tier.hit_rate:.0%}"),
    ),
    LoggedQuery: _listed(
        "no questions are logged",
        "recall=id",
        "at",
        "who=asker",
        "question",
        ("shown", _shown_counts),
        ("ms", lambda query: f"{query.ms:.1f}"),
    ),
    WeightSnapshot: _listed(
        "nothing is learned yet: the shipped weights hold",
        "snapshot=id",
        "started from=parent",
        "adopted=adopted_at",
        "feedbacks=updates",
        "pairs tested=tested",
        ("right", lambda snapshot: _percent(snapshot.accuracy)),
        ("right before", lambda snapshot: _percent(snapshot.accuracy_before)),
    ),
    ParameterChange: _listed("no difference", "parameter", "before", "after"),
    Suggestion: _listed(
        "nothing to suggest",
        ("score", lambda suggestion: f"{suggestion.score:.2f}"),
        "topic",
        "other",
        ("evidence", lambda suggestion: "; ".join(suggestion.evidence)),
        "command",
    ),
}
"""The columns for lists of these types."""


@writes(Summary)
def summary_lines(done: Summary, *, verbose: bool = True) -> PlainText:
    """Yield lines on an ingestion; skipped files are named if few or `verbose`, else counted."""
    counts = ("added", "changed", "unchanged", "renamed", "removed")
    yield TextLine(", ".join(f"{getattr(done, name)} {name}" for name in counts))
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in done.seconds.items())
    yield TextLine(spent, style="quiet")
    if verbose or len(done.skipped) <= SKIPPED_LISTED:
        for where, why in done.skipped:
            yield TextLine(f"skipped {where}: {flat(why)}", style="warning")
        return
    kinds = Counter(PurePosixPath(where).suffix or "without a suffix" for where, _ in done.skipped)
    shown = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(KINDS_SHOWN))
    more = f" and {len(kinds) - KINDS_SHOWN} more kinds" if len(kinds) > KINDS_SHOWN else ""
    skipped = f"skipped {len(done.skipped)} files: {shown}{more} (--verbose: why)"
    yield TextLine(skipped, style="warning")


@writes(MirrorSummary)
def mirror_lines(done: MirrorSummary) -> PlainText:
    """Yield lines on a mirror: what was done, then what is left to a person."""
    counts = ("written", "read", "removed", "forgotten")
    for name in counts:
        for path in getattr(done, name):
            yield TextLine(f"{name} {path}")
    kept = "its note is kept (--deleted: forget or restore)"
    if blocker := done.forget_blocked_by:
        kept = f"its note is kept, because {blocker} was skipped and may be the same file, renamed"
    for path in done.deleted:
        yield TextLine(f"deleted {path}: {kept}")
    for what, cases in (("conflict", done.conflicts), ("skipped", done.skipped)):
        for path, why in cases:
            yield TextLine(f"{what} {path}: {flat(why)}", style="warning")
    totals = ", ".join(f"{len(getattr(done, name))} {name}" for name in counts)
    totals += f", {len(done.conflicts)} in conflict, {done.unchanged} unchanged"
    yield TextLine(totals, style="head")


def _counts(console: Console, counts: Mapping[str, int | str]) -> None:
    """Print named counts and remarks, one per line."""
    rows = table("", "")
    for name, count in counts.items():
        rows.add_row(name.replace("_", " "), count if isinstance(count, str) else f"{count:,}")
    console.print(rows)


@writes(dict[str, float])
def _parameters(values: Mapping[str, float]) -> PlainText:
    """Return a line `name = value` for each parameter."""
    return [TextLine(f"{name} = {value:g}") for name, value in values.items()]


@writes(dict[str, str])
def _renamed(names: Mapping[str, str]) -> PlainText:
    """Return a line `name → other` for each pair, or the line `none`."""
    lines = [TextLine(f"{name} → {other}") for name, other in names.items()]
    return lines or [TextLine("none")]


def render(console: Console, value: Any, kind: Any) -> None:
    """Print a result as text or as a table, by the declared type `kind`."""
    item = get_args(kind)[0] if get_origin(kind) is list else kind
    several = value if isinstance(value, list) else [value]
    if kind in WRITERS:
        show_lines(console, WRITERS[kind](value))
    elif kind in (dict[str, int], dict[str, int | str]):
        _counts(console, value)
    elif GenericAlias(list, item) in WRITERS:
        show_lines(console, WRITERS[GenericAlias(list, item)](several))
    elif item in TABLES:
        TABLES[item](console, several)
    else:
        show_lines(console, (TextLine(flat(str(one))) for one in several))
