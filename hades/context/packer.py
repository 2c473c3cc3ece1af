"""The packer: what fits into a budget of tokens, whole or cut, and what is left out.

Every context is made of blocks: a head line that HADES writes, and a stored text below it. A block
is shown whole where it fits. Else its text is cut to a beginning, if enough of it fits to be worth
the head line. A diagnostic says what was cut and what was left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from hades.context.text.layout import shown
from hades.context.tokens import MINILM, TokenFamily
from hades.domain.answer import Diagnostic
from hades.domain.graph import Reason

Item = TypeVar("Item")

PART_TOKENS_AT_LEAST = 24
"""A shorter part of a text says too little to be worth its head line."""


@dataclass(frozen=True, slots=True)
class BlockDraft(Generic[Item]):
    """Something to be packed, and how it is shown."""

    item: Item
    cite: str
    head: str
    text: str = ""
    tokens: int | None = None
    """Tokens of the whole text where they are known, without its head."""
    least: int = PART_TOKENS_AT_LEAST
    """Tokens that a part must have to be shown; 0: the text is shown whole or not at all."""
    most: int | None = None
    """Tokens of the text that are shown at most."""
    end: str = ""
    """Written after a text that was cut."""

    def text_tokens(self, family: TokenFamily) -> int:
        """Count the tokens that the whole text adds to its head."""
        if self.tokens is not None:
            return self.tokens
        return size(family, self.head, self.text) - size(family, self.head)


@dataclass(frozen=True, slots=True)
class PackedBlock(Generic[Item]):
    """Something that was packed, with as much of its text as fitted."""

    item: Item
    head: str
    text: str
    head_tokens: int
    tokens: int
    """Tokens of head and text."""

    def __str__(self) -> str:
        return shown(self.head, self.text)


class Packer:
    """A budget of tokens as it is filled."""

    def __init__(self, budget: int, stage: str, family: TokenFamily = MINILM) -> None:
        self.room, self.stage, self.family = budget, stage, family
        self.diagnostics: list[Diagnostic] = []

    def record(self, reason: Reason, detail: str) -> None:
        """Record what was cut or left out."""
        self.diagnostics.append(Diagnostic(reason, self.stage, detail))

    def put(self, draft: BlockDraft[Item], at_most: int | None = None) -> PackedBlock[Item] | None:
        """Pack as much of a draft as fits; None if nothing of it does.

        `at_most` narrows the room for this draft.
        """
        room = self.room if at_most is None else min(at_most, self.room)
        block = fitted(draft, room, self.family)
        if block is None:
            return None
        if block.text != draft.text:
            part, whole = block.tokens - block.head_tokens, draft.text_tokens(self.family)
            self.record(Reason.BUDGET_EXHAUSTED, f"{draft.cite} cut to {part} of {whole} tokens")
        self.room -= block.tokens
        return block

    def fill(
        self, drafts: Sequence[BlockDraft[Item]], what: str, at_most: int | None = None
    ) -> list[PackedBlock[Item]]:
        """Pack drafts, best first, up to the first one that does not fit whole.

        A diagnostic counts those left out, which `what` names.
        """
        room = self.room if at_most is None else min(at_most, self.room)
        blocks: list[PackedBlock[Item]] = []
        for draft in drafts:
            block = self.put(draft, room)
            if block is None:
                break
            blocks.append(block)
            room -= block.tokens
            if block.text != draft.text:
                break
        if left := drafts[len(blocks) :]:
            tokens = sum(
                size(self.family, draft.head) + draft.text_tokens(self.family) for draft in left
            )
            self.record(Reason.EVICTED, f"{len(left)} {what}, {tokens} tokens")
        return blocks


def fitted(
    draft: BlockDraft[Item], room: int, family: TokenFamily = MINILM
) -> PackedBlock[Item] | None:
    """Return a draft with as much of its text as fits into `room` tokens; None if none does."""
    head = size(family, draft.head)
    whole = draft.text_tokens(family)
    most = room - head if draft.most is None else min(room - head, draft.most)
    if whole <= most:
        return PackedBlock(draft.item, draft.head, draft.text, head, head + whole)
    part_room = most - (size(family, draft.head, draft.end) - head if draft.end else 0)
    while draft.least and part_room >= draft.least:
        part = family.cut(draft.text, part_room)
        tokens = size(family, draft.head, part + draft.end)
        if part and tokens - head <= most:
            return PackedBlock(draft.item, draft.head, part + draft.end, head, tokens)
        part_room = part_room * 3 // 4
    return None


def size(family: TokenFamily, head: str, text: str = "") -> int:
    """Count the tokens of a block as it is shown, with the empty line after it."""
    return family.count([f"{shown(head, text)}\n\n"])[0]


def both_ends(ranked: Sequence[Item]) -> list[Item]:
    """Order items best, third, fifth … sixth, fourth, second: models read the ends best."""
    return [*ranked[::2], *ranked[1::2][::-1]]
