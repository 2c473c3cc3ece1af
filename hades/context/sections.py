"""A context by sections: each has its share of the budget, and leaves the rest to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from hades.context.packer import PART_TOKENS_AT_LEAST, BlockDraft, PackedBlock, Packer, size
from hades.context.text.layout import flat, read_cite, shown_cite
from hades.context.tokens import TokenFamily
from hades.domain.context import ContextItem, ContextSection
from hades.domain.graph import Reason

STAGE = "context"
TITLES = {"latest": "Latest states:", "summaries": "Summaries:", "details": "Details:"}


class Sections:
    """A context as its sections fill up. Every part ends with an empty line, so they add up."""

    def __init__(self, question: str, room: int, family: TokenFamily) -> None:
        self._packer = Packer(room, STAGE, family)
        self._parts = [family.cut_words(f"Question: {flat(question)}", room // 4)]
        self._packer.room -= size(family, self._parts[0])
        self._spare = self._numbers = 0
        self._shown: dict[tuple[str, int | None], str] = {}
        self.sections: list[ContextSection] = []
        self.diagnostics = self._packer.diagnostics

    @property
    def text(self) -> str:
        """The text for a model."""
        return "".join(f"{part}\n\n" for part in self._parts)

    def fill(self, name: str, shares: Mapping[str, int], items: Iterable[ContextItem]) -> None:
        """Put in what fits, best first, cut where that is worth it; skip what is shown already."""
        packer = self._packer
        packer.stage = name
        allowed = max(0, min(shares[name] + self._spare, packer.room))
        title_tokens = size(packer.family, TITLES[name])
        room, blocks, left_out = allowed - title_tokens, list[PackedBlock[ContextItem]](), 0
        for item in items:
            state, text = read_cite(item.cite)[:2], item.text.strip()
            if text in self._shown.get(state, ""):
                continue  # a passage of a state that is shown, or the state of a passage
            if room < PART_TOKENS_AT_LEAST:
                packer.record(Reason.BUDGET_EXHAUSTED, f"from {item.cite} on")
                break
            block = packer.put(self._draft(item, text), room)
            if block is None:
                left_out += 1
                continue
            self._numbers += 1
            blocks.append(block)
            self._shown[state] = f"{self._shown.get(state, '')}\n\n{block.text}"
            room -= block.tokens
        if left_out:
            packer.record(Reason.EVICTED, f"{left_out} did not fit")
        if blocks:
            packer.room -= title_tokens
            self._parts += [TITLES[name], *map(str, blocks)]
        used = sum(block.tokens for block in blocks) + (title_tokens if blocks else 0)
        self._spare = allowed - used
        packed = [replace(one.item, text=one.text, tokens=one.tokens) for one in blocks]
        self.sections.append(ContextSection(name, allowed, used, tuple(packed)))

    def _draft(self, item: ContextItem, text: str) -> BlockDraft[ContextItem]:
        held = f", {item.held}" if item.held else ""
        head = f"[{self._numbers + 1}] {shown_cite(item.cite)}{held} ({item.why})"
        return BlockDraft(item, item.cite, head, text)
