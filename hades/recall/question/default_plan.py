"""The default plan: limits by the intent and the mode of a question."""

from __future__ import annotations

from hades.domain.answer import Intent, Mode
from hades.recall.plan import Budget, Plan, Reranker

PLANNING_PASSAGES = 10
_AMOUNT = {
    Mode.EXECUTION: (5, 5, 5_000, (0.4, 0.6, 0.0)),
    Mode.PLANNING: (PLANNING_PASSAGES, 8, 10_000, (0.4, 0.4, 0.2)),
    Mode.BRAINSTORMING: (20, 12, 20_000, (0.4, 0.4, 0.2)),
}
"""Passages, paths and tokens of the context, and fusion. Passages and fusion are as in source
document 004."""

_FACTS = {Intent.RELATION: 50}
_HISTORY = {Intent.RECENT: 10, Intent.WHY: 3, Intent.WHEN: 10}
"""How many earlier versions are shown; 0 for other intents."""


def default_plan(intent: Intent, mode: Mode = Mode.EXECUTION) -> Plan:
    """Return the plan for an intent and a mode."""
    passages, paths, tokens, fusion = _AMOUNT[mode]
    return Plan(
        reranker=Reranker(fusion=fusion),
        final_context=passages,
        facts=_FACTS.get(intent, Plan().facts),
        paths=paths,
        history=_HISTORY.get(intent, 0),
        budget=Budget(tokens=tokens),
    )
