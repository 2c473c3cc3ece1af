"""The packer: fit blocks into a budget of tokens, whole or cut.

Every context is made of blocks: a head line that HADES writes, and a stored text below it. A block
is shown whole if it fits. Otherwise its text is cut to a beginning, if enough of it fits to be
worth the head line. Diagnostics report what was cut and what was left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from hades.context.text.layout import flat, read_cite, shown, shown_cite
from hades.context.tokens import MINILM, TokenFamily
from hades.domain.answer import Diagnostic
from hades.domain.context import ContextItem, ContextSection
from hades.domain.fitting import best_fitting
from hades.domain.graph import Reason
from hades.language.english.lexicon import DECISION, NOTABLE

Item = TypeVar("Item")

PART_TOKENS_AT_LEAST = 24
"""A shorter part of a text says too little to be worth its head line."""
LINE_TOKENS = 32
LINE_TOKENS_AT_LEAST = 8
"""The most tokens of a state that is shown as one line, and the fewest that are worth showing."""
NAMED_AT_MOST = 5
"""The most items that a diagnostic names."""
SECTION_TITLES = {"latest": "Latest states:", "summaries": "Summaries:", "details": "Details:"}


@dataclass(frozen=True, slots=True)
class BlockDraft(Generic[Item]):
    """An item to be packed, and how it is shown."""

    item: Item
    cite: str
    head: str
    text: str = ""
    tokens: int | None = None
    """Tokens of the whole text without its head; None if unknown."""
    least: int = PART_TOKENS_AT_LEAST
    """A part needs at least this many tokens; with 0 the text is shown whole or not at all."""
    most: int | None = None
    """The most tokens of the text that are shown."""
    end: str = ""
    """A mark that is written after a cut text."""

    def text_tokens(self, family: TokenFamily) -> int:
        """Count the tokens that the whole text adds to its head."""
        if self.tokens is not None:
            return self.tokens
        return size(family, self.head, self.text) - size(family, self.head)


@dataclass(frozen=True, slots=True)
class PackedBlock(Generic[Item]):
    """A packed item, with as much of its text as fitted."""

    item: Item
    head: str
    text: str
    head_tokens: int
    tokens: int
    """Tokens of head and text."""

    def __str__(self) -> str:
        return shown(self.head, self.text)


class Packer:
    """A budget of tokens that is being filled: `room` is left, `diagnostics` report losses."""

    def __init__(
        self, room: int, stage: str, family: TokenFamily = MINILM, whole: Packer | None = None
    ) -> None:
        self.room = room
        self.stage = stage
        self.family = family
        self._whole = whole
        self.diagnostics: list[Diagnostic] = whole.diagnostics if whole else []

    def part(self, at_most: float) -> Packer:
        """Return a packer for a part of the room: what it packs is taken from this one, too."""
        return Packer(min(int(at_most), self.room), self.stage, self.family, self)

    def record(self, reason: Reason, detail: str) -> None:
        """Add a diagnostic of this stage."""
        self.diagnostics.append(Diagnostic(reason, self.stage, detail))

    def take(self, tokens: int) -> None:
        """Take tokens from the room."""
        self.room -= tokens
        if self._whole is not None:
            self._whole.take(tokens)

    def put(self, draft: BlockDraft[Item]) -> PackedBlock[Item] | None:
        """Pack as much of a draft as fits, and take its tokens from the room; None if too little.

        A cut is recorded as a diagnostic.
        """
        block = fitted(draft, self.room, self.family)
        if block is None:
            return None
        if block.text != draft.text:
            part = block.tokens - block.head_tokens
            whole = draft.text_tokens(self.family)
            cite = shown_cite(draft.cite)
            self.record(Reason.BUDGET_EXHAUSTED, f"{cite} cut to {part} of {whole} tokens")
        self.take(block.tokens)
        return block

    def fill(
        self, drafts: Iterable[BlockDraft[Item]], *, skips: bool = False
    ) -> tuple[list[PackedBlock[Item]], list[BlockDraft[Item]]]:
        """Pack drafts in order; return the blocks, and the drafts that are left out.

        The first draft that does not fit whole may be cut, and ends the choice. With `skips`, all
        others are tried, too.
        """
        blocks: list[PackedBlock[Item]] = []
        left_out: list[BlockDraft[Item]] = []
        is_full = False
        for draft in drafts:
            block = None if is_full else self.put(draft)
            if block is None:
                left_out.append(draft)
            else:
                blocks.append(block)
            is_full = not skips and (block is None or block.text != draft.text)
        return blocks, left_out


def fitted(
    draft: BlockDraft[Item], room: int, family: TokenFamily = MINILM
) -> PackedBlock[Item] | None:
    """Return a draft with as much of its text as fits into `room` tokens; None if too little."""
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


def key_sentences(texts: Sequence[str], family: TokenFamily, at_most: int) -> list[str]:
    """Return the most important sentences, in the order of the text, within `at_most` tokens.

    Decisions are chosen first, then sentences with a number or something that was done, then
    earlier ones. The best sentence is always returned, even if it is longer: the caller must cut
    it.
    """
    worth = [2 * bool(DECISION.search(text)) + bool(NOTABLE.search(text)) for text in texts]
    return [texts[place] for place in best_fitting(worth, family.count(texts), at_most)]


class Sections:
    """A context that is filled section by section; tokens left in a section go to the next.

    Every part ends with an empty line, so that the tokens of the parts add up.
    """

    def __init__(self, question: str, room: int, family: TokenFamily) -> None:
        self._packer = Packer(room, "context", family)
        self._parts = [family.cut_words(f"Question: {flat(question)}", room // 4)]
        self._packer.take(size(family, self._parts[0]))
        self._spare = self._numbers = 0
        self._shown: defaultdict[tuple[str, int | None], str] = defaultdict(str)
        self.sections: list[ContextSection] = []
        self.diagnostics = self._packer.diagnostics

    @property
    def text(self) -> str:
        """The text for a model."""
        return "".join(f"{part}\n\n" for part in self._parts)

    def fill_each(self, name: str, shares: Mapping[str, int], items: Sequence[ContextItem]) -> None:
        """Add the section `name` with a line of every item, and more of an item where it fits.

        The first items may use the section's share beyond their lines. Lines get shorter if all of
        them together would take more than half of the context. A diagnostic names the items that
        have no line because the context is full.
        """
        allowed, title_tokens = self._begin(name, shares)
        packer = self._packer.part(self._packer.room - title_tokens)
        family = packer.family
        share = packer.room // 2 // max(1, len(items))
        blocks = dict[str, PackedBlock[ContextItem]]()
        drafts = list[BlockDraft[ContextItem]]()
        left_out: list[str] = []
        for item in items:
            draft = self._draft(item, item.text.strip(), len(drafts) + 1)
            most = max(LINE_TOKENS_AT_LEAST, share - size(family, draft.head))
            line = replace(
                draft,
                text=flat(draft.text),
                most=min(LINE_TOKENS, most),
                least=LINE_TOKENS_AT_LEAST,
            )
            packed = fitted(line, packer.room, family)
            if packed is None:
                left_out.append(item.cite)
                continue
            packer.take(packed.tokens)
            drafts.append(draft)
            blocks[item.cite] = packed
        spare = allowed - title_tokens
        for draft in drafts:
            line_tokens = blocks[draft.cite].tokens
            more = fitted(draft, min(spare, packer.room) + line_tokens, family)
            if more is not None and more.tokens >= line_tokens:
                spare -= more.tokens - line_tokens
                packer.take(more.tokens - line_tokens)
                blocks[draft.cite] = more
        if cut := [d.cite for d in drafts if len(blocks[d.cite].text) < len(flat(d.text))]:
            packer.record(Reason.BUDGET_EXHAUSTED, f"cut: {_named(cut)}")
        if left_out:
            packer.record(Reason.EVICTED, f"no room for a line of {_named(left_out)}")
        self._numbers += len(blocks)
        for block in blocks.values():
            self._remember(block)
        self._end(name, allowed, title_tokens, list(blocks.values()))

    def fill(self, name: str, shares: Mapping[str, int], items: Iterable[ContextItem]) -> None:
        """Add the section `name`, with the items that fit, whole or cut, in the given order.

        `shares` are tokens by section. A text that is shown already is skipped.
        """
        allowed, title_tokens = self._begin(name, shares)
        packer = self._packer.part(allowed - title_tokens)
        blocks = list[PackedBlock[ContextItem]]()
        left_out: list[str] = []
        for item in items:
            text = item.text.strip()
            if item.why != "summary" and text in self._shown[read_cite(item.cite)[:2]]:
                continue  # a passage of a state that is shown, or the state of a passage
            if packer.room < PART_TOKENS_AT_LEAST:
                packer.record(Reason.BUDGET_EXHAUSTED, f"from {shown_cite(item.cite)} on")
                break
            block = packer.put(self._draft(item, text, self._numbers + 1))
            if block is None:
                left_out.append(item.cite)
                continue
            self._numbers += 1
            blocks.append(block)
            self._remember(block)
        if left_out:
            packer.record(Reason.EVICTED, f"did not fit: {_named(left_out)}")
        self._end(name, allowed, title_tokens, blocks)

    def _begin(self, name: str, shares: Mapping[str, int]) -> tuple[int, int]:
        """Start a section; return the tokens that it may take, and those of its title."""
        packer = self._packer
        packer.stage = name
        allowed = max(0, min(shares[name] + self._spare, packer.room))
        return allowed, size(packer.family, SECTION_TITLES[name])

    def _end(
        self, name: str, allowed: int, title_tokens: int, blocks: Sequence[PackedBlock[ContextItem]]
    ) -> None:
        """Write the blocks of a section, whose tokens the packer has already taken."""
        used = 0
        if blocks:
            self._packer.take(title_tokens)
            self._parts += [SECTION_TITLES[name], *map(str, blocks)]
            used = title_tokens + sum(block.tokens for block in blocks)
        self._spare = max(0, allowed - used)
        packed = [replace(row.item, text=row.text, tokens=row.tokens) for row in blocks]
        self.sections.append(ContextSection(name, max(allowed, used), used, tuple(packed)))

    def _remember(self, block: PackedBlock[ContextItem]) -> None:
        """Remember the text that is shown of a state."""
        self._shown[read_cite(block.item.cite)[:2]] += f"\n\n{block.text}"

    def _draft(self, item: ContextItem, text: str, number: int) -> BlockDraft[ContextItem]:
        held = f", {item.held}" if item.held else ""
        head = f"[{number}] {shown_cite(item.cite)}{held} ({item.why})"
        return BlockDraft(item, item.cite, head, text)


def _named(cites: Sequence[str]) -> str:
    """Return citations as a diagnostic lists them."""
    more = f" and {len(cites) - NAMED_AT_MOST} more" * (len(cites) > NAMED_AT_MOST)
    return ", ".join(map(shown_cite, cites[:NAMED_AT_MOST])) + more
