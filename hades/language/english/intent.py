"""Intent: the kind of a question, and how much it wants.

Rules over English words decide, so the same question always gets the same result, which names the
words that decided. A question in another language is a plain look-up.
"""

from __future__ import annotations

import re
from itertools import groupby

from hades.domain.question import Intent, Mode
from hades.language.english.connections import connection_asked
from hades.language.english.detect import is_english_question
from hades.language.languages import is_foreign
from hades.language.patterns import lazy_pattern

CHARACTERS_READ = 1_000
"""The beginning of a question that is read; a longer one is a text that follows the question."""

_ANY = f".{{0,{CHARACTERS_READ}}}"
"""Any text between two words; bounded, so that the time of a rule is bounded."""
_MORE = (
    r"(?:first|last|earlier|earliest|later|latest|older|oldest|younger|youngest|more|most|less|least|"
    r"better|best|worse|worst|longer|longest|shorter|larger|largest|bigger|smaller|higher|lower|"
    r"faster|slower|closer|newer|cheaper|recently)"
)
_CORPUS = (
    r"(?:this|the|these|those|our|my|all(?: the| of the)?) (?:whole |entire )?(?:corpus|collection|"
    r"memory|library|archive|data ?set|knowledge base|notes|documents|docs|papers|texts|articles|"
    r"literature|files|repository|repo|code ?base|sources)(?: of (?:papers|notes|texts|documents|"
    r"articles))?"
)
"""Words for everything that is remembered, such as `corpus` or `notes`."""
_THEMES = (
    r"\b(?:main|major|big|central|key|dominant|common) "
    r"(?:themes|topics|subjects|trends|areas|ideas|points)(?: of (?:research|work|interest))?\b|"
    r"\b(?:what|which) (?:[a-z]+ )?(?:themes|topics|subjects|areas) "
    rf"(?:(?:are|is) there|(?:do|does) {_CORPUS} cover)\b|"
    r"^what (?:work |research )?(?:is|exists) there(?= (?:on|about)\b)|"
    rf"\bwhat (?:do|does|can|is|are) {_CORPUS} "
    r"(?:say|tell (?:us|me)|teach us|know|report|cover|contain|about)\b"
)
"""Words that ask for the themes of all that is remembered, or of a subject that follows."""
_ASKED = r"""
compare   \b(?:compar(?:e|ed|ing|ison)|versus|vs\.?|differences?\s+between|differ(?:s|ent)?\s+from|pros and cons)(?!\w) # Compare Redis and Postgres
compare   ^(?:(?:in|of|on|to|for|between)\s+)?(?:which|what|who|whose|where)\b<ANY>\b<MORE>\b<ANY>\bor\b # Which is faster, Redis or Postgres?
compare   ^which\b[^,:]+[,:] .<ANY> or  # Which did we take, Redis or Postgres?
compare   ^(?:is|are|was|were|do|does|did|have|has|had)\b<ANY>\b(?:both|same)\b # Are Ann and Ben in the same team?
compare   ^(?:is|are|was|were|did|does|do)\b<ANY>\bor\b<ANY>\b(?:first|earlier|later|older|younger|more)\b # Did Ann or Ben join first?
compare   \bin common\b # What do Ann and Ben have in common?
compare   \bboth\b<ANY>\band\b # Who knows both Ann and Ben?
compare   \b(?:first|older|younger|later|earlier) out of\b # Who is the older out of the two?
why       ^(?:and|but|so)?\s*why\b # Why was it rejected?
why       \bhow come\b # How come it was rejected?
why       \bwhat (?:caused?|causes|led to|made)\b # What caused the outage?
why       \b(?:the )?(?:reasons?|causes?|rationale|motivation) (?:for|of|behind|why|that)\b # What is the reason for the delay?
why       \bfor what reason\b # For what reason did we stop?
why       \b(?:explain|know|say|tell me|understand) why\b # Can you explain why we stopped?
why       \bwhy\b[^.]<N>\? # It was rejected, but why?
when      ^(?:(?:and|but|since|until|by|from)\s+)?when\b # When was it shipped?
when      \b(?:tell me|know|say) when\b # Do we know when it was shipped?
when      \b(?:what|which) (?:year|date|day|month|century|decade|time)\b # In which year was it founded?
when      \bhow long ago\b # How long ago was the outage?
when      \bsince when\b # She leads it since when?
when      \buntil when\b # It is open until when?
overview  \bsummar(?:y|ies|i[sz]e|i[sz]ing)\b # Summarise the project
overview  \boverview\b # Give me an overview of the project
overview  \bbig picture\b # What is the big picture?
overview  \brecap\b # A recap of the meeting
overview  \bgist\b # What is the gist of it?
overview  \b(?:tell|teach) me (?:all|everything|more)? ?about\b # Tell me about the project
overview  \bhigh[- ]level\b # What does it do at a high level?
overview  \bmain parts\b # What are the main parts?
overview  <THEMES> # What does this corpus say about bread?
overview  \boutline\b # An outline of the plan
overview  \bintroduction to\b # An introduction to the code
overview  \bwhat (?:do|did) (?:we|i|you) know about\b # What do we know about Acme?
overview  ^describe the (?:whole|entire|overall)\b # Describe the whole system
status    \bstatus\b # What is the status of Atlas?
status    \bcurrent(?:ly)?\b # Who is the current owner?
status    \bright now\b # Who leads it right now?
status    \bat the moment\b # Who leads it at the moment?
status    \bas of (?:now|today)\b # Who leads it as of today?
status    \bwhere (?:do|are) we\b # Where are we with Atlas?
status    \bstate of (?:the|our|my|play)\b # What is the state of the migration?
status    \bup to date\b # Is the list up to date?
status    \bhow far (?:along|are we|is)\b # How far along is the migration?
status    \bnow\?*$ # Who leads it now?
recent    \brecent(?:ly)?\b # What did we decide recently?
recent    \blately\b # What did we decide lately?
recent    \byesterday\b # What did we decide yesterday?
recent    \btoday\b # What did we decide today?
recent    \bwhat(?:'s| is) new\b # What is new?
recent    \b(?:last|past|this|previous) (?:few |couple of |\d+ )?(?:hours?|days?|nights?|weeks?|months?|quarter|sprint|year)\b # What did we decide in the last 3 weeks?
recent    \blatest (?:changes?|news|updates?|developments?)\b # Show the latest changes
recent    \bwhat(?:'s| has| have)? (?:changed|happened)\b # What happened to Atlas?
"""  # noqa: E501 — a row is one line
"""A kind of question, a pattern, and an example. The first kind that matches decides."""


