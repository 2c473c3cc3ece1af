"""Patterns for a question's breadth and tense, and for recent events, summaries and talks."""

from __future__ import annotations

import re

from hades.domain.question import Mode
from hades.language.languages import is_foreign
from hades.language.patterns import lazy_pattern

CHARACTERS_READ = 1_000
"""How much of a question is read; the rest of a longer one is a text that follows the question."""

RECENT = lazy_pattern(
    r"\brecent(?:ly)?\b|\blately\b|\byesterday\b|\btoday\b|\bwhat(?:'s| is) new\b|"
    r"\b(?:last|past|this|previous) (?:few |couple of |\d+ )?(?:hours?|days?|nights?|weeks?|"
    r"months?|quarter|sprint|year)\b|\blatest (?:changes?|news|updates?|developments?)\b|"
    r"\bwhat(?:'s| has| have)? (?:changed|happened)\b",
    re.IGNORECASE,
)
"""Words of a question about recent events, of the last hours up to the last year."""
SUMMARY_ASKED = lazy_pattern(
    r".{0,100}?\b(?:summar(?:y|ies|i[sz]e|i[sz]ing)|overview|recap|gist|big picture)\b"
    r"(?: of| for)?",
    re.IGNORECASE,
)
"""The words of a question that ask for a summary, before its subject."""
TALK_ASKED = lazy_pattern(
    r"what (?:(?:did|have|had) (?:we|i|you|they) (?:talk(?:ed)?|spoken?|speak|chat(?:ted)?|discuss"
    r"(?:ed)?)|(?:was|were) (?:we talking|talked|said|discussed))(?: about)?(?= )",
    re.IGNORECASE,
)
"""The words of a question that ask what was talked about, before its subject or time."""
_PAST_TENSE = lazy_pattern(r"\b(?:was|were|did|had)\b", re.IGNORECASE)


def is_past_tense(question: str) -> bool:
    """Return whether a question is in the past tense: `why was it rejected`."""
    return _PAST_TENSE.search(question[:CHARACTERS_READ]) is not None and not is_foreign(question)


# In lower case only: a question about the Marshall Plan does not plan.
_BRAINSTORM = lazy_pattern(
    r"\b(?:brainstorm\w*|ideas?|what if|what else could|alternatives?|possibilities|inspiration|"
    r"think of ways)\b"
)
_PLANNING = lazy_pattern(
    r"\b(?:plan|plans|planning|roadmap|strategy|next steps?|milestones?|prioriti[sz]e|"
    r"how (?:should|shall|could|can|do|would) (?:we|i) (?:go about|approach|tackle|organi[sz]e|"
    r"structure|migrate|implement|build|design))\b"
)


def choose_mode(question: str) -> Mode:
    """Return how much a question wants: most if it asks for ideas, less if it asks for a plan, else
    little."""
    asked = " ".join(question[:CHARACTERS_READ].split())
    asked = asked[:1].lower() + asked[1:]
    if is_foreign(question):
        return Mode.EXECUTION
    if _BRAINSTORM.search(asked):
        return Mode.BRAINSTORMING
    if _PLANNING.search(asked):
        return Mode.PLANNING
    return Mode.EXECUTION
