"""The answer of an agent in the form of TracingRAG: current facts and earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from hades.agents.results import AgentAnswer, AgentEdge
from hades.domain.answer import Answer, Recall
from hades.domain.graph import Edge
from hades.domain.statement import window_words
from hades.errors import NotFound
from hades.memory import View

TOPICS_EXPLAINED = 3
EDGES_READ = 100
EDGES_SHOWN = 10
VERSIONS_SHOWN = 3
TEXT_CHARACTERS = 300


def explained(view: View, recall: Recall, model: str | None) -> tuple[AgentAnswer, str, int]:
    """Return the answer from a recall, the model that worded it or `rules`, and the tokens."""
    answer = _answered(view, recall, model)
    topics = _topics(answer)
    edges = {edge.id: edge for topic in topics for edge in _edges(view, topic)}
    edges |= {fact.edge.id: fact.edge for fact in recall.facts if fact.edge.id > 0}
    holds = [edge for edge in edges.values() if edge.valid_to is None]
    ended = [edge for edge in edges.values() if edge.valid_to is not None]
    missing = answer.unsaid[0] if answer.unsaid else ""
    # A line of a summary is addressed by its original.
    original = recall.passages[0].chunk.topic if recall.level and recall.passages else ""
    used = answer.usage
    result = AgentAnswer(
        question=recall.question,
        current_answer=str(answer),
        reasoning=_sentences(_said(edge) for edge in holds[:EDGES_SHOWN]),
        historical_context=_sentences(
            [*_earlier(view, topics), *(_said(edge) for edge in ended[:EDGES_SHOWN])]
        ),
        edges=tuple(AgentEdge.of(edge, active=True) for edge in holds[:EDGES_SHOWN]),
        obsolete_edges=tuple(AgentEdge.of(edge, active=False) for edge in ended[:EDGES_SHOWN]),
        needs_drill_down=bool(original or missing),
        drill_down_target=original or missing,
        answer=answer,
    )
    by = used.model if answer.kind == "model" and used else "rules"
    return result, by, used.prompt_tokens + used.completion_tokens if used else recall.tokens


def _answered(view: View, recall: Recall, model: str | None) -> Answer:
    from hades.client.client import RemoteView
    from hades.models.chat import open_chat_model
    from hades.operations.questions import extracted
    from hades.recall.answer.ask_model import answer_by_model
    from hades.recall.answer.sources import answer

    # a client cannot reach the server's encoder, so only words are compared
    quoted = answer(recall) if isinstance(view, RemoteView) else extracted(view.inside, recall)
    return quoted if model is None else answer_by_model(quoted, open_chat_model(model))


def _topics(answer: Answer) -> list[str]:
    """Return the topics that the answer cites, else those of the best passages."""
    passages = answer.recall.passages
    cited = [
        passages[sentence.citation - 1].chunk.topic
        for sentence in answer.sentences
        if sentence.kind == "passage" and 0 < sentence.citation <= len(passages)
    ]
    return list(dict.fromkeys(cited or [hit.chunk.topic for hit in passages]))[:TOPICS_EXPLAINED]


def _edges(view: View, topic: str) -> list[Edge]:
    """Return the edges of a topic that somebody wrote, also those that ended; no derived ones."""
    with suppress(NotFound):
        return [edge for edge in view.edges(topic, all=True, limit=EDGES_READ) if edge.id > 0]
    return []


def _earlier(view: View, topics: Iterable[str]) -> list[str]:
    """Return the last earlier versions of notes in words."""
    lines = []
    for topic in topics:
        with suppress(NotFound):
            version = view.get(topic).version
            after = max(0, version - 1 - VERSIONS_SHOWN)
            for state in view.history(topic, after=after, limit=VERSIONS_SHOWN):
                if state.version < version and state.content and state.valid_to is not None:
                    text = " ".join(state.content[:TEXT_CHARACTERS].split())
                    lines.append(
                        f"{state.id}, {window_words(state.valid_from, state.valid_to)}: {text}"
                    )
    return lines


def _said(edge: Edge) -> str:
    held = "" if edge.valid_to is None else f" held until {edge.valid_to:%Y-%m-%d}"
    return f"{edge}{held}" + (f": {edge.evidence}" if edge.evidence else "")


def _sentences(lines: Iterable[str]) -> str:
    return "\n".join(line if line.endswith((".", "!", "?")) else f"{line}." for line in lines)
