"""The lexicon: words of English by what they do in a sentence.

Each list is here once; readers combine them. Words are in lower case.
"""

from __future__ import annotations

import re

from hades.language.patterns import lazy_pattern


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text, which are separated by white space, as a set."""
    return frozenset(text.split())


# Calendar and numbers

_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
"""Names of months, whole and short, with their numbers."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
WEEKDAYS_SHORT = tuple(name[:3] for name in WEEKDAYS)
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""Seasons of the northern year, with the month they begin in."""
COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
COUNTS |= {"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
NUMBER_WORDS = tuple(COUNTS)[2:]
"""`one` to `twelve`."""
ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
_LATER_MONTHS = word_set(" ".join(_MONTH_NAMES)) - {"may"}
"""`May` is left out: in lower case it is a modal verb."""

# Small words

ARTICLES = word_set("a an the")
PRONOUNS = word_set("it he she they this that these those his her its their there here")
"""Words for a thing or person that another sentence names."""
_OTHER_PRONOUNS = word_set(
    """i me my mine myself we us our ours you your yours yourself him himself hers herself itself
    them themselves theirs one other others each either neither both none nothing any all some
    several many much more most few such same own"""
)
BE = word_set("is are was were am")
DO = word_set("do does did")
HAVE = word_set("has have had")
MODALS = word_set("can could will would shall should may must")
AUXILIARIES = BE | DO | HAVE | MODALS
"""Verbs that begin a yes/no question."""
_OTHER_AUXILIARIES = word_set("be been being doing done having might cannot let")
QUESTION_WORDS = word_set("what when where which who whom whose why how")
PREPOSITIONS = word_set(
    """about above after against among around as at before below besides between by down during
    for from in including into like near of off on onto out over per since through throughout to
    toward towards under unlike until up upon via with within without"""
)
_CONJUNCTIONS = word_set(
    """and or but nor if although because though than whereas whether while hence however
    furthermore indeed instead moreover nevertheless otherwise therefore thus meanwhile"""
)
_ADVERBS = word_set(
    """again also away back else even ever every finally first following former formerly further
    just last later latter least less likely mainly maybe mostly never new next no not now often
    once only originally perhaps previously quite rather really recently second so soon still sure
    then third today together too usually various very well whole yet"""
)
_PLAIN_VERBS = word_set(
    """became began came come found get go got made make making said see seen take use used using
    went"""
)
_INTERJECTIONS = word_set("hello hey hi oh ok okay please thank thanks wow yeah yes good")
_REMAINS = word_set("s t")
"""The rests of `it's` and `don't` after tokenising."""
STOP_WORDS = (
    (ARTICLES | PRONOUNS | _OTHER_PRONOUNS | AUXILIARIES | _OTHER_AUXILIARIES | QUESTION_WORDS)
    | (PREPOSITIONS | _CONJUNCTIONS | _ADVERBS | _PLAIN_VERBS | _INTERJECTIONS | _REMAINS)
    | (word_set(" ".join(NUMBER_WORDS[:10])) | _LATER_MONTHS | word_set(" ".join(WEEKDAYS)))
)
"""Words that are useless for searching by themselves."""
DENIALS = word_set("not no never none neither nor without nothing nobody hardly")
NEGATION = r"\b(?:not|no longer|never|cannot|without|neither|nor|no)\b|n['’]t\b"
"""The source of a pattern for negations; an odd number of matches makes a sentence a denial."""

# Verbs of change

_CHANGES = {
    "value notable asked": "moved replaced",
    "value": (
        "changed raised rose risen increased went_up grew lowered dropped fell reduced cut "
        "went_down extended shortened rescheduled pushed brought_forward renamed set transferred "
        "updated corrected"
    ),
    "value notable": "switched migrated",
    "value arranged": "postponed",
    "decided": "decided rejected chose chosen",
    "decided asked": "agreed",
    "decided settles": "approved",
    "arranged": "adopted",
    "arranged asked": "signed",
    "arranged asked settles": "cancell?ed",
    "notable asked": "launched hired left joined broke failed died bought",
    "notable asked settles": "released shipped fixed",
    "notable": "broken born won lost",
    "notable asked over": "sold",
    "asked": "arrived started added opened reported ordered discussed introduced",
    "asked over": "ended",
    "asked settles": "removed closed merged finished deployed delivered resolved",
    "settles": "solved done(?!_by) completed? withdrawn decommissioned gone",
    "settles over": "retired",
    "over": "(?:gave|given)_up stopped stepped_down resigned",
}
"""Verbs of change in their past forms, by the rules that use them.

