"""What tools answer: small typed objects, and the texts models read instead of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hades.domain.answer import Citation, Passage, Path, Recall, WorkingSet
from hades.domain.graph import Edge, FactChange, Reason
from hades.domain.names import one_line
from hades.domain.times import iso
from hades.domain.trace import State, Topic

EXCERPT_CHARACTERS = 300
"""Of an earlier version in a list of versions: enough to know it again."""
WHAT_IS_MISSING = {
    Reason.TIMEOUT: "the time was over before everything was looked at",
    Reason.BUDGET_EXHAUSTED: "more was found than may be read",
    Reason.CLAMPED: "a limit that was asked for is not allowed",
    Reason.EVICTED: "something did not fit",
    Reason.NO_EMBEDDINGS: "nothing can be found by meaning yet, only by words and names",
    Reason.NOT_INDEXED: "not all that was written can be found yet",
    Reason.ENCODER_FAILED: "nothing was found by meaning, only by words and names",
    Reason.CUT_QUESTION: "the question was shortened",
}
"""The reasons a reader must know, in plain words; how the rest was found is for engineers."""
DIGITS = 3
"""Of a score: more says nothing to a model and costs tokens."""


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """A passage that speaks to the question."""

    number: int
    """[n] in the text."""
    cite: str
    text: str
    lines: str
    since: str
    sure: float
    until: str | None = None
    heading: str | None = None


@dataclass(frozen=True, slots=True)
class FoundPath:
    """A path through the graph, with the ids of its nodes and what states its steps."""

    number: int
    """(Pn) in the text."""
    path: str
    nodes: list[str]
    reliability: float
    evidence: list[str]
    """The passages its steps are stated in, as they are cited."""


@dataclass(frozen=True, slots=True)
class Recalled:
    """What is known about a question."""

    question: str
    space: str
    passages: list[FoundPassage]
    paths: list[FoundPath]
    sure: float
    """How likely the answer is among these, 0 to 1."""
    tokens: int
    notes: list[str]
    """What was trimmed, left out or done another way."""
    as_of: str | None = None
    known_at: str | None = None


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a topic."""

    cite: str
    version: int
    since: str
    recorded: str
    content: str
    """Whole, or its beginning and an ellipsis."""
    until: str | None = None
    forgotten: bool | None = None
    tags: list[str] | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class TopicHistory:
    """A topic and the versions it passed through, newest first."""

    topic: str
    space: str
    versions: list[Version]
    earlier: int
    """How many more versions there are before these."""
    difference: str | None = None
    """Between the two versions asked for, as a unified diff."""


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A topic in a list."""

    topic: str
    version: int
    since: str
    tags: list[str] | None = None


@dataclass(frozen=True, slots=True)
class TopicPage:
    """A page of topics, by name."""

    space: str
    topics: list[TopicLine]
    spaces: list[str] | None = None
    """Every space that can be used, where there are several."""
    next: str | None = None
    """Pass as `after` for the next page; absent: that was all."""


@dataclass(frozen=True, slots=True)
class WorkingPart:
    """A state to have in mind."""

    cite: str
    why: str
    """`latest`, `recent`, `important` or `related`."""
    text: str
    since: str
    path: str | None = None
    """Of a related topic: how the graph joins it."""


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """What to have in mind when working on a topic."""

    topic: str
    space: str
    parts: list[WorkingPart]
    tokens: int
    notes: list[str]
    """What had to stay out, and why."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A fact as it now stands."""

    fact: str
    edge: int
    since: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was written of a topic."""

    cite: str
    topic: str
    version: int
    space: str
    since: str
    forgotten: bool | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """A fact that changed: what no longer holds, and what holds instead."""

    at: str
    closed: list[Stated]
    opened: list[Stated]
    cite: str | None = None
    """The subject's new version, where a content was given."""


def stamp(moment: datetime) -> str:
    """A time, or the day alone where it begins with one."""
    return iso(moment).removesuffix("T00:00:00Z")


