"""What a question gets: passages, paths, the text for a model, and why each was chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from hades.domain.graph import Edge, Node, Reason
from hades.domain.statement import moment_words, window_words
from hades.domain.strength import Strength
from hades.domain.topics import DEFAULT_IMPORTANCE, Chunk, State

_LABEL = re.compile(r"[\[［【]\s*+([FP]?\d[\d\s,;–-]*+)[\]］】]")
"""As sentences are cited."""


class Intent(StrEnum):
    """What kind of question it is; it decides the default plan."""

    STATUS = "status"
    RECENT = "recent"
    OVERVIEW = "overview"
    WHY = "why"
    WHEN = "when"
    BRIDGE = "bridge"
    """Who or what, by way of something else: the director of the film that …"""
    COMPARE = "compare"
    RELATION = "relation"
    """What edges of one kind lead to or from: what calls a function."""
    LOOKUP = "lookup"
    """None of the others: a plain question."""


class Mode(StrEnum):
    """How much is wanted."""

    EXECUTION = "execution"
    PLANNING = "planning"
    BRAINSTORMING = "brainstorming"


class TimeKind(StrEnum):
    """How a time narrows what is asked."""

    DURING = "during"
    """To some moment of the window."""
    BEFORE = "before"
    """To how it was just before `until`."""
    SINCE = "since"
    """To what came from `since` on."""
    ORIGIN = "origin"
    """To the first version."""
    PAST = "past"
    """To some version that no longer holds."""


@dataclass(frozen=True, slots=True)
class TimeWords:
    """A time as it was said and as it was understood: `since` <= t < `until`, in UTC.

    With an `event` both ends are None until its time is looked up.
    """

    kind: TimeKind
    said: str
    since: datetime | None = None
    until: datetime | None = None
    event: str = ""

    def __str__(self) -> str:
        """`in March: 1 to 31 March 2025`."""
        return f"{self.said}: {self._understood}"

    @property
    def _understood(self) -> str:
        if self.kind is TimeKind.ORIGIN:
            return "the first version"
        if self.since is None and self.until is None:
            is_past = self.kind in (TimeKind.PAST, TimeKind.BEFORE)
            return "what no longer holds" if is_past else "not narrowed to a time"
        if self.since is None or self.until is None or self.kind is TimeKind.SINCE:
            until = "" if self.until is None else f"before {moment_words(self.until)}"
            return until if self.since is None else f"since {moment_words(self.since)}"
        return window_words(self.since, self.until)


class Wants(StrEnum):
    """What is asked for: how something is, what happened, or a date."""

    STATE = "state"
    HAPPENINGS = "happenings"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Interval:
    """How sure we are: an expected probability, and where it lies nine times of ten."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was chosen, with what spoke for it."""

    chunk: Chunk
    line: int
    """The line of its topic's content where it begins, from 1."""
    end_line: int
    valid_from: datetime
    recorded_at: datetime
    score: float
    """The ranker's order, on a scale of 0 to 1; how sure we are is `belief`."""
    parts: Mapping[str, float]
    """meaning, words, names, walk, rank …: what the score is made of."""
    retrievers: tuple[str, ...]
    """What found it: meaning, words, names, graph; `history`: it is an earlier version."""
    belief: Interval
    valid_to: datetime | None = None
    """Until when it held; None: it holds."""
    confidence: float = 1.0
    importance: float = DEFAULT_IMPORTANCE
    """Of its state, as it was remembered: both count in the order, confidence in the belief."""
    superseded: bool = False
    """Whether a later version of its topic says anew what it says of the question."""
    held: str = ""
    """Of an earlier version of a note: what no later one says again; empty: see the text."""
    entities: tuple[str, ...] = ()
    """The names it mentions, the rarest first; those that stand everywhere are left out."""
    strength: Strength | None = None
    """Of its state: importance, uses and age."""

    @property
    def id(self) -> str:
        """How to cite it: `docs/guide.md@3#0`."""
        return self.chunk.id


@dataclass(frozen=True, slots=True)
class Step:
    """One edge of a path, in the direction it is read."""

    relation: str
    target: Node
    weight: float
    forward: bool = True
    """False when the edge itself points the other way."""
    snippet: str = ""
    """Words of the text that states it."""
    chunk: str = ""
    """The chunk it stands in, as it is cited."""


