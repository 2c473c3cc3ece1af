"""Version words: words by which a sentence says that a state ended, changed or never was true."""

from __future__ import annotations

import re

from hades.language.english.lexicon import changes, word_set
from hades.language.english.stems import stem
from hades.language.patterns import lazy_pattern

ENDED = lazy_pattern(
    rf"\b(?:{changes('over')}|left|dropped|quit|gone|shut|cancell?ed|closed|removed|no longer"
    r"|mov(?:ed|ing) (?:to|out|away|on|over)|any ?more|former(?:ly)?|replaced|switched|not|never"
    r"|last (?:day|shift|lesson|time|game|round|week with)|(?:is|are|was|were) over)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words by which a sentence says that something ended."""
CLAUSES = lazy_pattern(r"[,;:–—]|\b(?:but|so|and|because)\b")
TO_NEW = lazy_pattern(
    r"(?:mov(?:ed|ing)|switched|replaced)\b[^.;]{0,100}?\b(?:to|by|with)\b", re.IGNORECASE
)
"""Words of a change that come before the new state."""
UNREAL = lazy_pattern(
    r"\b(?:want(?:s|ed)?|ask(?:s|ed|ing)|offer(?:s|ed)|quoted|suggest(?:s|ed)|propos(?:es|ed)"
    r"|consider(?:s|ed)|thought|almost|nearly|instead of|refused|turned down|would|could|might|if"
    r"|not|never|no|plan(?:s|ned)?)\b|n['’]t\b",
    re.IGNORECASE,
)
"""Words of wishes, plans and denials: what follows them did not happen."""
SAYS_CHANGE = lazy_pattern(
    r"\b(?:now|from (?:now|this|today|tomorrow|next|\d)|instead|no longer|any ?more|put on"
    r"|swapped|(?:has|have) (?:shut|closed)|moved|changed|switched|replaced|rescheduled|migrated"
    rf"|transferred|renamed|{changes('over')})\b",
    re.IGNORECASE,
)
"""Words by which a sentence tells a change, even in a note on another topic."""
_FORMS = dict(
    pair.split("=")
    for pair in word_set(
        """ran=run went=go gone=go swam=swim swum=swim ate=eat eaten=eat bought=buy saw=see seen=see
        met=meet rode=ride ridden=ride drove=drive driven=drive flew=fly flown=fly wrote=write
        written=write spoke=speak spoken=speak took=take taken=take gave=give given=give broke=break
        broken=break paid=pay sold=sell sent=send slept=sleep won=win lost=lose fell=fall
        fallen=fall sang=sing sung=sing taught=teach caught=catch brought=bring forgot=forget
        forgotten=forget left=leave"""
    )
)
"""Irregular forms of verbs for actions that people count."""
_WORD = lazy_pattern(r"[^\W_]+")
_GOES_ON = lazy_pattern(r"\W+(?:out|into|away|off)\b", re.IGNORECASE)


def plain_form(word: str) -> str:
    """Return the stem of a word; for an irregular form such as `ran`, the stem of its verb."""
    own = word.casefold()
    return stem(_FORMS.get(own, own)).rstrip("e")


FRAME = frozenset(
    plain_form(word)
    for word in word_set(
        "change changed changing develop developed evolve evolved history times years months weeks "
        "often many long version release released"
    )
)
"""Plain forms of the words that ask for versions but do not name the thing asked about."""


def done_in(text: str) -> frozenset[str]:
    """Return the plain forms of a text's words, without phrasal verbs such as `ran out`."""
    matches = _WORD.finditer(text)
    return frozenset(
        plain_form(word[0]) for word in matches if not _GOES_ON.match(text, word.end())
    )
