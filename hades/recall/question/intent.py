"""Intent: what kind of question it is, and how much it wants.

Rules over English words, and nothing else: the same question is always read alike, and
the words that decided are told. A question in another language is a plain look-up.
"""

from __future__ import annotations

import re

from hades.domain.answer import Intent, Mode
from hades.recall.plan import Budget, Plan, Reranker

CHARACTERS_READ = 1_000
"""Of a question; what is longer is a text, and its beginning says what is asked."""

_ENGLISH = frozenset(
    """the of and is are was were what what's whats which who who's whose whom why how when where
    did does do has have had can could should would with between to for from about compare describe
    summarize summarise summary brainstorm plan list explain give show tell current currently
    recent recently latest versus vs or my our we i it this that in on at by both
    same not""".split()  # noqa: SIM905
)
_FOREIGN = frozenset(
    """der die das ist und wie wer wo wann warum nicht ein eine le la les est et que qui pourquoi
    quand comment el los las es y por como cuando quien il lo che perche chi e o os um uma het een
    waarom wat""".split()  # noqa: SIM905
)
"""Small words of neighbouring languages, some of which share `was`, `in` or `status`."""
_ENGLISH_SHARE = 0.2
"""Of the words that are no names."""

_ANY = f".{{0,{CHARACTERS_READ}}}"
"""Whatever stands between; with an end, so that no rule goes over a text again and again."""
_COMPARISON = (
    r"compar(?:e|ed|ing|ison)|versus|vs\.?|differences?\s+between|differ(?:s|ent)?\s+from|"
    r"pros and cons"
)
_CHOICE = (
    rf"^(?:(?:in|of|on|to|for|between)\s+)?(?:which|what|who|whose|where)\b{_ANY}\b(?:first|last|"
    r"earlier|earliest|later|latest|older|oldest|younger|youngest|more|most|less|least|better|"
    r"best|worse|worst|longer|longest|shorter|larger|largest|bigger|smaller|higher|lower|faster|"
    rf"slower|closer|newer|cheaper|recently)\b{_ANY}\bor\b|^which\b[^,:]+[,:] .{_ANY} or "
)
_BOTH = (
    rf"^(?:is|are|was|were|do|does|did|have|has|had)\b{_ANY}\b(?:both|same)\b|"
    rf"^(?:is|are|was|were|did|does|do)\b{_ANY}\bor\b{_ANY}\b(?:first|earlier|later|older|younger|"
    rf"more)\b|\bin common\b|\bboth\b{_ANY}\band\b|"
    r"\b(?:first|older|younger|later|earlier) out of\b"
)

_RULES: tuple[tuple[Intent, re.Pattern[str]], ...] = tuple(
    (intent, re.compile(pattern, re.IGNORECASE | re.DOTALL))
    for intent, pattern in (
        (Intent.COMPARE, rf"\b(?:{_COMPARISON})(?!\w)|{_CHOICE}|{_BOTH}"),
        (
            Intent.WHY,
            r"^(?:and|but|so)?\s*why\b|\bhow come\b|\bwhat (?:caused?|causes|led to|made)\b|"
            r"\b(?:the )?(?:reasons?|causes?|rationale|motivation) (?:for|of|behind|why|that)\b|"
            r"\bfor what reason\b|\b(?:explain|know|say|tell me|understand) why\b|"
            rf"\bwhy\b[^.]{{0,{CHARACTERS_READ}}}\?",
        ),
        (
            Intent.WHEN,
            r"^(?:(?:and|but|since|until|by|from)\s+)?when\b|\b(?:tell me|know|say) when\b|"
            r"\b(?:what|which) (?:year|date|day|month|century|decade|time)\b|\bhow long ago\b|"
            r"\bsince when\b|\buntil when\b",
        ),
        (
            Intent.OVERVIEW,
            r"\bsummar(?:y|ies|i[sz]e|i[sz]ing)\b|\boverview\b|\bbig picture\b|\brecap\b|\bgist\b|"
            r"\b(?:tell|teach) me (?:all|everything|more)? ?about\b|\bhigh[- ]level\b|"
            r"\bmain (?:themes|topics|ideas|points|parts)\b|\boutline\b|\bintroduction to\b|"
            r"\bwhat (?:do|did) (?:we|i|you) know about\b|^describe the (?:whole|entire|overall)\b",
        ),
        (
            Intent.STATUS,
            r"\bstatus\b|\bcurrent(?:ly)?\b|\bright now\b|\bat the moment\b|"
            r"\bas of (?:now|today)\b|\bwhere (?:do|are) we\b|\bstate of (?:the|our|my|play)\b|"
            r"\bup to date\b|\bhow far (?:along|are we|is)\b|\bnow\?*$",
        ),
        (
            Intent.RECENT,
            r"\brecent(?:ly)?\b|\blately\b|\byesterday\b|\btoday\b|\bwhat(?:'s| is) new\b|"
            r"\b(?:last|past|this|previous) (?:few |couple of |\d+ )?"
            r"(?:hours?|days?|nights?|weeks?|months?|quarter|sprint|year)\b|"
            r"\blatest (?:changes?|news|updates?|developments?)\b|"
            r"\bwhat(?:'s| has| have)? (?:changed|happened)\b",
        ),
    )
)

