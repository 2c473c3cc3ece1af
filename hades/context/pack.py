"""Packing: what was found, as a text a model reads within a hard budget of tokens.

The question stands first, then told facts, then the paths with the most reliable last
(PathRAG), then the passages with the best at both ends, where models read most carefully.
What does not fit goes, least reliable first, and each time a note says so.

Only lines of ours begin at the margin. Stored text is indented by one space, so nothing that
was written into the memory can pass for the head of a passage, or for its end. A space before
a word costs no token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from hades.context.tokens import ELLIPSIS, count, cut, cut_words
from hades.domain.answer import Citation, Diagnostic, Fact, Passage, Path, unlabelled
from hades.domain.graph import Reason
from hades.domain.topics import State
from hades.language.names import own_heading

Item = TypeVar("Item")

STAGE = "pack"
PATH_TOKENS_AT_MOST = 120
LEDGER_TOKENS_AT_MOST = 300
"""Of all paths together (algorithms, §11)."""
LEDGER_SHARE_AT_MOST = 1 / 3
"""Of the budget: in a small one, paths must leave room for what they lead to."""
QUESTION_SHARE_AT_MOST = 1 / 2
QUESTION_CHARACTERS_AT_MOST = 4_000
PART_TOKENS_AT_LEAST = 24
"""A shorter part of a passage says too little to be worth its head line."""
TOKEN_CHARACTERS_AT_MOST = 12
"""On average: where a passage has more, its stored count is not believed."""
HEAD_CHARACTERS_AT_MOST = 160
"""Of a topic's name and of a heading, in the head line of a passage."""

_MORE_THAN_A_NAME = re.compile(r"[@,·\[\]\"]")
"""What stands around a name in the head of a passage."""
_LETTERS = re.compile(r"[^\W\d_]+")
_CITED = re.compile(r"(.+)@(\d{1,18})(?:#(\d{1,18}))?", re.DOTALL)
"""How a version or a passage is cited: the topic, the version, and which passage it is."""
_QUESTION, _FACTS, _PATHS, _PASSAGES = "Question: ", "Facts:", "Paths:", "Passages:"


@dataclass(frozen=True, slots=True)
class Packed:
    """A context and what it is made of; `passages` and `paths` are best first.

    Passage [n], fact [Fn] and path (Pn) of the context are the n-th of these.
    """

    context: str
    tokens: int
    evidence_tokens: int
    """Of these, the tokens of passages and paths: without question, heads and titles."""
    citations: tuple[Citation, ...]
    facts: tuple[Fact, ...]
    passages: tuple[Passage, ...]
    paths: tuple[Path, ...]
    diagnostics: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class _Shown(Generic[Item]):
    """A fact, a path or a passage as it will stand in the context."""

    item: Item
    text: str
    tokens: int
    head: str = ""
    """Of a passage: the line above it."""
    head_tokens: int = 0


@dataclass(slots=True)
class _Parts:
    """What a context is made of."""

    asked: str
    facts: list[_Shown[Fact]]
    paths: list[_Shown[Path]]
    passages: list[_Shown[Passage]]

    @property
    def tokens(self) -> int:
        """Those of its parts: counting anew is the dearest part."""
        titles = [_FACTS] * bool(self.facts) + [_PATHS] * bool(self.paths)
        titles += [_PASSAGES] * bool(self.passages)
        heads = sum(one.head_tokens for one in self.passages)
        return sum(count([self.asked, *titles])) + heads + self.evidence_tokens

    @property
    def evidence_tokens(self) -> int:
        """Of these, those of the texts: without question, heads and titles."""
        shown: tuple[_Shown[Any], ...] = (*self.facts, *self.paths, *self.passages)
        return sum(one.tokens for one in shown)


def pack(
    question: str,
    passages: Sequence[Passage],
    paths: Sequence[Path],
    *,
    budget: int,
    passages_at_most: int,
    paths_at_most: int,
    facts: Sequence[Fact] = (),
) -> Packed:
    """The context for a question; `facts` and `passages` come best first, paths in any order."""
    diagnostics: list[Diagnostic] = []
    asked = _question(question, budget, diagnostics)
    room = budget - sum(count([asked, _FACTS, _PATHS, _PASSAGES]))
    told = _facts(facts, int(budget * LEDGER_SHARE_AT_MOST), diagnostics)
    lines = _ledger(paths, paths_at_most, budget, diagnostics)
    parts = _Parts(asked, told, lines, [])
    parts.passages = _fill(passages, passages_at_most, room - parts.evidence_tokens, diagnostics)
    return _fitted(parts, budget, diagnostics)


def _facts(facts: Sequence[Fact], room: int, diagnostics: list[Diagnostic]) -> list[_Shown[Fact]]:
    """The facts that fit, best first."""
    said = [unlabelled(" ".join(fact.text.split())) for fact in facts]
    texts = [f"[F{number}] {text}" for number, text in enumerate(said, 1)]
    lines: list[_Shown[Fact]] = []
    for fact, text, tokens in zip(facts, texts, count(texts), strict=True):
        room -= tokens
        if room < 0:
            diagnostics.append(
                Diagnostic(Reason.EVICTED, STAGE, f"{len(facts) - len(lines)} facts")
            )
            break
        lines.append(_Shown(fact, text, tokens))
    return lines


