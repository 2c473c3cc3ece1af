"""Core blocks: texts that a model always sees.

They are topics `core/NAME`, so they have versions, times and erasure like all others.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from hades.context.tokens import count
from hades.domain.context import CORE_PREFIX, CoreBlock
from hades.domain.rules import clean_content, clean_name
from hades.domain.topics import State
from hades.errors import InvalidInput, NotFound
from hades.operations import states
from hades.operations.declare import Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import TEXT_CHARACTERS_AT_MOST

CORE_LIMIT_TOKENS = 500
"""The limit of a core block that sets none."""

BlockName = Annotated[str, Param("The block, such as human.", example="human")]
AddedText = Annotated[
    str,
    Param(
        "The text to add.",
        example="Likes tea.",
        characters=TEXT_CHARACTERS_AT_MOST,
        rule=clean_content,
    ),
]
OldText = Annotated[
    str, Param("The exact text to replace.", example="tea", characters=TEXT_CHARACTERS_AT_MOST)
]
NewText = Annotated[
    str,
    Param(
        "The new text.", example="coffee", characters=TEXT_CHARACTERS_AT_MOST, rule=clean_content
    ),
]


@operation("GET", "/core", command="core list", timed=True)
def core(
    inside: Inside, name: Annotated[str | None, Param("Only this block.", example="human")] = None
) -> list[CoreBlock]:
    """List the core blocks: texts that a model always sees if they are pinned."""
    if name is not None:
        return [_block(states.get(inside, _topic(name)))]
    listed = states.topics(inside, f"{CORE_PREFIX}*")
    return [_block(states.get(inside, topic.name)) for topic in listed]


@operation("POST", "/core/{name}/append", role=Role.WRITER, command="core append")
def core_append(inside: Inside, name: BlockName, content: AddedText) -> CoreBlock:
    """Add a line to a core block, or create the block.

    Raise InvalidInput if the block would exceed its limit. The limit, `pinned` and
    `description` are metadata of the topic `core/NAME`; `remember` sets them.
    """
    with inside.batch():  # so that no other writer edits the block in between
        with suppress(NotFound):
            before = states.get(inside, _topic(name)).content
            content = f"{before}\n{content}" if before else content
        return _written(inside, name, content)


@operation("POST", "/core/{name}/replace", role=Role.WRITER, command="core replace")
def core_replace(inside: Inside, name: BlockName, old: OldText, new: NewText) -> CoreBlock:
    """Replace every occurrence of a text in a core block.

    Raise InvalidInput if the text is not there, or if the block would exceed its limit.
    """
    with inside.batch():
        before = states.get(inside, _topic(name)).content
        if not old or old not in before:
            raise InvalidInput(f"The core block {name!r} does not have that text: read it first.")
        return _written(inside, name, before.replace(old, new))


def _written(inside: Inside, name: str, text: str) -> CoreBlock:
    """Write the new text of a block; raise InvalidInput, which undoes the batch, if too long."""
    block = _block(states.remember(inside, _topic(name), text, kind="document"))
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
