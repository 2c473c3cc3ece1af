"""Commands of the agents: `ask --agent` and `chat`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.commands import call, extended, read_json
from hades.cli.invocation import Invocation, command
from hades.context.text.layout import PlainText, TextBody, TextLine
from hades.domain.plain import plain
from hades.errors import Denied, HadesError, InvalidInput
from hades.operations.declare import OPERATIONS

if TYPE_CHECKING:
    from hades.agents.chat import Chat
    from hades.agents.results import AgentAnswer, PlanAnswer
    from hades.memory import View

_ASK = OPERATIONS["ask"]
STEPS_PLANNED_FROM = 3
"""A question with at least this many steps goes to the planning agent."""
LINE_CHARACTERS_AT_MOST = 4_000
_SCOPE = ("mode", "tag", "kind", "glob", "about", "since", "until", "by", "turns")


@extended(app, _ASK)
def ask(
    invocation: Invocation,
    given: dict[str, Any],
    agent: Annotated[
        bool, typer.Option("--agent", help="Ask in up to three passes; show every step.")
    ] = False,
) -> None:
    """Answer a question in sentences, each with its source."""
    with invocation.asked() as (view, progress):
        if not agent:
            result: Any = call(_ASK, view, given, progress)
        else:
            result = _asked_by_agent(view, given)
    if agent:
        invocation.show_lines(result, _lines_of(result))
    else:
        shown = _ASK.short(result, given) if invocation.json else result
        invocation.show_result(shown, _ASK.returns)


def _asked_by_agent(view: View, given: dict[str, Any]) -> AgentAnswer | PlanAnswer:
    from hades.agents.planning import TOKENS, PlanningAgent
    from hades.agents.query import QueryAgent
    from hades.agents.questions import clean_question
    from hades.agents.steps import steps_of

    if given["dry_run"] or given["keep_unsupported"]:
        raise InvalidInput("An agent takes neither --dry-run nor --keep-unsupported.")
    question = given["question"]
    model = given["model"]
    budget = given["budget"]
    scope = {name: given[name] for name in _SCOPE if given[name] and given[name] != "written"}
    plan = read_json(given["plan"], "plan")
    if len(steps_of(clean_question(question))) >= STEPS_PLANNED_FROM and not (scope or plan):
        return PlanningAgent(view, model=model, budget=budget or TOKENS).ask(question)
    return QueryAgent(view, model=model, plan=plan, budget=budget, scope=scope).ask(question)


def _lines_of(result: AgentAnswer | PlanAnswer) -> PlainText:
    from hades.agents.results import PlanAnswer
    from hades.context.text.answers import answer_lines

    if isinstance(result, PlanAnswer):
        yield TextBody(result.text)
    else:
        yield from answer_lines(result.answer)
        summarised = result.drill_down_target if result.answer.recall.level else ""
        for title, text in (
            ("Why", result.reasoning),
            ("Before", result.historical_context),
            ("From summaries. The original", summarised),
        ):
            if text:
                yield TextBody(f"{title}: {text}")
    for step in result.transcript:
        yield TextLine(str(step), style="quiet")


@command(app, "chat")
def chat(
    invocation: Invocation,
    thread: Annotated[
        str, typer.Option("--thread", "-t", help="The conversation to continue.")
    ] = "chat",
    model: Annotated[
        str | None, typer.Option("--model", help="The language model (default: rules alone).")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Only show the conversation.")] = False,
) -> None:
    """Talk with the memory; the next run remembers it.

    Each line is a question; `remember that …` keeps something. Ctrl-D ends the conversation.
    """
    from hades.agents import require_langgraph

    require_langgraph()
    from hades.agents.chat import HINT, Chat

    with invocation.opened(create=not show) as memory:
        talk = Chat(memory, thread=thread, model=model)
        if show:
            messages = talk.messages
            lines = (f"{message['role']}: {message['content']}" for message in messages)
            invocation.show_lines(messages, map(TextBody, lines))
            return
        if sys.stdin.isatty():
            sys.stderr.write(f"{HINT} Ctrl-D ends.\n")
        for line in _lines():
            _say(invocation, talk, line)


def _say(invocation: Invocation, talk: Chat, line: str) -> None:
    """Send one line and print the reply; a line that fails does not end the conversation.

    Only missing rights end it, because every line would be refused.
    """
    try:
        if len(line) > LINE_CHARACTERS_AT_MOST:
            raise InvalidInput(f"A line has at most {LINE_CHARACTERS_AT_MOST:,} characters.")
        reply = talk.say(line)
    except Denied:
        raise
    except HadesError as error:
        sys.stderr.write(f"hades: {error}\n")
        return
    if invocation.json:
        answer = {"reply": reply.text, **plain(reply.result)}
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
    else:
        invocation.show_lines(reply, [TextBody(reply.text)])
    sys.stdout.flush()


def _lines() -> Iterator[str]:
    """Yield the non-empty lines of standard input, each cut one character over the limit."""
    most = LINE_CHARACTERS_AT_MOST
    while True:
        if sys.stdin.isatty():
            sys.stderr.write("> ")
            sys.stderr.flush()
        try:
            line = sys.stdin.readline(most + 1)
            rest = line
            while rest and not rest.endswith("\n"):  # skip the end of a line that is too long
                rest = sys.stdin.readline(65_536)
        except KeyboardInterrupt:
            return
        except UnicodeDecodeError as error:
            raise InvalidInput(f"Standard input is not UTF-8 text: {error.reason}.") from error
        if not line:
            return
        if line.strip():
            yield line if len(line) > most else line.strip()
