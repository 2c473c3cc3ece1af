"""Version questions: patterns of questions that count changes or ask when something ended."""

from __future__ import annotations

import re

from hades.language.patterns import lazy_pattern

CHANGE_COUNTED = lazy_pattern(
    r"\b(?:changed?|put up|go(?:ne|es)? up|went up|raised?|increased?|lowered|dropped|moved?"
    r"|switched|renamed)\b",
    re.IGNORECASE,
)
"""A question that counts changes, which are one fewer than versions."""
END_ASKED = lazy_pattern(r"\b(?:until|till) when\b|^how long (?:did|was|were|had)\b", re.IGNORECASE)
"""A question for the time at which something ended."""
