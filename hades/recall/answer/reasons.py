"""Reasons that changed: the fact that holds for a topic now, and the fact that it replaced.

“Why don't we use approach X?” asks for a reason that may have ended. The answer says what holds now
and since when, then the earlier reason with the time for which it held.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hades.domain.answer import Answer, Fact, Recall, Sentence
from hades.domain.question import Intent, Sign
from hades.domain.statement import statement
from hades.language.english.terms import terms_in, text_around
from hades.recall.answer.changes import quote_version
from hades.recall.answer.standing import believe_ended_less
from hades.recall.query_context import QueryContext
from hades.recall.rank import belief

REPLACED_READ = 16
"""How many ended edges of a topic are read, the latest first."""


def replaced_facts(query: QueryContext, topic: str, facts: Sequence[Fact]) -> list[Fact]:
    """Return the replaced facts of a topic and their replacements, if `facts` lacks them.

    They say what the reason was before, and since when another one holds.
    """
    rows = query.edges
    nodes = query.store.entities.own_nodes(query.space, topic)
    own = (rows["valid_to"] <= query.valid) & (rows["space"] == query.space)
    ids = np.unique(rows["id"][own & np.isin(rows["source"], nodes)])[-REPLACED_READ:].tolist()
    read = query.store.edges.read(query.space, ids, query.as_of)
    after = {edge.superseded_by for edge in read.values() if edge.superseded_by is not None}
    read |= query.store.edges.read(query.space, [*after], query.as_of)
    known = {fact.edge.id for fact in facts}
    added = [
        Fact(edge, statement(edge), 0.0, belief.interval(belief.of_probability(edge.belief.mean)))
        for edge in read.values()
        if edge.id not in known and (edge.id in after or edge.superseded_by is not None)
    ]
    return believe_ended_less([*facts, *added])[len(facts) :]


def from_reasons(recall: Recall) -> Answer | None:
    """Answer a question for a reason from a replaced fact of the best topic, if there is one."""
    if recall.intent is not Intent.WHY:
        return None
    topic = recall.passages[0].chunk.topic if recall.passages else ""
    own = {fact.edge.id: fact.edge for fact in recall.facts if fact.edge.source.name == topic}
    asked = terms_in(recall.question)
    pairs = set[int]()
    for edge in own.values():
        after = own.get(edge.superseded_by or 0)
        if after and (
            edge.relation != after.relation or asked & terms_in(edge.relation.replace("_", " "))
        ):
            pairs |= {edge.id, after.id}
    ended = list[Sentence]()
    holds = list[Sentence]()
    told = [terms_in(text_around(row)) for row in recall.passages if row.chunk.topic == topic]
    if not pairs or not all(any(map(name.stands_in, told)) for name in recall.asked.terms.names):
        return None
    for number, passage in enumerate(recall.passages, start=1):
        rows = holds if passage.valid_to is None else ended
        if passage.chunk.topic == topic and not rows:  # the best of each
            rows.append(quote_version(passage, number, recall.asked, spans=True))
    for number, fact in enumerate(recall.facts, start=1):
        if fact.edge.id in pairs:
            rows = holds if fact.edge.valid_to is None else ended
            rows.append(Sentence(fact.text, fact.score, number, "fact"))
    rows = [*ended, *holds] if Sign.PAST_TENSE in recall.asked.signs else [*holds, *ended]
    return Answer(recall.question, tuple(rows), recall)