@dataclass(frozen=True, slots=True)
class Path:
    """A walk through the graph, with how reliable it is and why it was chosen."""

    start: Node
    steps: tuple[Step, ...]
    reliability: float
    belief: Interval
    score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    rationale: str = ""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes it leads through, in order."""
        return (self.start, *(step.target for step in self.steps))

    @property
    def edge_weights(self) -> tuple[float, ...]:
        """The weights of its edges, in order."""
        return tuple(step.weight for step in self.steps)

    @property
    def edge_types(self) -> tuple[str, ...]:
        """The relations of its edges, in order."""
        return tuple(step.relation for step in self.steps)

    @property
    def vertex_types(self) -> tuple[str, ...]:
        """The kinds of its nodes, in order: topic, entity or chunk."""
        return tuple(node.kind for node in self.nodes)

    @property
    def path_length(self) -> int:
        """How many nodes it leads through, both ends counted."""
        return len(self.nodes)

    def __str__(self) -> str:
        return self.told()

    def told(self, *, snippets: bool = True) -> str:
        """It in one line, with the words that state its steps or without."""
        text = str(self.start)
        for step in self.steps:
            quoted = snippets and step.snippet
            label = f'{step.relation}; "{step.snippet}"' if quoted else step.relation
            text += f" --[{label}]--> " if step.forward else f" <--[{label}]-- "
            text += str(step.target)
        return text


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node that stands around another, with the path that leads to it."""

    node: Node
    hops: int
    score: float
    path: Path


@dataclass(frozen=True, slots=True)
class SubgraphNode:
    """A node of a part of the graph."""

    kind: str
    name: str
    hops: int
    """How far it is from what was named."""
    degree: int
    """How many nodes it is joined with in the whole graph."""


@dataclass(frozen=True, slots=True)
class SubgraphEdge:
    """An edge among the nodes of a part of the graph."""

    source: Node
    relation: str
    target: Node
    weight: float
    snippet: str = ""
    """Words of the text that states it."""
    chunk: str = ""
    """The chunk it stands in, as it is cited."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of the graph, to be drawn: nodes nearest first, and the edges among them."""

    nodes: tuple[SubgraphNode, ...]
    edges: tuple[SubgraphEdge, ...]
    left_out: int = 0
    """So many nodes next to these are over the limit."""


@dataclass(frozen=True, slots=True)
class WorkingItem:
    """A state to have in mind, as much of it as there was room for."""

    why: str
    """`latest`, `recent`, `important` or `related`."""
    state: State
    text: str
    tokens: int
    path: str = ""
    """Of a related topic: how the graph joins it."""


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """What to have in mind when working on a topic, within a budget of tokens."""

    topic: str
    items: tuple[WorkingItem, ...]
    context: str
    """The text for a model."""
    tokens: int
    """How many tokens the context has."""
    budget: int
    reasons: tuple[Diagnostic, ...] = ()
    """What had to stay out, and why."""


@dataclass(frozen=True, slots=True)
class Fact:
    """Something told by an edge, said in words with its time."""

    edge: Edge
    text: str
    score: float
    """How likely it is meant by the question, 0 to 1."""
    belief: Interval


@dataclass(frozen=True, slots=True)
class Citation:
    """What a part of the context rests on: a passage, fact or path, by its number there."""

    number: int
    kind: str
    """`passage`, `fact` or `path`."""
    nodes: tuple[str, ...]
    """The ids of its nodes; for a passage, its chunk."""
    topic: str = ""
    version: int = 0
    line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that was trimmed, stopped or done another way."""

    reason: Reason
    stage: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.stage}: {self.reason.value}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class StageReport:
    """What a stage did and what it cost."""

    stage: str
    ms: float
    reads: int = 0
    """Documents it looked at for the first time."""
    found: int = 0
    """How many candidates it handed on."""
    added: int = 0
    """How many of them were new."""
    cut: int = 0
    dedupe_rate: float = 0.0
    coverage: float = 0.0
    """The share of the question's words, by weight, that is covered so far."""
    capped: bool = False
    early_stop: bool = False
    begun_ms: float = 0.0
    """When it began, since the question came: some run beside each other."""


