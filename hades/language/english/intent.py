"""Intent: what kind of question it is, and how much it wants.

Rules over English words, and nothing else: the same question is always read alike, and
the words that decided are told. A question in another language is a plain look-up.
"""

from __future__ import annotations

import re
from itertools import groupby

from hades.domain.answer import Intent, Mode
from hades.language.english.detect import is_english_question
from hades.language.patterns import lazy_pattern

CHARACTERS_READ = 1_000
"""Of a question; what is longer is a text, and its beginning says what is asked."""

_ANY = f".{{0,{CHARACTERS_READ}}}"
"""Whatever stands between; with an end, so that no rule goes over a text again and again."""
_MORE = (
    r"(?:first|last|earlier|earliest|later|latest|older|oldest|younger|youngest|more|most|less|least|"
    r"better|best|worse|worst|longer|longest|shorter|larger|largest|bigger|smaller|higher|lower|"
    r"faster|slower|closer|newer|cheaper|recently)"
)
RULES: tuple[tuple[Intent, str, str], ...] = (
    (
        Intent.COMPARE,
        r"\b(?:compar(?:e|ed|ing|ison)|versus|vs\.?|differences?\s+between|differ(?:s|ent)?\s+from|"
        r"pros and cons)(?!\w)",
        "Compare Redis and Postgres",
    ),
    (
        Intent.COMPARE,
        r"^(?:(?:in|of|on|to|for|between)\s+)?(?:which|what|who|whose|where)\b"
        rf"{_ANY}\b{_MORE}\b{_ANY}\bor\b",
        "Which is faster, Redis or Postgres?",
    ),
    (Intent.COMPARE, rf"^which\b[^,:]+[,:] .{_ANY} or ", "Which did we take, Redis or Postgres?"),
    (
        Intent.COMPARE,
        rf"^(?:is|are|was|were|do|does|did|have|has|had)\b{_ANY}\b(?:both|same)\b",
        "Are Ann and Ben in the same team?",
    ),
    (
        Intent.COMPARE,
        rf"^(?:is|are|was|were|did|does|do)\b{_ANY}\bor\b{_ANY}\b"
        r"(?:first|earlier|later|older|younger|more)\b",
        "Did Ann or Ben join first?",
    ),
    (Intent.COMPARE, r"\bin common\b", "What do Ann and Ben have in common?"),
    (Intent.COMPARE, rf"\bboth\b{_ANY}\band\b", "Who knows both Ann and Ben?"),
    (
        Intent.COMPARE,
        r"\b(?:first|older|younger|later|earlier) out of\b",
        "Who is the older out of the two?",
    ),
    (Intent.WHY, r"^(?:and|but|so)?\s*why\b", "Why was it rejected?"),
    (Intent.WHY, r"\bhow come\b", "How come it was rejected?"),
    (Intent.WHY, r"\bwhat (?:caused?|causes|led to|made)\b", "What caused the outage?"),
    (
        Intent.WHY,
        r"\b(?:the )?(?:reasons?|causes?|rationale|motivation) (?:for|of|behind|why|that)\b",
        "What is the reason for the delay?",
    ),
    (Intent.WHY, r"\bfor what reason\b", "For what reason did we stop?"),
    (
        Intent.WHY,
        r"\b(?:explain|know|say|tell me|understand) why\b",
        "Can you explain why we stopped?",
    ),
    (Intent.WHY, rf"\bwhy\b[^.]{{0,{CHARACTERS_READ}}}\?", "It was rejected, but why?"),
    (Intent.WHEN, r"^(?:(?:and|but|since|until|by|from)\s+)?when\b", "When was it shipped?"),
    (Intent.WHEN, r"\b(?:tell me|know|say) when\b", "Do we know when it was shipped?"),
    (
        Intent.WHEN,
        r"\b(?:what|which) (?:year|date|day|month|century|decade|time)\b",
        "In which year was it founded?",
    ),
    (Intent.WHEN, r"\bhow long ago\b", "How long ago was the outage?"),
    (Intent.WHEN, r"\bsince when\b", "She leads it since when?"),
    (Intent.WHEN, r"\buntil when\b", "It is open until when?"),
    (Intent.OVERVIEW, r"\bsummar(?:y|ies|i[sz]e|i[sz]ing)\b", "Summarise the project"),
    (Intent.OVERVIEW, r"\boverview\b", "Give me an overview of the project"),
    (Intent.OVERVIEW, r"\bbig picture\b", "What is the big picture?"),
    (Intent.OVERVIEW, r"\brecap\b", "A recap of the meeting"),
    (Intent.OVERVIEW, r"\bgist\b", "What is the gist of it?"),
    (
        Intent.OVERVIEW,
        r"\b(?:tell|teach) me (?:all|everything|more)? ?about\b",
        "Tell me about the project",
    ),
    (Intent.OVERVIEW, r"\bhigh[- ]level\b", "What does it do at a high level?"),
    (Intent.OVERVIEW, r"\bmain (?:themes|topics|ideas|points|parts)\b", "What are the main ideas?"),
    (Intent.OVERVIEW, r"\boutline\b", "An outline of the plan"),
    (Intent.OVERVIEW, r"\bintroduction to\b", "An introduction to the code"),
    (
        Intent.OVERVIEW,
        r"\bwhat (?:do|did) (?:we|i|you) know about\b",
        "What do we know about Acme?",
    ),
    (
        Intent.OVERVIEW,
        r"^describe the (?:whole|entire|overall)\b",
        "Describe the whole system",
    ),
    (Intent.STATUS, r"\bstatus\b", "What is the status of Atlas?"),
    (Intent.STATUS, r"\bcurrent(?:ly)?\b", "Who is the current owner?"),
    (Intent.STATUS, r"\bright now\b", "Who leads it right now?"),
    (Intent.STATUS, r"\bat the moment\b", "Who leads it at the moment?"),
    (Intent.STATUS, r"\bas of (?:now|today)\b", "Who leads it as of today?"),
    (Intent.STATUS, r"\bwhere (?:do|are) we\b", "Where are we with Atlas?"),
    (Intent.STATUS, r"\bstate of (?:the|our|my|play)\b", "What is the state of the migration?"),
    (Intent.STATUS, r"\bup to date\b", "Is the list up to date?"),
    (Intent.STATUS, r"\bhow far (?:along|are we|is)\b", "How far along is the migration?"),
    (Intent.STATUS, r"\bnow\?*$", "Who leads it now?"),
    (Intent.RECENT, r"\brecent(?:ly)?\b", "What did we decide recently?"),
    (Intent.RECENT, r"\blately\b", "What did we decide lately?"),
    (Intent.RECENT, r"\byesterday\b", "What did we decide yesterday?"),
    (Intent.RECENT, r"\btoday\b", "What did we decide today?"),
    (Intent.RECENT, r"\bwhat(?:'s| is) new\b", "What is new?"),
    (
        Intent.RECENT,
        r"\b(?:last|past|this|previous) (?:few |couple of |\d+ )?"
        r"(?:hours?|days?|nights?|weeks?|months?|quarter|sprint|year)\b",
        "What did we decide in the last 3 weeks?",
    ),
    (
        Intent.RECENT,
        r"\blatest (?:changes?|news|updates?|developments?)\b",
        "Show the latest changes",
    ),
    (Intent.RECENT, r"\bwhat(?:'s| has| have)? (?:changed|happened)\b", "What happened to Atlas?"),
)
"""A kind of question, a pattern, and a question of that kind. The first kind that fits decides."""
_BY_INTENT = tuple(
    (intent, lazy_pattern("|".join(row[1] for row in rows), re.IGNORECASE | re.DOTALL))
    for intent, rows in groupby(RULES, key=lambda row: row[0])
)

