"""Prompts: what people start a conversation with.

`answer_from_paths` is the contract of seed 002, appendix B: only what the paths say, and
every claim cited by path and node.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

import mcp_types as types

from hades.domain.names import one_line
from hades.errors import InvalidInput
from hades.serve.mcp import answers
from hades.serve.mcp.call import Call

BUDGET_TOKENS = 4_000

ONLY_FROM_PATHS = (
    "Answer using only the information in these paths and the passages they lead to. Cite the "
    "path number and the node ids for every claim, as (path 2: design/approach_x, bugs/bug_y). "
    "Where they do not say it, answer that the memory does not know."
)

SAVE_SESSION = """Go through this conversation and save what will matter in a later one.

1. Look first: call `topics` and `recall` for what is known of these matters, so that you
   continue a topic rather than start a second one beside it.
2. Write with `remember`: decisions with their reasons, preferences, findings, the state of
   the work and what comes next. One topic for one thing, named like a path. Leave out what
   the files themselves say, small talk, and secrets such as keys and passwords.
3. State how things hang together with `relate`; where something stated before is no longer
   so, use `change_fact`.
4. End with a list of what you wrote, one line each, with the version as it is cited.{focus}"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt as it is listed, and what makes its text."""

    shown: types.Prompt
    text: Callable[[Call, Mapping[str, str]], Awaitable[str]]
    writes: bool = False
    """It asks for tools that write: a caller who only reads does not see it."""


async def _answer_from_paths(call: Call, given: Mapping[str, str]) -> str:
    question = given["question"]
    found = await call.recall(
        call.space(given.get("space")), question, as_of=given.get("as_of"), budget=BUDGET_TOKENS
    )
    told = answers.recalled(found, found.space)
    passages = [f"[{one_line(one.cite)}] {one.text}" for one in told.passages]
    parts = [
        "Passages:",
        *(passages or ["none"]),
        "",
        "Relational paths:",
        *(answers.numbered(told.paths) or ["none"]),
        "",
        f"Question: {question}",
        "",
        f"Instructions: {ONLY_FROM_PATHS}",
    ]
    return "\n".join(parts)


async def _catch_up(call: Call, given: Mapping[str, str]) -> str:
    topic = given["topic"]
    return (
        f"Bring me up to date on {topic!r}. Call `working_memory` for that topic, `history` to "
        "see what changed and when, and `recall` for what is still open. Then tell me in at most "
        "ten lines: where it stands, what changed last and why, what was decided, what is open. "
        "Cite the versions you rely on, and say what the memory does not know."
    )


async def _save_session(_call: Call, given: Mapping[str, str]) -> str:
    focus = given.get("focus", "").strip()
    return SAVE_SESSION.format(focus=f"\n\nAbove all: {focus}" if focus else "")


def _argument(name: str, description: str, *, required: bool = False) -> types.PromptArgument:
    return types.PromptArgument(name=name, description=description, required=required)


PROMPTS = {
    one.shown.name: one
    for one in (
        Prompt(
            types.Prompt(
                name="answer_from_paths",
                title="Answer only from memory, with citations",
                description="Recalls what is known about a question, and asks for an answer "
                "from these paths alone, citing path numbers and node ids.",
                arguments=[
                    _argument("question", "What to answer.", required=True),
                    _argument("as_of", "As the world was then: 2024-03."),
                    _argument("space", "The space, where several are open."),
                ],
            ),
            _answer_from_paths,
        ),
        Prompt(
            types.Prompt(
                name="catch_up",
                title="Catch up on a topic",
                description="Asks for a short account of where a topic stands and what changed.",
                arguments=[_argument("topic", "The topic's name.", required=True)],
            ),
            _catch_up,
        ),
        Prompt(
            types.Prompt(
                name="save_session",
                title="Save what matters of this conversation",
                description="Asks to write decisions, findings and open ends into memory.",
                arguments=[_argument("focus", "What matters above all.")],
            ),
            _save_session,
            writes=True,
        ),
    )
}


async def made(call: Call, name: str, given: Mapping[str, str]) -> types.GetPromptResult:
    """The messages of a prompt."""
    prompt = PROMPTS.get(name)
    if prompt is None:
        raise InvalidInput(f"There is no prompt {name!r}: {', '.join(PROMPTS)}.")
    known = prompt.shown.arguments or []
    for one in known:
        if one.required and not given.get(one.name, "").strip():
            raise InvalidInput(f"The prompt {name} needs the argument {one.name!r}.")
    for unknown in set(given) - {one.name for one in known}:
        raise InvalidInput(f"The prompt {name} has no argument {unknown!r}.")
    said = {key: value for key, value in given.items() if value.strip()}
    text = await prompt.text(call, said)
    return types.GetPromptResult(
        description=prompt.shown.description,
        messages=[
            types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        ],
    )
