"""The context window: what a model sees now, within a hard limit of tokens.

It follows MemGPT and source document 000, §4.

Five sections in this order: core blocks, what was paged out (in short), the working context,
evidence with the best at both ends, and the conversation. Above 90 % the window is compacted: the
blocks with the lowest priority and reliability go first, the oldest of equals. Blocks of high
priority go only where the rest is not enough; core blocks and the last turns never go. What goes
is first written into the memory as a conversation, unless it came from there, and the window keeps
a short summary of it. So nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from hades.context.key_sentences import key_sentences
from hades.context.packer import PART_TOKENS_AT_LEAST, BlockDraft, both_ends, fitted, size
from hades.context.text.layout import read_cite, shown, shown_cite
from hades.context.tokens import TokenFamily, token_family
from hades.domain.answer import Recall
from hades.domain.context import CORE_PREFIX, CoreBlock, WindowBlock, WindowEvent
from hades.domain.rules import clean_content, clean_name, clean_number, clean_share
from hades.domain.times import from_micros, system_clock
from hades.domain.topics import Chunk, State, Topic
from hades.errors import Conflict, InvalidInput, NotFound
from hades.language.sentences import sentences

if TYPE_CHECKING:
    from hades.models.chat import ChatModel

WARN_FROM, COMPACT_ABOVE, COMPACT_TO = 0.75, 0.90, 0.70
"""Shares of the limit (algorithms, §11)."""
SUMMARY_SHARE, SUMMARY_TOKENS_AT_MOST = 1 - COMPACT_ABOVE, 400
"""No more than compacting leaves free: what was let in always leaves room for a summary."""
LIMIT_AT_LEAST = 200
PRIORITIES = ("low", "medium", "high")
TITLES = {
    "core": "# Core memory",
    "archive": "# Paged out",
    "working": "# Working context",
    "recall": "# Evidence",
    "conversation": "# Conversation",
}
"""The sections in their order."""


class PagedMemory(Protocol):
    """What a window asks of a memory: `hades.Memory`, or a client's."""

    def core(self) -> list[CoreBlock]: ...
    def get(self, topic: str, version: int | None = None) -> State: ...
    def chunks(self, topic: str, version: int | None = None) -> list[Chunk]: ...
    def topics(self, glob: str | None = None) -> list[Topic]: ...
    def recall(self, question: str, *, budget: int | None = None) -> Recall: ...
    @property
    def remember(self) -> Callable[..., State]: ...


