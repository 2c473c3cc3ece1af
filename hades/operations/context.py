"""The context of a model: a question answered within a budget by sections, and core blocks.

Core blocks are topics `core/NAME`, so they have versions, times and erasure like all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

from hades.context.tokens import count, token_family
from hades.domain.context import CORE_PREFIX, BudgetedContext, CoreBlock
from hades.domain.rules import clean_content, clean_name, clean_number
from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.operations.declare import Param, Role, operation
from hades.operations.parameters import TEXT_CHARACTERS_AT_MOST, TOKENS_AT_MOST, Question
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.memory import Memory, View

CORE_LIMIT_TOKENS = 500
"""Of a core block that says none."""
CONTEXT_TOKENS, CONTEXT_TOKENS_AT_LEAST = 8_000, 200

BlockName = Annotated[str, Param("The block, such as human.", example="human")]
AddedText = Annotated[
    str, Param("What to add.", example="Likes tea.", characters=TEXT_CHARACTERS_AT_MOST)
]
OldText = Annotated[
    str, Param("The very text to replace.", example="tea", characters=TEXT_CHARACTERS_AT_MOST)
]
NewText = Annotated[
    str, Param("What comes instead.", example="coffee", characters=TEXT_CHARACTERS_AT_MOST)
]
Tokens = Annotated[
    str,
    Param("Whose tokens: a family, or a model such as gpt-4o.", "--tokens", characters=100),
]


@operation("POST", "/context", command="context", asks=True)
def retrieve_within_budget(
    view: View,
    question: Question,
    *,
    max_tokens: Annotated[
        int,
        Param(
            "Tokens at most, the reserve included.",
            flag="--max-tokens/-b",
            least=CONTEXT_TOKENS_AT_LEAST,
            most=TOKENS_AT_MOST,
        ),
    ] = CONTEXT_TOKENS,
    tokens: Tokens = "minilm",
    sections: Annotated[
        Mapping[str, Any] | None,
        Param('Shares of the budget: {"latest": 0.4, "reserve": 0.2}.', "--sections", json=True),
    ] = None,
    on_progress: Progress | None = None,
) -> BudgetedContext:
    """What a model should read to answer, within a budget of tokens, by sections (seed 003).

    `latest` are the current states of the topics that were found; `summaries` those of the
    level the question asks for; `details` facts, paths, passages, recent states and related
    topics; `reserve` stays free for reasoning. What a section leaves goes to the next. `tokens`
    is a family (minilm, cl100k, o200k, claude, llama3, qwen) or a model's name.
    """
    from hades.operations.retrieve_within_budget import gather_within_budget

    clean_number(max_tokens, "budget", least=CONTEXT_TOKENS_AT_LEAST)
    family = token_family(tokens, files=False)
    return gather_within_budget(view, question, max_tokens, family, sections, on_progress)


@operation("GET", "/core", command="core list", timed=True)
def core(
    view: View, name: Annotated[str | None, Param("This block only.", example="human")] = None
) -> list[CoreBlock]:
    """The core blocks, which a model always sees, with their size and limit."""
    if name is not None:
        return [_block(view.get(_topic(name)))]
    return [_block(view.get(one.name)) for one in view.topics(f"{CORE_PREFIX}*")]


@operation("POST", "/core/{name}/append", role=Role.WRITER, command="core append")
def core_append(memory: Memory, name: BlockName, content: AddedText) -> CoreBlock:
    """Add a line to a core block; a block that is not there is made.

    Refused where the block would exceed its limit. The limit, `pinned` and `description` are
    metadata of the topic `core/NAME`: `remember` sets them.
    """
    clean_content(content)
    with memory.batch():  # no edit of another writer comes between
        with suppress(NotFound):
            before = memory.get(_topic(name)).content
            content = f"{before}\n{content}" if before else content
        return _written(memory, name, content)


@operation("POST", "/core/{name}/replace", role=Role.WRITER, command="core replace")
def core_replace(memory: Memory, name: BlockName, old: OldText, new: NewText) -> CoreBlock:
    """Replace a text in a core block, wherever it stands there.

    Refused where the text is not there, or where the block would exceed its limit.
    """
    clean_content(new)
    with memory.batch():
        before = memory.get(_topic(name)).content
        if not old or old not in before:
            raise InvalidInput(f"The core block {name!r} does not have that text: read it first.")
        return _written(memory, name, before.replace(old, new))


def _written(memory: Memory, name: str, text: str) -> CoreBlock:
    """A block with a new text. Refused where it exceeds its limit, which undoes the batch."""
    block = _block(memory.remember(_topic(name), text, kind="document"))
    if block.tokens > block.limit:
        raise InvalidInput(
            f"The core block {name!r} would have {block.tokens:,} tokens of {block.limit:,}: "
            "replace or shorten what it says first."
        )
    return block


def _topic(name: str) -> str:
    return CORE_PREFIX + clean_name(name, "block").removeprefix(CORE_PREFIX)


def _block(state: State) -> CoreBlock:
    limit = state.metadata.get("limit")
    return CoreBlock(
        name=state.topic.removeprefix(CORE_PREFIX),
        text=state.content,
        tokens=count([state.content])[0],
        limit=limit if type(limit) is int and limit > 0 else CORE_LIMIT_TOKENS,
        pinned=state.metadata.get("pinned") is not False,
        description=str(state.metadata.get("description") or ""),
        version=state.version,
    )
