"""Tools that read."""

from __future__ import annotations

from typing import Annotated, Literal

from mcp_types import CallToolResult
from pydantic import Field

from hades.context.text.answers import (
    answer_lines,
    context_text,
    nothing_found,
    nothing_remembered,
    working_memory_lines,
)
from hades.context.text.briefs import HEADINGS
from hades.context.text.edges import about_lines, relation_change_lines
from hades.context.text.layout import joined, read_cite
from hades.context.text.states import diff_lines, topic_line
from hades.domain.answer import Answer, Recall, WorkingMemory
from hades.domain.brief import Brief
from hades.domain.context import BudgetedContext
from hades.domain.graph import About
from hades.domain.plain import one_line, plain
from hades.domain.topics import Diff, State
from hades.errors import InvalidInput, NotFound
from hades.memory import View
from hades.operations.briefs import BUDGET_TOKENS as BRIEF_TOKENS
from hades.operations.declare import OPERATIONS
from hades.serve.mcp import answers
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.tool import Name, OptionalName, Time, given, operation_tool, tool
from hades.serve.mcp.tool_names import with_tools
from hades.store.edge_pages import Place, edge_place

BUDGET_TOKENS_AT_MOST = 5_000
"""Most tokens of a recalled text; more would not fit into one answer."""

Tokens = Annotated[int, Field(ge=50, le=BUDGET_TOKENS_AT_MOST)]


@operation_tool(
    core=True,
    question="A whole question, with the names in it.",
    budget=(Annotated[Tokens, Field(description="Most tokens.")], BUDGET_TOKENS_AT_MOST),
    mode="How many passages: 5, 10 or 20.",
    tag="Only topics with this tag.",
    kind=None,
    glob="Only topics such as design/*.",
    about="Only what is known about this user.",
    since="Only what began then or later.",
    until="Only what began before.",
    by="Use the times that notes mention.",
    turns="The last questions and answers, if this one follows them.",
)
def recall(call: AgentCall, result: Recall) -> CallToolResult:
    """Return what the memory knows about a question: facts, passages, paths, and their sources.

    Use it first: before answering about earlier work, decisions, people or documents, and
    before remembering. It reads times in the question; as_of, since and until override them.
    """
    named = with_tools(call, result)
    text = context_text(named, answers.ANSWER_CHARACTERS_AT_MOST)
    return answers.reply(text, **answers.about(named), **answers.evidence(named))


@operation_tool(
    "question tag glob about since until by turns",
    core=True,
    model="`default`: have a language model word the answer.",
    whole="With what `recall` returns.",
)
def ask(call: AgentCall, answer: Answer) -> CallToolResult:
    """Return the stored sentences that answer a question, each with its source.

    Shorter than recall: use it for a single fact. It says so if nothing answers.
    """
    answer = with_tools(call, answer)
    recall = answer.recall
    has_evidence = recall.passages or recall.facts
    lines = answer_lines(answer) if has_evidence else [nothing_found(recall)]
    values = answers.about(recall) | OPERATIONS["ask"].short(answer, {})
    return answers.reply(
        joined(lines), **values, **(answers.evidence(recall) if call.whole else {})
    )


@tool("as_of", "known_at", "space", core=True)
async def get(
    call: AgentCall,
    topic: Annotated[Name, Field(description="Or a citation: design/x@2.")],
    version: Annotated[int, Field(description="Instead of the current one.", ge=0)] = 0,
    against: Annotated[
        int, Field(description="Show what changed since this version instead.", ge=0)
    ] = 0,
    start: Annotated[int, Field(description="Read from this character on.", ge=0)] = 0,
) -> CallToolResult:
    """Return the text of a topic by its name: now, at a time, or one version."""

    def read(view: View) -> tuple[State, Diff | None]:
        with view.snapshot():
            state = _state(view, topic, version or None)
            return state, view.diff(state.topic, against, state.version) if against else None

    state, difference = await call.read(read)
    if difference is None:
        return answers.whole_version(state, call.space, start)
    text = joined(diff_lines(difference))
    return answers.reply(text, space=call.space, cite=state.id, against=against)


