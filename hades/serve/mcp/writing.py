"""Tools that write: remember, ingest_text, relate, change_fact, forget.

None of them loses anything: every earlier state and fact can be read as of its time.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from hades.domain.names import one_line
from hades.domain.trace import State
from hades.memory import Memory
from hades.serve.mcp import answers
from hades.serve.mcp.call import Call
from hades.serve.mcp.tool import (
    NOTE_CHARACTERS_AT_MOST,
    TEXT_CHARACTERS_AT_MOST,
    Evidence,
    Name,
    Relation,
    Reply,
    Share,
    Since,
    Space,
    Tags,
    Topic,
    tool,
)
from hades.store.records import Progress

Content = Annotated[
    str,
    Field(
        description="What is known of the topic now, whole: it takes the place of the text "
        "before, which stays readable as an earlier version.",
        max_length=NOTE_CHARACTERS_AT_MOST,
    ),
]


@tool("Remember", writes=True)
async def remember(
    call: Call,
    topic: Topic,
    content: Content,
    tags: Tags = None,
    confidence: Annotated[Share, Field(description="How sure it is, 0 to 1.")] = None,
    importance: Annotated[Share, Field(description="How much it matters, 0 to 1.")] = None,
    valid_from: Since = None,
    expect_version: Annotated[
        int | None,
        Field(description="Refuse if the topic is not at this version; 0: must be new.", ge=0),
    ] = None,
    space: Space = None,
) -> Reply[answers.Remembered]:
    """Write down what is now known of a topic, for later conversations.

    Use it for what will matter again: decisions and their reasons, preferences, findings,
    the state of work. One topic for one thing, named like a path (design/approach_x); say
    why, not only what. Writing to a topic that exists makes a new version: recall or
    history first, and write the whole text anew. Writing the same again changes nothing.
    Gives the version as it is cited. For long documents use ingest_text.
    """
    where = call.space(space)
    options: dict[str, Any] = {
        "tags": tags,
        "confidence": confidence,
        "importance": importance,
        "valid_from": valid_from,
        "expect_version": expect_version,
    }
    state = await call.write(where, lambda memory: memory.remember(topic, content, **options))
    return Reply(answers.remembered(state, where), f"Remembered as {one_line(state.id)}.")


@tool("Take in a text", writes=True)
async def ingest_text(
    call: Call,
    topic: Topic,
    text: Annotated[
        str,
        Field(description="The text, plain or Markdown.", max_length=TEXT_CHARACTERS_AT_MOST),
    ],
    tags: Tags = None,
    valid_from: Since = None,
    space: Space = None,
) -> Reply[answers.Remembered]:
    """Take in a long text as one topic, and index it at once: a document, a transcript, a page.

    It is cut into passages, and the names in it are linked to everything else that mentions
    them. A newer text of the same topic becomes its next version. Tells its progress; when
    it is cancelled, the text is kept and is indexed before the next question. For notes of
    your own use remember.
    """
    where = call.space(space)

    def take(memory: Memory, told: Progress) -> State:
        told("writing", 0, 1)
        state = memory.remember(topic, text, tags=tags, valid_from=valid_from)
        memory.index(told)
        return state

    state = await call.work(where, take)
    return Reply(
        answers.remembered(state, where),
        f"Taken in as {one_line(state.id)}: {len(text):,} characters.",
    )


@tool("Relate", writes=True)
async def relate(
    call: Call,
    source: Name,
    relation: Relation,
    target: Name,
    evidence: Evidence = "",
    weight: Annotated[Share, Field(description="How strong, 0 to 1. Default 1.")] = None,
    valid_from: Since = None,
    valid_to: Annotated[
        str | None, Field(description="Until when it was true, if it is over.", max_length=100)
    ] = None,
    exclusive: Annotated[
        bool,
        Field(description="The source has one such target at a time: the new ends the old."),
    ] = False,
    space: Space = None,
) -> Reply[answers.Stated]:
    """State a fact between two things: source --[relation]--> target.

    Use it when how things hang together matters: what caused, replaced, depends on, is
    owned by what. Names that are no topics become entities, and texts that mention them are
    joined. When a fact stated before no longer holds, use change_fact instead.
    """
    where = call.space(space)
    options: dict[str, Any] = {
        "evidence": evidence,
        "weight": weight,
        "valid_from": valid_from,
        "valid_to": valid_to,
        "exclusive": exclusive,
    }
    edge = await call.write(
        where, lambda memory: memory.relate(source, relation, target, **options)
    )
    told = answers.stated(edge)
    return Reply(told, answers.stated_text(told))


@tool("Change a fact", writes=True, repeatable=False)
async def change_fact(
    call: Call,
    subject: Name,
    relation: Relation,
    target: Annotated[
        str | None, Field(description="The old target; leave out for all.", max_length=2_000)
    ] = None,
    to: Annotated[
        str | None,
        Field(description="The new target. Default: the old one.", max_length=2_000),
    ] = None,
    new_relation: Annotated[
        str | None,
        Field(description="The relation that holds instead, if it changes.", max_length=2_000),
    ] = None,
    content: Annotated[
        str | None,
        Field(
            description="The subject's new text, where it is a topic.",
            max_length=NOTE_CHARACTERS_AT_MOST,
        ),
    ] = None,
    evidence: Evidence = "",
    at: Annotated[
        str | None, Field(description="When it changed. Default: now.", max_length=100)
    ] = None,
    space: Space = None,
) -> Reply[answers.Changed]:
    """A fact is no longer so: end it, and state what holds instead, in one step.

    Use it when something moved, was decided otherwise, was fixed or replaced. The old fact
    keeps its time and is linked to the new one, so that both then and now can be asked.
    Gives what ended and what holds. For a fact that was never stated use relate.
    """
    where = call.space(space)
    options: dict[str, Any] = {
        "to": to,
        "new_relation": new_relation,
        "content": content,
        "evidence": evidence,
        "at": at,
    }
    change = await call.write(
        where, lambda memory: memory.change_fact(subject, relation, target, **options)
    )
    told = answers.changed(change)
    return Reply(told, answers.changed_text(told))


@tool("Forget", writes=True, destroys=True, repeatable=False)
async def forget(call: Call, topic: Topic, space: Space = None) -> Reply[answers.Remembered]:
    """Let a topic and its facts be gone from now on. Use it only when the user asks for it.

    Questions about now no longer find it; its history stays readable, and remembering the
    topic again brings it back. It does not erase: that is for operators.
    """
    where = call.space(space)
    state = await call.write(where, lambda memory: memory.forget(topic))
    return Reply(answers.remembered(state, where), f"Forgotten from {one_line(state.id)} on.")
