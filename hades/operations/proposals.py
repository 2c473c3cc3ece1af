"""Proposals: changes that wait for approval, and writes that can be sent twice but are done once.

`propose` writes a change if its confidence reaches the threshold; otherwise the change waits until
`approve` or `reject`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from math import prod
from typing import TYPE_CHECKING, Annotated, Any

from hades.domain.extraction import APPROVED_BY, EXTRACTED_FROM
from hades.domain.graph import SUPERSEDES
from hades.domain.proposal import DEFAULT_THRESHOLD, PROPOSAL_STATUSES, Proposal
from hades.domain.rules import (
    clean_content,
    clean_metadata,
    clean_name,
    clean_number,
    clean_share,
    clean_tags,
    clean_text,
)
from hades.domain.times import DAY_MICROSECONDS, TimeLike, iso, to_micros
from hades.errors import Conflict, InvalidInput, NotFound, Refused
from hades.operations.declare import OPERATIONS, Param, Role, operation
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

if TYPE_CHECKING:
    from hades.memory import Memory, View

ANSWERS_KEPT_DAYS = 7
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
"""For each kind of proposal, the method that applies it, and the method's word for the name."""


class _Undone(Exception):
    """Raised to roll back a batch that was only a trial."""


@contextmanager
def undone(memory: Memory) -> Iterator[None]:
    """Try writes in a batch that is rolled back: errors are raised, but nothing is written."""
    with suppress(_Undone), memory.batch():
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
    view: View,
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
        raise InvalidInput(f"There is no status {status!r}: {', '.join(STATUSES)}.")
    wanted = None if status == "all" else status
    begin = view._time(since)
    first = 0 if begin is None else to_micros(begin)
    return view._store.proposals.find(view._space_id, wanted, after, limit, first)


@operation("POST", "/proposals", role=Role.WRITER, command="propose", creates=True)
def propose(
    memory: Memory,
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
        "valid_from": _fixed(memory, valid_from),
        "valid_to": _fixed(memory, valid_to),
        "exclusive": exclusive or None,
        "tags": None if cleaned_tags is None else list(cleaned_tags),
        "metadata": clean_metadata(metadata),
        "importance": importance,
        "expect_version": expect_version,
    }
    said = {name: value for name, value in given.items() if value is not None}
    what = _kind_of(said)
    fields = {_METHODS[what][1]: name, **said}
    known = memory._store.proposals
    space = memory._space_id
    with memory.batch():
        agreeing = [] if quorum is None else known.agreeing(space, what, fields)
        own = [proposal for proposal in agreeing if proposal.by == memory._actor]
        others = [proposal for proposal in agreeing if proposal.by != memory._actor]
        sure = _joint([said_sure, *(proposal.confidence for proposal in others)])
        authors = {proposal.by for proposal in others} | {memory._actor}
        enough = sure >= needed and (quorum is None or len(authors) >= quorum)
        why = f"confidence {sure:g} reaches {needed:g}" if enough else ""
        if enough and others:
            why = f"proposed by {', '.join(sorted(authors))}: joint {why}"
        with memory.batch() if enough else undone(memory):
            apply_change(memory, what, fields, sure)
        if enough:
            for proposal in others:
                _decided(memory, proposal.id, "propose", "applied", why)
        if quorum is None:
            number = known.waiting(space, what, fields)
        else:
            number = own[0].id if own else None
        if number is not None and enough:
            return _decided(memory, number, "propose", "applied", why)
        if number is None:
            with memory._write("propose") as write:
                number = known.add(
                    *(write, space, memory._actor, what, fields),
                    confidence=said_sure,
                    threshold=needed,
                    why=why,
                    status="applied" if enough else "waiting",
                )
        return known.get(space, number)


@operation("POST", "/proposals/{proposal}/approve", role=Role.ADMIN, command="review approve")
def approve(
    memory: Memory,
    proposal: ProposalNumber,
    close: Annotated[
        bool, Param("Also end the edges that point to what changes.", flag="--close")
    ] = False,
) -> Proposal:
    """Apply a change that waits or was refused.

    It raises Conflict if somebody decided on it before. `close` also ends the edges that point
    to what changes, which the reason lists, at the time from which the change holds.
    """
    from hades.lifecycle.review import affected

    with memory.batch():
        waiting = _waiting(memory, proposal, "waiting", "refused")
        fields = dict(waiting.fields)
        if EXTRACTED_FROM in (fields.get("metadata") or {}):
            fields["metadata"] = {**fields["metadata"], APPROVED_BY: memory._actor}
        apply_change(memory, waiting.kind, fields, waiting.confidence)
        if close and waiting.kind in ("relate", "unrelate"):
            moment = memory._time(fields.get("at") or fields.get("valid_from"))
            changed = fields["target" if fields["relation"] == SUPERSEDES else "source"]
            for edge in affected(memory._store, memory._space_id, changed):
                began_later = moment is None or edge.valid_from >= moment
                memory.unrelate(edge.id, at=None if began_later else moment)
        return _decided(memory, proposal, "approve", "applied", "")


