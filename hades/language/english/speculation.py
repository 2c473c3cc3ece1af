"""Speculation: tell a plain statement from a supposition, question, wish or denial.

Only English words decide. The readers of facts, contradictions and settled topics all use these
patterns, so that they agree on what is a guess.
"""

from __future__ import annotations

import re

from hades.language.english import lexicon
from hades.language.patterns import lazy_pattern

SUPPOSED = lazy_pattern(
    r"\b(?:if|unless|whether|would|could|might|should|(?-i:may|MAY)|maybe|perhaps|probably|possibly"
    r"|presumably|apparently|allegedly|supposedly|reportedly|hypothetical\w*|(?:un)?likely|sa(?:id|y"
    r"|ys|ying)|tells?|told|claim\w*|think\w*|thought|believ\w+|hears?|heard|rumou?r\w*|according"
    r"|suppos\w+|assum\w+|suspect\w*|imagin\w+|pretend\w*|dream\w*|wish\w*|hop(?:es?|ed|ing)"
    r"|guess\w*|doubt\w*|den(?:y|ies|ied)|untrue|false\w*|wrong\w*|mistaken\w*|myth|lied?|lies"
    r"|fiction\w*|novel|story|film|movie|jok(?:ed?|es|ing)|kidding|propos\w+|idea|option|todo|draft"
    r"|scenario|example|e\.g|neither|nor|nobody|no one|except|expect\w*|wants?|wanted|plans? to"
    r"|planned|planning|intend\w*|consider\w*|suggest\w*|insist\w*|argu\w+|predict\w*|estimat\w+"
    r"|forecast\w*|goals?|targets?|aims?|fear\w*|worr\w+|wonder\w*|ask\w*|quot\w+|wrote|writes"
    r"|announc\w+|seems?|unclear|not (?:true|sure|certain|clear|the case)|ensure|make sure|almost"
    r"|nearly|half|as though|will|shall|won['’]t|ought|must|unconfirmed|fake|template|or|either"
    r"|afaik|in theory|on paper|tentative\w*|pending|as far as|as soon as|in case|provided"
    r"|otherwise)\b|[?“”\"«»„]|let['’]s|I['’]d|^[>|]|\[ \]"
    r"|^(?:is|are|does|do|did|was|were|has|have|had|can|what|where|who|which|why|how|whose)\b",
    re.IGNORECASE,
)
"""A question, condition, guess, wish or plan, or a report of what somebody else said."""
NEGATION = lazy_pattern(lexicon.NEGATION, re.IGNORECASE)
_DISOWNED = lazy_pattern(
    r"\b(?:none|nothing|opposite|incorrect|invalid|mistakes?|errors?|nonsense|bogus|hoax"
    r"|outdated|obsolete)\b",
    re.IGNORECASE,
)
"""Words by which a sentence denies other sentences."""
_SPOKEN_OR_LISTED = lazy_pattern(r"^\W*[^\W\d_][^:.!?\n]{0,60}:(?=\s|$)|:$")
"""A line that quotes a speaker (`Bob: …`), or a heading that ends with a colon."""


def is_denial(sentence: str) -> bool:
    """Return whether a sentence denies something. Two negations make an affirmation."""
    return len(NEGATION.findall(sentence)) % 2 == 1


def is_asserted(sentence: str) -> bool:
    """Return whether a sentence is a plain statement of its author, not a denial, question,
    supposition, quotation or report."""
    patterns = SUPPOSED, NEGATION, _DISOWNED, _SPOKEN_OR_LISTED
    return not any(pattern.search(sentence) for pattern in patterns)