@dataclass(frozen=True, slots=True)
class Conveyance:
    """How much a recall conveyed: C = (W·R·H / T)·Ctx^α."""

    what: float
    """W: coverage of the question by what was packed."""
    where: float
    """R: the share of packed passages that the graph joins with another or the question."""
    how: float
    """H: the mean belief of what was packed."""
    seconds: float
    context: float
    """Ctx: the share of the token budget that was used well, 0 to 1."""
    value: float
    external: float = 0.0
    """C_ext = ¼(L+I+A+G): coherence, instruction fit, actionability and grounding."""
    compatibility: float = 0.0
    """P_ij: the share of what was chosen that reached the reader."""
    pair: float = 0.0
    """From memory to reader: Hmean(C_out, C_in)·C_ext^α·P_ij."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer object: everything a caller may show, check or hand to a model."""

    question: str
    intent: Intent
    evidence: str
    """Why it was taken for that kind of question."""
    mode: Mode
    space: str
    passages: tuple[Passage, ...]
    paths: tuple[Path, ...]
    context: str
    """The text for a model: the question, paths, passages, the best at both ends."""
    tokens: int
    """How many tokens the context has."""
    citations: tuple[Citation, ...]
    plan: Mapping[str, Any]
    """The plan as it was executed."""
    reasons: tuple[Diagnostic, ...]
    telemetry: tuple[StageReport, ...]
    ms: float
    belief: Interval
    """How sure we are that the answer is in the context."""
    conveyance: Conveyance
    valid: datetime | None = None
    """The moment of the world it was asked about; None: now."""
    known: datetime | None = None
    """As known when; None: now."""
    facts: tuple[Fact, ...] = ()
    """What was told by edges and is meant, best first."""
    notes: bool = False
    """Whether most of what was found are notes."""
    wants: Wants = Wants.STATE
    """Whether it asks how something is, what happened, or for a date."""
    time: TimeWords | None = None
    """The time that was read in the words of the question, and how it was understood."""
    level: int = 0
    """The level of the summaries it is answered from: 1 daily, 2 weekly, 3 monthly; 0: none.
    Then passages are lines of them, which cite their originals."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence that answers, with the passage or fact it was read in."""

    text: str
    score: float
    citation: int
    """The number of the passage, or of the fact, in the recall."""
    kind: str = "passage"
    """`passage` or `fact`."""
    also: tuple[str, ...] = ()
    """The labels of what else it rests on, when a model wrote it."""
    supported: bool = True
    """False: a model wrote it, and what it cites does not say so."""

    @property
    def label(self) -> str:
        """How it is cited: `[1]` a passage, `[F1]` a fact."""
        return f"[F{self.citation}]" if self.kind == "fact" else f"[{self.citation}]"

    @property
    def labels(self) -> tuple[str, ...]:
        """All that it rests on."""
        return (self.label, *self.also) if self.supported else ()

    @property
    def mark(self) -> str:
        """What stands behind it: its labels, or that it has no support."""
        return "".join(self.labels) or "[unsupported]"


@dataclass(frozen=True, slots=True)
class Usage:
    """What calls of a language model took, retries included; before, what they take at most."""

    model: str
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    """In the currency of the settings; None: no price is known."""
    seconds: float

    def __add__(self, more: Usage) -> Usage:
        """Both together, under the later one's name."""
        cost = None if self.cost is None or more.cost is None else self.cost + more.cost
        return Usage(
            more.model,
            self.prompt_tokens + more.prompt_tokens,
            self.completion_tokens + more.completion_tokens,
            cost,
            self.seconds + more.seconds,
        )

    def __str__(self) -> str:
        """`smol: 120 tokens read, 30 written, cost 0.00018`."""
        cost = "" if self.cost is None else f", cost {self.cost:.6g}"
        tokens = f"{self.prompt_tokens:,} tokens read, {self.completion_tokens:,} written"
        return f"{self.model}: {tokens}{cost}"


def unlabelled(text: str) -> str:
    """A text of somebody else: what looks like a label of ours stands in round brackets.

    >>> unlabelled("as [1] says, and [F 2], [3, 4]")
    'as (1) says, and [F 2], (3, 4)'
    """
    return _LABEL.sub(lambda found: f"({found[1].strip()})", text)


@dataclass(frozen=True, slots=True)
class Answer:
    """Sentences as they stand in the texts, or as a model wrote them from these; each cited."""

    question: str
    sentences: tuple[Sentence, ...]
    recall: Recall
    unsaid: tuple[str, ...] = ()
    """What the question names and none of the recalled passages does."""
    kind: str = "extractive"
    """`extractive`, `model`, or `dry_run`: what a model would take, and no answer."""
    usage: Usage | None = None
    """What a model took, also where its reply was of no use."""
    unsupported: int = 0
    """Sentences of a model that are not in what they cite: dropped, or marked where asked for."""

    @property
    def fallback(self) -> str:
        """Why the sentences are extracted though a model was asked; else empty."""
        notes = (one for one in self.recall.reasons if one.stage == "model")
        return next((one.detail for one in notes if one.reason is Reason.FALLBACK), "")

    @property
    def shortfall(self) -> str:
        """A plain sentence about what is not answered; empty when the sentences answer."""
        if self.unsaid:
            named = ", ".join(f"“{name}”" for name in self.unsaid)
            return f"Nothing found says anything of {named}."
        if self.sentences or self.kind == "dry_run":
            return ""
        notes = [note for note in self.recall.reasons if note.reason is Reason.NOTHING_NOTED]
        if not notes:
            return "Nothing found answers this."
        return f"{notes[0].detail[:1].upper()}{notes[0].detail[1:]}."

    def __str__(self) -> str:
        told = [f"{unlabelled(one.text)} {one.mark}" for one in self.sentences]
        joint = "\n" if self.recall.intent is Intent.RELATION or self.recall.level else " "
        return joint.join([*told, self.shortfall]).rstrip()
