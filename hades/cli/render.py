"""How results look on a terminal: one table or function for each type of result."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, get_args, get_origin

from rich.markup import escape
from rich.table import Table

from hades.domain.answer import Answer, Neighbour, Path, Recall, Subgraph, Usage, WorkingMemory
from hades.domain.compare import commit_of
from hades.domain.context import BudgetedContext, CoreBlock
from hades.domain.extraction import Extraction
from hades.domain.graph import (
    Edge,
    Entity,
    FactChange,
    Mentioned,
    Related,
    RelationChange,
    Resolution,
)
from hades.domain.plain import one_line
from hades.domain.promotion import Promotion, QualityReport, Suggestion
from hades.domain.proposal import Proposal
from hades.domain.statement import statement
from hades.domain.summaries import Consolidation
from hades.domain.tiers import Tier
from hades.domain.topics import Change, Chunk, Diff, Hit, Space, State, Topic
from hades.ingest.summary import Summary
from hades.language.names import own_heading
from hades.models.chat import ModelReport
from hades.store.records import Problem

if TYPE_CHECKING:
    from rich.console import Console

Show = Callable[["Console", Any], None]

TEXT_CHARACTERS_SHOWN = 100
SKIPPED_LISTED = 3
"""So many skipped files are named; more are counted by kind."""
KINDS_SHOWN = 6


def when(moment: datetime | None) -> str:
    """A time to the second, in UTC; an open end is a dash."""
    return "–" if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def clean(text: str) -> str:
    """A name or the like on one line, that cannot play tricks on the terminal or the markup."""
    return escape(one_line(text))


def flat(text: str) -> str:
    """Some words of a text, on one line."""
    return clean(" ".join(text.split()))


def printable(text: str) -> str:
    """Text without the characters that steer a terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def table(*columns: str) -> Table:
    """A plain table with a head line."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    return made


def state(console: Console, found: State) -> None:
    """A state: a head line, then its content as it is."""
    if found.forgotten:
        console.print(f"forgot [bold]{clean(found.topic)}[/]")
        return
    parts = [f"[bold]{clean(found.id)}[/]", f"since {when(found.valid_from)}"]
    if found.valid_to is not None:
        parts.append(f"until {when(found.valid_to)}")
    if found.confidence != 1:
        parts.append(f"confidence {found.confidence:g}")
    if found.last_used is not None:
        parts.append(f"used {found.access_count:,}×, last {when(found.last_used)}")
    parts += [f"[cyan]#{clean(tag)}[/]" for tag in found.tags]
    console.print("  ".join(parts))
    # Past the console: it would expand tabs and wrap lines.
    console.file.write(printable(found.content) + "\n")


def diff(console: Console, found: Diff) -> None:
    """A difference in colour."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for name, (before, after) in found.fields.items():
        was, now = (
            json.dumps(one, ensure_ascii=False) if isinstance(one, dict) else str(one)
            for one in (before, after)
        )
        console.print(f"{name}: [red]{clean(was)}[/] → [green]{clean(now)}[/]")
    for line in found.text.split("\n") if found.text else []:
        colour = colours.get(line[:1], "default")
        console.print(f"[{colour}]{escape(printable(line))}[/]")
    if not found.text and not found.fields:
        console.print(
            f"{clean(found.topic)}: versions {found.before} and {found.after} are the same"
        )


def _listed(empty: str, *columns: str | tuple[str, Callable[[Any], object]]) -> Show:
    """What shows a list as a table, or the word for an empty one.

    A column is `title`, `title=attribute`, or a title and a function of an item.
    """
    read: dict[str, Callable[[Any], object]] = {}
    for column in columns:
        if isinstance(column, str):
            title, _, attribute = column.partition("=")
            column = title, attrgetter(attribute or title)
        read |= [column]

    def show(console: Console, found: Sequence[Any]) -> None:
        rows = table(*read)
        for one in found:
            rows.add_row(*(_cell(value(one)) for value in read.values()))
        console.print(rows if found or not empty else empty)

    return show


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return when(value)
    if value is None:
        return ""
    return clean(", ".join(value) if isinstance(value, tuple) else str(value))


