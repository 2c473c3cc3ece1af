"""Tools that write. Earlier states and facts stay readable."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Annotated, Any

from mcp_types import CallToolResult
from pydantic import Field

from hades.context.text.edges import fact_change_lines
from hades.context.text.layout import excerpt, flat, joined, shown_name
from hades.context.text.reports import consolidation_lines, extraction_lines
from hades.context.text.sessions import distillation_lines
from hades.domain.distilled import Distillation
from hades.domain.extraction import Extraction
from hades.domain.feedback import Feedback
from hades.domain.graph import Edge, FactChange
from hades.domain.plain import one_line, plain
from hades.domain.promotion import Promotion
from hades.domain.quoting import indented
from hades.domain.summaries import Consolidation
from hades.domain.topics import State
from hades.errors import NotFound
from hades.lifecycle.near_topics import near_topic
from hades.memory import Memory, View
from hades.operations.distil import MESSAGES_AT_MOST
from hades.operations.indexing import index_pending
from hades.operations.proposals import QUORUM_AT_MOST
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
    operation_tool,
    tool,
)
from hades.store.records import Progress

Quorum = Annotated[
    int, Field(ge=1, le=QUORUM_AT_MOST, description="How many authors must propose it.")
]
NEAR_CHARACTERS = 120
"""How much of another topic's text is shown if a new topic may repeat it."""


@operation_tool(
    core=True,
    topic="Named like a path: design/approach_x.",
    content=None,
    tags="For filters, such as decision.",
    confidence="How sure, 0 to 1.",
    importance=None,
    valid_from="Since when it is true, if not now.",
    expect_version="Refuse if the topic has another version; 0: it must be new.",
    gate=(Annotated[bool, Field(description="false: write it even if it says nothing new.")], True),
)
async def remember(call: AgentCall, state: State) -> CallToolResult:
    """Write down what will matter in later conversations.

    Decisions and why, preferences, findings, the state of work. Use one topic for one thing. An
    existing topic gets a new version: get it first, and write the whole text again.
    """
    text = f"Remembered as {one_line(state.id)}."
    near = None
    if state.version == 1:
        near = await call.read(lambda view: _near(view, state.topic))
    if near is not None:
        says = one_line(excerpt(flat(near.content), NEAR_CHARACTERS))
        states = f"{near.version} state{'s' * (near.version != 1)}, last {near.valid_from:%Y-%m-%d}"
        text += f"\nNote: {shown_name(near.topic)} exists: {states}. "
        text += f"If it is about the same thing, write there and forget this one. It says:\n {says}"
    return answers.written(state, call.space, text, near=near and near.id)


def _near(view: View, topic: str) -> State | None:
    """Return the current state of another topic that may be about the same thing."""
    name = near_topic(view.inside.store, view.inside.space_id, topic)
    with suppress(NotFound):  # it begins later, or was forgotten meanwhile
        return None if name is None else view.get(name)
    return None


@tool("space", writes=True)
async def ingest_text(
    call: AgentCall,
    ctx: Ctx,
    topic: Name,
    text: LongText,
    tags: Tags | None = None,
    valid_from: Time = "",
) -> CallToolResult:
    """Store a long text (document, transcript, page) as one topic, and index it at once."""
    options = given(tags=tags, valid_from=valid_from)

    def take(memory: Memory, report: Progress) -> State:
        report("writing", 0, 1)
        state = memory.remember(topic, text, **options)
        index_pending(memory.inside, report)
        return state

    state = await call.work(take, ctx)
    done = f"Stored as {one_line(state.id)}: {len(text):,} characters."
    return answers.written(state, call.space, done)


@operation_tool("topic", core=True, destroys=True)
def forget(call: AgentCall, state: State) -> CallToolResult:
    """Mark a topic and its facts as gone from now on; its history stays.

    Only when the user asks for it.
    """
    return answers.written(state, call.space, f"Forgotten from {one_line(state.id)} on.")


@operation_tool(
    core=True,
    source=None,
    relation="A verb such as rejected_because.",
    target=None,
    evidence="The words that show it, quoted.",
    weight="How strong, 0 to 1.",
    valid_from=None,
    valid_to=None,
    exclusive="Only one target at a time can hold: end the old fact.",
    create="The names are new, though like known ones.",
)
def relate(call: AgentCall, edge: Edge) -> CallToolResult:
    """State a fact between two topics or entities: source --[relation]--> target.

    Use it for what causes, replaces, depends on or belongs to something.
    """
    return answers.facts(([edge], None), call.space, "")


