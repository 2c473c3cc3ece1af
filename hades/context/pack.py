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
from typing import TypeVar

from hades.context.tokens import ELLIPSIS, count, cut, cut_words
from hades.domain.answer import Citation, Fact, Note, Passage, Path, unlabelled
from hades.domain.graph import Reason
from hades.domain.names import own_heading

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
    notes: tuple[Note, ...]


@dataclass(frozen=True, slots=True)
class _Block:
    """A passage as it will stand in the context."""

    passage: Passage
    head: str
    head_tokens: int
    text: str
    text_tokens: int


@dataclass(frozen=True, slots=True)
class _Line:
    """A path or a fact as it will stand in the context."""

    told: Path | Fact
    text: str
    tokens: int


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
    notes: list[Note] = []
    asked = _question(question, budget, notes)
    room = budget - sum(count([asked, _FACTS, _PATHS, _PASSAGES]))
    told = _facts(facts, int(budget * LEDGER_SHARE_AT_MOST), notes)
    lines = _ledger(paths, paths_at_most, budget, notes)
    room -= sum(line.tokens for line in (*told, *lines))
    blocks = _fill(passages, passages_at_most, room, notes)
    return _fitted(_Parts(asked, told, lines, blocks), budget, notes)


def _facts(facts: Sequence[Fact], room: int, notes: list[Note]) -> list[_Line]:
    """The facts that fit, best first."""
    said = [unlabelled(" ".join(fact.text.split())) for fact in facts]
    texts = [f"[F{number}] {text}" for number, text in enumerate(said, 1)]
    lines: list[_Line] = []
    for fact, text, tokens in zip(facts, texts, count(texts), strict=True):
        room -= tokens
        if room < 0:
            notes.append(Note(Reason.EVICTED, STAGE, f"{len(facts) - len(lines)} facts"))
            break
        lines.append(_Line(fact, text, tokens))
    return lines


def _question(question: str, budget: int, notes: list[Note]) -> str:
    asked = _QUESTION + " ".join(question.split())
    limit = int(budget * QUESTION_SHARE_AT_MOST)
    line = cut(asked[:QUESTION_CHARACTERS_AT_MOST], limit)
    if line != asked:
        notes.append(Note(Reason.CUT_QUESTION, STAGE, f"to {count([line])[0]} tokens"))
    return line


def _ledger(paths: Sequence[Path], at_most: int, budget: int, notes: list[Note]) -> list[_Line]:
    """The paths that are shown, best first, each within its own limit and all within theirs."""
    told = [(path.reliability, path.score, str(path), path) for path in paths]
    told.sort(key=lambda one: one[:3])
    # The last of equals stays: the most reliable.
    alike = {one[2]: one for one in told}
    ranked = [
        path for *_, path in sorted(alike.values(), key=lambda one: (-one[0], -one[1], one[2]))
    ]
    if len(ranked) > at_most:
        notes.append(Note(Reason.CAP_EXCEEDED, STAGE, f"{len(ranked) - at_most} paths"))
    wanted = ranked[:at_most]
    forms = [form for number, path in enumerate(wanted, 1) for form in _forms(number, path)]
    tokens = count(forms)
    room = min(LEDGER_TOKENS_AT_MOST, int(budget * LEDGER_SHARE_AT_MOST))
    lines: list[_Line] = []
    for at, path in enumerate(wanted):
        both = [_Line(path, forms[one], tokens[one]) for one in (2 * at, 2 * at + 1)]
        line = _line(both, min(room, PATH_TOKENS_AT_MOST))
        if line is None:
            left = len(wanted) - len(lines)
            notes.append(Note(Reason.EVICTED, STAGE, f"{left} paths"))
            break
        room -= line.tokens
        lines.append(line)
    return lines


def _forms(number: int, path: Path) -> tuple[str, str]:
    """A path on one line, with the words that state it and without."""
    lead = f"(P{number}) {path.reliability:.2f}: "
    told, bare = path.told(), path.told(snippets=False)
    plain, shorter = (unlabelled(" ".join(one.split())) for one in (told, bare))
    return lead + plain, lead + shorter


def _line(forms: Sequence[_Line], room: int) -> _Line | None:
    """The fuller form that fits; one that is too long for any line is cut."""
    for line in forms:
        if line.tokens <= room:
            return line
    shortest = forms[-1]
    if shortest.tokens <= PATH_TOKENS_AT_MOST or room < PATH_TOKENS_AT_MOST:
        return None
    text = cut_words(shortest.text, PATH_TOKENS_AT_MOST)
    return _Line(shortest.told, text, count([text])[0])


def _fill(passages: Sequence[Passage], at_most: int, room: int, notes: list[Note]) -> list[_Block]:
    """The passages that fit, best first; the one that no longer does is cut."""
    if len(passages) > at_most:
        notes.append(Note(Reason.CAP_EXCEEDED, STAGE, f"{len(passages) - at_most} passages"))
    wanted = passages[:at_most]
    heads = [_head(number, passage) for number, passage in enumerate(wanted, start=1)]
    texts = [indented(passage.chunk.text.strip()) for passage in wanted]
    head_tokens = count(heads)
    text_tokens = [passage.chunk.tokens for passage in wanted]
    for at, text in enumerate(texts):
        if len(text.splitlines()) != wanted[at].chunk.text.strip().count("\n") + 1:
            text_tokens[at] = count([text])[0]  # it has line breaks of other kinds
    blocks: list[_Block] = []
    for at, passage in enumerate(wanted):
        block = _Block(passage, heads[at], head_tokens[at], texts[at], text_tokens[at])
        room -= head_tokens[at]
        if block.text_tokens > room:
            part = _cut(block, room, notes) if _worth(at, room) else None
            blocks += [part] if part else []
            left = len(wanted) - len(blocks)
            if left:
                tokens = sum(text_tokens[len(blocks) :])
                notes.append(Note(Reason.EVICTED, STAGE, f"{left} passages, {tokens} tokens"))
            break
        room -= block.text_tokens
        blocks.append(block)
    return blocks