def _told(one: State) -> str:
    """What a version brought: its commit where it has one, else how it begins."""
    if one.forgotten:
        return f"(forgotten) {commit_of(one)}".strip()
    return commit_of(one) or _some(one.content.strip().split("\n")[0])


_of_one_topic = _listed(
    "", "version", "true since=valid_from", "recorded=recorded_at", ("content", _told)
)
_of_many = _listed("none", "state=id", "true since=valid_from", ("content", _told))


def history(console: Console, found: Sequence[State]) -> None:
    """States in a table: the versions of one topic, or those of several."""
    one = len({state.topic for state in found}) == 1 and not found[0].level
    (_of_one_topic if one else _of_many)(console, found)


topics = _listed(
    "no topics",
    *("topic=name", "version", "true since=valid_from"),
    ("tags", lambda topic: " ".join(topic.tags)),
)
entities = _listed(
    "no entities", "entity=name", "kind", "passages=frequency", "edges", "also=aliases", "merged"
)
spaces = _listed("", "space=name", "topics", "created=created_at")
log = _listed(
    "", "change=number", "at", "who=actor", "what=action", "about=subject", "changed=summary"
)
chunks = _listed(
    "no passages: it is not indexed yet",
    "passage=ordinal",
    ("characters", lambda chunk: f"{chunk.start}–{chunk.end}"),
    "tokens",
    ("heading", lambda chunk: own_heading(chunk.topic, chunk.heading)),
    ("text", lambda chunk: _some(chunk.text)),
)
related = _listed(
    "nothing is mentioned with it",
    *("name", "kind", "together=count"),
    ("strength", lambda one: f"{one.strength:.2f}"),
)
neighbours = _listed(
    "no neighbours",
    *("name=node.name", "kind=node.kind", "hops"),
    ("score", lambda one: f"{one.score:.3f}"),
    ("by way of", lambda one: " ".join(str(one.path).split())),
)
models = _listed(
    "no language model is set: HADES_MODEL or `models:` names one",
    *("name", "model", "reads=context_tokens", "price in=input_price", "price out=output_price"),
    ("answers", lambda one: {None: "", True: "yes", False: f"no: {one.why}"}[one.answers]),
    *("calls=totals.calls", "failures=totals.failures"),
    ("tokens", lambda one: one.totals.prompt_tokens + one.totals.completion_tokens),
    ("cost", lambda one: "" if one.input_price is None else f"{one.totals.cost:.6g}"),
)
core = _listed(
    "no core blocks",
    "block=name",
    ("tokens", lambda one: f"{one.tokens} of {one.limit}"),
    ("pinned", lambda one: "yes" if one.pinned else "no"),
    "description",
    ("text", lambda one: " / ".join(one.text.splitlines())),
)
tiers = _listed(
    "",
    *("tier=name", "where"),
    ("items", lambda one: "" if one.items is None else f"{one.items:,}"),
    ("bytes", lambda one: "" if one.bytes is None else f"{one.bytes:,}"),
    ("at most", lambda one: "" if one.bound is None else f"{one.bound:,}"),
    ("hits", lambda one: "" if one.hit_rate is None else f"{one.hit_rate:.0%}"),
)


def proposals(console: Console, found: Sequence[Proposal]) -> None:
    """Proposals: number, what became of it and what it is; then how sure, who and when; why."""
    for one in found:
        console.print(f"[bold]{one.id}[/]  {one.status}  {clean(_proposed(one))}")
        by = one.by if one.decided_by in (None, one.by) else f"{one.by}, {one.decided_by}"
        sure = f"sure {one.confidence:g} of {one.threshold:g}, by {by}, {when(one.at)}"
        console.print(f"   [dim]{clean(sure)}[/]")
        evidence = str(one.fields.get("evidence") or "")
        for reason in (one.why, "" if evidence in one.why else evidence):
            if reason:
                console.print(f"   {flat(reason)}")
    if not found:
        console.print("nothing waits for approval")


