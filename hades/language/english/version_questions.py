"""Version questions: questions that earlier versions answer.

“How has the rent changed?” asks for all versions, “Was it ever 850?” for one of them, “Is it still
850?” for the latest, and “How often did I run?” for a count.
"""

from __future__ import annotations

import re

from hades.domain.question import Wants
from hades.language.english.lexicon import changes
from hades.language.patterns import lazy_pattern

_BE_OR_DO = "(?:is|are|am|was|were|do|does|did|have|has|had)"
_DONE = rf"(?:{changes('asked')}|{changes('settles')}|close|fix|ship|release|launch|hire)"

RULES = tuple(
    (wants, lazy_pattern(pattern, re.IGNORECASE), example)
    for wants, pattern, example in (
        (
            Wants.COUNT,
            r"^how (?:often|many times) (?:did|was|were|have|has|had)\b"
            r"|^how many (?:[^\s?]+ ){1,4}?(?:have there been|did (?:we|i) "
            rf"{_DONE}|(?:were|have been|have (?:we|i)) {_DONE})\b",
            "How often did I go running in May?",
        ),
        (Wants.EVER, rf"^{_BE_OR_DO} [^?]{{1,200}}? ?\bever\b", "Was the rent ever 850?"),
        (Wants.STILL, rf"^{_BE_OR_DO} [^?]{{1,200}}? ?\bstill\b", "Is Dana still on the team?"),
        (
            Wants.CHANGES,
            r"^how (?:has|have|had|did|does|do) [^?]{1,200}?\b(?:chang|develop|evolv)"
            r"|^(?:what|which|how|who) [^?]{1,200}? over (?:time|the (?:years?|months))\b"
            r"|^(?:what|which) (?:[^\s?]+ ){0,2}?[^\s?]{2,30}(?<![isu])s (?:did|have|has|had|were) "
            r"|^(?:(?:what is|show|give me|list) )?(?:me )?the history of\b",
            "How has the rent changed?",
        ),
    )
)
"""The kind of answer wanted, the pattern of the questions for it, and an example. The first pattern
that matches decides."""

CHANGE_COUNTED = lazy_pattern(
    r"\b(?:changed?|put up|go(?:ne|es)? up|went up|raised?|increased?|lowered|dropped|moved?"
    r"|switched|renamed)\b",
    re.IGNORECASE,
)
"""A question that counts changes, which are one fewer than versions."""
END_ASKED = lazy_pattern(r"\b(?:until|till) when\b|^how long (?:did|was|were|had)\b", re.IGNORECASE)
"""A question for the time at which something ended."""


def versions_asked(question: str) -> Wants | None:
    """Return what a question wants of earlier versions; None if it does not ask for them."""
    asked = question.strip()
    return next((wants for wants, pattern, _ in RULES if pattern.search(asked)), None)
