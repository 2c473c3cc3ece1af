"""Questions that a brief answers: those with which a conversation starts.

“What should I work on next?”, “Which decisions did we make?”, “Catch me up”, “What did we do last
week?” name nothing that a search could find. Each pattern matches a whole question, without its
time, so a question about something is never taken for one of these.
"""

from __future__ import annotations

import re

from hades.domain.question import BriefPart
from hades.language.patterns import lazy_pattern

QUESTION_CHARACTERS = 120
"""A longer question is about something."""
_WE = r"(?:we|i|you)"
_QUESTIONS = {
    BriefPart.NEXT: (
        rf"what (?:should|shall|can|could|do|must) {_WE} (?:work on|do|tackle|focus on|start with"
        r"|pick up|continue with)(?: next| now| first)?",
        r"what(?:'s| is| are) (?:still )?(?:next|left|left to do|to do|open|blocked)",
        r"(?:(?:is|are) there )?any(?:thing)? (?:still )?open(?: (?:threads|tasks|issues|questions"
        r"|points))?",
        r"what(?:'s| is| are) (?:the|our|my) (?:next steps?|open (?:threads|tasks|issues|questions"
        r"|points)|todos?|to-?do list|blockers)",
        r"(?:what|which) (?:tasks|todos|issues|questions|threads|things|points) are (?:still )?"
        r"(?:open|left|blocked|to do)",
        rf"what (?:do|must) {_WE} (?:still )?have to do(?: next)?",
    ),
    BriefPart.DECISIONS: (
        rf"(?:which|what) (?:\w+ )?decisions (?:did|have) {_WE} (?:ma[dk]e|taken?)(?: so far)?",
        rf"what (?:did {_WE} decide|have {_WE} decided|(?:has been|was|is) decided)(?: so far)?",
        r"what (?:are|were) (?:all )?(?:the|our|my) (?:\w+ )?decisions(?: so far)?",
        r"(?:list|show)(?: me)? (?:all )?(?:(?:the|our|my) )?(?:\w+ )?decisions"
        rf"(?: (?:that )?{_WE}(?: have)? made)?(?: so far)?",
    ),
    BriefPart.ALL: (
        r"catch me up|(?:bring|get) me up to (?:date|speed)|brief me",
        r"what (?:did i miss|have i missed|matters now)",
        rf"where (?:did {_WE} (?:leave off|stop)|were {_WE}|do {_WE} stand)",
        r"give me (?:a|the) (?:short |quick )?brief(?:ing)?",
    ),
    BriefPart.RECENT: (r"what(?:(?:'s| is) new|(?:'s| has)? changed)(?: recently| lately)?",),
    BriefPart.DONE: (
        rf"what (?:did|have) {_WE} (?:do|done|work(?:ed)? on|get done|gotten done|got done"
        r"|accomplish(?:ed)?|achieved?|finish(?:ed)?|changed?)",
    ),
}
_PATTERNS = {
    part: lazy_pattern("|".join(f"(?:{source})" for source in sources), re.IGNORECASE)
    for part, sources in _QUESTIONS.items()
}
_POLITE = lazy_pattern(
    r"^(?:(?:hi|hello|hey|ok|okay|so|and|now|please|(?:can|could) you(?: please)?"
    r"|tell me)\b[\s,.!:]{0,5}){1,4}|(?:,? (?:please|again|here|in this (?:project|repo|repository)"
    r"|for (?:this|the) project|on (?:this|the) project)){1,2}$",
    re.IGNORECASE,
)


def brief_asked(question: str, time: str = "") -> BriefPart | None:
    """Return the part of a brief that a question asks for, or None. `time` are its words of time.

    >>> brief_asked("So, what should I work on next?").name
    'NEXT'
    >>> brief_asked("What did we do last week?", "last week").name
    'DONE'
    >>> brief_asked("What did we decide about the queue?") is None
    True
    """
    if len(question) > QUESTION_CHARACTERS:
        return None
    asked = question.replace("’", "'").replace(time, " ") if time else question.replace("’", "'")
    asked = " ".join(asked.strip(" ?!.\n\t").split()).strip(" ,?!.")
    asked = _POLITE.sub("", asked).strip(" ,?!.")
    for part, pattern in _PATTERNS.items():
        if pattern.fullmatch(asked):
            # Without a time, "what did we do" asks for everything that was ever done.
            return None if part is BriefPart.DONE and not time else part
    return None
