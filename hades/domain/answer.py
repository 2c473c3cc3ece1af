"""Results of a question: passages, paths, facts, the text for a model, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from hades.domain.graph import Edge, Node, Reason
from hades.domain.hierarchy import Theme
from hades.domain.question import Intent, Mode, Question, TimeWords, Wants
from hades.domain.quoting import label_of, unlabelled, without_controls
from hades.domain.statement import window_words
from hades.domain.strength import Strength
from hades.domain.topics import DEFAULT_IMPORTANCE, Chunk, State
from hades.domain.usage import Usage as Usage

DOUBTED = 0.62
"""If neither the texts, by the reader, nor a fact reaches this probability, `ask` says that it is
not sure, unless it gives a path or a theme."""
FACT_DOUBTED = 0.1
"""The same limit if a fact comes first. In domains left out of training, 93 % of the questions of
`training/facts` that a fact answers reach it, and 20 % of the others."""
_COMPARING = ("seeds", "rank", "facts")
"""The stages that compare texts and facts with the question; others only add to these."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A belief: an expected probability and its 90 % interval."""

    mean: float
    low: float
    high: float


EXACT_DAYS = 16
"""A longer time of an event, such as `in August`, is vague."""


@dataclass(frozen=True, slots=True)
class EventTime:
    """A time that a sentence of a note speaks of: `since` <= t < `until`."""

    sentence: str
    since: datetime
    until: datetime
    over: bool = False
    """Whether the event is past, moved or cancelled; set only if the question asks about the
    future."""

    @property
    def is_vague(self) -> bool:
        """Whether it is longer than EXACT_DAYS."""
        return self.until - self.since > timedelta(days=EXACT_DAYS)

    def __str__(self) -> str:
        """Return the time in words: `on 14 March 2025`, `from 3 to 9 March 2025`."""
        words = window_words(self.since, self.until)
        return f"on {words}" if self.until - self.since <= timedelta(days=1) else words


@dataclass(frozen=True, slots=True)
class ReadUnit:
    """A part of a document that the reader read: a sentence, an item, a row or a block of code."""

    text: str
    """The unit without marks of its format, after its lead."""
    chance: float
    """The probability that it answers the question."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk in an answer, with its score and the reasons for it."""

    chunk: Chunk
    line: int
    """The line of the content where the chunk begins, from 1."""
    end_line: int
    valid_from: datetime
    recorded_at: datetime
    score: float
    """The ranker's order, from 0 to 1; `belief` says how sure we are."""
    parts: Mapping[str, float]
    """The parts of the score: meaning, words, names, walk, rank …"""
    retrievers: tuple[str, ...]
    """The retrievers that found it: meaning, words, names, graph; `history`: an old version."""
    belief: Interval
    valid_to: datetime | None = None
    """The time at which the state ended; None if it holds."""
    confidence: float = 1.0
    importance: float = DEFAULT_IMPORTANCE
    """Values of the state. Both count in the ranking; confidence counts in the belief."""
    superseded: bool = False
    """Whether a later version of the topic restates the part that answers the question."""
    held: str = ""
    """For an earlier version of a note, the text that no later version repeats; may be empty."""
    best: str = ""
    """The sentence of a note that the reader scored highest; "" if it read none."""
    units: tuple[ReadUnit, ...] = ()
    """The parts of a document that the reader read, the likeliest answer first."""
    entities: tuple[str, ...] = ()
    """The names it mentions, rarest first, without those that are everywhere."""
    strength: Strength | None = None
    """The strength of the state, from importance, uses and age."""
    via: tuple[str, ...] = ()
    """The ids of the steps before this one, if the answer takes several: a passage or `edge 12`."""
    chained: str = ""
    """The text of all steps, including this one."""
    events: tuple[EventTime, ...] = ()
    """The times that the sentences of a note speak of, in their order."""

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
    """The id of the chunk that states it."""
    layer_bridge: bool = False
    """Whether it joins distant communities: its ends are in different clusters of level 2."""
    edge: int = 0
    """The id of the edge (see `Edge`); 0 for a mention, a title and the like."""