@operation("POST", "/proposals/{proposal}/reject", role=Role.ADMIN, command="review reject")
def reject(
    memory: Memory,
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
    with memory.batch():
        _waiting(memory, proposal)
        return _decided(memory, proposal, "reject", "rejected", why)


@operation("POST", "/proposals/{proposal}/reopen", role=Role.ADMIN, command="review reopen")
def reopen(memory: Memory, proposal: ProposalNumber) -> Proposal:
    """Let a change wait again that was approved or rejected.

    Nothing else is undone: what approving it wrote stays.
    """
    with memory.batch():
        _waiting(memory, proposal, "applied", "rejected")
        return _decided(memory, proposal, "reopen", "waiting", "")


def _joint(confidences: list[float]) -> float:
    """Return the probability that at least one of several independent authors is right."""
    return round(1 - prod(1 - confidence for confidence in confidences), CONFIDENCE_DECIMALS)


def once(memory: Memory, key: str, request: str, do: Callable[[], Any]) -> tuple[Any, bool]:
    """Do a write once for a key; return its answer, and whether it had been done before.

    `do` writes through this memory and returns plain JSON, which is stored in the same commit for
    7 days, for this actor in this space. The same key with another `request` raises Conflict. As
    in a batch, `do` cannot search.
    """
    clean_name(key, "key")
    digest = sha256(clean_content(request).encode()).digest()
    kept, space, actor = memory._store.idempotency, memory._space_id, memory._actor
    with memory._alone():
        memory._require_space()
        oldest = memory._store.now() - ANSWERS_KEPT_DAYS * DAY_MICROSECONDS
        earlier = kept.get(space, actor, key, oldest)
        if earlier is not None:
            if earlier[0] != digest:
                raise Conflict(
                    f"The key {key!r} was used for a different request: choose a new key."
                )
            return json.loads(earlier[1]), True
        answer = _json(do())
        kept.drop(oldest)
        with suppress(NotFound):  # `do` may have dropped this space
            memory._require_space()
            kept.put(space, actor, key, digest, answer, memory._store.now())
    return json.loads(answer), False


def list_refused(memory: Memory, error: Refused) -> None:
    """List a note that the write gate refused among the proposals, so that it can be approved."""
    if error.fields is not None:
        fields = dict(error.fields)
        sure = fields.pop("confidence", 1.0)
        with memory._write("refuse") as write:
            memory._store.proposals.add(
                *(write, memory._space_id, memory._actor, "remember", fields),
                confidence=sure,
                threshold=1.0,
                why=error.why,
                status="refused",
            )
        if not memory._store.in_transaction:  # a rolled back batch calls this again
            error.fields = None


def _waiting(memory: Memory, proposal: int, *statuses: str) -> Proposal:
    memory._require_space()
    known = memory._store.proposals.get(memory._space_id, proposal)
    if known.status not in (statuses or ("waiting",)):
        raise Conflict(f"Proposal {proposal} was {known.status} already by {known.decided_by}.")
    return known


def _decided(memory: Memory, proposal: int, action: str, status: str, why: str) -> Proposal:
    known = memory._store.proposals
    by = None if status == "waiting" else memory._actor
    with memory._write(action) as write:
        known.decide(write, proposal, status, by, why)
    return known.get(memory._space_id, proposal)


def apply_change(memory: Memory, kind: str, fields: Mapping[str, Any], sure: float) -> None:
    """Apply a proposed change of a `kind` of `_METHODS`. A note gets the confidence `sure`."""
    more: dict[str, dict[str, Any]] = {
        "remember": {"confidence": sure},
        "relate": {"create": True},
    }
    getattr(memory, _METHODS[kind][0])(**fields, **more.get(kind, {}))


def _fixed(memory: Memory, time: TimeLike | None) -> str | None:
    """Return a time in ISO form, resolved now: `yesterday` is the day before the proposal."""
    moment = memory._time(time)
    return None if moment is None else iso(moment)


def _kind_of(said: dict[str, Any]) -> str:
    if "relation" in said and "target" in said:
        kind = "relate"
    elif "content" in said:
        kind = "remember"
    elif "alias" in said:
        kind = "alias"
    elif "new_name" in said:
        kind = "name"
    elif set(said) == {"kind"}:
        kind = "kind"
    else:
        raise InvalidInput(
            "Propose an edge (relation and target), a content, an alias, a new name or a kind."
        )
    taken = {parameter.name for parameter in OPERATIONS[_METHODS[kind][0]].parameters}
    if unknown := sorted(set(said) - taken):
        raise InvalidInput(f"A proposal to {kind} does not take {', '.join(unknown)}.")
    return kind


def _json(answer: Any) -> str:
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"The answer of `once` must be plain JSON: {error}.") from error
    return text
