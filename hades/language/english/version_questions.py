"""Version questions: questions that earlier versions answer, and the words that end a state.

“How has the rent changed?” asks for all versions, “Was it ever 850?” for one of them, “Is it still
850?” for the latest, and “How often did I run?” for a count.
"""

from __future__ import annotations

import re

from hades.domain.answer import Wants
from hades.language.english.lexicon import changes, word_set
from hades.language.english.stems import stem
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
"""Words before something that did not happen."""
END_ASKED = lazy_pattern(r"\b(?:until|till) when\b|^how long (?:did|was|were|had)\b", re.IGNORECASE)
"""A question for the time at which something ended."""
SAYS_CHANGE = lazy_pattern(
    r"\b(?:now|from (?:now|this|today|tomorrow|next|\d)|instead|no longer|any ?more|put on"
    r"|swapped|(?:has|have) (?:shut|closed)|moved|changed|switched|replaced|rescheduled|migrated"
    rf"|transferred|renamed|{changes('over')})\b",
    re.IGNORECASE,
)
"""Words by which a sentence about something else tells a change."""
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
"""Irregular forms of verbs that people count."""
_WORD = lazy_pattern(r"[^\W_]+")
_GOES_ON = lazy_pattern(r"\W+(?:out|into|away|off)\b", re.IGNORECASE)


def versions_asked(question: str) -> Wants | None:
    """Return what a question wants of earlier versions; None if it does not ask for them."""
    asked = question.strip()
    return next((wants for wants, pattern, _ in RULES if pattern.search(asked)), None)


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
"""Plain forms of the words that ask for versions, and do not say of what."""


def done_in(text: str) -> frozenset[str]:
    """Return the plain forms of a text's words, except phrasal verbs: `ran out of yeast`."""
    found = _WORD.finditer(text)
    return frozenset(plain_form(word[0]) for word in found if not _GOES_ON.match(text, word.end()))
