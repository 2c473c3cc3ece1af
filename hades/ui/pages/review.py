"""Review: contradictions, changes that wait, writes that were refused, suggested links."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from nicegui import ui
from nicegui.element import Element
from nicegui.events import KeyEventArguments

from hades.domain.graph import SUPERSEDES, Edge
from hades.domain.plain import counted, one_line
from hades.domain.promotion import Disagreement, QualityReport, Side, Suggestion
from hades.domain.proposal import Proposal
from hades.domain.statement import day, statement
from hades.domain.times import iso
from hades.errors import Conflict, HadesError
from hades.serve.auth.caller import Role
from hades.serve.write_groups import NamedWrite, WriteGroup
from hades.ui.controls import box, button, diff, empty, link, text
from hades.ui.frame import Frame, page, result_or

SHOWN_AT_MOST = 50
LINKS_AT_MOST = 20
CARDS_AT_FIRST = 10
LINES_SHOWN = 60
PROPOSALS_READ_AT_MOST = 1_000
LIKELY = 0.5
"""A link less sure than this is not shown. Two topics that share one rare name reach 0.45."""
RELATION = "relates_to"
"""The relation of an accepted suggestion, as in the command that `suggest` shows."""
CONTRADICTIONS, PROPOSALS, REFUSED, LINKS = KINDS = (
    "Contradictions", "Proposals", "Refused notes", "Links to add"
)  # fmt: skip
"""The kinds of items in their order: first those that make answers wrong, then those that somebody
waits for."""


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """One thing to decide: how it looks, what it would change, and the writes of each decision."""

    title: str
    detail: str
    topic: str
    lines: list[str]
    """Lines that begin with `+` or `-`, as in a difference."""
    writes: Mapping[bool, Sequence[NamedWrite]]
    """The writes of accepting (True) and of rejecting it; empty if the visitor may not do that."""
    group: str
    """Items of one group share a card."""


@page("/review", "Review", role=Role.WRITER)
async def review(frame: Frame) -> None:
    """Draw what waits for a decision: proposals at once, then what takes longer to find."""
    text("Review", "", "h1")
    is_admin = frame.may_write and frame.visitor.may(Role.ADMIN, frame.space)
    if not is_admin:
        text("Admins decide on proposals and reject; you may accept the rest.", "muted", "p")
    text("a accepts, r rejects, arrows move.", "muted small", "p")
    queue = Queue(frame)
    waiting = list[Proposal]()
    for status, kind in (("waiting", PROPOSALS), ("refused", REFUSED)):
        read: list[Proposal] = await frame.call_now(
            "proposals", status=status, limit=PROPOSALS_READ_AT_MOST
        )
        read.sort(key=lambda it: (it.confidence, it.at), reverse=True)
        shown = [await _proposal_item(frame, it, is_admin) for it in read[:SHOWN_AT_MOST]]
        queue.add(kind, shown)
        waiting += read
    looking = text("Looking for links and contradictions …", "muted", "p")
    queue.add(LINKS, await _suggestions(frame, waiting, is_admin))
    report: QualityReport = await frame.call_now("quality")
    conflicts = [it for it in report.disagreements if not any(_is_about(of, it) for of in waiting)]
    conflicts.sort(key=lambda it: max(side.since for side in it.sides), reverse=True)
    queue.add(CONTRADICTIONS, [await _contradiction(frame, it, is_admin) for it in conflicts])
    looking.delete()
    if not queue.cards:
        empty("Nothing waits for a decision.", then="Add something", href=frame.address("/add"))


class Queue:
    """The items on the page, in cards, one of them chosen. A decision reads nothing again."""

    def __init__(self, frame: Frame) -> None:
        self.cards: list[tuple[Element, list[ReviewItem]]] = []
        self._items: dict[str, list[ReviewItem]] = {kind: [] for kind in KINDS}
        self._shown = dict.fromkeys(KINDS, CARDS_AT_FIRST)
        self._frame = frame
        self._chosen = 0
        self._deciding = False
        self._said = box()
        self._place = box("stack")
        ui.keyboard(on_key=self._pressed, ignore=["input", "select", "textarea"])

    def add(self, kind: str, items: Sequence[ReviewItem]) -> None:
        """Add items of a kind to the page."""
        self._items[kind] += items
        self._draw()

    def _draw(self) -> None:
        self.cards = []
        self._place.clear()
        for kind, items in self._items.items():
            groups: dict[str, list[ReviewItem]] = {}
            for item in items:
                groups.setdefault(item.group, []).append(item)
            shown = list(groups.values())[: self._shown[kind]]
            with self._place, box("stack" if items else ""):
                if items:
                    drawn = [item for group in shown for item in group]
                    self._head(f"{kind} ({len(items)})", "h2", drawn, " all shown")
                for group in shown:
                    self._card(group)
                if len(shown) < len(groups):
                    button(f"Show more of {len(groups)}", partial(self._show_more, kind))
        self._choose(self._chosen)

    def _show_more(self, kind: str) -> None:
        self._shown[kind] *= 4
        self._draw()

    def _card(self, items: list[ReviewItem]) -> None:
        number = len(self.cards)
        with box("card stack", "article", tabindex=0) as card:
            if len(items) > 1:
                self._head(f"{one_line(items[0].group)[:200]} ({len(items)})", "h3", items, " all")
            for item in items:
                with box("tight"):
                    self._head(item.title, "h3", [item])
                    text(item.detail[:500], "muted small", "p")
                    diff(item.lines, LINES_SHOWN)
        card.on("focusin", lambda: self._choose(number), args=[])
        self.cards.append((card, items))

    def _head(self, title: str, tag: str, items: list[ReviewItem], more: str = "") -> None:
        """Draw a title with the decisions that the visitor may make on all of some items."""
        with box("line spread"):
            with text("", "", tag):
                place = self._frame.address("/topic", name=items[0].topic)
                words = one_line(title)[:300]
                text(words) if more else link(words, place)
            with box("line"):
                for accepted, verb in ((True, "Accept"), (False, "Reject")):
                    if all(item.writes[accepted] for item in items):
                        decide = partial(self._decide, items, accepted=accepted)
                        button(verb + more, decide, "main" if accepted else "")

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
        if step:
            self._choose(self._chosen + step)
            self.cards[self._chosen][0].run_method("focus")
        elif not event.action.repeat and event.key.name in ("a", "r"):
            await self._decide(self.cards[self._chosen][1], accepted=event.key.name == "a")

    async def _decide(self, items: list[ReviewItem], *, accepted: bool) -> None:
        """Decide on items in one commit, say what was done or why not, and take them away."""
        if self._deciding or not all(item.writes[accepted] for item in items):
            return  # a second key must not decide on the next item unseen
        self._deciding = True
        self._said.clear()
        words = items[0].title if len(items) == 1 else counted(len(items), "item")
        verb = "Accepted" if accepted else "Rejected"
        try:
            with self._said, self._frame.errors():
                try:
                    undo = await decide(self._frame, items, accepted=accepted)
                    self._frame.note_done(f"{verb}: {one_line(words)}", undo)
                except Conflict as decided:
                    self._frame.note_done(f"Not done: {decided}", None)
                    items = items if len(items) == 1 else []
                for kind, known in self._items.items():
                    self._items[kind] = [item for item in known if item not in items]
                self._draw()
        finally:
            self._deciding = False


async def decide(frame: Frame, items: Sequence[ReviewItem], *, accepted: bool) -> WriteGroup:
    """Accept or reject items in one commit; return the change that undoes it."""
    writes = [write for item in items for write in item.writes[accepted]]
    return await frame.visitor.make(frame.space, WriteGroup([it.topic for it in items], writes))


async def _proposal_item(frame: Frame, proposal: Proposal, is_admin: bool) -> ReviewItem:
    fields = proposal.fields
    number = {"proposal": proposal.id}
    subject = str(fields.get("topic") or fields.get("source") or fields.get("name"))
    refused = proposal.status == "refused"
    who = f"{'refused on writing' if refused else 'proposed'} {day(proposal.at)} by {proposal.by}"
    why = f", {proposal.confidence:.0%} sure" + (f": {proposal.why}" if proposal.why else "")
    return ReviewItem(
        f"{proposal.kind} {subject}",
        f"proposal {proposal.id}, {who}{why}",
        subject,
        await _changes(frame, proposal, subject),
        {
            True: [("approve", number)] if is_admin else [],
            False: [("reject", number)] if is_admin and not refused else [],
        },
        subject,
    )


async def _changes(frame: Frame, proposal: Proposal, subject: str) -> list[str]:
    """Return the lines before and after a change."""
    fields = proposal.fields
    if proposal.kind == "remember":
        state = await result_or(frame.call_now("get", topic=subject), None)
        before = state.content if state else ""
        lines = difflib.unified_diff(
            before.splitlines(), str(fields.get("content", "")).splitlines(), lineterm="", n=2
        )
        return list(lines)[2:]
    if proposal.kind in ("alias", "kind", "name"):
        value = fields.get("new_name" if proposal.kind == "name" else proposal.kind)
        return [f"+ {proposal.kind}: {value}"]
    relation = fields.get("relation")
    target = fields.get("target")
    edges: list[Edge] = await result_or(
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


async def _suggestions(
    frame: Frame, waiting: Sequence[Proposal], is_admin: bool
) -> list[ReviewItem]:
    """Return the likely links that nobody decided on, in groups by the topic that has most."""
    decided: list[Proposal] = await frame.call_now(
        "proposals", status="rejected", limit=PROPOSALS_READ_AT_MOST
    )
    gone = {(it.fields.get("source"), it.fields.get("target")) for it in (*decided, *waiting)}
    suggested: list[Suggestion] = await frame.call_now("suggest", limit=LINKS_AT_MOST)
    pairs = [it for it in suggested if it.score >= LIKELY and (it.topic, it.other) not in gone]
    often = Counter(name for pair in pairs for name in (pair.topic, pair.other))
    items = []
    for pair in pairs:
        edge = {"relation": RELATION, "target": pair.other}
        weak = {"confidence": min(pair.score, 0.99), "threshold": 1.0}
        propose = "propose", {"name": pair.topic, **edge, **weak}
        items.append(
            ReviewItem(
                f"link {pair.topic} and {pair.other}",
                f"suggested, {pair.score:.0%} sure: {'; '.join(pair.evidence)}",
                pair.topic,
                [],
                {
                    True: [("relate", {"source": pair.topic, **edge, "create": True})]
                    if frame.may_write
                    else [],
                    False: [propose, ("reject", {})] if is_admin else [],
                },
                max(pair.topic, pair.other, key=lambda name: (often[name], name)),
            )
        )
    return items


def _is_about(proposal: Proposal, conflict: Disagreement) -> bool:
    metadata = proposal.fields.get("metadata") or {}
    return {metadata.get("says"), metadata.get("said")} == {side.text for side in conflict.sides}


async def _contradiction(frame: Frame, conflict: Disagreement, is_admin: bool) -> ReviewItem:
    """Return an item that keeps one side of a contradiction if accepted, both if rejected."""
    index, rule = conflict.taken
    kept, other = conflict.sides if index != 1 else conflict.sides[::-1]
    metadata = {"metadata": {"says": kept.text, "said": other.text}}
    accept: NamedWrite
    if kept.source.startswith("edge ") and "@" not in kept.source:
        edge: Edge = (await frame.call_now("edge", edge=_number(kept)))[-1]
        subject = edge.source.name
        fact = {"name": subject, "relation": edge.relation, "target": edge.target.name}
        ends = iso(kept.since) if kept.since > other.since else None
        accept = "unrelate", {"source": _number(other), "at": ends}
        change = f"- {other.text}, until {day(kept.since) if ends else 'now'}"
    else:
        subject, older = (side.source.rpartition("@")[0] for side in (kept, other))
        fact = {"name": subject, "relation": SUPERSEDES, "target": older}
        sure = {"confidence": 1.0, "threshold": 1.0, "evidence": kept.text}
        accept = "propose", {**fact, **metadata, **sure}
        change = f"+ {one_line(subject)} {SUPERSEDES} {one_line(older)}"
    propose = {**fact, **metadata, "confidence": 0.5, "threshold": 1.0}
    taken = rule if index is not None else "no rule decides, so accepting takes the first"
    return ReviewItem(
        f"contradiction about {subject}",
        f"{kept} against {other}. Accepting takes: {taken}. Rejecting keeps both.",
        subject,
        [change, f"  {kept.text}"],
        {
            True: [accept] if frame.may_write else [],
            False: [("propose", propose), ("reject", {})] if is_admin else [],
        },
        subject,
    )


def _number(side: Side) -> int:
    """Return the number of the edge that a side is."""
    return int(side.source.removeprefix("edge "))
