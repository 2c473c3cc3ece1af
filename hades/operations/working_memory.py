"""Working memory: what to know before working on a topic."""

from __future__ import annotations

from typing import Annotated

from hades.domain.answer import Path, WorkingMemory
from hades.operations.declare import operation
from hades.operations.indexing import catch_up
from hades.operations.inside import Inside
from hades.operations.parameters import TopicName, token_budget

BUDGET_TOKENS = 2_000
BUDGET_TOKENS_AT_LEAST = 50


@operation("GET", "/working-memory/{topic}", command="working-memory", asks=True)
def working_memory(
    inside: Inside,
    topic: TopicName,
    *,
    budget: Annotated[int, token_budget(BUDGET_TOKENS_AT_LEAST)] = BUDGET_TOKENS,
) -> WorkingMemory:
    """Collect what to know before working on a topic.

    The result holds its latest state, earlier and important states, and linked topics, within a
    budget of tokens. `reasons` says what was left out.
    """
    from hades.context.working_memory import gather

    near = _near(inside, topic)
    with inside.store.snapshot():
        return gather(inside.store, inside.space_id, inside.as_of, topic, near, budget)


def _near(inside: Inside, topic: str) -> list[tuple[str, Path]]:
    """Index new states, then return the topics linked to a topic, nearest first, with the path."""
    catch_up(inside, None)
    from hades.context.working_memory import RELATED_AT_MOST
    from hades.recall.paths import neighbourhood

    node = inside.named_node(topic)
    with inside.query_context(nodes=[node]) as query:
        return neighbourhood.related_topics(query, node, limit=RELATED_AT_MOST)