def _some(text: str) -> str:
    """The first words of a text, on one line."""
    return " ".join(text.split())[:TEXT_CHARACTERS_SHOWN]


def edges(console: Console, found: Sequence[Edge]) -> None:
    """Edges, one a line: number, ends and relation, since and until when, why.

    What a text states has a dot for a number, and says where it stands.
    """
    for edge in found:
        number = str(edge.id) if edge.id > 0 else "·"
        parts = [f"[dim]{number:>4}[/]  {clean(str(edge))}", f"since {when(edge.valid_from)}"]
        if edge.valid_to is not None:
            parts.append(f"until {when(edge.valid_to)}")
        if edge.superseded_by is not None:
            parts.append(f"then edge {edge.superseded_by}")
        if edge.retired_at is not None:
            parts.append(f"[red]believed until {when(edge.retired_at)}[/]")
        if edge.weight != 1:
            parts.append(f"weight {edge.weight:g}")
        if edge.evidence:
            parts.append(f"[italic]{flat(edge.evidence)}[/]")
        if place := edge.metadata.get("extracted_from"):
            read = f"read by {edge.metadata.get('extracted_by')} in {place}"
            parts.append(f"[dim]{clean(read)}[/]")
        if edge.provenance is not None:
            parts.append(f"[dim]in {clean(edge.provenance.chunk)}[/]")
        console.print("  ".join(parts))
    if not found:
        console.print("no edges")


def change(console: Console, done: FactChange) -> None:
    """What a change of fact ended, opened and wrote, in words."""
    for word, found in (("ended", done.closed), ("opened", done.opened)):
        for edge in found:
            console.print(f"{word:<6} [dim]{edge.id:>4}[/]  {clean(statement(edge))}")
    if done.state is not None:
        console.print(f"wrote  [bold]{clean(done.state.id)}[/]")


def promotion(console: Console, done: Promotion) -> None:
    """The new state, then what became of edges and conflicts, and how it was made."""
    would = "would be " if done.dry_run else ""
    if not done.changed:
        console.print(f"no news: [bold]{clean(done.state.id)}[/] stays as it is")
        return
    state(console, done.state)
    for word, found in (("closed", done.closed), ("opened", done.opened)):
        for edge in found:
            console.print(f"{would}{word} [dim]{edge.id}[/]  {clean(statement(edge))}")
    for conflict in done.conflicts:
        console.print(f"[yellow]conflict[/] {flat(str(conflict))}")
    if done.proposed:
        console.print(f"{len(done.proposed)} {would}put up for `hades review`")
    used = f", {flat(str(done.usage))}" if done.usage else ""
    dropped = f", {done.dropped} unsupported sentences dropped" if done.dropped else ""
    why = f" ({flat(done.why)})" if done.why else ""
    sources = f"{len(done.sources)} source{'s' * (len(done.sources) != 1)}"
    console.print(f"[dim]{done.by}{why}: {sources}{dropped}{used}[/]")


suggestions = _listed(
    "nothing to suggest",
    ("score", lambda one: f"{one.score:.2f}"),
    *("topic", "other"),
    ("evidence", lambda one: "; ".join(one.evidence)),
    "command",
)


def quality(console: Console, found: QualityReport) -> None:
    """What could be better, kind by kind, with examples and what to do."""
    console.print(f"{found.topics:,} topics in {clean(found.space)}, {found.compared:,} compared")
    if found.unindexed:
        console.print(f"[yellow]{found.unindexed:,} states are not indexed yet[/]")
    for one in found.findings:
        console.print(f"[bold]{one.count:>6,}[/]  {clean(one.what)}")
        for example in one.examples:
            console.print(f"        {flat(example)}")
        if one.count:
            console.print(f"        [dim]to do: {clean(one.advice)}[/]")


