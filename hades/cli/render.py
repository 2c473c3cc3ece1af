"""How results look on a terminal: one function for each type of result."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args, get_origin

from rich.markup import escape
from rich.table import Table

from hades.domain.answer import Answer, Neighbour, Path, Recall, Subgraph, WorkingSet
from hades.domain.graph import (
    Edge,
    Entity,
    FactChange,
    Mentioned,
    Related,
    RelationChange,
    Resolution,
)
from hades.domain.names import one_line, own_heading
from hades.domain.proposal import Proposal
from hades.domain.statement import statement
from hades.domain.topics import Change, Chunk, Diff, Hit, Space, State, Topic
from hades.ingest.summary import Summary
from hades.store.records import Problem

if TYPE_CHECKING:
    from rich.console import Console


TEXT_CHARACTERS_SHOWN = 100


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
    parts += [f"[cyan]#{clean(tag)}[/]" for tag in found.tags]
    console.print("  ".join(parts))
    # Past the console: it would expand tabs and wrap lines.
    console.file.write(printable(found.content) + "\n")


def history(console: Console, states: list[State]) -> None:
    """A trace: one line a state."""
    rows = table("version", "true since", "recorded", "content")
    for found in states:
        first = "(forgotten)" if found.forgotten else found.content.strip().split("\n")[0]
        rows.add_row(
            str(found.version), when(found.valid_from), when(found.recorded_at), flat(first[:100])
        )
    console.print(rows)


def diff(console: Console, found: Diff) -> None:
    """A difference in colour."""
    colours = {"+": "green", "-": "red", "@": "cyan"}
    for name, (before, after) in found.fields.items():
        console.print(f"{name}: [red]{clean(str(before))}[/] → [green]{clean(str(after))}[/]")
    for line in found.text.split("\n") if found.text else []:
        colour = colours.get(line[:1], "default")
        console.print(f"[{colour}]{escape(printable(line))}[/]")
    if not found.text and not found.fields:
        console.print(
            f"{clean(found.topic)}: versions {found.before} and {found.after} are the same"
        )


def topics(console: Console, found: list[Topic]) -> None:
    """A list of topics."""
    rows = table("topic", "version", "true since", "tags")
    for topic in found:
        rows.add_row(
            clean(topic.name),
            f"{topic.version}",
            when(topic.valid_from),
            clean(" ".join(topic.tags)),
        )
    console.print(rows if found else "no topics")


def edges(console: Console, found: Iterable[Edge]) -> None:
    """Edges, one a line: number, ends and relation, since and until when, why.

    What a text states has a dot for a number, and says where it stands.
    """
    shown = False
    for edge in found:
        shown = True
        ends = (
            f"{clean(edge.source.name)} --\\[{clean(edge.relation)}]--> {clean(edge.target.name)}"
        )
        number = str(edge.id) if edge.id > 0 else "·"
        parts = [f"[dim]{number:>4}[/]  {ends}", f"since {when(edge.valid_from)}"]
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
        if edge.provenance is not None:
            parts.append(f"[dim]in {clean(edge.provenance.chunk)}[/]")
        console.print("  ".join(parts))
    if not shown:
        console.print("no edges")


def change(console: Console, done: FactChange) -> None:
    """What a change of fact ended, opened and wrote, in words."""
    for word, found in (("ended", done.closed), ("opened", done.opened)):
        for edge in found:
            console.print(f"{word:<6} [dim]{edge.id:>4}[/]  {clean(statement(edge))}")
    if done.state is not None:
        console.print(f"wrote  [bold]{clean(done.state.id)}[/]")


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


def entities(console: Console, found: list[Entity]) -> None:
    """A list of entities."""
    rows = table("entity", "kind", "passages", "edges", "also", "merged")
    for entity in found:
        rows.add_row(
            clean(entity.name),
            clean(entity.kind),
            str(entity.frequency),
            str(entity.edges),
            clean(", ".join(entity.aliases)),
            clean(", ".join(entity.merged)),
        )
    console.print(rows if found else "no entities")


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


def spaces(console: Console, found: list[Space]) -> None:
    """A list of spaces."""
    rows = table("space", "topics", "created")
    for space in found:
        rows.add_row(clean(space.name), str(space.topics), when(space.created_at))
    console.print(rows)


def log(console: Console, found: list[Change]) -> None:
    """The change log."""
    rows = table("change", "at", "who", "what", "about")
    for change in found:
        rows.add_row(
            str(change.number),
            when(change.at),
            clean(change.actor),
            change.action,
            clean(change.subject or ""),
        )
    console.print(rows)


def hits(console: Console, found: list[Hit]) -> None:
    """What a search found: where, how well and by which retriever, then the passage."""
    for number, hit in enumerate(found, start=1):
        retrievers = "  ".join(f"{one} {score:.3g}" for one, score in hit.retrievers.items())
        where = f"{clean(hit.chunk.topic)}:{hit.line}"
        console.print(f"[bold]{number}. {where}[/]  {hit.score:.3f}  [dim]{retrievers}[/]")
        if heading := own_heading(hit.chunk.topic, hit.chunk.heading):
            console.print(f"   [cyan]{clean(heading)}[/]")
        text = " ".join(hit.chunk.text.split())
        console.print("   " + clean(text[:300] + (" …" if len(text) > 300 else "")))
    if not found:
        console.print("nothing found")


def summary(console: Console, done: Summary) -> None:
    """What an ingestion did."""
    counts = ("added", "changed", "unchanged", "renamed", "removed")
    console.print(", ".join(f"{getattr(done, name)} {name}" for name in counts))
    spent = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in done.seconds.items())
    console.print(f"[dim]{spent}[/]")
    for where, why in done.skipped:
        console.print(f"[yellow]skipped[/] {clean(where)}: {flat(why)}")


def numbers(console: Console, found: dict[str, int]) -> None:
    """Named numbers, one a line."""
    rows = table("", "")
    for name, number in found.items():
        rows.add_row(name.replace("_", " "), f"{number:,}")
    console.print(rows)


def seconds(console: Console, found: dict[str, float]) -> None:
    """Seconds by name, one a line."""
    rows = table("", "seconds")
    for name, spent in found.items():
        rows.add_row(name, f"{spent:.2f}")
    console.print(rows)


def strings(console: Console, found: dict[str, str]) -> None:
    """One name for another, a pair a line."""
    for name, other in found.items():
        console.print(f"{clean(name)} → {clean(other)}")
    if not found:
        console.print("none")


def chunks(console: Console, found: list[Chunk]) -> None:
    """The passages of a state: where each stands, how long it is, how it begins."""
    rows = table("passage", "characters", "tokens", "heading", "text")
    for one in found:
        text = flat(one.text)[:TEXT_CHARACTERS_SHOWN]
        heading = clean(own_heading(one.topic, one.heading))
        rows.add_row(str(one.ordinal), f"{one.start}–{one.end}", str(one.tokens), heading, text)
    console.print(rows if found else "no passages: it is not indexed yet")


def turn(console: Console, found: RelationChange) -> None:
    """When a relation gave way to another, and to which."""
    became = f" → {found.after.relation} {found.after.target}" if found.after else ""
    line = f"{when(found.at)}  {found.before.relation} {found.before.target}{became}"
    console.print(clean(line))


def related(console: Console, found: list[Related]) -> None:
    """What is mentioned together with a name."""
    rows = table("name", "kind", "together", "strength")
    for one in found:
        rows.add_row(clean(one.name), one.kind, str(one.count), f"{one.strength:.2f}")
    console.print(rows if found else "nothing is mentioned with it")


def problems(console: Console, found: list[Problem]) -> None:
    """What is damaged, and what to do about it."""
    for problem in found:
        console.print(f"[red]{clean(problem.where)}[/]: {clean(problem.what)}")
        console.print(f"  to repair: {clean(problem.repair)}")
    if not found:
        console.print("everything is as it should be")


def proposals(console: Console, found: list[Proposal]) -> None:
    """Proposed changes and what became of them."""
    rows = table("number", "status", "what", "sure", "by", "when")
    for one in found:
        rows.add_row(
            str(one.id),
            flat(f"{one.status}: {one.why}" if one.why else one.status),
            clean(_proposed(one)),
            f"{one.confidence:g} of {one.threshold:g}",
            clean(one.by),
            when(one.at),
        )
    console.print(rows if found else "nothing waits for approval")


def _proposed(proposal: Proposal) -> str:
    """What is proposed, on one line."""
    said = proposal.fields
    if proposal.kind == "unrelate":
        return f"end {said['source']} --[{said['relation']}]--> {said['target']}, {said['at'][:10]}"
    if proposal.kind == "relate":
        ends = f"{said['source']} --[{said['relation']}]--> {said['target']}"
        why = " ".join(str(said.get("evidence") or "").split())
        return f"{ends}  {why}" if why else ends
    if proposal.kind == "remember":
        text = " ".join(str(said["content"]).split())
        return f"{said['topic']}: {text[:TEXT_CHARACTERS_SHOWN]}"
    return f"{said['name']}, {proposal.kind} {said[proposal.kind]}"


def render(console: Console, value: Any, kind: Any) -> None:
    """Show a result by the type its operation declares."""
    from hades.cli import answers

    listed: dict[Any, Any] = {
        State: history,
        Topic: topics,
        Edge: edges,
        Entity: entities,
        Space: spaces,
    }
    listed |= {Mentioned: mentions, Related: related, Change: log, Hit: hits, Chunk: chunks}
    listed |= {Problem: problems, Proposal: proposals}
    listed |= {Path: answers.paths, Neighbour: answers.neighbours}
    single: dict[Any, Any] = {
        State: state,
        Diff: diff,
        RelationChange: turn,
        FactChange: change,
        Resolution: resolution,
        Summary: summary,
        Answer: answers.answer,
        Recall: answers.recall,
        Subgraph: answers.subgraph,
        WorkingSet: answers.working_set,
        dict[str, int]: numbers,
        dict[str, float]: seconds,
        dict[str, str]: strings,
    }
    if get_origin(kind) is list and get_args(kind)[0] in listed:
        listed[get_args(kind)[0]](console, value)
    elif kind in single:
        single[kind](console, value)
    elif kind in listed:
        listed[kind](console, [value])
    else:
        for one in value if isinstance(value, list) else [value]:
            console.print(flat(str(one)))