_LINK = re.compile(
    r"\bof\b|\b\w+(?:['’]s|s['’])(?=\s)|\bwhose\b|\b(?:that|which|who|whom|where)\b|"
    r"\b(?:by|in|from|with|for) (?:the|which|whom)\b",
    re.IGNORECASE,
)
_QUESTION_WORD = re.compile(
    r"^(?:(?:in|of|on|to|for|from|by|at|with)\s+)?"
    r"(?:who|whom|whose|what|which|where|how (?:many|much|old|long|tall|far|big))\b",
    re.IGNORECASE,
)
_OWN_LINK = re.compile(
    r"^(?:who|what|which)(?:['’]s| (?:is|are|was|were|would)) "
    r"(?:the\b[^?]*?\bof\b|[^?]*?(?:['’]s|s['’])(?=\s))",
    re.IGNORECASE,
)
"""`what is the capital of …`, `what is Ann's job`: the first link is the question's own."""
_SORT_OF = re.compile(
    r"\b(?:kinds?|types?|sorts?|names?|number|list|set|lot)\s+of\b", re.IGNORECASE
)
_STARTS_WHOSE = re.compile(r"^(?:of |for |by )?(?:who|whose|which|that|where)", re.IGNORECASE)


def read_intent(question: str) -> tuple[Intent, str]:
    """What kind of question it is, and the words that say so."""
    asked = _read(question)
    if not _is_english(asked):
        return Intent.LOOKUP, "no English rule applies"
    for intent, pattern in _RULES:
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


def _is_english(question: str) -> bool:
    found = re.findall(r"[^\W\d_]+(?:['’][^\W\d_]+)?", question.replace("’", "'"))
    plain = [word.casefold() for at, word in enumerate(found) if not at or word[0].islower()]
    known = sum(word in _ENGLISH for word in plain)
    foreign = sum(word in _FOREIGN for word in plain)
    return known > foreign and known / len(plain) >= _ENGLISH_SHARE


def _links(question: str) -> list[str]:
    """The words by which it leads through something else; none: it asks directly."""
    if not _QUESTION_WORD.match(question):
        return []
    asked = _SORT_OF.sub(" ", question)
    start = _STARTS_WHOSE.match(asked)
    links = [found.group(0) for found in _LINK.finditer(asked, start.end() if start else 0)]
    own = 1 if _OWN_LINK.match(asked) else 0
    return links if len(links) > own else []


_PAST_TENSE = re.compile(r"\b(?:was|were|did|had)\b", re.IGNORECASE)


def is_past_tense(question: str) -> bool:
    """Whether a question is asked in the past: `why was it rejected`."""
    return _PAST_TENSE.search(_read(question)) is not None


_LIST = re.compile(
    r"^(?:and |so )?(?:which|what) (?!does|was|has|is|this|goes|keeps)\w{3,}(?<![su])s\b|"
    r"^(?:which|what) \w+ \w{3,}(?<![isu])s (?:are|were|do|did|have|can|could|will)\b|"
    r"^all\b|\b(?:list|name) (?:all|every|the|our|my)\b|\ball (?:the|our|my|of)\b|"
    r"^(?:who|which) of (?:us|the|our|them)\b|^list\b",
    re.IGNORECASE,
)


def asks_for_list(question: str) -> bool:
    """Whether several things are asked for: `which servers run Postgres 14`."""
    return _LIST.search(_read(question)) is not None


PLANNING_PASSAGES = 10
_AMOUNT = {
    Mode.EXECUTION: (5, 5, 5_000, (0.4, 0.6, 0.0)),
    Mode.PLANNING: (PLANNING_PASSAGES, 8, 10_000, (0.4, 0.4, 0.2)),
    Mode.BRAINSTORMING: (20, 12, 20_000, (0.4, 0.4, 0.2)),
}
"""Passages, paths and tokens of the context, and fusion. Passages and fusion are as in source
document 004."""

_FACTS = {Intent.RELATION: 50}
_HISTORY = {Intent.RECENT: 10, Intent.WHY: 3, Intent.WHEN: 10}
"""Earlier versions shown; of other questions none."""


def default_plan(intent: Intent, mode: Mode = Mode.EXECUTION) -> Plan:
    """The plan for that kind of question, when that much is wanted."""
    passages, paths, tokens, fusion = _AMOUNT[mode]
    return Plan(
        reranker=Reranker(fusion=fusion),
        final_context=passages,
        facts=_FACTS.get(intent, Plan().facts),
        paths=paths,
        history=_HISTORY.get(intent, 0),
        budget=Budget(tokens=tokens),
    )


# In lower case only: the Marshall Plan is no wish to plan.
_BRAINSTORM = re.compile(
    r"\b(?:brainstorm\w*|ideas?|what if|what else could|alternatives?|possibilities|inspiration|"
    r"think of ways)\b"
)
_PLANNING = re.compile(
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