def _question(question: str, budget: int, diagnostics: list[Diagnostic]) -> str:
    asked = _QUESTION + " ".join(question.split())
    limit = int(budget * QUESTION_SHARE_AT_MOST)
    line = cut(asked[:QUESTION_CHARACTERS_AT_MOST], limit)
    if line != asked:
        diagnostics.append(Diagnostic(Reason.CUT_QUESTION, STAGE, f"to {count([line])[0]} tokens"))
    return line


def _ledger(
    paths: Sequence[Path], at_most: int, budget: int, diagnostics: list[Diagnostic]
) -> list[_Shown[Path]]:
    """The paths that are shown, best first, each within its own limit and all within theirs."""
    ranked: dict[str, Path] = {}
    for path in sorted(paths, key=lambda one: (-one.reliability, -one.score, str(one))):
        ranked.setdefault(str(path), path)  # of those alike the most reliable
    if len(ranked) > at_most:
        diagnostics.append(Diagnostic(Reason.CAP_EXCEEDED, STAGE, f"{len(ranked) - at_most} paths"))
    room = min(LEDGER_TOKENS_AT_MOST, int(budget * LEDGER_SHARE_AT_MOST))
    wanted = list(ranked.values())[:at_most]
    lines: list[_Shown[Path]] = []
    for number, path in enumerate(wanted, 1):
        line = _line(number, path, min(room, PATH_TOKENS_AT_MOST))
        if line is None:
            diagnostics.append(
                Diagnostic(Reason.EVICTED, STAGE, f"{len(wanted) - len(lines)} paths")
            )
            break
        room -= line.tokens
        lines.append(line)
    return lines


def _line(number: int, path: Path, room: int) -> _Shown[Path] | None:
    """A path on one line, with the words that state it, or without where those do not fit.

    One that is too long for any line is cut.
    """
    for told in (path.told(), path.told(snippets=False)):
        text = f"(P{number}) {path.reliability:.2f}: {unlabelled(' '.join(told.split()))}"
        tokens = count([text])[0]
        if tokens <= room:
            return _Shown(path, text, tokens)
    if tokens <= PATH_TOKENS_AT_MOST or room < PATH_TOKENS_AT_MOST:
        return None
    text = cut_words(text, PATH_TOKENS_AT_MOST)
    return _Shown(path, text, count([text])[0])


def _fill(
    passages: Sequence[Passage], at_most: int, room: int, diagnostics: list[Diagnostic]
) -> list[_Shown[Passage]]:
    """The passages that fit, best first; the one that no longer does is cut."""
    if len(passages) > at_most:
        diagnostics.append(
            Diagnostic(Reason.CAP_EXCEEDED, STAGE, f"{len(passages) - at_most} passages")
        )
    wanted = [_block(number, passage) for number, passage in enumerate(passages[:at_most], 1)]
    blocks: list[_Shown[Passage]] = []
    for block in wanted:
        room -= block.head_tokens
        if block.tokens > room:
            # Of the best, any part is worth showing.
            is_worth = room >= PART_TOKENS_AT_LEAST or (not blocks and room > 0)
            part = _cut(block, room, diagnostics) if is_worth else None
            blocks += [part] if part else []
            if left := wanted[len(blocks) :]:
                tokens = sum(one.tokens for one in left)
                diagnostics.append(
                    Diagnostic(Reason.EVICTED, STAGE, f"{len(left)} passages, {tokens} tokens")
                )
            break
        room -= block.tokens
        blocks.append(block)
    return blocks


def _block(number: int, passage: Passage) -> _Shown[Passage]:
    head, stored, tokens = _head(number, passage), passage.chunk.text.strip(), passage.chunk.tokens
    text = indented(stored)
    # It has line breaks of other kinds, or words that were counted as one token once.
    if text.count("\n") != stored.count("\n") or len(text) > tokens * TOKEN_CHARACTERS_AT_MOST:
        tokens = count([text])[0]
    return _Shown(passage, text, tokens, head, count([head])[0])


def _cut(
    block: _Shown[Passage], room: int, diagnostics: list[Diagnostic]
) -> _Shown[Passage] | None:
    text = cut(block.text, room)
    if not text:
        return None
    tokens = count([text])[0]
    detail = f"{block.item.id} cut to {tokens} of {block.tokens} tokens"
    diagnostics.append(Diagnostic(Reason.BUDGET_EXHAUSTED, STAGE, detail))
    return replace(block, text=text, tokens=tokens)


