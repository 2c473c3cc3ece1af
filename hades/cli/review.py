"""Commands about changes that wait for approval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app
from hades.cli.door import Door, command

if TYPE_CHECKING:
    from rich.console import Console

    from hades.domain.proposal import Proposal

NUMBER = Annotated[int, typer.Argument(help="The number of the proposal.")]
VALUE_CHARACTERS_SHOWN = 100

review_app = typer.Typer(help="Approve or reject proposed changes.", no_args_is_help=True)
app.add_typer(review_app, name="review")


@command(app, "propose")
def propose(
    door: Door,
    subject: Annotated[str, typer.Argument(help="The topic or entity it is about.")],
    relation: Annotated[str | None, typer.Argument(help="The relation, for an edge.")] = None,
    target: Annotated[str | None, typer.Argument(help="Where the edge leads.")] = None,
    confidence: Annotated[float, typer.Option(help="How sure, 0 to 1.")] = 0.5,
    threshold: Annotated[float, typer.Option(help="From here on it is applied at once.")] = 0.8,
    content: Annotated[str | None, typer.Option(help="The topic's new state.")] = None,
    alias: Annotated[str | None, typer.Option(help="Another name of the entity.")] = None,
    kind: Annotated[str | None, typer.Option(help="What it is: person, method …")] = None,
    evidence: Annotated[str, typer.Option(help="Why it holds.")] = "",
    valid_from: Annotated[str | None, typer.Option(help="Since when it holds.")] = None,
) -> None:
    """Propose an edge, a state, an alias or a kind: applied if sure enough, else it waits."""
    with door.opened(create=True) as memory:
        done = memory.propose(
            subject,
            relation,
            target,
            confidence=confidence,
            threshold=threshold,
            content=content,
            alias=alias,
            kind=kind,
            evidence=evidence,
            valid_from=valid_from,
        )
    door.show(done, lambda out: _shown(out, [done]))


@command(review_app, "list")
def list_proposals(
    door: Door,
    status: Annotated[str, typer.Option(help="waiting, applied, rejected or all.")] = "waiting",
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 50,
) -> None:
    """List what waits for approval, oldest first, or what became of it."""
    with door.viewed() as view:
        found = view.proposals(None if status == "all" else status, limit=limit)
    door.show(found, lambda out: _shown(out, found))


@command(review_app, "approve")
def approve(door: Door, number: NUMBER) -> None:
    """Apply a change that waits."""
    with door.opened() as memory:
        done = memory.approve(number)
    door.show(done, lambda out: _shown(out, [done]))


@command(review_app, "reject")
def reject(
    door: Door, number: NUMBER, why: Annotated[str, typer.Option(help="The reason.")] = ""
) -> None:
    """Let a change that waits not be made."""
    with door.opened() as memory:
        done = memory.reject(number, why)
    door.show(done, lambda out: _shown(out, [done]))


def _shown(console: Console, found: list[Proposal]) -> None:
    from hades.cli import show

    rows = show.table("number", "status", "what", "sure", "by", "when")
    for one in found:
        rows.add_row(
            str(one.id),
            show.flat(f"{one.status}: {one.why}" if one.why else one.status),
            show.clean(_said(one)),
            f"{one.confidence:g} of {one.threshold:g}",
            show.clean(one.by),
            show.when(one.at),
        )
    console.print(rows if found else "nothing waits for approval")


def _said(proposal: Proposal) -> str:
    """What is proposed, on one line."""
    said = proposal.fields
    if proposal.kind == "relate":
        ends = f"{said['source']} --[{said['relation']}]--> {said['target']}"
        why = " ".join(str(said.get("evidence") or "").split())
        return f"{ends}  {why}" if why else ends
    if proposal.kind == "remember":
        text = " ".join(str(said["content"]).split())
        return f"{said['topic']}: {text[:VALUE_CHARACTERS_SHOWN]}"
    return f"{said['name']}, {proposal.kind} {said[proposal.kind]}"
