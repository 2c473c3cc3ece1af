"""Proposals: changes that wait for approval.

`propose` writes a change if its confidence reaches the threshold; otherwise the change waits until
`approve` or `reject`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from math import prod
from typing import Annotated, Any

from hades.domain.extraction import APPROVED_BY, EXTRACTED_FROM
from hades.domain.graph import SUPERSEDES
from hades.domain.proposal import DEFAULT_THRESHOLD, PROPOSAL_STATUSES, Proposal
from hades.domain.rules import (
    clean_metadata,
    clean_number,
    clean_share,
    clean_tags,
    clean_text,
)
from hades.domain.times import TimeLike, iso, to_micros
from hades.errors import Conflict, InvalidInput, Refused
from hades.operations import edges
from hades.operations.declare import OPERATIONS, Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import (
    NUMBER_AT_MOST,
    TEXT_CHARACTERS_AT_MOST,
    Evidence,
    Exclusive,
    ExpectVersion,
    Importance,
    Metadata,
    OptionalContent,
    PageLimit,
    Tags,
    ValidFrom,
    ValidTo,
    Weight,
    whole_number,
)

QUORUM_AT_MOST = 100
CONFIDENCE_DECIMALS = 9
"""Joint confidences are rounded, so that 0.5 and 0.6 reach 0.8."""

ProposalNumber = Annotated[
    int,
    whole_number("The number of the proposal.", "proposal", least=1, most=10**18 - 1, example=1),
]
STATUSES = (*PROPOSAL_STATUSES, "all")
_METHODS = {
    "relate": ("relate", "source"),
    "unrelate": ("unrelate", "source"),
    "remember": ("remember", "topic"),
    "alias": ("add_alias", "name"),
    "kind": ("set_kind", "name"),
    "name": ("rename", "name"),
}
"""For each kind of proposal, the operation that applies it and its parameter for the name."""


class _Undone(Exception):
    """Raised to roll back a batch that was only a trial."""


@contextmanager
def undone(inside: Inside) -> Iterator[None]:
    """Try writes in a batch that is rolled back: errors are raised, but nothing is written."""
    with suppress(_Undone), inside.batch():
        yield
        raise _Undone


@operation(
    "GET",
    "/proposals",
    command="review list",
    cursor=lambda proposal: [proposal.id],
    needs_space=True,
)
def proposals(
    inside: Inside,
    status: Annotated[
        str, Param("waiting, applied, rejected, refused or all.", flag="--status", choices=STATUSES)
    ] = "waiting",
    *,
    after: Annotated[
        int,
        Param(
            "Only proposals with a higher number.",
            flag="--after",
            most=NUMBER_AT_MOST,
            rule=partial(clean_number, what="number"),
        ),
    ] = 0,
    limit: PageLimit = None,
    since: Annotated[
        TimeLike | None, Param("Only changes proposed at or after this time.", flag="--since")
    ] = None,
) -> list[Proposal]:
    """List proposed changes: waiting, applied or rejected.

    By default those that wait; `refused` lists what the write gate kept out, `all` everything.
    Proposals come oldest first, as they are now, whatever the time of the view. `after` and
    `limit` page through a long list; `since` leaves out earlier ones.
    """
    if status not in STATUSES:
        raise InvalidInput(f"There is no status {status!r}: use one of {', '.join(STATUSES)}.")
    wanted = None if status == "all" else status
    begin = inside.time(since)
    first = 0 if begin is None else to_micros(begin)
    return inside.store.proposals.find(inside.space_id, wanted, after, limit, first)


@operation("POST", "/proposals", role=Role.WRITER, command="propose", creates=True)
def propose(
    inside: Inside,
    name: Annotated[str, Param("The topic or entity it is about.", example="design/approach_x")],
    relation: Annotated[
        str | None, Param("The relation, for an edge.", example="depends_on")
    ] = None,
    target: Annotated[str | None, Param("Where the edge leads.", example="refactoring/q1")] = None,
    *,
    confidence: Annotated[
        float, Param("How sure it is, 0 to 1.", flag="--confidence", example=0.6, least=0)
    ] = 0.5,
    threshold: Annotated[
        float,
        Param("The confidence from which it is applied at once.", flag="--threshold", least=0),
    ] = DEFAULT_THRESHOLD,
    content: OptionalContent = None,
    alias: Annotated[str | None, Param("Another name of the entity.", flag="--alias")] = None,
    kind: Annotated[str | None, Param("What it is: person, method …", flag="--kind")] = None,
    new_name: Annotated[
        str | None, Param("The main name that the entity should have.", flag="--new-name")
    ] = None,
    quorum: Annotated[
        int | None,
        Param(
            "How many authors must propose the change before it is applied.",
            flag="--quorum",
            least=1,
            most=QUORUM_AT_MOST,
            rule=partial(clean_number, what="quorum"),
        ),
    ] = None,
    weight: Weight = None,
    evidence: Evidence = "",
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    exclusive: Exclusive = False,
    tags: Tags = None,
    metadata: Metadata = None,
    importance: Importance = None,
    expect_version: ExpectVersion = None,
) -> Proposal:
    """Propose a change; below the threshold it waits.

    `relation` and `target` propose an edge (`relate`), `content` a state of the topic `name`
    (`remember`), `alias` another name of the entity, `new_name` its main name, `kind` alone the
    kind of thing it is. A change that cannot be written is refused at once. If the same change
    waits already, that proposal is returned. An approved change holds from the approval on, or
    from `valid_from`.

    With a `quorum`, the change is applied when that many authors have proposed it and their joint
    confidence, the probability that one of them is right, reaches the threshold.
    """
    said_sure = clean_share(confidence, "confidence")
    needed = clean_share(threshold, "threshold")
    if said_sure is None or needed is None:
        raise InvalidInput("Say how sure you are: a confidence and a threshold from 0 to 1.")
    cleaned_tags = clean_tags(tags)
    given = {
        "relation": relation,
        "target": target,
        "content": content,
        "alias": alias,
        "kind": kind,
        "new_name": new_name,
        "weight": weight,
        "evidence": evidence or None,
        "valid_from": _fixed(inside, valid_from),
        "valid_to": _fixed(inside, valid_to),
        "exclusive": exclusive or None,
        "tags": None if cleaned_tags is None else list(cleaned_tags),
        "metadata": clean_metadata(metadata),
        "importance": importance,
        "expect_version": expect_version,
    }
    proposed = {name: value for name, value in given.items() if value is not None}
    what = _kind_of(proposed)
    fields = {_METHODS[what][1]: name, **proposed}
    known = inside.store.proposals
    with inside.batch():
        agreeing = [] if quorum is None else known.agreeing(inside.space_id, what, fields)
        own = [proposal for proposal in agreeing if proposal.by == inside.actor]
        others = [proposal for proposal in agreeing if proposal.by != inside.actor]
        sure = _joint([said_sure, *(proposal.confidence for proposal in others)])
        authors = {proposal.by for proposal in others} | {inside.actor}
        enough = sure >= needed and (quorum is None or len(authors) >= quorum)
        why = f"confidence {sure:g} reaches {needed:g}" if enough else ""
        if enough and others:
            why = f"proposed by {', '.join(sorted(authors))}: joint {why}"
        with inside.batch() if enough else undone(inside):
            apply_change(inside, what, fields, sure)
        if enough:
            for proposal in others:
                _decided(inside, proposal.id, "propose", "applied", why)
        if quorum is None:
            number = known.waiting(inside.space_id, what, fields)
        else:
            number = own[0].id if own else None
        if number is not None and enough:
            return _decided(inside, number, "propose", "applied", why)
        if number is None:
            with inside.write("propose") as write:
                number = known.add(
                    write,
                    inside.space_id,
                    inside.actor,
                    what,
                    fields,
                    confidence=said_sure,
                    threshold=needed,
                    why=why,
                    status="applied" if enough else "waiting",
                )
        return known.get(inside.space_id, number)


@operation("POST", "/proposals/{proposal}/approve", role=Role.ADMIN, command="review approve")
def approve(
    inside: Inside,
    proposal: ProposalNumber,
    close: Annotated[
        bool, Param("Also end the edges that lead to the changed topic or entity.", flag="--close")
    ] = False,
) -> Proposal:
    """Apply a change that waits or was refused.

    It raises Conflict if somebody decided on it before. With `close`, the edges that lead to the
    changed topic or entity (the reason lists them) end, too, at the time from which the change
    holds.
    """
    from hades.lifecycle.review import affected

    with inside.batch():
        waiting = _waiting(inside, proposal, "waiting", "refused")
        fields = dict(waiting.fields)
        if EXTRACTED_FROM in (fields.get("metadata") or {}):
            fields["metadata"] = {**fields["metadata"], APPROVED_BY: inside.actor}
        apply_change(inside, waiting.kind, fields, waiting.confidence)
        if close and waiting.kind in ("relate", "unrelate"):
            moment = inside.time(fields.get("at") or fields.get("valid_from"))
            changed = fields["target" if fields["relation"] == SUPERSEDES else "source"]
            for edge in affected(inside.store, inside.space_id, changed):
                began_later = moment is None or edge.valid_from >= moment
                edges.unrelate(inside, edge.id, at=None if began_later else moment)
        return _decided(inside, proposal, "approve", "applied", "")


@operation("POST", "/proposals/{proposal}/reject", role=Role.ADMIN, command="review reject")
def reject(
    inside: Inside,
    proposal: ProposalNumber,
    why: Annotated[
        str,
        Param(
            "The reason.",
            flag="--why",
            example="Not what we decided.",
            characters=TEXT_CHARACTERS_AT_MOST,
            rule=partial(clean_text, what="reason"),
        ),
    ] = "",
) -> Proposal:
    """Reject a change that waits; raise Conflict if it does not."""
    with inside.batch():
        _waiting(inside, proposal)
        return _decided(inside, proposal, "reject", "rejected", why)


@operation("POST", "/proposals/{proposal}/reopen", role=Role.ADMIN, command="review reopen")
def reopen(inside: Inside, proposal: ProposalNumber) -> Proposal:
    """Make a change wait again after it was approved or rejected.

    Nothing else is undone: what approving it wrote stays.
    """
    with inside.batch():
        _waiting(inside, proposal, "applied", "rejected")
        return _decided(inside, proposal, "reopen", "waiting", "")


def _joint(confidences: list[float]) -> float:
    """Return the probability that at least one of several independent authors is right."""
    return round(1 - prod(1 - confidence for confidence in confidences), CONFIDENCE_DECIMALS)


def list_refused(inside: Inside, error: Refused) -> None:
    """List a note that the write gate refused among the proposals, so that it can be approved."""
    if error.fields is not None:
        fields = dict(error.fields)
        sure = fields.pop("confidence", 1.0)
        with inside.write("refuse") as write:
            inside.store.proposals.add(
                write,
                inside.space_id,
                inside.actor,
                "remember",
                fields,
                confidence=sure,
                threshold=1.0,
                why=error.why,
                status="refused",
            )
        if not inside.store.in_transaction:  # a rolled back batch calls this again
            error.fields = None


def _waiting(inside: Inside, proposal: int, *statuses: str) -> Proposal:
    inside.require_space()
    known = inside.store.proposals.get(inside.space_id, proposal)
    if known.status not in (statuses or ("waiting",)):
        raise Conflict(f"Proposal {proposal} was {known.status} already by {known.decided_by}.")
    return known


def _decided(inside: Inside, proposal: int, action: str, status: str, why: str) -> Proposal:
    known = inside.store.proposals
    by = None if status == "waiting" else inside.actor
    with inside.write(action) as write:
        known.decide(write, proposal, status, by, why)
    return known.get(inside.space_id, proposal)


def apply_change(inside: Inside, kind: str, fields: Mapping[str, Any], sure: float) -> None:
    """Apply a proposed change of a `kind` of `_METHODS`. A note gets the confidence `sure`."""
    more: dict[str, dict[str, Any]] = {
        "remember": {"confidence": sure},
        "relate": {"create": True},
    }
    OPERATIONS[_METHODS[kind][0]].function(inside, **fields, **more.get(kind, {}))


def _fixed(inside: Inside, time: TimeLike | None) -> str | None:
    """Return a time in ISO form, resolved now: `yesterday` is the day before the proposal."""
    moment = inside.time(time)
    return None if moment is None else iso(moment)


def _kind_of(proposed: dict[str, Any]) -> str:
    if "relation" in proposed and "target" in proposed:
        kind = "relate"
    elif "content" in proposed:
        kind = "remember"
    elif "alias" in proposed:
        kind = "alias"
    elif "new_name" in proposed:
        kind = "name"
    elif set(proposed) == {"kind"}:
        kind = "kind"
    else:
        raise InvalidInput(
            "Propose an edge (relation and target), a content, an alias, a new name or a kind."
        )
    taken = {parameter.name for parameter in OPERATIONS[_METHODS[kind][0]].parameters}
    if unknown := sorted(set(proposed) - taken):
        raise InvalidInput(f"A proposal to {kind} does not take {', '.join(unknown)}.")
    return kind