@dataclass(frozen=True, slots=True)
class Path:
    """A path through the graph, with its reliability and the reason for it."""

    start: Node
    steps: tuple[Step, ...]
    reliability: float
    belief: Interval
    score: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    rationale: str = ""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The nodes of the path, in order."""
        return (self.start, *(step.target for step in self.steps))

    def edges(self) -> tuple[SubgraphEdge, ...]:
        """Return the path's edges, in order, each from its own source to its own target."""
        edges = []
        for before, step in zip(self.nodes, self.steps, strict=False):
            ends = (before, step.target) if step.forward else (step.target, before)
            edges.append(
                SubgraphEdge(ends[0], step.relation, ends[1], step.weight, step.snippet, step.chunk)
            )
        return tuple(edges)

    @property
    def edge_weights(self) -> tuple[float, ...]:
        """The weights of the path's edges, in order."""
        return tuple(step.weight for step in self.steps)

    @property
    def edge_types(self) -> tuple[str, ...]:
        """The relations of the path's edges, in order."""
        return tuple(step.relation for step in self.steps)

    @property
    def vertex_types(self) -> tuple[str, ...]:
        """The kinds of the path's nodes, in order: topic, entity or chunk."""
        return tuple(node.kind for node in self.nodes)

    @property
    def bridges(self) -> int:
        """The number of its edges that join distant communities."""
        return sum(step.layer_bridge for step in self.steps)

    @property
    def path_length(self) -> int:
        """The number of nodes of the path, both ends included."""
        return len(self.nodes)

    def __str__(self) -> str:
        return self.told()

    def told(self, *, snippets: bool = True) -> str:
        """Return the path in one line, with or without the snippets of its steps."""
        text = str(self.start)
        for step in self.steps:
            quoted = snippets and step.snippet
            label = f'{step.relation}; "{step.snippet}"' if quoted else step.relation
            text += f" --[{label}]--> " if step.forward else f" <--[{label}]-- "
            text += str(step.target)
        return text


def path_order(path: Path) -> tuple[float, float, int, str]:
    """Return the sort key of paths, best first; among equals, the one with fewer edges."""
    return -path.reliability, -path.score, len(path.steps), str(path)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A node near another, with the path that leads to it."""

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
    """The distance from the named node."""
    degree: int
    """The number of its neighbours in the whole graph."""


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
    """The id of the chunk that states it."""


@dataclass(frozen=True, slots=True)
class Subgraph:
    """A part of the graph, to be drawn: nodes nearest first, and the edges among them."""

    nodes: tuple[SubgraphNode, ...]
    edges: tuple[SubgraphEdge, ...]
    left_out: int = 0
    """The number of neighbours that are left out because of the limit."""


@dataclass(frozen=True, slots=True)
class WorkingItem:
    """A state in the working memory; `text` is its content, cut to the room."""

    why: str
    """`latest`, `recent`, `important` or `related`."""
    state: State
    text: str
    tokens: int
    path: str = ""
    """The path to a related topic."""


@dataclass(frozen=True, slots=True)
class WorkingMemory:
    """The result of `working_memory`: states and linked topics within a budget of tokens."""

    topic: str
    items: tuple[WorkingItem, ...]
    context: str
    """The text for a model, of `tokens` tokens."""
    tokens: int
    budget: int
    reasons: tuple[Diagnostic, ...] = ()
    """The parts that were left out, and why."""


@dataclass(frozen=True, slots=True)
class FoundPaths:
    """The result of `query_paths`: paths for a question, and where the hierarchy led."""

    query: str
    summary: str
    """A line for each cluster that was entered: topic ▸ subtopic: summary."""
    paths: tuple[Path, ...]
    prompt: str
    """A text for a model that is to answer from the paths alone."""
    reasons: tuple[Diagnostic, ...] = ()
    """Says if there was no hierarchy, so that the flat graph was searched."""


@dataclass(frozen=True, slots=True)
class Fact:
    """An edge that the question means, in words with its time."""

    edge: Edge
    text: str
    score: float
    """The probability that the question means this fact."""
    belief: Interval
    via: tuple[str, ...] = ()
    """The ids of the steps before this one, if the answer takes several: a passage or `edge 12`.
    `text` contains all steps."""


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage, fact or path of the context, with its number there."""

    number: int
    kind: str
    """`passage`, `fact`, `path` or `theme`."""
    nodes: tuple[str, ...]
    """The ids of the nodes; for a passage, of its chunk; for a theme, of its central chunks."""
    topic: str = ""
    version: int = 0
    line: int = 0
    end_line: int = 0
    cite: str = ""
    """The id of the passage (`docs/guide.md@3#0`), edge or cluster; "" for a path."""

    @property
    def label(self) -> str:
        """The label of a sentence that has this source: `[1]`, `[F1]`, `[P1]`, `[T1]`."""
        return label_of(self.kind, self.number)


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
    """The work and the cost of one stage."""

    stage: str
    ms: float
    reads: int = 0
    """Documents that this stage read and no stage before it."""
    found: int = 0
    """Candidates that it handed on."""
    added: int = 0
    """The new ones among them."""
    cut: int = 0
    dedupe_rate: float = 0.0
    coverage: float = 0.0
    """The share of the question's words, by weight, that is covered so far."""
    capped: bool = False
    early_stop: bool = False
    begun_ms: float = 0.0
    """Its start, in ms after the start of the question. Stages may overlap."""