value     a sentence gives a new value: `moved to`, `raised from 3 to 4`
decided   a brief and a summary put the sentence among the decisions
arranged  like decided, but mostly said of what merely happened: `adopted a cat`, `signed by Ann`
notable   a summary prefers the sentence
asked     a question asks for what happened: `what was shipped in May`
settles   a note settles its topic
over      a later sentence says that an earlier state ended
"""


def changes(use: str) -> str:
    """Return the source of a pattern for the verbs of change with this use, as in `_CHANGES`."""
    verbs = " ".join(verbs for uses, verbs in _CHANGES.items() if use in uses.split())
    return verbs.replace(" ", "|").replace("_", " ")


DECISION = lazy_pattern(
    rf"(?<!nothing )(?<!not )(?<!to be )\b(?:(?:{changes('decided')})\b|decision\b[^.\n]{{0,30}}:)",
    re.IGNORECASE,
)
NOTABLE = lazy_pattern(rf"\d|\b(?:{changes('notable')})\b", re.IGNORECASE)
"""Sentences that a summary prefers: numbers, and things that were done."""


PAST_VERBS = word_set(
    """was were wasn't weren't had did didn't went came took got made said told saw met left lost
    broke bought brought caught drove fell felt found gave grew held kept knew paid ran rang sat
    sent slept sold spent spoke stood stole swam taught thought threw woke won wore wrote ate drank
    flew forgot gone done been seen born built began chose rode rose sang stuck burst
    hit hurt led fed dug hung struck lent laid lit quit stung blew froze tore shook"""
)
"""Past forms that do not end in -ed."""


# Abbreviations, titles and roles

TITLES = word_set("mr mrs ms dr prof")
ABBREVIATIONS = (TITLES | {*MONTHS, *WEEKDAYS_SHORT}) - {*_MONTH_NAMES} | word_set(
    """st sr jr rev hon gen col capt lt sgt maj gov sen rep pres mt ft vs etc eg ie cf al no nos
    vol vols pp p ch fig figs eq eqs sec art ed eds dept est approx inc ltd co corp bros ca ave
    blvd bzw usw nr str hr fr bd hrsg vgl ggf inkl mme mlle mm av núm sra dra"""
)
"""Words that are written with a point, in English and a few neighbouring languages."""
ENDING_ABBREVIATIONS = word_set("etc al inc ltd co corp jr sr usw ave")
"""Abbreviations that end a sentence if a capital letter follows."""

# Talk

GREETINGS = "hi|hello|hey|thanks|thank you|bye|goodbye|cheers|morning|afternoon|evening|night"
TALK = word_set(
    """hi hello hey hiya thanks thank thx ty you u so very much many a lot ok okay k sure great good
    cool nice fine perfect awesome excellent wonderful lovely super right alright all welcome bye
    goodbye see later soon cheers please got it understood noted will do sounds that s is this the
    i ll let me know no problem worries np morning afternoon evening night day have how are today
    again there for your help helping haha lol hmm mhm wow oh ah um well then appreciate thing
    appreciated glad happy to anytime of course absolutely definitely agreed makes sense roger
    re anything everyone team folks friend take care talk speak catch nothing add else"""
)
"""Words of greetings, thanks and acknowledgements. `yes` and `done` are answers, not talk."""
