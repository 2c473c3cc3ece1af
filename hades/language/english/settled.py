"""Settled: whether a note says that what it is about is fixed, done or gone.

It uses English words, and rather misses a case than invents one: the note is short, the words are
at the start of a clause about its topic or without a subject, and the sentence is not a plan, a
question, a condition or a partial success.
"""

from __future__ import annotations

import re

from hades.language.english.detect import is_english
from hades.language.english.lexicon import changes
from hades.language.english.speculation import NEGATION, SUPPOSED
from hades.language.patterns import lazy_pattern
from hades.language.sentences import sentences

NOTE_CHARACTERS_AT_MOST = 2_000
"""In a longer text, `it is fixed` may be about anything."""

_DONE = changes("settles")
_CUE = lazy_pattern(f"{_DONE}|no longer|left")
"""A text without one of these words settles nothing: a fast check for most texts."""
_SETTLED = r"""(?:^|[\[\](),;:\n]|\s[-–—]{1,2}\s|\b(?:and|so)\b)[\s*•#>-]{0,9}
    (?:(?:(?P<topic>TOPIC)|it|this|everything|(?:the|this)[ ](?:bug|issue|problem|task|ticket
        |blocker|defect|crash|incident|outage|error|work|job|request))[ ])?
    (?:(?:(?:is|was|are|were|got|(?:has|have)[ ]been|['’]s)[ ])?
        (?:(?:now|finally|already|fully|completely|also|all|since|been)[ ]){0,2}
        (?P<done>DONE)(?=\s*(?:$|[.!\[\](),;:\n])|\s[-–—]{1,2}\s|\s(?:in|by|with|on|at|since|as|via
        |from|after|upstream|now|today|yesterday|last|again|it|this|and|so|thanks|for[ ]good)\b)
    |(?:does[ ]|is[ ])?(?P<no>no[ ]longer)[ ](?:occurs?|happens?|exists?|appears?
        |reproduc(?:es?|ible)|block(?:s|ing)|needed|required|relevant|open|an[ ]issue
        |a[ ](?:problem|blocker|bug))\b
    |(?(topic)(?:has[ ]|have[ ])?(?P<left>left)(?=\s*[.!]?\s*$
        |\s(?:us|the[ ](?:company|team|project|firm))\b)|(?!)))""".replace(
    "DONE", _DONE.replace(" ", "[ ]")
)
"""A clause that settles TOPIC, by its name or as `it`."""
_HALF = lazy_pattern(
    r"\b(?:but|only|once|until|partly|partially|mostly|when(?:ever)?|before|which|hopefully|yet"
    r"|needs?|tried|to be|due|eta|deadline|soon|tomorrow|next)\b",
    re.IGNORECASE,
)
_BACK = lazy_pattern(
    r"\b(?:re-?opened|regressed|c[oa]mes? back|recurr(?:s|ed)|reappeared|reverted|rolled back|"
    r"broken again|(?:it|bug|issue|problem)(?: is|['’]s) back|still)\b",
    re.IGNORECASE,
)


def clause_about(topic: str) -> re.Pattern[str]:
    """Return the pattern of a clause that settles a topic."""
    parent, _, last = topic.rpartition("/")
    words, kind = re.findall(r"[^\W_]+", last), re.escape(parent.rpartition("/")[2].rstrip("s"))
    name = r"[\W_]{1,3}".join(map(re.escape, words)) or "(?!)"
    named = rf"(?:(?:the|this)[ ])?(?:[^\W_]{{1,20}}[\W_]{{1,2}})?\#?{name}(?:[ ]{kind})?"
    return re.compile(_SETTLED.replace("TOPIC", named), re.IGNORECASE | re.VERBOSE)


def settled(topic: str, text: str) -> str:
    """Return the word by which a note settles its topic (`fixed`, `no longer`), or "".

    The note names its topic by the last part of its name, or not at all.
    """
    if len(text) > NOTE_CHARACTERS_AT_MOST or not _CUE.search(text.lower()) or _BACK.search(text):
        return ""
    if not is_english(text):
        return ""
    says = clause_about(topic)
    for sentence in sentences(text):
        if SUPPOSED.search(sentence):
            continue
        for found in says.finditer(sentence):
            word = found.lastindex or 0
            before, after = sentence[: found.start(word)], sentence[found.end() :]
            if not (NEGATION.search(before) or _HALF.search(f"{before} {after}")):
                return found[word].lower()
    return ""