def _rule(line: str) -> tuple[Intent, str, str]:
    row, example = line.split(" # ")
    kind, pattern = row.split(maxsplit=1)
    pattern = pattern.replace("<ANY>", _ANY).replace("<MORE>", _MORE).replace("<THEMES>", _THEMES)
    return Intent(kind), pattern.replace("<N>", f"{{0,{CHARACTERS_READ}}}"), example


RULES = tuple(map(_rule, _ASKED.strip().splitlines()))
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
"""`what is the capital of …`, `what is Ann's job`: here the first link is not a detour."""
_BY_WAY = lazy_pattern(
    r"\s(?:who|whoever|whose|that)\b|\w['’]s? \w|"
    r"\b(?:person|people|man|woman|firm|company|team|one) \w+ing\b",
    re.IGNORECASE,
)
_SORT_OF = lazy_pattern(
    r"\b(?:kinds?|types?|sorts?|names?|number|list|set|lot)\s+of\b", re.IGNORECASE
)
_STARTS_WHOSE = lazy_pattern(r"^(?:of |for |by )?(?:who|whose|which|that|where)", re.IGNORECASE)


def read_intent(question: str) -> tuple[Intent, str]:
    """Return the kind of a question, and the reason in a phrase: `it says “why”`."""
    asked = _read(question)
    if not is_english_question(asked):
        return Intent.LOOKUP, "no English rule applies"
    for intent, pattern in _BY_INTENT:
        found = pattern.search(asked)
        if found:
            return intent, f"it says {_shown(found.group(0))}"
    for first, second in connection_asked(asked):
        return Intent.CONNECTION, f"it asks what joins {_shown(first)} and {_shown(second)}"
    links = _links(asked)
    if links:
        return Intent.BRIDGE, "it asks by way of " + " and ".join(map(_shown, links))
    return Intent.LOOKUP, "no rule applies"