def recalled(found: Recall, space: str) -> Recalled:
    """A recall, without what only engineers read."""
    nodes = {one.number: list(one.nodes) for one in found.citations if one.kind == "path"}
    return Recalled(
        question=found.question,
        space=space,
        passages=[_passage(n, one) for n, one in enumerate(found.passages, 1)],
        paths=[found_path(n, one, nodes.get(n)) for n, one in enumerate(found.paths, 1)],
        sure=round(found.belief.mean, DIGITS),
        tokens=found.tokens,
        notes=[str(note) for note in found.reasons],
        as_of=None if found.valid is None else stamp(found.valid),
        known_at=None if found.known is None else stamp(found.known),
    )


def recalled_text(found: Recall, *, may_write: bool) -> str:
    """The packed context, how to cite it, and what a reader must know about it."""
    missing = [
        WHAT_IS_MISSING[note.reason] + (f" ({one_line(note.detail)})" if note.detail else "")
        for note in found.reasons
        if note.reason in WHAT_IS_MISSING
    ]
    notes = [f"Notes: {'; '.join(dict.fromkeys(missing))}."] if missing else []
    if not found.passages and not found.paths:
        reasons = {note.reason for note in found.reasons}
        if Reason.NOTHING_KNOWN in reasons and Reason.NOT_INDEXED not in reasons:
            past = found.valid is not None or found.known is not None
            return nothing_text(past=past, may_write=may_write)
        helpful = "Nothing that is remembered fits: ask in other words, or see `topics`."
        return "\n".join([helpful, *notes])
    passages = [one for one in found.citations if one.kind == "passage"]
    lines = [found.context, "", "Cite as: " + ", ".join(_cite(one) for one in passages)]
    compared = not any(
        note.reason is Reason.FALLBACK and note.stage == "rank" for note in found.reasons
    )
    if compared:
        lines.append(f"How likely the answer is among these: {found.belief.mean:.2f}.")
    return "\n".join([*lines, *notes])


def nothing_text(*, past: bool, may_write: bool) -> str:
    """What is said of a space with nothing in it."""
    if past:
        return "Nothing was remembered here at that time."
    how = ": use `remember` or `ingest_text` first" if may_write else ""
    return f"Nothing is remembered here yet{how}."


def found_path(number: int, path: Path, nodes: list[str] | None = None) -> FoundPath:
    """A path as tools give it."""
    return FoundPath(
        number=number,
        path=str(path),
        nodes=nodes or [node.name for node in path.nodes],
        reliability=round(path.reliability, DIGITS),
        evidence=list(dict.fromkeys(step.chunk for step in path.steps if step.chunk)),
    )


def version(state: State, *, whole: bool) -> Version:
    """A version as tools give it."""
    return Version(
        cite=state.id,
        version=state.version,
        since=stamp(state.valid_from),
        recorded=stamp(state.recorded_at),
        content=state.content if whole else excerpt(state.content),
        until=None if state.valid_to is None else stamp(state.valid_to),
        forgotten=state.forgotten or None,
        tags=list(state.tags) or None,
        confidence=None if state.confidence == 1 else state.confidence,
    )


def history_text(told: TopicHistory) -> str:
    """Every version with its times; an excerpt where it is not whole."""
    blocks = []
    for one in told.versions:
        until = f" until {one.until}" if one.until else ""
        what = "forgotten" if one.forgotten else one.content
        times = f"true since {one.since}{until}, written {one.recorded}"
        head = f"{one_line(one.cite)}, {times}{_tags(one.tags)}"
        blocks.append(f"{head}\n{what}")
    if told.earlier:
        blocks.append(f"{told.earlier} earlier versions: ask for one by its number.")
    if told.difference is not None:
        blocks.append(f"Difference:\n{told.difference or 'none'}")
    return "\n\n".join(blocks)


