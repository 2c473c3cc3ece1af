"""Settled: whether a note says that what it is about is fixed, done or gone.

By English words, and sooner silent than wrong: the note is short, the words stand at the
beginning of a clause, of its topic or of nothing else, and nothing in the sentence makes them
a plan, a question, a condition or half of the truth.
"""

from __future__ import annotations

import re

from hades.domain.sentences import sentences

NOTE_CHARACTERS_AT_MOST = 2_000
"""In a longer text `it is fixed` may be said of anything."""

_DONE = (
    "fixed|resolved|solved|done(?! by)|closed|completed?|finished|shipped|released|merged|"
    "delivered|deployed|removed|withdrawn|cancell?ed|retired|decommissioned|approved|gone"
)
_STAYS_AWAY = (
    "(?:occurs?|happens?|exists?|appears?|reproduc(?:es?|ible)|block(?:s|ing)|needed|required|"
    "relevant|open|an issue|a (?:problem|blocker|bug))"
)
_IT = (
    "(?:it|this|everything|(?:the|this) (?:bug|issue|problem|task|ticket|blocker|defect|crash|"
    "incident|outage|error|work|job|request))"
)
_IS = "(?:is|was|are|were|got|(?:has|have) been|['’]s)"
_BY_THE_WAY = "(?:(?:now|finally|already|fully|completely|also|all|since|been) ){0,2}"
_THEN = (
    r"(?=\s*$|[.!]|\s(?:in|by|with|on|at|since|as|via|from|after|upstream|now|today|yesterday|last|"
    r"again|it|this|and|thanks|for good)\b)"
)
_LEFT = r"(?:has |have )?(left)(?=\s*[.!]?\s*$|\s(?:us|the (?:company|team|project|firm))\b)"
_CUE = re.compile(rf"\b(?:{_DONE}|no longer|left)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[\[\](),;:\n]|\s[-–—]{1,2}\s|\b(?:and|so)\b")
_UNSURE_BEFORE = re.compile(
    r"\b(?:not|never|cannot|can|could|will|would|should|shall|must|may|might|if|when|whenever|"
    r"once|until|unless|before|whether|which|hopefully|probably|perhaps|maybe|apparently|likely|"
    r"nearly|almost|partly|partially|mostly|half|hopes?|plans?|planned|expect(?:s|ed)?|wants?|"
    r"needs?|tried|to be|goal|target|aim|due|eta|todo|deadline|but|only|thinks?|seems?)\b|n['’]t\b",
    re.IGNORECASE,
)
_UNSURE_AFTER = re.compile(
    r"\b(?:but|except|only|unless|if|once|until|yet|pending|partly|partially|mostly|soon|"
    r"tomorrow|next)\b|\?",
    re.IGNORECASE,
)
_BACK = re.compile(
    r"\b(?:re-?opened|regressed|c[oa]mes? back|recurr(?:s|ed)|reappeared|reverted|rolled back|"
    r"broken again|(?:it|bug|issue|problem)(?: is|['’]s) back|still)\b",
    re.IGNORECASE,
)


def settled(topic: str, text: str) -> str:
    """The word by which a note settles its topic (`fixed`, `no longer`); empty: it does not."""
    if len(text) > NOTE_CHARACTERS_AT_MOST or not _CUE.search(text) or _BACK.search(text):
        return ""
    says = _pattern(topic)
    for sentence in sentences(text):
        start = 0
        for mark in [*_CLAUSE.finditer(sentence), None]:
            end = len(sentence) if mark is None else mark.start()
            found = says.match(sentence, start, end)
            if found is not None and found.lastindex is not None:
                word = found[found.lastindex]
                before, after = sentence[: found.start(found.lastindex)], sentence[found.end() :]
                if not (_UNSURE_BEFORE.search(before) or _UNSURE_AFTER.search(after)):
                    return word.lower()
            start = len(sentence) if mark is None else mark.end()
    return ""


def _pattern(topic: str) -> re.Pattern[str]:
    """Clauses that settle a topic: they name it by the last part of its name, or by `it`."""
    parent, _, last = topic.rpartition("/")
    words, kind = re.findall(r"[^\W_]+", last), re.escape(parent.rpartition("/")[2].rstrip("s"))
    name = r"[\W_]{1,3}".join(map(re.escape, words)) or "(?!)"
    named = rf"(?:(?:the|this) )?(?:[^\W_]{{1,20}}[\W_]{{1,2}})?#?{name}(?: {kind})?"
    subject = rf"(?:{named}|{_IT})"
    return re.compile(
        rf"[\s*•#>-]{{0,9}}(?:"
        rf"(?:{subject} )?(?:{_IS} )?{_BY_THE_WAY}({_DONE})\b{_THEN}"
        rf"|(?:{subject} )?(?:does |is )?(no longer) {_STAYS_AWAY}\b"
        rf"|{named} {_LEFT})",
        re.IGNORECASE,
    )
