"""Briefs: the current state of a space or a topic, in a few lines."""

from __future__ import annotations

from typing import Annotated

from hades.domain.brief import Brief
from hades.domain.rules import clean_name
from hades.errors import NotFound
from hades.operations.declare import Param, operation
from hades.operations.inside import Inside
from hades.operations.parameters import token_budget

BUDGET_TOKENS = 2_000
BUDGET_TOKENS_AT_LEAST = 100


@operation("GET", "/brief", command="brief", timed=True, needs_space=True)
def brief(
    inside: Inside,
    topic: Annotated[
        str | None,
        Param("Only this topic and those below it.", example="infra", rule=clean_name),
    ] = None,
    *,
    budget: Annotated[int, token_budget(BUDGET_TOKENS_AT_LEAST)] = BUDGET_TOKENS,
) -> Brief:
    """Show what matters now: decisions, open threads, changes.

    It lists current decisions, open threads, recent changes and facts that just ended, of a space
    or of a topic and all below it. Each line has a source and a date. Tags (`decision`, `todo`,
    `blocked` …) and names of topics (`adr/…`, `next-steps`) mark decisions and open threads; in
    notes, words such as “we decided” and “blocked by” do too.
    """
    from hades.lifecycle.brief import BriefReader, make_brief

    with inside.store.snapshot():
        reader = BriefReader(inside.store, inside.space_id, inside.as_of, topic)
        if topic is not None and not reader.is_known():
            raise NotFound(f"There is no topic {topic!r} and none below it: `topics` lists them.")
        return make_brief(reader, inside.space, budget)