@dataclass(frozen=True, slots=True)
class Conveyance:
    """The conveyance of a recall: C = (W·R·H / T)·Ctx^1.7, T being its `ms` in seconds."""

    value: float
    """C, per second: compare it on one machine only."""
    evidence: float
    """W·R·H: coverage of the question, share of passages that the graph joins, mean belief."""
    context: float
    """Ctx: the chance that at least one packed passage or fact answers."""


@dataclass(frozen=True, slots=True)
class Recall:
    """The result of `recall`: everything a caller may show, check or hand to a model."""

    asked: Question
    """How the question was understood."""
    space: str
    passages: tuple[Passage, ...]
    paths: tuple[Path, ...]
    context: str
    """The text for a model, of `tokens` tokens: the question, paths, and passages with the best at
    both ends."""
    tokens: int
    citations: tuple[Citation, ...]
    plan: Mapping[str, Any]
    """The plan as it was executed."""
    reasons: tuple[Diagnostic, ...]
    telemetry: tuple[StageReport, ...]
    ms: float
    belief: Interval
    """The belief that the context contains the answer."""
    conveyance: Conveyance
    valid: datetime | None = None
    """The valid time of the question; None means now."""
    known: datetime | None = None
    """The known time of the question; None means now."""
    facts: tuple[Fact, ...] = ()
    """The facts that the question means, best first."""
    notes: bool = False
    """Whether most passages are of notes."""
    level: int = 0
    """The level of the summaries that answer: 1 daily, 2 weekly, 3 monthly, 0 none. Above 0, the
    passages are lines of summaries, which cite their originals."""
    themes: tuple[Theme, ...] = ()
    """Clusters of the hierarchy that a question for an overview asks for, best first."""
    answered: float | None = None
    """The reader's probability that a text answers, current or not; None if it read none."""
    unknown: tuple[str, ...] = ()
    """Names and numbers in the question that no text and no fact of the memory contains."""
    about_another: bool = False
    """Whether the best passage is a note whose topic never mentions a name of the question."""
    id: str = field(default="", compare=False)
    """The id in the query log, which `feedback` refers to; "" if the recall was not logged."""

    @property
    def question(self) -> str:
        """The text of the question."""
        return self.asked.text

    @property
    def intent(self) -> Intent:
        """The kind of the question."""
        return self.asked.intent

    @property
    def evidence(self) -> str:
        """How the question was understood, in a line."""
        return str(self.asked)

    @property
    def mode(self) -> Mode:
        """The breadth of the answer."""
        return self.asked.mode

    @property
    def wants(self) -> Wants:
        """The kind of answer that the question wants."""
        return self.asked.wants

    @property
    def time(self) -> TimeWords | None:
        """The time in the words of the question."""
        return self.asked.time

    @property
    def is_surely_answered(self) -> bool:
        """Whether the probability that a text answers is known and at least DOUBTED."""
        return self.answered is not None and self.answered >= DOUBTED

    @property
    def is_cut_short(self) -> bool:
        """Whether time ran out before everything found was compared with the question."""
        return any(
            note.reason is Reason.TIMEOUT and note.stage in _COMPARING for note in self.reasons
        )


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an answer, with the passage or fact it comes from."""

    text: str
    score: float
    citation: int
    """The number of the passage, fact, path or theme in the recall."""
    kind: str = "passage"
    """`passage`, `fact`, `path` or `theme`."""
    also: tuple[str, ...] = ()
    """The labels of its other sources, when a model wrote it."""
    supported: bool = True
    """False if a model wrote it and its sources do not say so."""

    @property
    def label(self) -> str:
        """The label of its source: `[1]` for a passage, `[F1]` fact, `[P1]` path, `[T1]` theme."""
        return label_of(self.kind, self.citation)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all its sources; empty if it is not supported."""
        return (self.label, *self.also) if self.supported else ()

    @property
    def mark(self) -> str:
        """The text after the sentence: its labels, or `[unsupported]`."""
        return "".join(self.labels) or "[unsupported]"

    def marked(self) -> str:
        """Return the text with its mark.

        A text of several lines is indented, so that none of them passes for a line of HADES, and
        its mark has a line of its own.
        """
        lines = [without_controls(line) for line in unlabelled(self.text).splitlines()]
        if len(lines) < 2:
            return f"{''.join(lines)} {self.mark}"
        return "\n".join([*(f" {line}".rstrip(" ") for line in lines), self.mark])