def _worth(at: int, room: int) -> bool:
    """Whether a part of this passage is worth showing: of the best, any part is."""
    return room >= PART_TOKENS_AT_LEAST or (at == 0 and room > 0)


def _cut(block: _Block, room: int, notes: list[Note]) -> _Block | None:
    text = cut(block.text, room)
    if not text:
        return None
    tokens = count([text])[0]
    detail = f"{block.passage.id} cut to {tokens} of {block.text_tokens} tokens"
    notes.append(Note(Reason.BUDGET_EXHAUSTED, STAGE, detail))
    return replace(block, text=text, text_tokens=tokens)


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
    where = f"[{number}] {topic}@{chunk.version}, {_lines(passage.line, passage.end_line)}"
    head = f"{where}, {passage.valid_from:%Y-%m-%d}"
    if passage.valid_to is not None:
        head += f" to {passage.valid_to:%Y-%m-%d}"
    if passage.superseded:
        head += ", superseded since"
    return f"{head} · {heading[:HEAD_CHARACTERS_AT_MOST]}" if heading else head


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


def _lines(first: int, last: int) -> str:
    return f"line {first}" if first == last else f"lines {first}–{last}"


@dataclass(slots=True)
class _Parts:
    """What a context is made of."""

    asked: str
    facts: list[_Line]
    paths: list[_Line]
    blocks: list[_Block]


def _fitted(parts: _Parts, budget: int, notes: list[Note]) -> Packed:
    """The context; where question, facts and paths fill a small budget, more must go."""
    while (tokens := _counted(parts)) > budget:
        for name, what in (("paths", "path"), ("blocks", "passage"), ("facts", "fact")):
            held = getattr(parts, name)
            if held:
                held.pop()
                notes.append(Note(Reason.EVICTED, STAGE, f"a {what}"))
                break
        else:
            parts.asked = cut_words(parts.asked, budget)
    lines = (*parts.facts, *parts.paths)
    return Packed(
        context=_composed(parts),
        tokens=tokens,
        evidence_tokens=sum(x.tokens for x in lines) + sum(x.text_tokens for x in parts.blocks),
        citations=_citations(parts),
        facts=tuple(line.told for line in parts.facts if isinstance(line.told, Fact)),
        passages=tuple(block.passage for block in parts.blocks),
        paths=tuple(line.told for line in parts.paths if isinstance(line.told, Path)),
        notes=tuple(notes),
    )


def _counted(parts: _Parts) -> int:
    """The tokens of a context: those of its parts, since counting anew is the dearest part."""
    titles = [_FACTS] * bool(parts.facts) + [_PATHS] * bool(parts.paths)
    titles += [_PASSAGES] * bool(parts.blocks)
    tokens = [line.tokens for line in (*parts.facts, *parts.paths)]
    tokens += [block.head_tokens + block.text_tokens for block in parts.blocks]
    return sum(count([parts.asked, *titles])) + sum(tokens)


def _composed(parts: _Parts) -> str:
    made = [parts.asked] if parts.asked else []
    if parts.facts:
        made.append("\n".join([_FACTS, *(line.text for line in parts.facts)]))
    if parts.paths:
        made.append("\n".join([_PATHS, *(line.text for line in reversed(parts.paths))]))
    if parts.blocks:
        ordered = both_ends(parts.blocks)
        if all("summary" in block.passage.parts for block in ordered):
            ordered.sort(key=lambda block: block.passage.valid_from)
        made += [_PASSAGES, *(f"{block.head}\n{block.text}" for block in ordered)]
    return "\n\n".join(made)


def _citations(parts: _Parts) -> tuple[Citation, ...]:
    cited = [
        Citation(
            number=number,
            kind="passage",
            nodes=(block.passage.id,),
            topic=block.passage.chunk.topic,
            version=block.passage.chunk.version,
            line=block.passage.line,
            end_line=_end_line(block),
        )
        for number, block in enumerate(parts.blocks, start=1)
    ]
    for kind, lines in (("fact", parts.facts), ("path", parts.paths)):
        cited += [
            Citation(number=number, kind=kind, nodes=_nodes(line.told))
            for number, line in enumerate(lines, start=1)
        ]
    return tuple(cited)


def _nodes(told: Path | Fact) -> tuple[str, ...]:
    nodes = told.nodes if isinstance(told, Path) else (told.edge.source, told.edge.target)
    return tuple(node.name for node in nodes)


def _end_line(block: _Block) -> int:
    """The last line that is shown: a passage that was cut ends earlier."""
    whole = block.passage.chunk.text
    if block.text == indented(whole.strip()):
        return block.passage.end_line
    skipped = whole[: len(whole) - len(whole.lstrip())].count("\n")
    return min(block.passage.line + skipped + block.text.count("\n"), block.passage.end_line)
