"""Quality: problems in a space by kind, each kind with examples and a command that helps."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

from hades.domain.graph import Edge
from hades.domain.promotion import Disagreement, QualityFinding, QualityReport, Side
from hades.domain.statement import statement
from hades.domain.times import DAY_MICROSECONDS, NOW, from_micros
from hades.language.english.replacement import share_words
from hades.language.names import DIGITS
from hades.lifecycle.disagreement import decided, edge_disagreements, sentence_disagreements
from hades.lifecycle.gate import are_of_two_days
from hades.lifecycle.suggest import TopicPairs
from hades.lifecycle.synthesis import sentences_of
from hades.store.records import EdgeFilter
from hades.store.store import Store

EXAMPLES = 5
DISAGREEMENTS_AT_MOST = 50
EDGES_AT_MOST = 100_000
LIKE_COSINE = 0.6
SAME_COSINE = 0.92
SAME_TEXT = 0.8
"""From LIKE_COSINE on, two texts are compared sentence by sentence. From SAME_COSINE on, and with
this share of common words, they are duplicates. Chosen by hand."""
OLD_DAYS = 180
"""A topic is old when it was neither written nor used for this many days."""


def quality_report(
    store: Store, space: int, name: str, pairs: TopicPairs, encoder: str
) -> QualityReport:
    """Return the problems of a space called `name`; `pairs` has its topics, compared.

    `encoder` is the model whose vectors are in use.
    """
    now = store.now()
    moment = from_micros(now)
    told = store.edges.find(space, EdgeFilter(any_time=True, limit=EDGES_AT_MOST), NOW)
    ended = [edge for edge in told if edge.has_ended(moment)]
    over = {edge.id for edge in ended}
    edges = [edge for edge in told if edge.id not in over and edge.valid_from <= moment]
    continued = {(edge.source.name, edge.relation) for edge in edges}
    done = decided(store.proposals.find(space))
    gone = store.edges.read(space, store.links.to_gone(space, NOW, EDGES_AT_MOST), NOW).values()
    disagreements = [*edge_disagreements(edges, ended, done), *_in_texts(pairs, done)]
    kinds: list[tuple[str, Sequence[object], str]] = [
        ("orphans", _orphans(pairs, edges), "hades relate TOPIC RELATION OTHER"),
        (
            "contradictions",
            disagreements,
            "hades promote TOPIC --reason WHY, or hades remember TOPIC WHAT-HOLDS",
        ),
        (
            "stale: old, and a related topic changed since",
            _stale(pairs, now - OLD_DAYS * DAY_MICROSECONDS),
            "hades get TOPIC, then hades remember TOPIC WHAT-HOLDS",
        ),
        (
            "facts that ended without a replacement",
            [
                statement(one)
                for one in ended
                if one.superseded_by is None and (one.source.name, one.relation) not in continued
            ],
            "hades relate SOURCE RELATION TARGET",
        ),
        ("duplicates", _duplicates(pairs), "hades forget TOPIC"),
        (
            "edges to something that is gone",
            [f"{e.id}: {e}" for e in gone],
            "hades unrelate NUMBER",
        ),
        ("hierarchy out of date", _hierarchy_due(store, space, encoder), "hades organise"),
    ]
    findings = tuple(
        QualityFinding(what, len(some), tuple(str(one) for one in some[:EXAMPLES]), advice)
        for what, some, advice in kinds
    )
    topics = store.topics.counts().get(space, 0)
    unindexed = store.chunks.pending_count(space)
    shown = tuple(disagreements[:DISAGREEMENTS_AT_MOST])
    return QualityReport(name, topics, len(pairs.topics), unindexed, findings, shown)


def _hierarchy_due(store: Store, space: int, encoder: str) -> list[str]:
    """Return why the hierarchy of a space should be made again, if there is one."""
    current = store.hierarchies.current(space, NOW)
    due = "" if current is None else store.hierarchies.drift(current, encoder, NOW).due
    return [due] if due else []


def _orphans(pairs: TopicPairs, edges: Sequence[Edge]) -> list[str]:
    """Return names of topics without an edge that share no name with others and resemble none."""
    ends = {end.name for edge in edges for end in (edge.source, edge.target)}
    linked = {at for pair in (*pairs.signs, *pairs.joined) for at in pair}
    return [
        topic.name
        for at, topic in enumerate(pairs.topics)
        if at not in linked and topic.name not in ends
    ]


def _in_texts(pairs: TopicPairs, done: set[Hashable]) -> Iterator[Disagreement]:
    """Yield disagreements between the sentences of similar notes."""
    read: dict[int, list[Side]] = {}
    for at, text in pairs.texts.items():
        topic = pairs.topics[at]
        source = f"{topic.name}@{topic.version}"
        read[at] = sentences_of(text, source, topic.confidence, from_micros(topic.valid_from))
    for (one, other), cosine in pairs.cosine.items():
        if cosine >= LIKE_COSINE and one in read and other in read:
            yield from sentence_disagreements(read[one], read[other], done)


def _stale(pairs: TopicPairs, since: int) -> list[str]:
    """Return a line for each topic that was neither written nor used since a time, while a
    neighbour changed."""
    written = [max(topic.valid_from, topic.last_used or 0) for topic in pairs.topics]
    near = {pair for pair, cosine in pairs.cosine.items() if cosine >= LIKE_COSINE}
    lines = {}
    for pair in sorted(near | pairs.joined):
        for old, new in (pair, pair[::-1]):
            topic = pairs.topics[old]
            other = pairs.topics[new]
            changed = written[old] < since < other.valid_from
            if changed and not are_of_two_days(topic.name, other.name):
                was, then = (from_micros(one.valid_from) for one in (topic, other))
                lines[old] = f"{topic.name}, {was:%Y-%m-%d}: {other.name} changed {then:%Y-%m-%d}"
    return list(lines.values())


def _duplicates(pairs: TopicPairs) -> list[str]:
    """Return lines `ONE = OTHER` for notes with nearly the same words and the same numbers.

    Notes with different numbers are separate entries of one kind, such as rotas or bills.
    """
    lines = []
    for (one, other), cosine in pairs.cosine.items():
        texts = [pairs.texts.get(at, "") for at in (one, other)]
        numbers = [sorted(DIGITS.findall(text)) for text in texts]
        same = cosine >= SAME_COSINE and numbers[0] == numbers[1]
        names = [pairs.topics[at].name for at in (one, other)]
        if same and share_words(*texts) >= SAME_TEXT and not are_of_two_days(*names):
            lines.append(" = ".join(names))
    return lines