def _head(number: int, passage: Passage) -> str:
    """Where a passage stands: topic, version, lines, date and heading.

    Of a line of a summary only the date, and the topic's own name where the line lacks it.
    """
    chunk = passage.chunk
    if "summary" in passage.parts:
        name, text = chunk.topic.rpartition("/")[2], chunk.text.casefold()
        said = all(word.casefold() in text for word in _LETTERS.findall(name))
        return f"[{number}] {passage.valid_from:%Y-%m-%d}{'' if said else f' {shown_name(name)}'}"
    topic = shown_name(chunk.topic)
    heading = " ".join(own_heading(chunk.topic, chunk.heading).split())
    if len(topic) > HEAD_CHARACTERS_AT_MOST:
        topic = ELLIPSIS + topic[-HEAD_CHARACTERS_AT_MOST:]
    first, last = passage.line, passage.end_line
    lines = f"line {first}" if first == last else f"lines {first}–{last}"
    where = f"[{number}] {topic}@{chunk.version}, {lines}"
    head = f"{where}, {held_days(passage)}{', superseded since' * passage.superseded}"
    return f"{head} · {heading[:HEAD_CHARACTERS_AT_MOST]}" if heading else head


def held_days(shown: State | Passage) -> str:
    """When a state or passage held: `2024-01-10 to 2024-02-20`, or since when."""
    until = f" to {shown.valid_to:%Y-%m-%d}" if shown.valid_to else ""
    return f"{shown.valid_from:%Y-%m-%d}{until}"


def both_ends(ranked: list[Item]) -> list[Item]:
    """Best, third, fifth … sixth, fourth, second: the strongest where a model reads best."""
    return ranked[::2] + ranked[1::2][::-1]


def indented(text: str) -> str:
    """Stored text as it is shown to a model: no line of it begins at the margin."""
    return "\n".join(f" {line}" if line.strip() else "" for line in text.splitlines())


def shown_name(name: str) -> str:
    """A name on one line; in quotes where it could pass for more than a name."""
    name = " ".join(name.split())
    return json.dumps(name, ensure_ascii=False) if _MORE_THAN_A_NAME.search(name) else name


def shown_cite(cite: str) -> str:
    """What to cite, `topic@2` or `topic@2#0`, on one line, its topic as a name is shown."""
    topic, *_ = read_cite(cite)
    return shown_name(topic) + cite[len(topic) :]


def read_cite(cite: str) -> tuple[str, int | None, int | None]:
    """The topic of what is cited, its version and which passage it is, as far as they are said."""
    cited = _CITED.fullmatch(cite)
    if cited is None:
        return cite, None, None
    return cited[1], int(cited[2]), None if cited[3] is None else int(cited[3])


def _fitted(parts: _Parts, budget: int, diagnostics: list[Diagnostic]) -> Packed:
    """The context; where question, facts and paths fill a small budget, more must go."""
    while (tokens := parts.tokens) > budget:
        held = (("path", parts.paths), ("passage", parts.passages), ("fact", parts.facts))
        for what, shown in held:
            if shown:
                shown.pop()
                diagnostics.append(Diagnostic(Reason.EVICTED, STAGE, f"a {what}"))
                break
        else:
            parts.asked = cut_words(parts.asked, budget)
    return Packed(
        context=_composed(parts),
        tokens=tokens,
        evidence_tokens=parts.evidence_tokens,
        citations=_citations(parts),
        facts=tuple(one.item for one in parts.facts),
        passages=tuple(one.item for one in parts.passages),
        paths=tuple(one.item for one in parts.paths),
        diagnostics=tuple(diagnostics),
    )


def _composed(parts: _Parts) -> str:
    made = [parts.asked] if parts.asked else []
    if parts.facts:
        made.append("\n".join([_FACTS, *(line.text for line in parts.facts)]))
    if parts.paths:
        made.append("\n".join([_PATHS, *(line.text for line in reversed(parts.paths))]))
    if parts.passages:
        ordered = both_ends(parts.passages)
        if all("summary" in block.item.parts for block in ordered):
            ordered.sort(key=lambda block: block.item.valid_from)
        made += [_PASSAGES, *(f"{block.head}\n{block.text}" for block in ordered)]
    return "\n\n".join(made)


def _citations(parts: _Parts) -> tuple[Citation, ...]:
    cited = [
        Citation(
            number=number,
            kind="passage",
            nodes=(one.item.id,),
            topic=one.item.chunk.topic,
            version=one.item.chunk.version,
            line=one.item.line,
            end_line=_end_line(one),
        )
        for number, one in enumerate(parts.passages, start=1)
    ]
    facts = [(one.item.edge.source, one.item.edge.target) for one in parts.facts]
    for kind, ways in (("fact", facts), ("path", [one.item.nodes for one in parts.paths])):
        cited += [
            Citation(number=number, kind=kind, nodes=tuple(node.name for node in nodes))
            for number, nodes in enumerate(ways, start=1)
        ]
    return tuple(cited)


def _end_line(block: _Shown[Passage]) -> int:
    """The last line that is shown: a passage that was cut ends earlier."""
    whole = block.item.chunk.text
    if block.text == indented(whole.strip()):
        return block.item.end_line
    skipped = whole[: len(whole) - len(whole.lstrip())].count("\n")
    return min(block.item.line + skipped + block.text.count("\n"), block.item.end_line)
