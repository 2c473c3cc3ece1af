"""Tools that read: recall, history, topics, working_memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from pydantic import Field

from hades.domain.answer import WorkingSet
from hades.errors import NotFound
from hades.memory import View
from hades.serve.mcp import answers
from hades.serve.mcp.call import Call
from hades.serve.mcp.tool import (
    NAME_CHARACTERS_AT_MOST,
    AsOf,
    Glob,
    KnownAt,
    Question,
    Reply,
    Space,
    Tag,
    Topic,
    tool,
)
from hades.store.records import Progress

PAGE_AT_MOST = 200

Kind = Literal["note", "document", "code", "conversation", "record", "paper"]
ModeName = Literal["execution", "planning", "brainstorming"]


@tool("Recall")
async def recall(
    call: Call,
    question: Question,
    budget: Annotated[
        int | None,
        Field(description="Tokens of the text at most. Default 5000.", ge=50, le=200_000),
    ] = None,
    mode: Annotated[
        ModeName | None,
        Field(description="5, 10 or 20 passages. By default the question decides."),
    ] = None,
    tag: Tag = None,
    kind: Annotated[Kind | None, Field(description="Only topics of this kind.")] = None,
    glob: Glob = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    space: Space = None,
) -> Reply[answers.Recalled]:
    """What is known about a question: the passages and paths that answer it, with sources.

    Use it first, before answering anything about earlier work, decisions, people, code or
    documents that may have been remembered; and before remembering, to find the topic it
    belongs to. Gives a text ready to answer from: paths (P1), passages [1], how to cite
    them, and how sure it is that the answer is among them. With `as_of` or `known_at` it
    answers as of an earlier time.
    """
    where = call.space(space)
    wanted = {"budget": budget, "mode": mode, "tag": tag, "kind": kind, "glob": glob}
    options: dict[str, Any] = {key: one for key, one in wanted.items() if one is not None}
    found = await call.recall(where, question, as_of=as_of, known_at=known_at, **options)
    return Reply(
        answers.recalled(found, where), answers.recalled_text(found, may_write=call.may_write)
    )


@tool("History")
async def history(
    call: Call,
    topic: Topic,
    version: Annotated[
        int | None, Field(description="Only this version, whole. Default: the newest.", ge=1)
    ] = None,
    against: Annotated[
        int | None,
        Field(description="An earlier version: also shows what changed since.", ge=1),
    ] = None,
    limit: Annotated[int, Field(description="Versions at most.", ge=1, le=100)] = 10,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    space: Space = None,
) -> Reply[answers.TopicHistory]:
    """A topic's current text, whole, and the versions before it, with when each was true.

    Use it to read a topic you know by name, to see how a belief or a document changed, or
    to compare two versions. The newest comes first; earlier ones are shortened: ask for one
    by its number to read it whole.
    """
    where = call.space(space)
    nothing = _nothing(call, as_of, known_at)

    def read(view: View) -> answers.TopicHistory:
        with view.snapshot(), _empty_told(view, nothing):
            one = None if version is None else [view.get(topic, version)]
            states = one or view.history(topic)[::-1]
            after = states[0].version
            changes = None if against is None else view.diff(topic, against, after).text
        shown = [answers.version(one, whole=at == 0) for at, one in enumerate(states[:limit])]
        return answers.TopicHistory(topic, where, shown, max(len(states) - limit, 0), changes)

    told = await call.read(where, read, as_of=as_of, known_at=known_at)
    return Reply(told, answers.history_text(told))


@tool("Topics")
async def topics(
    call: Call,
    glob: Glob = None,
    tag: Tag = None,
    since: Annotated[
        str | None, Field(description="Only what became true since: 2024-03.", max_length=100)
    ] = None,
    until: Annotated[
        str | None, Field(description="Only what became true until then.", max_length=100)
    ] = None,
    after: Annotated[
        str | None,
        Field(description="The last topic of the page before.", max_length=NAME_CHARACTERS_AT_MOST),
    ] = None,
    limit: Annotated[int, Field(description="Topics at most.", ge=1, le=PAGE_AT_MOST)] = 50,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    space: Space = None,
) -> Reply[answers.TopicPage]:
    """The names of what is remembered, with version, date and tags, one page at a time.

    Use it to see what there is, or to choose a name that fits the others before remembering
    something new. To find by meaning rather than by name, use recall.
    """
    where = call.space(space)

    def read(view: View) -> answers.TopicPage:
        with view.snapshot():
            found = view.topics(
                glob, tag=tag, since=since, until=until, after=after or None, limit=limit + 1
            )
            spaces = sorted(one.name for one in view.spaces() if call.caller.sees(one.name))
        return answers.TopicPage(
            space=where,
            topics=[answers.topic_line(one) for one in found[:limit]],
            spaces=spaces if len(spaces) > 1 else None,
            next=found[limit - 1].name if len(found) > limit else None,
        )

    page = await call.read(where, read, as_of=as_of, known_at=known_at)
    nothing = _nothing(call, as_of, known_at)
    if any((glob, tag, since, until, after)):
        nothing = "No topic fits: ask with fewer filters, or use `recall` to find by meaning."
    return Reply(page, answers.topics_text(page, nothing))


@tool("Working memory")
async def working_memory(
    call: Call,
    topic: Topic,
    budget: Annotated[int, Field(description="Tokens at most.", ge=50, le=100_000)] = 2_000,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    space: Space = None,
) -> Reply[answers.WorkingMemory]:
    """What to have in mind when working on a topic, packed into a few tokens.

    Use it when you take up work on a topic you know by name: gives its latest state, the
    ones before it, the important ones, and the topics the graph joins it with. For a
    question rather than a topic use recall.
    """
    where = call.space(space)
    nothing = _nothing(call, as_of, known_at)

    def ask(view: View, _told: Progress) -> WorkingSet:
        with _empty_told(view, nothing):
            return view.working_memory(topic, budget=budget)

    found = await call.ask(where, ask, as_of=as_of, known_at=known_at)
    return Reply(answers.working_memory(found, where), answers.working_memory_text(found))


def _nothing(call: Call, as_of: str | None, known_at: str | None) -> str:
    past = as_of is not None or known_at is not None
    return answers.nothing_text(past=past, may_write=call.may_write)


@contextmanager
def _empty_told(view: View, nothing: str) -> Iterator[None]:
    """Where a topic is missing because nothing is there at all, say that."""
    try:
        yield
    except NotFound as error:
        if view.topics(limit=1):
            raise
        raise NotFound(nothing) from error
