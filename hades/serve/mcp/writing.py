"""Tools that write. None of them loses anything: earlier states and facts stay readable."""

from __future__ import annotations

import json
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from hades.domain.names import one_line
from hades.domain.plain import plain
from hades.domain.topics import State
from hades.memory import Memory
from hades.serve.mcp import answers
from hades.serve.mcp.call import AgentCall, Ctx
from hades.serve.mcp.tool import (
    LongText,
    Name,
    NoteText,
    OptionalName,
    Share,
    Tags,
    Time,
    given,
    tool,
)
from hades.store.records import Progress


@tool("space", core=True, writes=True)
async def remember(
    call: AgentCall,
    topic: Annotated[Name, Field(description="Named like a path: design/approach_x.")],
    content: Annotated[NoteText, Field(description="All that is known of it now.")],
    tags: Annotated[Tags | None, Field(description="To filter by, such as decision.")] = None,
    confidence: Annotated[Share | None, Field(description="How sure, 0 to 1.")] = None,
    importance: Share | None = None,
    valid_from: Annotated[Time, Field(description="Since when it is true, if not now.")] = "",
    expect_version: Annotated[
        int | None, Field(description="Refuse if it is at another; 0: must be new.", ge=0)
    ] = None,
) -> CallToolResult:
    """Write down what is now known of a topic, for later conversations.

    For what will matter again: decisions and why, preferences, findings, the state of work.
    One topic for one thing. A topic that exists gets a new version: get it first, and write
    the whole text anew.
    """
    options = given(
        tags=tags,
        confidence=confidence,
        importance=importance,
        valid_from=valid_from,
        expect_version=expect_version,
    )
    state = await call.write(lambda memory: memory.remember(topic, content, **options))
    return answers.written(state, call.space, f"Remembered as {one_line(state.id)}.")


@tool("space", writes=True)
async def ingest_text(
    call: AgentCall,
    ctx: Ctx,
    topic: Name,
    text: LongText,
    tags: Tags | None = None,
    valid_from: Time = "",
) -> CallToolResult:
    """Take in a long text (document, transcript, page) as one topic, and index it at once."""
    options = given(tags=tags, valid_from=valid_from)

    def take(memory: Memory, told: Progress) -> State:
        told("writing", 0, 1)
        state = memory.remember(topic, text, **options)
        memory.index(told)
        return state

    state = await call.work(take, ctx)
    done = f"Taken in as {one_line(state.id)}: {len(text):,} characters."
    return answers.written(state, call.space, done)


@tool("space", core=True, writes=True, destroys=True)
async def forget(call: AgentCall, topic: Name) -> CallToolResult:
    """Let a topic and its facts be gone from now on; its history stays.

    Only when the user asks for it.
    """
    state = await call.write(lambda memory: memory.forget(topic))
    return answers.written(state, call.space, f"Forgotten from {one_line(state.id)} on.")


@tool("space", core=True, writes=True)
async def relate(
    call: AgentCall,
    source: Name,
    relation: Annotated[Name, Field(description="A verb such as rejected_because.")],
    target: Name,
    evidence: Annotated[NoteText, Field(description="The words that show it, quoted.")] = "",
    weight: Annotated[Share | None, Field(description="How strong, 0 to 1.")] = None,
    valid_from: Time = "",
    valid_to: Time = "",
    exclusive: Annotated[
        bool, Field(description="Only one such target at a time: it ends the old one.")
    ] = False,
) -> CallToolResult:
    """State a fact between two topics or entities: source --[relation]--> target.

    For what caused, replaced, depends on or belongs to what.
    """
    options = given(evidence=evidence, weight=weight, valid_from=valid_from, valid_to=valid_to)
    edge = await call.write(
        lambda memory: memory.relate(source, relation, target, exclusive=exclusive, **options)
    )
    return answers.facts(([edge], None), call.space, "")


@tool("space", core=True, writes=True)
async def change_fact(
    call: AgentCall,
    subject: Name,
    relation: Name,
    target: Annotated[OptionalName, Field(description="The old one; empty: all.")] = "",
    to: Annotated[OptionalName, Field(description="The new target, if it changes.")] = "",
    new_relation: Annotated[OptionalName, Field(description="If the relation changes.")] = "",
    content: Annotated[NoteText, Field(description="The subject's new text, if a topic.")] = "",
    evidence: NoteText = "",
    at: Annotated[Time, Field(description="When it changed, if not now.")] = "",
) -> CallToolResult:
    """End a fact and state what holds instead, in one step, linked to each other.

    For what moved, was decided otherwise, fixed or replaced. Where none held, `to` opens one.
    """
    options = given(to=to, new_relation=new_relation, content=content, evidence=evidence, at=at)
    done = await call.write(
        lambda memory: memory.change_fact(subject, relation, target or None, **options)
    )
    return answers.changed(done.at, done.closed, done.opened, done.state)


@tool("space", core=True, writes=True)
async def unrelate(
    call: AgentCall,
    source: Name,
    relation: Name,
    target: OptionalName = "",
    at: Time = "",
    mistake: Annotated[bool, Field(description="It was never true.")] = False,
) -> CallToolResult:
    """End a fact that no longer holds, with nothing in its place."""
    options = given(target=target, at=at)
    ended = await call.write(
        lambda memory: memory.unrelate(source, relation, mistake=mistake, **options)
    )
    return answers.facts((ended, None), call.space, "")


@tool("space", writes=True)
async def propose(
    call: AgentCall,
    subject: Name,
    confidence: Annotated[Share, Field(description="From 0.8 on it is applied at once.")],
    relation: OptionalName = "",
    target: OptionalName = "",
    content: NoteText = "",
    alias: OptionalName = "",
    kind: OptionalName = "",
    evidence: NoteText = "",
    idempotency_key: OptionalName = "",
) -> CallToolResult:
    """Propose a change you are unsure of: it waits until somebody approves it.

    Give relation and target, or content, or alias, or kind.
    """
    change = given(
        relation=relation, target=target, content=content, alias=alias, kind=kind, evidence=evidence
    )
    request = json.dumps([subject, confidence, change], sort_keys=True)

    def write(memory: Memory) -> tuple[dict[str, Any], bool]:
        def do() -> Any:
            return plain(memory.propose(subject, confidence=confidence, **change))

        return memory.once(idempotency_key, request, do) if idempotency_key else (do(), False)

    made, repeated = await call.write(write)
    became = "waits for approval" if made["status"] == "waiting" else f"is {made['status']}"
    again = ", as it was before" if repeated else ""
    return answers.reply(
        f"Proposal {made['id']} {became}{again}.",
        proposal=made["id"],
        status=made["status"],
        threshold=made["threshold"],
        repeated=repeated,
    )
