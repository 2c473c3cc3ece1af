"""Review: changes that wait, writes that were refused, suggested links, contradictions."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import KeyEventArguments

from hades.domain.graph import Edge
from hades.domain.plain import one_line
from hades.domain.promotion import QualityReport, Suggestion
from hades.domain.proposal import Proposal
from hades.domain.statement import day, statement
from hades.errors import HadesError, NotFound
from hades.serve.auth.caller import Role
from hades.ui.controls import box, button, empty, error, link, text
from hades.ui.frame import Frame, page

SHOWN_AT_MOST = 50
LINES_SHOWN = 60
DECIDED_READ_AT_MOST = 1_000
RELATION = "relates_to"
"""The relation of an accepted suggestion, as in the command that `suggest` shows."""
Decide = Callable[[], Awaitable[None]]
Lines = list[tuple[str, str]]
"""The class of each line, `added`, `removed` or `same`, and its text."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One thing to decide: how it looks, what it would change, and the decisions allowed."""

    title: str
    detail: str
    topic: str
    lines: Lines
    accept: Decide | None
    reject: Decide | None


@page("/review", "Review", role=Role.WRITER)
async def review(frame: Frame) -> None:
    """Draw what waits for a decision, the chosen item marked."""
    text("Review", "", "h1")
    if said := frame.query.get("said"):
        text(said[:300], "note", "p", role="status")
    is_admin = frame.may_write and frame.visitor.may(Role.ADMIN, frame.space)
    if not is_admin:
        text("Proposals are decided by admins; you may accept suggestions.", "muted", "p")
    items = [await _proposal_item(frame, item, is_admin) for item in await _waiting(frame)]
    items += await _suggestions(frame, is_admin)
    with box("stack"):
        if not items:
            empty("Nothing waits for a decision.", then="Add something", href=frame.address("/add"))
        else:
            text("a accepts, r rejects, arrows move.", "muted small", "p")
            _list(frame, items)
        await _contradictions(frame)


def _list(frame: Frame, items: list[ReviewItem]) -> None:
    chosen, cards = 0, []
    for item in items:
        with box("card stack", "article", tabindex=0) as card:
            _item(frame, item)
        cards.append(card)
    cards[0].classes("chosen")

    async def pressed(event: KeyEventArguments) -> None:
        nonlocal chosen
        modified = event.modifiers.ctrl or event.modifiers.meta or event.modifiers.alt
        if not event.action.keydown or modified:
            return
        step = {"ArrowDown": 1, "ArrowUp": -1}.get(event.key.name, 0)
        if step:
            cards[chosen].classes(remove="chosen")
            chosen = max(0, min(len(items) - 1, chosen + step))
            cards[chosen].classes("chosen")
            cards[chosen].run_method("scrollIntoView", {"block": "nearest"})
        elif not event.action.repeat:
            item = items[chosen]
            decide = {"a": item.accept, "r": item.reject}.get(event.key.name)
            if decide is not None:
                await decide()

    ui.keyboard(on_key=pressed, ignore=["input", "select", "textarea"])


def _item(frame: Frame, item: ReviewItem) -> None:
    with box("line spread"):
        link(one_line(item.title)[:300], frame.address("/topic", name=item.topic))
        with box("line"):
            if item.accept is not None:
                button("Accept", item.accept, "main")
            if item.reject is not None:
                button("Reject", item.reject)
    text(item.detail[:500], "muted small", "p")
    with box("diff"):
        for kind, line in item.lines[:LINES_SHOWN]:
            text(line[:1000], kind)
    if len(item.lines) > LINES_SHOWN:
        text(f"{len(item.lines) - LINES_SHOWN:,} more lines are not shown.", "muted small")


def _decision(frame: Frame, said: str, *calls: tuple[str, dict[str, Any]]) -> Decide:
    """Return a function that makes calls, and draws the list again with what was done or why not.

    A call without a proposal's number decides on the proposal that the call before it returned.
    """

    async def decide() -> None:
        sentence, result = said, None
        try:
            for name, given in calls:
                decided = {} if given else {"proposal": getattr(result, "id", None)}
                result = await frame.call_now(name, **given, **decided)
        except HadesError as refused:
            sentence = f"Not done: {refused}"
        await frame.show(said=sentence)

    return decide