def topic_line(topic: Topic) -> TopicLine:
    """A topic as lists give it."""
    return TopicLine(topic.name, topic.version, stamp(topic.valid_from), list(topic.tags) or None)


def topics_text(page: TopicPage, nothing: str) -> str:
    """One topic a line; `nothing` where there is none."""
    lines = [
        f"{one_line(one.topic)}@{one.version}, since {one.since}{_tags(one.tags)}"
        for one in page.topics
    ]
    if not lines:
        lines = [nothing]
    if page.next:
        lines.append(f"More: pass after={page.next!r}.")
    if page.spaces:
        spaces = one_line(", ".join(page.spaces))
        lines.append(f"Spaces: {spaces} (this is {one_line(page.space)}).")
    return "\n".join(lines)


def working_memory(found: WorkingSet, space: str) -> WorkingMemory:
    """A working set as tools give it."""
    return WorkingMemory(
        topic=found.topic,
        space=space,
        parts=[
            WorkingPart(
                one.state.id, one.why, one.text, stamp(one.state.valid_from), one.path or None
            )
            for one in found.items
        ],
        tokens=found.tokens,
        notes=[str(note) for note in found.reasons],
    )


def working_memory_text(found: WorkingSet) -> str:
    """The packed text, and what had to stay out."""
    out = one_line("; ".join(str(note) for note in found.reasons))
    return f"{found.context}\n\nLeft out: {out}." if out else found.context


def stated(edge: Edge) -> Stated:
    """An edge as tools give it."""
    until = None if edge.valid_to is None else stamp(edge.valid_to)
    return Stated(str(edge), edge.id, stamp(edge.valid_from), until)


def stated_text(one: Stated) -> str:
    """An edge in a line."""
    until = f" until {one.until}" if one.until else ""
    return f"{one_line(one.fact)} (edge {one.edge}, since {one.since}{until})"


def changed(change: FactChange) -> Changed:
    """A changed fact as tools give it."""
    return Changed(
        at=stamp(change.at),
        closed=[stated(edge) for edge in change.closed],
        opened=[stated(edge) for edge in change.opened],
        cite=None if change.state is None else change.state.id,
    )


def changed_text(told: Changed) -> str:
    """What ended and what began."""
    lines = [f"At {told.at}:"]
    lines += [f"ended: {stated_text(one)}" for one in told.closed]
    lines += [f"holds: {stated_text(one)}" for one in told.opened]
    if told.cite:
        lines.append(f"written: {one_line(told.cite)}")
    return "\n".join(lines)


def remembered(state: State, space: str) -> Remembered:
    """A state that was written."""
    return Remembered(
        cite=state.id,
        topic=state.topic,
        version=state.version,
        space=space,
        since=stamp(state.valid_from),
        forgotten=state.forgotten or None,
    )


def excerpt(text: str) -> str:
    """The beginning of a text."""
    return text if len(text) <= EXCERPT_CHARACTERS else text[:EXCERPT_CHARACTERS] + "…"


def numbered(paths: Iterable[FoundPath]) -> list[str]:
    """Paths as lines of a prompt, each with the ids of its nodes."""
    return [one_line(f"{one.number}) {one.path}  (nodes: {', '.join(one.nodes)})") for one in paths]


def _passage(number: int, passage: Passage) -> FoundPassage:
    single = passage.line == passage.end_line
    return FoundPassage(
        number=number,
        cite=passage.id,
        text=passage.chunk.text,
        lines=str(passage.line) if single else f"{passage.line}-{passage.end_line}",
        since=stamp(passage.valid_from),
        sure=round(passage.belief.mean, DIGITS),
        until=None if passage.valid_to is None else stamp(passage.valid_to),
        heading=passage.chunk.heading or None,
    )


def _cite(citation: Citation) -> str:
    return one_line(f"[{citation.number}] {', '.join(citation.nodes)}")


def _tags(tags: list[str] | None) -> str:
    return one_line(f" [{', '.join(tags)}]") if tags else ""