class ContextWindow:
    """One window of `limit` tokens of one family of models, over one memory.

    >>> window = ContextWindow(memory, 8_000, tokens="gpt-4o")        # doctest: +SKIP
    >>> window.say("user", "Which database do we use?")               # doctest: +SKIP
    >>> window.recall("Which database do we use?")                    # doctest: +SKIP
    >>> window.render()                                               # doctest: +SKIP

    `name` is the topic below which is written what goes: `conversation/today/0001` and on.
    `events` lists what it did by itself. A `model` summarises what goes, else its key sentences
    do, as they do where nothing the model says is supported.
    """

    def __init__(
        self,
        memory: PagedMemory,
        limit: int,
        *,
        name: str = "conversation/window",
        tokens: str = "minilm",
        kept_turns: int = 4,
        model: ChatModel | None = None,
    ) -> None:
        clean_number(limit, "limit", least=LIMIT_AT_LEAST)
        clean_number(kept_turns, "number of turns to keep", least=1)
        self.limit, self.name, self.events = limit, clean_name(name), list[WindowEvent]()
        self.family: TokenFamily = token_family(tokens)
        self._memory, self._kept_turns, self._model = memory, kept_turns, model
        self._warned = False
        self._titles = {one: size(self.family, text) for one, text in TITLES.items()}
        self._summary_tokens = min(int(limit * SUMMARY_SHARE), SUMMARY_TOKENS_AT_MOST)
        self._blocks: list[WindowBlock] = []
        self._pages = len(memory.topics(f"{name}/*"))
        self.refresh()

    # What is in it

    @property
    def tokens(self) -> int:
        """How many tokens it has now."""
        return self._total(self._blocks)

    @property
    def blocks(self) -> tuple[WindowBlock, ...]:
        """What stands in it, the oldest of a section first."""
        return tuple(self._blocks)

    def render(self) -> str:
        """The text for a model: never more tokens than the limit."""
        return _rendered(self._blocks)

    # Filling it

    def refresh(self) -> None:
        """Read the pinned core blocks anew: somebody may have changed them."""
        cores = [self._sized(_core(one, self.family)) for one in self._memory.core() if one.pinned]
        self._admit([one for one in self._blocks if one.section != "core"], cores)

    def put(
        self,
        name: str,
        text: str,
        *,
        section: str = "working",
        priority: str = "medium",
        reliability: float = 0.5,
    ) -> None:
        """Set a block of the working context or of the evidence; one of that name is replaced."""
        if section not in ("working", "recall"):
            raise InvalidInput(f"A block is put into working or recall, not {section!r}.")
        if priority not in PRIORITIES:
            raise InvalidInput(f"A priority is high, medium or low, not {priority!r}.")
        sure = clean_share(reliability, "reliability") or 0.0
        self._set(WindowBlock(section, clean_name(name), clean_content(text), 0, priority, sure))

    def say(self, role: str, text: str, *, at: datetime | None = None) -> None:
        """Add a turn of the conversation."""
        said = at or from_micros(system_clock())
        turn = WindowBlock(
            "conversation", clean_name(role, "speaker"), clean_content(text), 0, said=said
        )
        self._admit(self._blocks, [self._sized(turn)])

    def recall(self, question: str, *, budget: int | None = None) -> Recall:
        """Ask the memory and put what it finds into the evidence, with high priority.

        Evidence of an earlier question has low priority from now on.
        """
        found = self._memory.recall(question, budget=budget or max(50, self.limit // 4))
        told = [(one.edge.cite, one.text, one.belief.mean) for one in found.facts]
        told += [(one.id, one.chunk.text, one.belief.mean) for one in found.passages]
        cited = {cite for cite, _, _ in told}
        evidence = [
            self._sized(WindowBlock("recall", cite, text, 0, "high", sure, cite))
            for cite, text, sure in reversed(told)  # of equals the best is the last to go
            if not cite.startswith(CORE_PREFIX)
        ]
        others = [
            replace(one, priority="low") if one.section == "recall" else one
            for one in self._blocks
            if one.section != "recall" or one.name not in cited
        ]
        self._admit([*others, *evidence], [])
        return found

    def page_in(self, cite: str) -> None:
        """Bring back what went: a topic, a version `topic@2` or a passage `topic@2#0`."""
        topic, version, ordinal = read_cite(cite)
        state = self._memory.get(topic, version)
        text = state.content
        if ordinal is not None:
            passages = {one.ordinal: one.text for one in self._memory.chunks(topic, version)}
            if ordinal not in passages:
                raise NotFound(f"{topic}@{version} has no passage {ordinal}.")
            text = passages[ordinal]
        source = state.id if ordinal is None else cite
        self._set(WindowBlock("working", cite, text, 0, source=source))

    def drop(self, name: str) -> None:
        """Take a block out of the working context and the evidence; the memory is left as it is."""
        gone = [("working", name), ("recall", name)]
        kept = [one for one in self._blocks if (one.section, one.name) not in gone]
        if len(kept) == len(self._blocks):
            raise NotFound(f"There is no block {name!r} in this window.")
        self._blocks = kept

    # Making room

    def _set(self, block: WindowBlock) -> None:
        named = block.section, block.name
        others = [one for one in self._blocks if (one.section, one.name) != named]
        self._admit(others, [self._sized(block)])

    def _admit(self, others: Sequence[WindowBlock], new: Sequence[WindowBlock]) -> None:
        """Take new blocks in. What has to go is written to the memory first, then leaves."""
        kept, events = [*others, *new], list[WindowEvent]()
        if self._total(kept) > self.limit * COMPACT_ABOVE:
            kept, events = self._compacted(kept, new)
        self._blocks = kept
        used = self.tokens
        if used < self.limit * WARN_FROM:
            self._warned = False
        elif not self._warned:
            self._warned = True
            why = f"{used:,} of {self.limit:,} tokens are in use"
            events.append(WindowEvent("warn", "the window", used, why))
        self.events += events

    def _compacted(
        self, blocks: Sequence[WindowBlock], new: Sequence[WindowBlock]
    ) -> tuple[list[WindowBlock], list[WindowEvent]]:
        """The blocks that stay, and what is to be told; where it raises, nothing has changed."""
        before = self._total(blocks)
        why = f"{before:,} of {self.limit:,} tokens, compacted above {COMPACT_ABOVE:.0%}"
        room = self._summary_tokens
        summary = [one for one in blocks if one.section == "archive"]
        kept = [one for one in blocks if one.section != "archive"]
        goes = self._chosen(kept, new)
        kept = _without(kept, goes)
        events = [
            WindowEvent(
                "evict",
                f"{one.section}: {one.name}",
                one.tokens,
                f"{why}; {one.priority} priority, reliability {one.reliability:.2f}",
                one.source,
            )
            for one in goes
        ]
        whole = part = None
        if self._total(kept) > self.limit - room:
            whole, part = self._shortened(kept, new, self.limit - room)
            goes.append(whole)
            events.append(WindowEvent("cut", whole.name, whole.tokens, why, whole.source))
        page = self._write([one for one in goes if not one.source])
        events = [one if one.found_at else replace(one, found_at=page) for one in events]
        if part is not None:
            part = replace(part, source=part.source or page)
            kept = [part if one is whole else one for one in kept]
        if page or summary:
            texts = [one.text for one in summary]
            texts += [f"{one.name}: {one.text}" for one in goes if not one.source]
            kept += self._summary(kept, texts, events)
        freed = before - self._total(kept)
        return kept, [*events, WindowEvent("compact", "the window", freed, why, page)]

    def _chosen(
        self, blocks: Sequence[WindowBlock], new: Sequence[WindowBlock]
    ) -> list[WindowBlock]:
        """What goes so that the rest leaves room for a summary, as far as it may go."""
        turns = [one for one in blocks if one.section == "conversation"]
        stays = {id(one) for one in (*new, *turns[-self._kept_turns :])}
        may_go = [one for one in blocks if one.section != "core" and id(one) not in stays]
        may_go.sort(key=lambda one: (PRIORITIES.index(one.priority), one.reliability))
        goes: list[WindowBlock] = []
        for one in may_go:
            share = COMPACT_ABOVE if one.priority == "high" else COMPACT_TO
            target = int(self.limit * share) - self._summary_tokens
            if self._total(_without(blocks, goes)) <= target:
                break
            goes.append(one)
        return goes

    def _shortened(
        self, kept: Sequence[WindowBlock], new: Sequence[WindowBlock], most: int
    ) -> tuple[WindowBlock, WindowBlock]:
        """The new block that is too long, and the beginning of it that fits."""
        if len(new) == 1 and new[0].section != "core":
            whole = new[0]
            others = _without(kept, new)
            part = self._fitted(others, whole, most, PART_TOKENS_AT_LEAST, _CUT)
            if part is not None:
                return whole, part
        held = self._total(_without(kept, new))
        raise InvalidInput(
            f"It does not fit: {held:,} of {self.limit:,} tokens are taken by core blocks and the "
            "last turns, which stay; shorten it or them, or use a larger window."
        )

    def _fitted(
        self,
        others: Sequence[WindowBlock],
        block: WindowBlock,
        most: int,
        least: int = 1,
        end: str = "",
    ) -> WindowBlock | None:
        """Cut a block so that it and the others have at most `most` tokens; None if it cannot."""
        room = most - self._total([*others, replace(block, tokens=0)])
        draft = BlockDraft(block, block.name, _head(block), block.text, least=least, end=end)
        part = fitted(draft, room, self.family)
        return replace(block, text=part.text, tokens=part.tokens) if part else None

    def _write(self, blocks: Sequence[WindowBlock]) -> str:
        """Write what goes into the memory; the topic it is in.

        It holds from now on by the memory's clock: were ours ahead, it would not be found yet.
        """
        if not blocks:
            return ""
        turns = [one for one in blocks if one.said is not None]
        metadata = {"participants": sorted({one.name for one in turns}), "turns": len(turns)}
        text = "\n\n".join(one.paragraph for one in blocks)
        while True:
            self._pages += 1
            page = f"{self.name}/{self._pages:04}"
            try:
                self._memory.remember(
                    page, text, kind="conversation", metadata=metadata, expect_version=0
                )
            except Conflict:  # another window writes below the same name
                continue
            return page

    def _summary(
        self, kept: Sequence[WindowBlock], texts: Sequence[str], events: list[WindowEvent]
    ) -> list[WindowBlock]:
        """What went, in short, as far as there is room for it."""
        most = self._summary_tokens
        text = self._told_by_model(texts, most, events)
        if not text:
            said = dict.fromkeys(" ".join(one.split()) for text in texts for one in sentences(text))
            text = "\n".join(key_sentences(list(said), self.family, most))
        name = f"{self.name}/0001 to {self._pages:04}"
        made = self._fitted(kept, WindowBlock("archive", name, text, 0, source=name), self.limit)
        return [made] if made else []

    def _told_by_model(self, texts: Sequence[str], most: int, events: list[WindowEvent]) -> str:
        """What a model makes of texts: the sentences that what they cite supports."""
        if self._model is None:
            return ""
        from hades.models.checked import cited_sentences

        reply = cited_sentences(self._model, _SUMMARISE, texts, max_tokens=most)
        if reply.why:
            told = f"key sentences instead: {reply.why}"
            events.append(WindowEvent("fallback", "the summary", 0, told))
            return ""
        return "\n".join(one.text for one in reply.held)

    # Counting

    def _sized(self, block: WindowBlock) -> WindowBlock:
        return replace(block, tokens=size(self.family, _head(block), block.text))

    def _total(self, blocks: Sequence[WindowBlock]) -> int:
        """Count the tokens of a window of these blocks: those of its parts."""
        titles = sum(self._titles[one] for one in {block.section for block in blocks})
        return sum(block.tokens for block in blocks) + titles


_SUMMARISE = "Summarise the texts in a few sentences."
_CUT = "\n[cut here: the memory has the whole]"


def _core(block: CoreBlock, family: TokenFamily) -> WindowBlock:
    """A core block, cut where it is longer than its limit: a state can be written without."""
    part = fitted(BlockDraft(block, block.topic, "", block.text, least=1), block.limit, family)
    cite = f"{block.topic}@{block.version}"
    return WindowBlock("core", block.topic, part.text if part else "", 0, "high", 1.0, cite)


def _head(block: WindowBlock) -> str:
    when = f", {block.said.astimezone(UTC):%Y-%m-%d %H:%M}" if block.said else ""
    return f"[{shown_cite(block.name)}{when}]"


def _rendered(blocks: Sequence[WindowBlock]) -> str:
    text = ""
    for section, title in TITLES.items():
        inside = [one for one in blocks if one.section == section]
        if section == "recall":
            ranks = PRIORITIES.index
            inside.sort(key=lambda one: (ranks(one.priority), one.reliability), reverse=True)
            inside = both_ends(inside)
        if inside:
            blocks_shown = [shown(_head(one), one.text) for one in inside]
            text += "".join(f"{part}\n\n" for part in (title, *blocks_shown))
    return text


def _without(blocks: Iterable[WindowBlock], gone: Iterable[WindowBlock]) -> list[WindowBlock]:
    """Blocks but for some, which are these very ones: two turns may say the same."""
    ids = {id(one) for one in gone}
    return [one for one in blocks if id(one) not in ids]
