"""The facts, paths and passages of a recall as lines, labelled as sentences cite them."""

from __future__ import annotations

from hades.context.text.layout import flat, held_days, shown_name
from hades.context.tokens import ELLIPSIS
from hades.domain.answer import Fact, Passage, Path
from hades.domain.hierarchy import Theme
from hades.domain.plain import counted
from hades.domain.quoting import unlabelled
from hades.domain.topics import Chunk
from hades.language.wording import own_heading

HEAD_CHARACTERS_AT_MOST = 160
"""The most characters of a topic's name, and of a heading, in the head line of a passage."""


def fact_line(number: int, fact: Fact) -> str:
    """Return the line of a fact: `[F1] db07 runs on rack 4, since 1 March 2024`."""
    return f"[F{number}] {unlabelled(flat(fact.text))}"


def path_line(number: int, path: Path, *, snippets: bool = True) -> str:
    """Return the line of a path: `(P1) 0.70: design/x --[leads_to]--> Bug Y`."""
    told = unlabelled(flat(path.told(snippets=snippets)))
    return f"(P{number}) {path.reliability:.2f}: {told}"


def theme_line(number: int, theme: Theme) -> str:
    """Return the head line of a theme: `[T1] c_4: bread, dough (7 passages)`."""
    cluster = theme.cluster
    label = unlabelled(flat(cluster.label))
    return f"[T{number}] {cluster.id}: {label} ({counted(cluster.size, 'passage')})"


def passage_line(number: int, passage: Passage) -> str:
    """Return the head line of a passage: `[1] design/x@2, lines 1–2, 2024-03-01 · Decision`."""
    since = f"{held_days(passage)}{', superseded since' * passage.superseded}"
    return place_line(number, passage.chunk, f"{lines_of(passage)}, {since}")


def place_line(number: int, chunk: Chunk, where: str) -> str:
    """Return a line: `[number] topic@version`, the text `where`, and the chunk's own heading."""
    topic = chunk.topic
    if len(topic) > HEAD_CHARACTERS_AT_MOST:
        topic = ELLIPSIS + topic[-HEAD_CHARACTERS_AT_MOST:]
    heading = unlabelled(flat(own_heading(chunk.topic, chunk.heading))[:HEAD_CHARACTERS_AT_MOST])
    below = f" · {heading}" if heading else ""
    return f"[{number}] {shown_name(topic)}@{chunk.version}, {where}{below}"


def lines_of(passage: Passage) -> str:
    """Return the line numbers of a passage in its topic: `lines 1–2`."""
    first = passage.line
    last = passage.end_line
    return f"line {first}" if first == last else f"lines {first}–{last}"
