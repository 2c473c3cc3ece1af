"""Review: changes that wait, writes that were refused, suggested links, contradictions."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.element import Element
from nicegui.events import KeyEventArguments

from hades.domain.graph import SUPERSEDES, Edge
from hades.domain.plain import one_line
from hades.domain.promotion import Disagreement, QualityReport, Side, Suggestion
from hades.domain.proposal import Proposal
from hades.domain.statement import day, statement
from hades.domain.times import iso
from hades.errors import Conflict, HadesError
from hades.serve.auth.caller import Role
from hades.ui.controls import box, button, diff, empty, link, text
from hades.ui.frame import Frame, found, page

SHOWN_AT_MOST = 50
LINES_SHOWN = 60
DECIDED_READ_AT_MOST = 1_000
RELATION = "relates_to"
"""The relation of an accepted suggestion, as in the command that `suggest` shows."""
Calls = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True, slots=True)
class Decision:
    """The calls that decide on an item, and what is said when they are done."""

    said: str
    calls: Calls


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One thing to decide: how it looks, what it would change, and the decisions allowed."""

    title: str
    detail: str
    topic: str
    lines: list[str]
    """Begun with `+` or `-`, as in a difference."""
    accept: Decision | None
    reject: Decision | None


@page("/review", "Review", role=Role.WRITER)
async def review(frame: Frame) -> None:
    """Draw what waits for a decision: proposals at once, then what takes longer to find."""
    text("Review", "", "h1")
    is_admin = frame.may_write and frame.visitor.may(Role.ADMIN, frame.space)
    if not is_admin:
        text("Admins decide on proposals and reject; you may accept the rest.", "muted", "p")
    text("a accepts, r rejects, arrows move.", "muted small", "p")
    queue = Queue(frame)
    waiting: list[Proposal] = await frame.call_now("proposals", limit=SHOWN_AT_MOST)
    waiting += await frame.call_now("proposals", status="refused", limit=SHOWN_AT_MOST)
    for proposal in waiting:
        queue.add(await _proposal_item(frame, proposal, is_admin))
    looking = text("Looking for links and contradictions …", "muted", "p")
    for suggested in await _suggestions(frame, is_admin):
        queue.add(suggested)
    report: QualityReport = await frame.call_now("quality")
    for conflict in report.disagreements:
        if not any(_is_about(proposal, conflict) for proposal in waiting):
            queue.add(await _contradiction(frame, conflict, is_admin))
    looking.delete()
    if not queue.cards:
        empty("Nothing waits for a decision.", then="Add something", href=frame.address("/add"))


class Queue:
    """The items on the page, one of them chosen. A decided item leaves; nothing is read again."""

    def __init__(self, frame: Frame) -> None:
        self.cards: list[tuple[Element, ReviewItem]] = []
        self._frame = frame
        self._chosen = 0
        self._deciding = False
        self._said = box("", role="status")
        self._place = box("stack")
        ui.keyboard(on_key=self._pressed, ignore=["input", "select", "textarea"])

    def add(self, item: ReviewItem) -> None:
        """Draw an item below the others."""
        with self._place, box("card stack", "article", tabindex=0) as card:
            with box("line spread"):
                link(one_line(item.title)[:300], self._frame.address("/topic", name=item.topic))
                with box("line"):
                    if item.accept is not None:
                        button("Accept", partial(self._decide, card, item.accept), "main")
                    if item.reject is not None:
                        button("Reject", partial(self._decide, card, item.reject))
            text(item.detail[:500], "muted small", "p")
            diff(item.lines, LINES_SHOWN)
        self.cards.append((card, item))
        card.on("focusin", lambda: self._choose(self._at(card)), args=[])
        self._choose(self._chosen)

    def _at(self, card: Element) -> int:
        return next(at for at, (shown, _) in enumerate(self.cards) if shown is card)

    def _choose(self, at: int) -> None:
        self._chosen = max(0, min(len(self.cards) - 1, at))
        for number, (card, _) in enumerate(self.cards):
            card.classes(
                add="chosen" if number == self._chosen else "",
                remove="" if number == self._chosen else "chosen",
            )

    async def _pressed(self, event: KeyEventArguments) -> None:
        modified = event.modifiers.ctrl or event.modifiers.meta or event.modifiers.alt
        if not self.cards or not event.action.keydown or modified:
            return
        step = {"ArrowDown": 1, "ArrowUp": -1}.get(event.key.name, 0)
        card, item = self.cards[self._chosen]
        if step:
            self._choose(self._chosen + step)
            self.cards[self._chosen][0].run_method("focus")
        elif not event.action.repeat:
            decision = {"a": item.accept, "r": item.reject}.get(event.key.name)
            if decision is not None:
                await self._decide(card, decision)

    async def _decide(self, card: Element, decision: Decision) -> None:
        """Make a decision, say what was done or why not, and take its item away."""
        if self._deciding:  # a second key must not decide on the next item unseen
            return
        self._deciding = True
        self._said.clear()
        try:
            with self._said, self._frame.errors():
                try:
                    await decide(self._frame, decision.calls)
                    text(decision.said, "note", "p")
                except Conflict as decided:
                    text(f"Not done: {decided}"[:500], "note", "p")
                at = self._at(card)
                del self.cards[at]
                card.delete()
                self._choose(at)
        finally:
            self._deciding = False