def mentions(console: Console, found: list[Mentioned]) -> None:
    """Passages that mention a name: where, then the line it stands in."""
    for one in found:
        text = one.chunk.text
        at = one.positions[0] if one.positions else 0
        line = one.line + text.count("\n", 0, at)
        said = text[text.rfind("\n", 0, at) + 1 :].split("\n")[0]
        times = f"{len(one.positions)}×" if one.positions else "title"
        console.print(f"[bold]{clean(one.chunk.topic)}:{line}[/]  [dim]{times}[/]  {flat(said)}")
    if not found:
        console.print("no passage mentions it")


def resolution(console: Console, found: Resolution) -> None:
    """What was, or would be, merged and joined."""
    would = "would be " if found.dry_run else ""
    for pairs, what in (
        (found.merged, f"{would}merged into"),
        (found.left, "left beside"),
        (found.similar, f"{would}similar_to"),
    ):
        for pair in pairs:
            ends = f"{clean(pair.other)} [dim]{what}[/] {clean(pair.keep)}"
            console.print(f"{ends}  {pair.score:.2f}  [italic]{flat(pair.why)}[/]")
    console.print(
        f"{len(found.merged)} {would}merged, {len(found.left)} left, "
        f"{len(found.similar)} {would}joined, {found.ended} ended, "
        f"{found.embedded} names {would}embedded"
    )


def extraction(console: Console, found: Extraction) -> None:
    """Facts that were read, what became of each, and what failed."""
    would = "would be " if found.dry_run else ""
    done = {name: f"{would}{name}" for name in ("applied", "proposed", "ended", "refused")}
    for fact in found.facts:
        said = f"{'not ' if fact.negated else ''}{fact.subject} {fact.relation} {fact.object}"
        since = f", since {fact.valid_from:%Y-%m-%d}" if fact.valid_from.year > 1 else ""
        until = f", until {fact.valid_to:%Y-%m-%d}" if fact.valid_to else ""
        outcome = done.get(fact.outcome, fact.outcome)
        console.print(f"{clean(said + since + until)}  [dim]{outcome}, {clean(fact.source)}[/]")
    counts = ", ".join(f"{n} {done.get(what, what)}" for what, n in found.outcomes.items())
    is_estimate = found.dry_run and found.usage
    done_so = "would be sent to the model" if is_estimate else f"read: {counts or 'no facts'}"
    console.print(f"{found.states} state{'s' * (found.states != 1)} {done_so}")
    if found.failed:
        refused = found.outcomes.get("refused", 0)
        of = sum(found.outcomes.values()) + found.failed - refused
        first = flat(found.failures[0])
        console.print(f"[yellow]failed[/]: {found.failed} of {of}, first: {first}")
    _usage(console, found.usage, dry_run=found.dry_run)


def summary(console: Console, done: Summary, *, verbose: bool = True) -> None:
    """What an ingestion did; what was skipped file by file, or counted by kind."""
    counts = ("added", "changed", "unchanged", "renamed", "removed")
    console.print(", ".join(f"{getattr(done, name)} {name}" for name in counts))
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in done.seconds.items())
    console.print(f"[dim]{spent}[/]")
    if verbose or len(done.skipped) <= SKIPPED_LISTED:
        for where, why in done.skipped:
            console.print(f"[yellow]skipped[/] {clean(where)}: {flat(why)}")
        return
    kinds = Counter(PurePosixPath(where).suffix or "without a suffix" for where, _ in done.skipped)
    shown = ", ".join(f"{count} {clean(kind)}" for kind, count in kinds.most_common(KINDS_SHOWN))
    more = f" and {len(kinds) - KINDS_SHOWN} more kinds" if len(kinds) > KINDS_SHOWN else ""
    console.print(f"[yellow]skipped[/] {len(done.skipped)} files: {shown}{more} (--verbose: why)")