_LINK = lazy_pattern(
    r"\bof\b|\b\w+(?:['’]s|s['’])(?=\s)|\bwhose\b|\b(?:that|which|who|whom|where)\b|"
    r"\b(?:by|in|from|with|for) (?:the|which|whom)\b",
    re.IGNORECASE,
)
_QUESTION_WORD = lazy_pattern(
    r"^(?:(?:in|of|on|to|for|from|by|at|with)\s+)?"
    r"(?:who|whom|whose|what|which|where|how (?:many|much|old|long|tall|far|big))\b",
    re.IGNORECASE,
)
_OWN_LINK = lazy_pattern(
    r"^(?:who|what|which)(?:['’]s| (?:is|are|was|were|would)) "
    r"(?:the\b[^?]*?\bof\b|[^?]*?(?:['’]s|s['’])(?=\s))",
    re.IGNORECASE,
)
"""`what is the capital of …`, `what is Ann's job`: the first link is the question's own."""
_SORT_OF = lazy_pattern(
    r"\b(?:kinds?|types?|sorts?|names?|number|list|set|lot)\s+of\b", re.IGNORECASE
)
_STARTS_WHOSE = lazy_pattern(r"^(?:of |for |by )?(?:who|whose|which|that|where)", re.IGNORECASE)


def read_intent(question: str) -> tuple[Intent, str]:
    """What kind of question it is, and the words that say so."""
    asked = _read(question)
    if not is_english_question(asked):
        return Intent.LOOKUP, "no English rule applies"
    for intent, pattern in _BY_INTENT:
        found = pattern.search(asked)
        if found:
            return intent, f"it says {_shown(found.group(0))}"
    links = _links(asked)
    if links:
        return Intent.BRIDGE, "it asks by way of " + " and ".join(_shown(one) for one in links)
    return Intent.LOOKUP, "no rule applies"