@dataclass(frozen=True, slots=True)
class Answer:
    """Sentences quoted from the texts, or written by a model from them, each with its source."""

    question: str
    sentences: tuple[Sentence, ...]
    recall: Recall
    unsaid: tuple[str, ...] = ()
    """Names in the question that nothing in the memory contains."""
    is_beside: bool = False
    """Whether the best text lacks a name or number of the question."""
    kind: str = "extractive"
    """`extractive`, `model`, or `dry_run` (only an estimate, without an answer)."""
    usage: Usage | None = None
    """The usage of a model, even if its reply could not be used."""
    unsupported: int = 0
    """Sentences of a model that their sources do not support: dropped, or marked on request."""

    @property
    def fallback(self) -> str:
        """Why the sentences are extracted though a model was asked, or ""."""
        notes = (note for note in self.recall.reasons if note.stage == "model")
        return next((note.detail for note in notes if note.reason is Reason.FALLBACK), "")

    @property
    def is_doubtful(self) -> bool:
        """Whether the best text is about something else, or the reader found no likely answer.
        Always False for a sure fact, a path or a theme."""
        told = bool(self.sentences) and self.sentences[0].kind == "fact"
        if self.recall.is_surely_answered or (self.recall.answered is None and not told):
            return self.is_beside
        listed = any(sentence.kind in ("path", "theme") for sentence in self.sentences)
        # A weak fact behind a note does not make the note an answer.
        least = FACT_DOUBTED if told else DOUBTED
        return not listed and not any(fact.score >= least for fact in self.recall.facts)

    @property
    def probability(self) -> float:
        """How likely the answer is among what was found, by the reader or by the facts it gives."""
        facts = [row.score for row in self.sentences if row.kind == "fact"]
        chances = [*facts, *([] if self.recall.answered is None else [self.recall.answered])]
        return round(max(chances, default=self.recall.belief.mean), 4)

    @property
    def shortfall(self) -> str:
        """A sentence about what is not answered; "" when the sentences answer."""
        if self.unsaid:
            named = ", ".join(f"“{name}”" for name in self.unsaid)
            return f"Nothing found says anything about {named}."
        if self.recall.is_cut_short and not self.recall.is_surely_answered:
            return "Time ran out before everything was compared."
        if self.sentences and self.is_doubtful:
            return "Not sure: nothing found says this directly."
        if self.sentences or self.kind == "dry_run":
            notes = [note for note in self.recall.reasons if note.stage == "summaries"]
            left = (note.detail for note in notes if note.reason is Reason.EVICTED)
            return "".join(f"Left out for lack of space: {detail}." for detail in left)
        why = (Reason.NOTHING_NOTED, Reason.NOT_CONNECTED)
        notes = [note for note in self.recall.reasons if note.reason in why]
        if not notes:
            return "Nothing found answers this."
        return f"{notes[0].detail[:1].upper()}{notes[0].detail[1:]}."

    @property
    def text(self) -> str:
        """The answer as a person reads it: what it lacks, then a line for each sentence."""
        lines = [sentence.marked() for sentence in self.sentences]
        if lines and self.shortfall:
            lines = [f"{self.shortfall} Closest:", *lines]
        return "\n".join(lines or [self.shortfall])

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources of the sentences, by their labels."""
        labels = {label for sentence in self.sentences for label in sentence.labels}
        return tuple(cited for cited in self.recall.citations if cited.label in labels)

    def __str__(self) -> str:
        return self.text