async def _waiting(frame: Frame) -> list[Proposal]:
    waiting: list[Proposal] = await frame.call_now("proposals", limit=SHOWN_AT_MOST)
    refused: list[Proposal] = await frame.call_now(
        "proposals", status="refused", limit=SHOWN_AT_MOST
    )
    return [*waiting, *refused]


async def _proposal_item(frame: Frame, proposal: Proposal, is_admin: bool) -> ReviewItem:
    fields, number = proposal.fields, {"proposal": proposal.id}
    subject = str(fields.get("topic") or fields.get("source") or fields.get("name"))
    refused = proposal.status == "refused"
    who = f"{'refused on writing' if refused else 'proposed'} {day(proposal.at)} by {proposal.by}"
    why = f", {proposal.confidence:.0%} sure" + (f": {proposal.why}" if proposal.why else "")
    name = f"proposal {proposal.id}"
    accept = _decision(frame, f"Accepted {name}.", ("approve", number))
    reject = _decision(frame, f"Rejected {name}.", ("reject", number))
    return ReviewItem(
        f"{proposal.kind} {subject}",
        who + why,
        subject,
        await _changes(frame, proposal, subject),
        accept if is_admin else None,
        reject if is_admin and not refused else None,
    )


async def _changes(frame: Frame, proposal: Proposal, subject: str) -> Lines:
    """Return the lines before and after a change."""
    fields = proposal.fields
    if proposal.kind == "remember":
        try:
            before = (await frame.call_now("get", topic=subject)).content
        except NotFound:
            before = ""
        lines = difflib.unified_diff(
            before.splitlines(), str(fields.get("content", "")).splitlines(), lineterm="", n=2
        )
        kinds = {"+": "added", "-": "removed", "@": "place"}
        return [(kinds.get(line[:1], "same"), line) for line in list(lines)[2:]]
    if proposal.kind in ("alias", "kind"):
        return [("added", f"+ {proposal.kind}: {fields.get(proposal.kind)}")]
    relation, target = fields.get("relation"), fields.get("target")
    edges = await _open_edges(frame, subject)
    if proposal.kind == "unrelate":
        ends = [edge for edge in edges if (edge.relation, edge.target.name) == (relation, target)]
        words = [statement(edge) for edge in ends] or [f"{subject} {relation} {target}"]
        return [("removed", f"- {one_line(line)}") for line in words]
    ends = [edge for edge in edges if fields.get("exclusive") and edge.relation == relation]
    return [
        *(("removed", f"- {one_line(statement(edge))}") for edge in ends),
        ("added", f"+ {one_line(subject)} {relation} {target}"),
    ]


async def _open_edges(frame: Frame, name: str) -> list[Edge]:
    try:
        edges: list[Edge] = await frame.call_now("edges", name=name, limit=200)
    except HadesError:
        return []
    return edges


async def _suggestions(frame: Frame, is_admin: bool) -> list[ReviewItem]:
    decided: list[Proposal] = await frame.call_now(
        "proposals", status="rejected", limit=DECIDED_READ_AT_MOST
    )
    gone = {(it.fields.get("source"), it.fields.get("target")) for it in decided}
    suggested: list[Suggestion] = await frame.call_now("suggest", limit=SHOWN_AT_MOST)
    items = []
    for pair in suggested:
        if (pair.topic, pair.other) in gone:
            continue
        edge = {"relation": RELATION, "target": pair.other}
        weak = {"confidence": min(pair.score, 0.99), "threshold": 1.0}
        accept = _decision(frame, "Linked.", ("relate", {"source": pair.topic, **edge}))
        propose = ("propose", {"subject": pair.topic, **edge, **weak})
        reject = _decision(frame, "Not suggested again.", propose, ("reject", {}))
        items.append(
            ReviewItem(
                f"link {pair.topic} and {pair.other}",
                f"suggested, {pair.score:.0%} sure: {'; '.join(pair.evidence)}",
                pair.topic,
                [("added", f"+ {one_line(pair.topic)} {RELATION} {one_line(pair.other)}")],
                accept if frame.may_write else None,
                reject if is_admin else None,
            )
        )
    return items


async def _contradictions(frame: Frame) -> None:
    report: QualityReport = await frame.call_now("quality")
    for finding in report.findings:
        if finding.what == "contradictions" and finding.count:
            text(f"Contradictions: {finding.count:,}", "", "h2")
            for example in finding.examples:
                error(one_line(example)[:500])
            text("Add a note that says what holds.", "muted small", "p")
            link("Add a note", frame.address("/add"))