def may_take_steps(question: str) -> bool:
    """Return whether an answer may need an intermediate step that the question does not name.

    >>> may_take_steps("Where does Halcyon's owner live?"), may_take_steps("Where is the van?")
    (True, False)
    """
    asked = _read(question)
    return bool(_links(asked)) or _BY_WAY.search(asked) is not None


def _read(question: str) -> str:
    """Return the beginning of a question; the time of the rules grows with its length squared."""
    return " ".join(question[:CHARACTERS_READ].split())


def _shown(words: str) -> str:
    kept = words.strip()
    return f"“{kept}”" if len(kept) <= 60 else f"“{kept[:28].rstrip()} … {kept[-28:].lstrip()}”"


def _links(question: str) -> list[str]:
    """Return the words by which a question leads through another thing; [] for a direct one."""
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
"""The words of a question that ask for a summary, before its subject."""
TALK_ASKED = lazy_pattern(
    r"what (?:(?:did|have|had) (?:we|i|you|they) (?:talk(?:ed)?|spoken?|speak|chat(?:ted)?|discuss"
    r"(?:ed)?)|(?:was|were) (?:we talking|talked|said|discussed))(?: about)?(?= )",
    re.IGNORECASE,
)
"""The words of a question that ask what was talked about, before its subject or time."""
_THEMES_ASKED = lazy_pattern(
    rf"{_THEMES}|\b(?:summar(?:y|ies|i[sz]e)|overview|outline|big picture)\b", re.IGNORECASE
)
_SUBJECT = lazy_pattern(r"\W*(?:(?:of|in|on|about|for|within|around|regarding)\W+)?(.*?)[\s?!.]*$")
_EVERYTHING = lazy_pattern(
    rf"(?:(?:everything|all) in )?(?:{_CORPUS}|"
    r"(?:this|the|our|my) (?:whole |entire )?(?:project|work|field|content|contents)|"
    r"everything|all|all of (?:it|this)|it|this|what)?"
    r"(?: ?\b(?:say|about|here|there|so far|covered|discussed|(?:we|i|you) know))*",
    re.IGNORECASE,
)


def theme_subject(question: str) -> str | None:
    """Return the subject whose themes a question asks for; "" for all subjects, None for no themes.

    >>> theme_subject("What are the main themes in this corpus?"), theme_subject("Who is Ann?")
    ('', None)
    >>> theme_subject("What does this corpus say about sourdough bread?")
    'sourdough bread'
    """
    asked = _read(question)
    match = _THEMES_ASKED.search(asked) if is_english_question(asked) else None
    if match is None:
        return None
    rest = _SUBJECT.match(asked, match.end())
    subject = rest.group(1) if rest else ""
    return "" if _EVERYTHING.fullmatch(subject) else subject


_PAST_TENSE = lazy_pattern(r"\b(?:was|were|did|had)\b", re.IGNORECASE)


def is_past_tense(question: str) -> bool:
    """Return whether a question is in the past tense: `why was it rejected`."""
    return _PAST_TENSE.search(_read(question)) is not None and not is_foreign(question)


_LIST = lazy_pattern(
    r"^(?:and |so )?(?:which|what) (?!does|was|has|is|this|goes|keeps)\w{3,}(?<![su])s\b|"
    r"^(?:which|what) \w+ \w{3,}(?<![isu])s (?:are|were|do|did|have|can|could|will)\b|"
    r"^all\b|\b(?:list|name) (?:all|every|the|our|my)\b|\ball (?:the|our|my|of)\b|"
    r"^(?:who|which) of (?:us|the|our|them)\b|^list\b",
    re.IGNORECASE,
)


def asks_for_list(question: str) -> bool:
    """Return whether a question asks for several things: `which servers run Postgres 14`."""
    return _LIST.search(_read(question)) is not None


# In lower case only: a question about the Marshall Plan does not plan.
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
    """Return how much a question wants: most for brainstorming, less for planning, else little."""
    asked = _read(question)
    asked = asked[:1].lower() + asked[1:]
    if is_foreign(question):
        return Mode.EXECUTION
    if _BRAINSTORM.search(asked):
        return Mode.BRAINSTORMING
    if _PLANNING.search(asked):
        return Mode.PLANNING
    return Mode.EXECUTION