async def decide(frame: Frame, calls: Calls) -> None:
    """Make calls. One without arguments decides on the proposal that the call before returned."""
    result = None
    for name, given in calls:
        result = await frame.call_now(name, **(given or {"proposal": getattr(result, "id", None)}))


async def _proposal_item(frame: Frame, proposal: Proposal, is_admin: bool) -> ReviewItem:
    fields, number = proposal.fields, {"proposal": proposal.id}
    subject = str(fields.get("topic") or fields.get("source") or fields.get("name"))
    refused = proposal.status == "refused"
    who = f"{'refused on writing' if refused else 'proposed'} {day(proposal.at)} by {proposal.by}"
    why = f", {proposal.confidence:.0%} sure" + (f": {proposal.why}" if proposal.why else "")
    name = f"proposal {proposal.id}"
    accept = Decision(f"Accepted {name}.", (("approve", number),))
    reject = Decision(f"Rejected {name}.", (("reject", number),))
    return ReviewItem(
        f"{proposal.kind} {subject}",
        who + why,
        subject,
        await _changes(frame, proposal, subject),
        accept if is_admin else None,
        reject if is_admin and not refused else None,
    )


async def _changes(frame: Frame, proposal: Proposal, subject: str) -> list[str]:
    """Return the lines before and after a change."""
    fields = proposal.fields
    if proposal.kind == "remember":
        state = await found(frame.call_now("get", topic=subject), None)
        before = state.content if state else ""
        lines = difflib.unified_diff(
            before.splitlines(), str(fields.get("content", "")).splitlines(), lineterm="", n=2
        )
        return list(lines)[2:]
    if proposal.kind in ("alias", "kind", "name"):
        value = fields.get("new_name" if proposal.kind == "name" else proposal.kind)
        return [f"+ {proposal.kind}: {value}"]
    relation, target = fields.get("relation"), fields.get("target")
    edges: list[Edge] = await found(
        frame.call_now("edges", name=subject, limit=200), [], but=HadesError
    )
    if proposal.kind == "unrelate":
        ends = [edge for edge in edges if (edge.relation, edge.target.name) == (relation, target)]
        words = [statement(edge) for edge in ends] or [f"{subject} {relation} {target}"]
        return [f"- {one_line(line)}" for line in words]
    ends = [edge for edge in edges if fields.get("exclusive") and edge.relation == relation]
    return [
        *(f"- {one_line(statement(edge))}" for edge in ends),
        f"+ {one_line(subject)} {relation} {target}",
    ]


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
        accept = Decision("Linked.", (("relate", {"source": pair.topic, **edge, "create": True}),))
        propose = ("propose", {"name": pair.topic, **edge, **weak})
        reject = Decision("Not suggested again.", (propose, ("reject", {})))
        items.append(
            ReviewItem(
                f"link {pair.topic} and {pair.other}",
                f"suggested, {pair.score:.0%} sure: {'; '.join(pair.evidence)}",
                pair.topic,
                [f"+ {one_line(pair.topic)} {RELATION} {one_line(pair.other)}"],
                accept if frame.may_write else None,
                reject if is_admin else None,
            )
        )
    return items


def _is_about(proposal: Proposal, conflict: Disagreement) -> bool:
    said = proposal.fields.get("metadata") or {}
    return {said.get("says"), said.get("said")} == {side.text for side in conflict.sides}


async def _contradiction(frame: Frame, conflict: Disagreement, is_admin: bool) -> ReviewItem:
    """Return an item that keeps one side of a contradiction if accepted, both if rejected."""
    index, rule = conflict.taken
    kept, other = conflict.sides if index != 1 else conflict.sides[::-1]
    metadata = {"metadata": {"says": kept.text, "said": other.text}}
    accept: Calls
    if kept.source.startswith("edge ") and "@" not in kept.source:
        edge: Edge = (await frame.call_now("edge", edge=_number(kept)))[-1]
        subject = edge.source.name
        fact = {"name": subject, "relation": edge.relation, "target": edge.target.name}
        ends = iso(kept.since) if kept.since > other.since else None
        accept = (("unrelate", {"source": _number(other), "at": ends}),)
        change = f"- {other.text}, until {day(kept.since) if ends else 'now'}"
    else:
        subject, older = (side.source.rpartition("@")[0] for side in (kept, other))
        fact = {"name": subject, "relation": SUPERSEDES, "target": older}
        sure = {"confidence": 1.0, "threshold": 1.0, "evidence": kept.text}
        accept = (("propose", {**fact, **metadata, **sure}),)
        change = f"+ {one_line(subject)} {SUPERSEDES} {one_line(older)}"
    propose = {**fact, **metadata, "confidence": 0.5, "threshold": 1.0}
    both = Decision("Both stay.", (("propose", propose), ("reject", {})))
    taken = rule if index is not None else "no rule decides, so accepting takes the first"
    return ReviewItem(
        f"contradiction about {subject}",
        f"{kept} against {other}. Accepting takes: {taken}. Rejecting keeps both.",
        subject,
        [change, f"  {kept.text}"],
        Decision("Decided.", accept) if frame.may_write else None,
        both if is_admin else None,
    )


def _number(side: Side) -> int:
    """Return the number of the edge that a side is."""
    return int(side.source.removeprefix("edge "))
