"""The context window: what a model sees now, within a hard limit of tokens.

It follows MemGPT and memory-enhanced PathRAG. It has five sections: core blocks, a summary of
evicted blocks, the working context, evidence with the best at both ends, and the conversation.

Above 90 % the window is compacted: the blocks with the lowest priority and reliability are evicted
first, the oldest among equals. Blocks of high priority are evicted only if that is not enough; core
blocks and the last turns never are. Evicted blocks are first written into the memory as a
conversation, unless they came from there, and the window keeps a short summary. So nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from hades.context.packer import (
    PART_TOKENS_AT_LEAST,
    BlockDraft,
    both_ends,
    fitted,
    key_sentences,
    size,
)
from hades.context.text.layout import flat, read_cite, shown, shown_cite
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

WARN_FROM = 0.75
COMPACT_ABOVE = 0.90
COMPACT_TO = 0.70
"""Shares of the limit: above the first the window warns, above the second it is compacted, down
to the third."""
SUMMARY_SHARE = 1 - COMPACT_ABOVE
SUMMARY_TOKENS_AT_MOST = 400
"""The largest share of the limit, and the most tokens, of the summary. Compacting leaves at least
that share free."""
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
    """The methods of a memory that a window calls: `hades.Memory`, or a client's."""

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

    Evicted blocks are written to topics below `name`: `conversation/today/0001` and on. The last
    `kept_turns` turns are never evicted. `events` lists what the window did by itself. A `model`
    writes the summary of evicted blocks. Without one, or if its sentences are not supported, the
    key sentences of the blocks are the summary.
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
        self.limit = limit
        self.name = clean_name(name)
        self.events = list[WindowEvent]()
        self.family: TokenFamily = token_family(tokens)
        self._memory = memory
        self._kept_turns = kept_turns
        self._model = model
        self._warned = False
        self._titles = {name: size(self.family, title) for name, title in TITLES.items()}
        self._summary_tokens = min(int(limit * SUMMARY_SHARE), SUMMARY_TOKENS_AT_MOST)
        self._blocks: list[WindowBlock] = []
        self._pages = len(memory.topics(f"{name}/*"))
        self.refresh()

    # Contents

    @property
    def tokens(self) -> int:
        """The tokens of the window now."""
        return self._total(self._blocks)

    @property
    def blocks(self) -> tuple[WindowBlock, ...]:
        """The blocks of all sections, in the order in which they were added or last replaced."""
        return tuple(self._blocks)

    def render(self) -> str:
        """Return the text for a model, which never has more tokens than the limit."""
        return _rendered(self._blocks)

    # Filling it

    def refresh(self) -> None:
        """Replace the core blocks by the memory's pinned ones, which may have changed."""
        pinned = [block for block in self._memory.core() if block.pinned]
        cores = [self._sized(_core(block, self.family)) for block in pinned]
        self._admit([block for block in self._blocks if block.section != "core"], cores)

    def put(
        self,
        name: str,
        text: str,
        *,
        section: str = "working",
        priority: str = "medium",
        reliability: float = 0.5,
    ) -> None:
        """Put a block into the working context or the evidence, replacing one of that name."""
        if section not in ("working", "recall"):
            raise InvalidInput(f"A section is working or recall, not {section!r}.")
        if priority not in PRIORITIES:
            raise InvalidInput(f"A priority is high, medium or low, not {priority!r}.")
        sure = clean_share(reliability, "reliability") or 0.0
        self._set(WindowBlock(section, clean_name(name), clean_content(text), 0, priority, sure))

    def say(self, role: str, text: str, *, at: datetime | None = None) -> None:
        """Add a turn of the conversation, said by `role` at a time, by default now."""
        moment = at or from_micros(system_clock())
        turn = WindowBlock(
            "conversation", clean_name(role, "speaker"), clean_content(text), 0, said=moment
        )
        self._admit(self._blocks, [self._sized(turn)])

    def recall(self, question: str, *, budget: int | None = None) -> Recall:
        """Recall a question and put its facts and passages into the evidence, with high priority.

        Other evidence, of earlier questions, gets low priority.
        """
        recall = self._memory.recall(question, budget=budget or max(50, self.limit // 4))
        sources = [(fact.edge.cite, fact.text, fact.belief.mean) for fact in recall.facts]
        sources += [(row.id, row.chunk.text, row.belief.mean) for row in recall.passages]
        cited = {cite for cite, _, _ in sources}
        evidence = [
            self._sized(WindowBlock("recall", cite, text, 0, "high", sure, cite))
            for cite, text, sure in reversed(sources)  # among equals, the best is evicted last
            if not cite.startswith(CORE_PREFIX)
        ]
        others = [
            replace(block, priority="low") if block.section == "recall" else block
            for block in self._blocks
            if block.section != "recall" or block.name not in cited
        ]
        self._admit([*others, *evidence], [])
        return recall

    def page_in(self, cite: str) -> None:
        """Put a stored text into the working context: `topic`, `topic@2` or passage `topic@2#0`."""
        topic, version, ordinal = read_cite(cite)
        state = self._memory.get(topic, version)
        text = state.content
        if ordinal is not None:
            chunks = self._memory.chunks(topic, version)
            passages = {chunk.ordinal: chunk.text for chunk in chunks}
            if ordinal not in passages:
                raise NotFound(f"{topic}@{version} has no passage {ordinal}.")
            text = passages[ordinal]
        source = state.id if ordinal is None else cite
        self._set(WindowBlock("working", cite, text, 0, source=source))

    def drop(self, name: str) -> None:
        """Remove a working or evidence block from the window, not the memory; or raise NotFound."""
        gone = [("working", name), ("recall", name)]
        kept = [block for block in self._blocks if (block.section, block.name) not in gone]
        if len(kept) == len(self._blocks):
            raise NotFound(f"There is no block {name!r} in this window.")
        self._blocks = kept

    # Making room

    def _set(self, block: WindowBlock) -> None:
        named = block.section, block.name
        others = [other for other in self._blocks if (other.section, other.name) != named]
        self._admit(others, [self._sized(block)])

    def _admit(self, others: Sequence[WindowBlock], new: Sequence[WindowBlock]) -> None:
        """Set the window to `others` and `new`; compact if too full, warn once if nearly full."""
        kept = [*others, *new]
        events = list[WindowEvent]()
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
        """Write the blocks to evict to the memory. Return the blocks that stay, and the events.

        `new` blocks are never evicted, but one may be cut. The window itself is not changed here.
        """
        before = self._total(blocks)
        why = f"{before:,} of {self.limit:,} tokens, compacted above {COMPACT_ABOVE:.0%}"
        room = self._summary_tokens
        summary = [block for block in blocks if block.section == "archive"]
        kept = [block for block in blocks if block.section != "archive"]
        evicted = self._chosen(kept, new)
        kept = _without(kept, evicted)
        events = [
            WindowEvent(
                "evict",
                f"{block.section}: {block.name}",
                block.tokens,
                f"{why}; {block.priority} priority, reliability {block.reliability:.2f}",
                block.source,
            )
            for block in evicted
        ]
        whole = part = None
        if self._total(kept) > self.limit - room:
            whole, part = self._shortened(kept, new, self.limit - room)
            evicted.append(whole)
            events.append(WindowEvent("cut", whole.name, whole.tokens, why, whole.source))
        unwritten = [block for block in evicted if not block.source]
        page = self._write(unwritten)
        events = [replace(event, found_at=event.found_at or page) for event in events]
        if part is not None:
            part = replace(part, source=part.source or page)
            kept = [part if block is whole else block for block in kept]
        if page or summary:
            texts = [block.text for block in summary]
            texts += [f"{block.name}: {block.text}" for block in unwritten]
            kept += self._summary(kept, texts, events)
        freed = before - self._total(kept)
        return kept, [*events, WindowEvent("compact", "the window", freed, why, page)]

    def _chosen(
        self, blocks: Sequence[WindowBlock], new: Sequence[WindowBlock]
    ) -> list[WindowBlock]:
        """Return the blocks to evict, so that the rest leaves room for a summary if possible."""
        turns = [block for block in blocks if block.section == "conversation"]
        evictable = _without(blocks, [*new, *turns[-self._kept_turns :]])
        evictable = [block for block in evictable if block.section != "core"]
        evicted: list[WindowBlock] = []
        for block in sorted(evictable, key=_rank):
            share = COMPACT_ABOVE if block.priority == "high" else COMPACT_TO
            target = int(self.limit * share) - self._summary_tokens
            if self._total(_without(blocks, evicted)) <= target:
                break
            evicted.append(block)
        return evicted

    def _shortened(
        self, kept: Sequence[WindowBlock], new: Sequence[WindowBlock], most: int
    ) -> tuple[WindowBlock, WindowBlock]:
        """Return the new block that is too long, and its beginning that fits, or raise."""
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
        """Write evicted blocks into the memory and return their topic; "" without blocks.

        The memory's clock sets the time: with a clock that is ahead, the state would not be found
        yet.
        """
        if not blocks:
            return ""
        speakers = [block.name for block in blocks if block.said is not None]
        metadata = {"participants": sorted({*speakers}), "turns": len(speakers)}
        text = "\n\n".join(block.paragraph for block in blocks)
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
        """Return the summary of evicted texts as a block; [] if there is no room for it."""
        most = self._summary_tokens
        text = self._told_by_model(texts, most, events)
        if not text:
            unique = dict.fromkeys(flat(sentence) for text in texts for sentence in sentences(text))
            text = "\n".join(key_sentences(list(unique), self.family, most))
        name = f"{self.name}/0001 to {self._pages:04}"
        block = self._fitted(kept, WindowBlock("archive", name, text, 0, source=name), self.limit)
        return [block] if block else []

    def _told_by_model(self, texts: Sequence[str], most: int, events: list[WindowEvent]) -> str:
        """Return the supported sentences of a model's summary of texts; "" if there is none."""
        if self._model is None:
            return ""
        from hades.models.checked import cited_sentences

        reply = cited_sentences(self._model, _SUMMARISE, texts, max_tokens=most)
        if reply.why:
            why = f"key sentences instead: {reply.why}"
            events.append(WindowEvent("fallback", "the summary", 0, why))
            return ""
        return "\n".join(sentence.text for sentence in reply.held)

    # Counting

    def _sized(self, block: WindowBlock) -> WindowBlock:
        return replace(block, tokens=size(self.family, _head(block), block.text))

    def _total(self, blocks: Sequence[WindowBlock]) -> int:
        """Count the tokens of a window of these blocks."""
        titles = sum(self._titles[name] for name in {block.section for block in blocks})
        return sum(block.tokens for block in blocks) + titles


_SUMMARISE = "Summarise the texts in a few sentences."
_CUT = "\n[cut here: the memory has the whole]"


def _core(block: CoreBlock, family: TokenFamily) -> WindowBlock:
    """Return a core block, cut to its limit: `remember` may write a longer one."""
    part = fitted(BlockDraft(block, block.topic, "", block.text, least=1), block.limit, family)
    cite = f"{block.topic}@{block.version}"
    return WindowBlock("core", block.topic, part.text if part else "", 0, "high", 1.0, cite)


def _head(block: WindowBlock) -> str:
    when = f", {block.said.astimezone(UTC):%Y-%m-%d %H:%M}" if block.said else ""
    return f"[{shown_cite(block.name)}{when}]"


def _rendered(blocks: Sequence[WindowBlock]) -> str:
    text = ""
    for section, title in TITLES.items():
        inside = [block for block in blocks if block.section == section]
        if section == "recall":
            inside = both_ends(sorted(inside, key=_rank, reverse=True))
        if inside:
            blocks_shown = [shown(_head(block), block.text) for block in inside]
            text += "".join(f"{part}\n\n" for part in (title, *blocks_shown))
    return text


def _without(blocks: Iterable[WindowBlock], gone: Iterable[WindowBlock]) -> list[WindowBlock]:
    """Return the blocks without some, compared by identity: two turns may say the same."""
    ids = {id(block) for block in gone}
    return [block for block in blocks if id(block) not in ids]


def _rank(block: WindowBlock) -> tuple[int, float]:
    return PRIORITIES.index(block.priority), block.reliability
