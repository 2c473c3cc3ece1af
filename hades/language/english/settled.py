"""Settled: whether a note says that its subject is fixed, done or gone.

It uses English words, and would rather miss a case than invent one. The note must be short, the
words must be at the start of a clause that is about its topic or has no subject, and the sentence
must not be a plan, a question, a condition or a partial success.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hades.language.english.detect import is_english
from hades.language.english.lexicon import changes
from hades.language.english.speculation import NEGATION, SUPPOSED
from hades.language.english.stems import singular
from hades.language.names import DIGITS, name_key
from hades.language.patterns import lazy_pattern
from hades.language.sentences import sentences

NOTE_CHARACTERS_AT_MOST = 2_000
"""In a longer text, `it is fixed` may be about anything."""

_OBSTACLES = "blocker bug crash defect error incident issue outage problem task ticket"
"""Kinds of topics whose notes hold until they are settled."""
_NUMBERED = lazy_pattern(
    rf"\b({_OBSTACLES.replace(' ', '|')})[ _-]?#?([0-9]{{1,9}})\b", re.IGNORECASE
)
_DONE = changes("settles")
_CUE = lazy_pattern(f"{_DONE}|no longer|any ?more|left")
"""A text without one of these words settles nothing: a fast check for most texts."""
_SETTLED = r"""(?:^|[\[\](),;:\n]|\s[-–—]{1,2}\s|\b(?:and|so)\b)[\s*•#>-]{0,9}
    (?:(?:(?P<topic>TOPIC)|it|this|everything|(?:the|this)[ ](?:bug|issue|problem|task|ticket
        |blocker|defect|crash|incident|outage|error|work|job|request))[ ])?
    (?:(?:(?:is|was|are|were|got|(?:has|have)[ ]been|['’]s)[ ])?
        (?:(?:now|finally|already|fully|completely|also|all|since|been)[ ]){0,2}
        (?P<done>DONE)(?=\s*(?:$|[.!\[\](),;:\n])|\s[-–—]{1,2}\s|\s(?:in|by|with|on|at|since|as|via
        |from|after|upstream|now|today|yesterday|last|again|it|this|and|so|thanks|for[ ]good)\b)
    |(?:(?!nobody|nothing|who\b|not\b)[^\W\d_]{1,20}[ ](?:(?:have|has)[ ])?)?
        (?:(?:now|finally|just)[ ])?(?P<did>fixed|resolved|solved|closed|finished|completed)[ ]
        (?:TOPIC|it|this|(?:the|this)[ ](?:bug|issue|problem|task|ticket))
        (?=\s*(?:$|[.!,;:(])|\s(?:by|with|in|on|at|via|today|yesterday|last|now)\b)
    |(?P<not>does(?:[ ]not|n['’]t)[ ](?:occur|happen|exist|appear)[ ]any[ ]?more)\b
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


def is_obstacle(topic: str) -> bool:
    """Return whether the name of a topic says that it is a bug, a task or the like."""
    named = {singular(word) for word in name_key(topic).split()}
    return not named.isdisjoint(_OBSTACLES.split())


def settled_elsewhere(text: str) -> Iterator[tuple[str, str]]:
    """Yield the numbered topics that a note on another topic may settle, and the settling word.

    >>> list(settled_elsewhere("Bug 9 fixed: pool enlarged"))[0]
    ('Bug 9', 'fixed')
    """
    short = text[: NOTE_CHARACTERS_AT_MOST + 1]
    for sentence in sentences(short) if _CUE.search(short.lower()) else ():
        for match in _NUMBERED.finditer(sentence):
            kind = match[1].lower()
            number = match[2]
            names = [match[0], *(f"{kind}{joint}{number}" for joint in ("/", "s/", "_", "-"))]
            names += [f"{kind}s/{name}" for name in names[-2:]]
            if word := settled(names[1], sentence):
                yield from ((name, word) for name in names)


def _named_it(topic: str, text: str) -> str:
    """Replace the name of a note's own bug, task or the like with `it`.

    `Bug 9` names the topic in bugs/009 and, at the beginning of a note, in bugs/pool.
    """
    numbers = [number.lstrip("0") for number in DIGITS.findall(topic.rpartition("/")[2])]

    def it(match: re.Match[str]) -> str:
        own = [match[2].lstrip("0")] == numbers or (not numbers and match.start() == 0)
        return "it" if own else match[0]

    return _NUMBERED.sub(it, text) if is_obstacle(topic) else text


def clause_about(topic: str) -> re.Pattern[str]:
    """Return the pattern of a clause that settles a topic."""
    parent, _, last = topic.rpartition("/")
    words = re.findall(r"[^\W_]+", last)
    kind = re.escape(parent.rpartition("/")[2].rstrip("s"))
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
    for sentence in sentences(_named_it(topic, text)):
        if SUPPOSED.search(sentence):
            continue
        for match in says.finditer(sentence):
            words = match.groupdict()
            word = next(name for name in ("done", "did", "not", "no", "left") if words[name])
            before = sentence[: match.start(word)]
            after = sentence[match.end() :]
            if not (NEGATION.search(before) or _HALF.search(f"{before} {after}")):
                return match[word].lower()
    return ""