@operation_tool(
    core=True,
    source=None,
    relation=None,
    target="The old target; empty: all.",
    to="The new target, if it changes.",
    new_relation="If the relation changes.",
    content="The new text of the source, if it is a topic.",
    evidence=None,
    at="When it changed, if not now.",
    create=None,
)
def change_fact(call: AgentCall, done: FactChange) -> CallToolResult:
    """End a fact and state what holds instead, in one step, linked to each other.

    Use it when something moved, was decided otherwise, fixed or replaced. If no fact held, `to`
    starts one. With `content` alone, the end of the fact that it names is proposed for review.
    """
    cite = None if done.state is None else done.state.id
    return answers.changed(fact_change_lines(done), done.at, done.closed, done.opened, cite)


@operation_tool("source relation target at", core=True, mistake="The fact was never true.")
def unrelate(call: AgentCall, ended: list[Edge]) -> CallToolResult:
    """End a fact that no longer holds and that nothing replaces."""
    return answers.facts((ended, None), call.space, "")


@operation_tool("topic reason")
def promote(call: AgentCall, done: Promotion) -> CallToolResult:
    """Rewrite a topic from its versions and facts: what holds, what changed, and why."""
    news = f"Promoted to {one_line(done.state.id)}, {done.by}." if done.changed else "No news."
    waiting = f" {len(done.proposed)} changes wait for approval." if done.proposed else ""
    text = f"{news}{waiting}\n{indented(done.state.content)}"
    return answers.written(done.state, call.space, text)


@operation_tool("since until level at_least dry_run")
def consolidate(call: AgentCall, done: Consolidation) -> CallToolResult:
    """Summarise the days, weeks and months that are over; drill shows what a summary is made of."""
    made = [summary.topic for summary in done.made]
    return answers.reply(joined(consolidation_lines(done)), space=call.space, made=made)


@operation_tool(
    "glob user dry_run",
    messages=(
        Annotated[
            list[dict[str, Any]] | None,
            Field(
                description='[{"role": "user", "content": "…"}], default: stored conversations.',
                max_length=MESSAGES_AT_MOST,
            ),
        ],
        None,
    ),
)
def distil(call: AgentCall, done: Distillation) -> CallToolResult:
    """Store the decisions, preferences, facts and plans of conversations as short notes.

    With `user`, they are about this user: recall finds them with `about`.
    """
    text = joined(distillation_lines(done))
    return answers.reply(text, space=call.space, statements=done.statements, known=done.known)


@operation_tool("topic glob threshold dry_run")
def extract(call: AgentCall, done: Extraction) -> CallToolResult:
    """Turn sentences of notes and documents into facts; unsure ones wait for approval."""
    values = {"states": done.states, "outcomes": done.outcomes}
    return answers.reply(joined(extraction_lines(done)), space=call.space, **values)


@operation_tool("recall", answer="Your answer, citing [1], [F2], (path 3).")
def feedback(call: AgentCall, done: Feedback) -> CallToolResult:
    """After you answered from a recall: teach the memory what your answer cites."""
    return answers.reply(f"{done}.", counted=done.counted)


@tool("space", writes=True)
async def propose(
    call: AgentCall,
    name: Name,
    confidence: Annotated[Share, Field(description="At 0.8 or more it is applied at once.")],
    relation: OptionalName = "",
    target: OptionalName = "",
    content: NoteText = "",
    alias: OptionalName = "",
    kind: OptionalName = "",
    new_name: OptionalName = "",
    evidence: NoteText = "",
    quorum: Quorum | None = None,
    idempotency_key: OptionalName = "",
) -> CallToolResult:
    """Propose a change that you are unsure of; it waits for approval.

    Give relation and target, or content, or alias, or new_name, or kind. With a quorum it waits
    until that many authors have proposed it.
    """
    change = given(
        relation=relation,
        target=target,
        content=content,
        alias=alias,
        kind=kind,
        new_name=new_name,
        evidence=evidence,
        quorum=quorum,
    )
    request = json.dumps([name, confidence, change], sort_keys=True)

    def write(memory: Memory) -> tuple[dict[str, Any], bool]:
        def do() -> Any:
            return plain(memory.propose(name, confidence=confidence, **change))

        return memory.once(idempotency_key, request, do) if idempotency_key else (do(), False)

    proposal, repeated = await call.write(write)
    number = proposal["id"]
    status = proposal["status"]
    became = "waits for approval" if status == "waiting" else f"is {status}"
    again = ", as it was before" if repeated else ""
    return answers.reply(
        f"Proposal {number} {became}{again}.",
        proposal=number,
        status=status,
        threshold=proposal["threshold"],
        repeated=repeated,
    )