def _read(question: str) -> str:
    """What the rules look at: their work grows with the square of it."""
    return " ".join(question[:CHARACTERS_READ].split())


def _shown(words: str) -> str:
    kept = words.strip()
    return f"“{kept}”" if len(kept) <= 60 else f"“{kept[:28].rstrip()} … {kept[-28:].lstrip()}”"


def _links(question: str) -> list[str]:
    """The words by which it leads through something else; none: it asks directly."""
    if not _QUESTION_WORD.match(question):
        return []
    asked = _SORT_OF.sub(" ", question)
    start = _STARTS_WHOSE.match(asked)
    links = [found.group(0) for found in _LINK.finditer(asked, start.end() if start else 0)]
    own = 1 if _OWN_LINK.match(asked) else 0
    return links if len(links) > own else []


SUMMARY_ASKED = lazy_pattern(
    r".{0,100}?\b(?:summar(?:y|ies|i[sz]e|i[sz]ing)|overview|recap|gist|big picture)\b"
    r"(?: of| for)?",
    re.IGNORECASE,
)
"""The words by which a question asks for a summary, up to what is to be summed up."""
_PAST_TENSE = lazy_pattern(r"\b(?:was|were|did|had)\b", re.IGNORECASE)


def is_past_tense(question: str) -> bool:
    """Whether a question is asked in the past: `why was it rejected`."""
    return _PAST_TENSE.search(_read(question)) is not None


_LIST = lazy_pattern(
    r"^(?:and |so )?(?:which|what) (?!does|was|has|is|this|goes|keeps)\w{3,}(?<![su])s\b|"
    r"^(?:which|what) \w+ \w{3,}(?<![isu])s (?:are|were|do|did|have|can|could|will)\b|"
    r"^all\b|\b(?:list|name) (?:all|every|the|our|my)\b|\ball (?:the|our|my|of)\b|"
    r"^(?:who|which) of (?:us|the|our|them)\b|^list\b",
    re.IGNORECASE,
)


def asks_for_list(question: str) -> bool:
    """Whether several things are asked for: `which servers run Postgres 14`."""
    return _LIST.search(_read(question)) is not None


# In lower case only: the Marshall Plan is no wish to plan.
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
    """How much the question wants: ideas many, a plan more, anything else little."""
    asked = _read(question)
    asked = asked[:1].lower() + asked[1:]
    if _BRAINSTORM.search(asked):
        return Mode.BRAINSTORMING
    if _PLANNING.search(asked):
        return Mode.PLANNING
    return Mode.EXECUTION
