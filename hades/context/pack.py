"""The context of a recall: a question and its evidence, within a budget of tokens.

The question comes first, then told facts, then paths with the most reliable last (PathRAG), then
passages with the best at both ends, where models read most carefully. The least reliable evidence
is left out if it does not fit, with a diagnostic.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hades.context.packer import (
    PART_TOKENS_AT_LEAST,
    BlockDraft,
    Item,
    PackedBlock,
    Packer,
    both_ends,
    size,
)
from hades.context.text.evidence import fact_line, passage_line, path_line, theme_line
from hades.context.text.layout import flat, shown_name
from hades.context.tokens import MINILM, count, cut, cut_words
from hades.domain.answer import Citation, Diagnostic, Fact, Passage, Path, path_order
from hades.domain.graph import Reason
from hades.domain.hierarchy import Theme
from hades.domain.quoting import indented, without_controls

STAGE = "pack"
PATH_TOKENS_AT_MOST = 120
LEDGER_TOKENS_AT_MOST = 300
"""The most tokens of all paths together, and of all themes together."""
LEDGER_SHARE_AT_MOST = 1 / 3
"""The largest share of the budget for facts, and for paths, so that passages fit even into a small
budget."""
QUESTION_SHARE_AT_MOST = 1 / 2
QUESTION_CHARACTERS_AT_MOST = 4_000
TOKEN_CHARACTERS_AT_MOST = 12
"""If the tokens of a passage are longer on average, its stored token count is wrong."""

_LETTERS = re.compile(r"[^\W\d_]+")
_QUESTION = "Question: "
_FACTS = "Facts:"
_PATHS = "Paths:"
_PASSAGES = "Passages:"
_THEMES = "Themes:"


@dataclass(frozen=True, slots=True)
class Packed:
    """A context and its evidence, best first.

    The context labels the n-th passage [n], fact [Fn], path (Pn) and theme [Tn].
    """

    context: str
    tokens: int
    citations: tuple[Citation, ...]
    facts: tuple[Fact, ...]
    passages: tuple[Passage, ...]
    paths: tuple[Path, ...]
    diagnostics: tuple[Diagnostic, ...]
    themes: tuple[Theme, ...] = ()


def pack(
    question: str,
    passages: Sequence[Passage],
    paths: Sequence[Path],
    *,
    budget: int,
    passages_at_most: int,
    paths_at_most: int,
    facts: Sequence[Fact] = (),
    themes: Sequence[Theme] = (),
) -> Packed:
    """Pack a question and the evidence that fits into a context of at most `budget` tokens.

    `facts`, `themes` and `passages` are given best first, `paths` in any order.
    """
    packer = Packer(budget, STAGE)
    asked = _question(packer, question, budget)
    packer.take(sum(count([asked, _FACTS, _PATHS, _PASSAGES, *[_THEMES] * bool(themes)])))
    share = int(budget * LEDGER_SHARE_AT_MOST)
    ledger_share = min(LEDGER_TOKENS_AT_MOST, share)
    shown_themes = _themes(packer.part(ledger_share), themes)
    drafts = [
        BlockDraft(fact, fact.edge.cite, fact_line(n, fact)) for n, fact in enumerate(facts, 1)
    ]
    told = _filled(packer.part(share), drafts, "facts")
    walked = _ledger(packer.part(ledger_share), paths, paths_at_most)
    if len(passages) > passages_at_most:
        packer.record(Reason.CAP_EXCEEDED, f"{len(passages) - passages_at_most} passages")
    numbered = enumerate(passages[:passages_at_most], 1)
    read = _filled(packer, [_draft(number, passage) for number, passage in numbered], "passages")
    titles = [_FACTS] * bool(told) + [_PATHS] * bool(walked) + [_PASSAGES] * bool(read)
    titles += [_THEMES] * bool(shown_themes)
    blocks: list[PackedBlock[Any]] = [*shown_themes, *told, *walked, *read]
    tokens = sum(block.tokens for block in blocks)
    return Packed(
        context=_composed(asked, shown_themes, told, walked, read),
        tokens=sum(count([asked, *titles])) + tokens,
        citations=_citations(shown_themes, told, walked, read),
        facts=tuple(block.item for block in told),
        passages=tuple(block.item for block in read),
        paths=tuple(block.item for block in walked),
        diagnostics=tuple(packer.diagnostics),
        themes=tuple(block.item for block in shown_themes),
    )


def _filled(
    packer: Packer, drafts: Sequence[BlockDraft[Item]], what: str
) -> list[PackedBlock[Item]]:
    """Pack the first drafts that fit. A diagnostic counts the others, and calls them `what`."""
    blocks, left_out = packer.fill(drafts)
    if left_out:
        tokens = sum(size(MINILM, row.head) + row.text_tokens(MINILM) for row in left_out)
        packer.record(Reason.EVICTED, f"{len(left_out)} {what}, {tokens} tokens")
    return blocks


def _question(packer: Packer, question: str, budget: int) -> str:
    asked = _QUESTION + flat(question)
    line = cut(asked[:QUESTION_CHARACTERS_AT_MOST], int(budget * QUESTION_SHARE_AT_MOST))
    if line != asked:
        packer.record(Reason.CUT_QUESTION, f"to {count([line])[0]} tokens")
    return line


def _themes(packer: Packer, themes: Sequence[Theme]) -> list[PackedBlock[Theme]]:
    """Pack the themes that fit, each with what fits of its summary."""
    blocks: list[PackedBlock[Theme]] = []
    for number, theme in enumerate(themes, 1):
        draft = BlockDraft(
            theme, theme.cluster.id, theme_line(number, theme), theme.cluster.summary
        )
        share = packer.room // (len(themes) - len(blocks))
        block = packer.part(share).put(draft) or packer.put(replace(draft, text=""))
        if block is None:
            packer.record(Reason.EVICTED, f"{len(themes) - len(blocks)} themes")
            break
        blocks.append(block)
    return blocks


def _ledger(packer: Packer, paths: Sequence[Path], at_most: int) -> list[PackedBlock[Path]]:
    """Pack the `at_most` most reliable paths, each within its limit."""
    ranked: dict[str, Path] = {}
    for path in sorted(paths, key=path_order):
        ranked.setdefault(str(path), path)  # keep the most reliable of equal ones
    if len(ranked) > at_most:
        packer.record(Reason.CAP_EXCEEDED, f"{len(ranked) - at_most} paths")
    wanted = list(ranked.values())[:at_most]
    blocks, left_out = packer.fill(
        BlockDraft(path, str(path), _path_line(packer.room, number, path))
        for number, path in enumerate(wanted, 1)
    )
    if left_out:
        packer.record(Reason.EVICTED, f"{len(left_out)} paths")
    return blocks


def _path_line(room: int, number: int, path: Path) -> str:
    """Return the line of a path, without the snippets of its steps if they do not fit.

    A path that is too long for any line is cut.
    """
    whole, short = (path_line(number, path, snippets=snippets) for snippets in (True, False))
    fits = count([whole])[0] <= min(room, PATH_TOKENS_AT_MOST)
    return whole if fits else cut_words(short, PATH_TOKENS_AT_MOST)


def _draft(number: int, passage: Passage) -> BlockDraft[Passage]:
    """Return the draft of a passage. The best one, number 1, may be cut to any length."""
    text = passage.chunk.text.strip()
    indented_text = indented(text)
    tokens: int | None = passage.chunk.tokens
    # The stored count is wrong for control characters and other kinds of line breaks, and for words
    # counted as one token.
    changed = without_controls(text) != text or indented_text.count("\n") != text.count("\n")
    if changed or len(indented_text) > passage.chunk.tokens * TOKEN_CHARACTERS_AT_MOST:
        tokens = None
    least = 1 if number == 1 else PART_TOKENS_AT_LEAST
    return BlockDraft(passage, passage.id, _head(number, passage), text, tokens, least)


def _head(number: int, passage: Passage) -> str:
    """Return the head line of a passage.

    For a line of a summary or a brief, that is the date, the part of the brief, and the name of its
    topic unless the line has it.
    """
    if "summary" not in passage.parts:
        return passage_line(number, passage)
    name = passage.chunk.topic.rpartition("/")[2]
    text = passage.chunk.text.casefold()
    is_named = all(word.casefold() in text for word in _LETTERS.findall(name))
    part = f" {passage.chunk.heading}" if passage.chunk.heading else ""
    name = "" if is_named else f" {shown_name(name)}"
    return f"[{number}] {passage.valid_from:%Y-%m-%d}{part}{name}"


def _composed(
    asked: str,
    themes: Sequence[PackedBlock[Theme]],
    facts: Sequence[PackedBlock[Fact]],
    paths: Sequence[PackedBlock[Path]],
    passages: Sequence[PackedBlock[Passage]],
) -> str:
    parts = [asked] if asked else []
    if themes:
        parts.append("\n".join([_THEMES, *map(str, themes)]))
    if facts:
        parts.append("\n".join([_FACTS, *map(str, facts)]))
    if paths:
        parts.append("\n".join([_PATHS, *map(str, reversed(paths))]))
    if passages:
        ordered = both_ends(passages)
        if all("summary" in block.item.parts for block in ordered):
            ordered.sort(key=lambda block: block.item.valid_from)
        parts += [_PASSAGES, *map(str, ordered)]
    return "\n\n".join(parts)


def _citations(
    themes: Sequence[PackedBlock[Theme]],
    facts: Sequence[PackedBlock[Fact]],
    paths: Sequence[PackedBlock[Path]],
    passages: Sequence[PackedBlock[Passage]],
) -> tuple[Citation, ...]:
    cited = [
        Citation(
            number=number,
            kind="passage",
            nodes=(block.item.id,),
            topic=block.item.chunk.topic,
            version=block.item.chunk.version,
            line=block.item.line,
            end_line=_end_line(block),
            cite=block.item.id,
        )
        for number, block in enumerate(passages, start=1)
    ]
    edges = [block.item.edge for block in facts]
    told = [(edge.cite, (edge.source, edge.target)) for edge in edges]
    for kind, ways in (("fact", told), ("path", [("", block.item.nodes) for block in paths])):
        cited += [
            Citation(number, kind, tuple(node.name for node in nodes), cite=cite)
            for number, (cite, nodes) in enumerate(ways, start=1)
        ]
    cited += [
        Citation(number, "theme", block.item.cites, cite=block.item.cluster.id)
        for number, block in enumerate(themes, start=1)
    ]
    return tuple(cited)


def _end_line(block: PackedBlock[Passage]) -> int:
    """Return the last line that is shown: a passage that was cut ends earlier."""
    whole = block.item.chunk.text
    if block.text == whole.strip():
        return block.item.end_line
    skipped = whole[: len(whole) - len(whole.lstrip())].count("\n")
    shown_lines = indented(block.text).count("\n")
    return min(block.item.line + skipped + shown_lines, block.item.end_line)