@tool("as_of", "known_at", "space", core=True)
async def history(
    call: AgentCall,
    topic: Name,
    after: Annotated[int, Field(ge=0)] = 0,
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> CallToolResult:
    """List the versions of a topic, newest first: when each was true, and how it begins."""
    newest_first = reversed(await call.read(lambda view: view.history(topic)))
    states = [state for state in newest_first if not after or state.version < after]
    page = answers.page(states, limit, lambda state: state.version, answers.VERSION)
    return answers.versions(page, topic, call.space)


@tool("as_of", "known_at", "space", core=True)
async def topics(
    call: AgentCall,
    glob: OptionalName = "",
    tag: OptionalName = "",
    since: Time = "",
    until: Time = "",
    after: OptionalName = "",
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
) -> CallToolResult:
    """List the topics with version, date and tags, and the spaces.

    Use it to choose a fitting name before remembering.
    """
    filters = given(glob=glob, tag=tag, since=since, until=until, after=after)
    listed = await call.read(lambda view: view.topics(**filters, limit=limit + 1))
    shown, following = answers.page(listed, limit, lambda topic: topic.name, answers.TOPIC)
    nothing = str(nothing_remembered(past=bool(call.as_of or call.known_at)))
    if filters:
        nothing = "No topic fits: ask with fewer filters, or use `recall` to find by meaning."
    lines = [str(topic_line(topic)) for topic in shown] or [nothing]
    spaces = await call.spaces()
    if len(spaces) > 1:
        lines.append(f"Spaces: {one_line(', '.join(spaces))} (this is {one_line(call.space)}).")
    values = [answers.picked(topic, answers.TOPIC) for topic in shown]
    return answers.listed(lines, following, space=call.space, spaces=spaces, topics=values)


@tool("as_of", "known_at", "space", core=True)
async def edges(
    call: AgentCall,
    name: Annotated[Name, Field(description="A topic's or an entity's name.")],
    relation: OptionalName = "",
    direction: Literal["out", "in", "both"] = "both",
    ended: Annotated[bool, Field(description="Include facts that no longer hold.")] = False,
    after: OptionalName = "",
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
) -> CallToolResult:
    """List the facts about a name: relation, other end, and since when."""
    options = given(relation=relation, after=_read_place(after) if after else None)
    facts = await call.read(
        lambda view: view.edges(name, direction=direction, all=ended, limit=limit + 1, **options)
    )
    page = answers.page(
        facts, limit, lambda edge: ".".join(map(str, edge_place(edge))), answers.FACT
    )
    return answers.facts(page, call.space, f"No fact about {name!r} is known here.")


@tool("as_of", "known_at", "space", core=True)
async def when_changed(
    call: AgentCall,
    name: Name,
    relation: Annotated[Name, Field(description="The relation that ended.")],
    to: Annotated[OptionalName, Field(description="The relation that came instead.")] = "",
) -> CallToolResult:
    """Return when a fact about a name last ended, and what replaced it."""
    change = await call.read(lambda view: view.when_changed(name, relation, to or None))
    after = [change.after] if change.after else []
    return answers.changed(relation_change_lines(change), change.at, [change.before], after)


@operation_tool(
    core=True, topic="Only this topic and those below it.", budget=(Tokens, BRIEF_TOKENS)
)
def brief(call: AgentCall, result: Brief) -> CallToolResult:
    """Return what matters now: decisions, open threads, recent changes, facts that just ended.

    Call it when a conversation starts, and to answer what to do next or what is new.
    """
    parts = {name: getattr(result, name) for name in HEADINGS}
    values = {"topic": result.topic, "left_out_lines": result.left_out or None}
    return answers.reply(result.text, space=result.space, **parts, **values, tokens=result.tokens)


@operation_tool(core=True, name="A topic's or an entity's name.")
def about(call: AgentCall, result: About) -> CallToolResult:
    """Return what is known about a name: what it is, facts now and before, its mentions."""
    return answers.reply(joined(about_lines(result)), space=call.space, **plain(result))


@operation_tool("topic", budget=(Tokens, 2_000))
def working_memory(call: AgentCall, result: WorkingMemory) -> CallToolResult:
    """Return what to know before working on a topic, packed into few tokens.

    It has the latest state, earlier ones, and the topics related to it.
    """
    items = [
        {"cite": item.state.id, **answers.picked(item, ("why", "text", "path"))}
        for item in result.items
    ]
    text = joined(working_memory_lines(result))
    return answers.reply(
        text, space=call.space, topic=result.topic, items=items, tokens=result.tokens
    )


@operation_tool(
    operation="retrieve_within_budget",
    question=None,
    max_tokens=(Annotated[int, Field(ge=200, le=BUDGET_TOKENS_AT_MOST)], BUDGET_TOKENS_AT_MOST),
    tokens="The tokenizer that counts: a model such as gpt-4o.",
)
def context(call: AgentCall, result: BudgetedContext) -> CallToolResult:
    """Return a context for a question in sections: latest states, summaries, details."""
    built = with_tools(call, result)
    return answers.reply(
        built.text,
        space=call.space,
        sections=built.sections,
        tokens=built.tokens,
        notes=[str(note) for note in built.reasons],
    )


@tool("as_of", "known_at", "space")
async def drill(
    call: AgentCall,
    summary: Annotated[Name, Field(description="The topic of a summary: summary/2026-11.")],
    every: Annotated[bool, Field(description="All original states, not one level.")] = False,
    after: OptionalName = "",
    limit: Annotated[int, Field(ge=1, le=50)] = 10,
) -> CallToolResult:
    """List the states that a summary was made of."""
    options = given(after=after, limit=limit + 1)
    states = await call.read(lambda view: view.originals(summary, every=every, **options))
    page = answers.page(states, limit, lambda state: state.id, answers.VERSION)
    return answers.versions(page, summary, call.space)


def _state(view: View, topic: str, version: int | None) -> State:
    """Return a state by topic and version, or by a citation such as `infra/queue@2#0`."""
    try:
        return view.get(topic, version)
    except NotFound:
        cited, its_version, _ = read_cite(topic)
        if its_version is None:
            raise
        return view.get(cited, version or its_version)


def _read_place(text: str) -> Place:
    try:
        group, number, mark = text.split(".")
        return int(group), int(number), mark
    except ValueError as error:
        raise InvalidInput("`after` is not from an answer of this tool: leave it out.") from error
