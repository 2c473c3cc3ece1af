"""Proposals: changes somebody is not sure enough of, and who decides on them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path as PathParameter
from fastapi import Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from hades.domain.proposal import DEFAULT_THRESHOLD, Proposal
from hades.serve.auth.caller import Role
from hades.serve.rest.calls import Reads, Writes
from hades.serve.rest.paging import PAGE, Cursor, Limit, decode, page
from hades.serve.rest.routes import routes
from hades.serve.rest.words import (
    EVIDENCE_CHARACTERS_AT_MOST,
    TAGS_AT_MOST,
    Body,
    Content,
    Count,
    Evidence,
    Name,
    Share,
    Time,
)
from hades.serve.wire import Page
from hades.view import View

router = routes("/v1/spaces/{space:name}/proposals", "proposals")

ProposalNumber = Annotated[int, PathParameter(ge=1, lt=10**18, examples=[1])]


class Propose(Body):
    """A change, and how sure one is of it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "subject": "design/approach_x",
                    "relation": "depends_on",
                    "target": "refactoring/q1",
                    "confidence": 0.6,
                }
            ]
        }
    )

    subject: Name
    relation: Name | None = None
    target: Name | None = None
    confidence: Share
    threshold: Share = DEFAULT_THRESHOLD
    content: Content | None = None
    alias: Name | None = None
    kind: Name | None = None
    weight: Share | None = None
    evidence: Evidence = ""
    valid_from: Time | None = None
    valid_to: Time | None = None
    exclusive: bool = False
    tags: Annotated[list[Name], Field(max_length=TAGS_AT_MOST)] | None = None
    metadata: dict[str, Any] | None = None
    importance: Share | None = None
    expect_version: Count | None = None


class Why(Body):
    """Why a change is not made."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"why": "Not what we decided."}]})

    why: Annotated[str, Field(max_length=EVIDENCE_CHARACTERS_AT_MOST)] = ""


@router.post("", summary="Propose a change", response_model=Proposal)
async def propose(writes: Writes, body: Propose) -> Response:
    """A change that is applied when one is sure enough of it, and else waits for approval."""
    return await writes.answer(lambda memory: memory.propose(**body.model_dump()))


@router.get("", summary="List proposals", response_model=Page[Proposal])
async def proposals(
    reads: Reads,
    status: Annotated[Literal["waiting", "applied", "rejected", "all"], Query()] = "waiting",
    after: Annotated[
        int, Query(ge=0, le=2**62, description="Only those with a higher number.")
    ] = 0,
    cursor: Cursor = None,
    limit: Limit = PAGE,
) -> Response:
    """The changes that wait, or those that were decided on, oldest first."""
    seen = decode(cursor, int)
    wanted = None if status == "all" else status

    def read(view: View) -> dict[str, Any]:
        found = view.proposals(wanted, after=seen[0] if seen else after, limit=limit + 1)
        return page(found, limit, lambda one: [one.id])

    return await reads.answer(read)


@router.post("/{number:number}/approve", summary="Approve a proposal", response_model=Proposal)
async def approve(writes: Writes, number: ProposalNumber) -> Response:
    """Apply a change that waits; needs the role admin."""
    return await writes.answer(lambda memory: memory.approve(number), role=Role.ADMIN)


@router.post("/{number:number}/reject", summary="Reject a proposal", response_model=Proposal)
async def reject(writes: Writes, number: ProposalNumber, body: Why) -> Response:
    """Let a change that waits not be made, and say why; needs the role admin."""
    return await writes.answer(lambda memory: memory.reject(number, body.why), role=Role.ADMIN)