def consolidation(console: Console, done: Consolidation) -> None:
    """The summaries that were, or would be, made."""
    would = "would be " if done.dry_run else ""
    for one in done.made:
        why = f" ({one.why})" if one.why else ""
        said = f"of {one.states} states, {one.tokens} tokens, {one.by}{why}"
        console.print(f"{would}made [bold]{clean(one.topic)}[/] {clean(said)}")
    for topic, why in done.skipped:
        console.print(f"[yellow]skipped[/] {clean(topic)}: {flat(why)}")
    console.print(f"{len(done.made)} {would}made, {done.unchanged} unchanged")
    _usage(console, done.usage, dry_run=done.dry_run)


def _usage(console: Console, usage: Usage | None, *, dry_run: bool) -> None:
    if usage is not None:
        console.print(f"[dim]{'would take at most ' * dry_run}{flat(str(usage))}[/]")


def numbers(console: Console, found: Mapping[str, float]) -> None:
    """Named numbers, one a line; those with a fraction are seconds."""
    is_seconds = any(isinstance(number, float) for number in found.values())
    rows = table("", "seconds" if is_seconds else "")
    for name, number in found.items():
        rows.add_row(name.replace("_", " "), f"{number:{'.2f' if is_seconds else ','}}")
    console.print(rows)


def strings(console: Console, found: dict[str, str]) -> None:
    """One name for another, a pair a line."""
    for name, other in found.items():
        console.print(f"{clean(name)} → {clean(other)}")
    if not found:
        console.print("none")


def turn(console: Console, found: RelationChange) -> None:
    """When a relation gave way to another, and to which."""
    became = f" → {found.after.relation} {found.after.target}" if found.after else ""
    line = f"{when(found.at)}  {found.before.relation} {found.before.target}{became}"
    console.print(clean(line))


def problems(console: Console, found: list[Problem]) -> None:
    """What is damaged, and what to do about it."""
    for problem in found:
        console.print(f"[red]{clean(problem.where)}[/]: {clean(problem.what)}")
        console.print(f"  to repair: {clean(problem.repair)}")
    if not found:
        console.print("everything is as it should be")


def _proposed(proposal: Proposal) -> str:
    """What is proposed, on one line."""
    said = proposal.fields
    if proposal.kind == "remember":
        return f"{said['topic']}: {_some(said['content'])}"
    if proposal.kind in ("relate", "unrelate"):
        ends = f"{said['source']} --[{said['relation']}]--> {said['target']}"
        if proposal.kind == "unrelate":
            return f"end {ends}, {said['at'][:10]}"
        return ends + (f", since {said['valid_from'][:10]}" if said.get("valid_from") else "")
    return f"{said['name']}, {proposal.kind} {said[proposal.kind]}"


def render(console: Console, value: Any, kind: Any) -> None:
    """Show a result by the type its operation declares."""
    from hades.cli import answers

    listed: dict[Any, Show] = {
        State: history,
        Topic: topics,
        Edge: edges,
        Entity: entities,
        Space: spaces,
        Mentioned: mentions,
        Related: related,
        Change: log,
        Hit: answers.hits,
        Chunk: chunks,
        Problem: problems,
        Proposal: proposals,
        Suggestion: suggestions,
        Path: answers.paths,
        Neighbour: neighbours,
        ModelReport: models,
        CoreBlock: core,
        Tier: tiers,
    }
    single: dict[Any, Show] = {
        State: state,
        Diff: diff,
        RelationChange: turn,
        FactChange: change,
        Resolution: resolution,
        Extraction: extraction,
        Promotion: promotion,
        QualityReport: quality,
        Consolidation: consolidation,
        Summary: summary,
        Answer: answers.answer,
        Recall: answers.recall,
        Subgraph: answers.subgraph,
        WorkingMemory: answers.working_memory,
        BudgetedContext: answers.budgeted,
        dict[str, int]: numbers,
        dict[str, float]: numbers,
        dict[str, str]: strings,
    }
    item = get_args(kind)[0] if get_origin(kind) is list else kind
    if kind in single:
        single[kind](console, value)
    elif item in listed:
        listed[item](console, value if isinstance(value, list) else [value])
    else:
        for one in value if isinstance(value, list) else [value]:
            console.print(flat(str(one)))
