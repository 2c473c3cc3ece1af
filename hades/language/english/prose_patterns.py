"""The verbs, times and words of facts in prose, as tables and patterns.

Every repetition is bounded or of a single sign, so that the work is linear in the sentence.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from hades.language.english.lexicon import COUNTS, MONTHS, STOP_WORDS, WEEKDAYS, word_set
from hades.language.patterns import any_of, lazy_pattern
from hades.language.wording import spoken

NAME = "\ue000"
"""The sign in place of a name, its article and its title. Texts do not contain it."""

# The table of verbs

_STATES = """
works_at        ! name   work works worked working               (?:at|for) # Maya works at Acme.
lives_in        ! name   live lives lived living                 in # Maya lives in Rome.
studies_at      ! name   study studies studied studying          at # Maya studies at Jena.
reports_to      ! name   report reports reported reporting       to # Maya reports to Ben.
belongs_to      ! name   belong belongs belonged belonging       to # Atlas belongs to Acme.
owns            - name   own owns owned owning # Acme owns Atlas.
leads           - name   lead leads led leading # Maya leads Atlas.
manages         - name   manage manages managed managing # Maya manages Atlas.
maintains       - name   maintain maintains maintained maintaining # Maya maintains Atlas.
depends_on      - name   depend depends depended depending       on # Atlas depends on Redis.
depends_on      - name   rely relies relied relying              on # Atlas relies on Redis.
runs_on         - name   run runs ran running                    on # Atlas runs on Redis.
uses            - name   use uses used using # Atlas uses Redis.
extends         - name   extend extends extended extending # Borealis extends Atlas.
derives_from    - name   derive derives derived deriving         from # Borealis derives from Atlas.
costs           ! amount cost costs cost costing # A croissant costs 1.60.
takes           ! duration take takes took taking # The ferry takes 45 minutes.
"""
_BEINGS = """
based_in        ! name   (?:based|headquartered) in # Acme is based in Rome.
located_in      - name   located in # Acme is located in Rome.
owned_by        ! name   owned by # Atlas is owned by Acme.
led_by          ! name   (?:led|headed|chaired) by # Atlas is led by Maya.
managed_by      ! name   (?:managed|run) by # Atlas is managed by Maya.
maintained_by   ! name   maintained by # Atlas is maintained by Maya.
hosted_on       ! name   hosted (?:on|by|at) # Atlas is hosted on Hetzner.
blocked_by      - name   blocked by # Atlas is blocked by Borealis.
responsible_for - name   (?:responsible for|in charge of) # Maya is responsible for Atlas.
married_to      ! name   married to # Maya is married to Ben.
part_of         - name   part of # Atlas is part of Borealis.
derives_from    - name   (?:derived from|based on|built on) # Borealis is based on Atlas.
member_of       - name   (?:a )?member of # Maya is a member of Atlas.
costs           ! amount priced at # Atlas is priced at 310 euros.
"""
_EVENTS = """
joined          - name   join joined # Maya joined Acme.
left            - name   leave left # Maya left Acme.
moved_to        ! name   (?:move|relocate) (?:moved|relocated) <FROM>(?:back )?to # Maya moved to Jena.
founded         - name   (?:co-?)?found (?:co-?)?founded # Maya founded Acme.
acquired        - name   acquire acquired # Acme acquired Borealis.
replaced        - name   replace replaced # Postgres replaced Redis.
married_to      ! name   marry married # Maya married Ben.
migrated_to     ! name   migrate migrated <FROM>to # Atlas migrated to Postgres.
switched_to     ! name   switch switched <FROM>to # Atlas switched to Postgres.
born_in         - name   be was born in # Maya was born in Rome.
founded_by      - name   be (?:was|were) (?:co-?)?founded by # Acme was founded by Maya.
acquired_by     ! name   be (?:was|were|been) (?:acquired|bought|taken over) by # Borealis was acquired by Acme.
replaced_by     ! name   be (?:is|was|were|been) (?:now )?(?:replaced|superseded) by # Redis was replaced by Postgres.
renamed_to      ! name   be (?:(?:was|were|been) renamed(?: to)?|is now (?:called|known as)) # Atlas was renamed to Borealis.
became          ! role   become be(?:came|come) # Maya became CTO.
became          ! role   be (?:was|were|been) (?:promoted to|appointed|named|elected)(?: as)? # Maya was promoted to head of Atlas.
became          ! role   be (?:is|are) now # Maya is now CTO.
is_now          ! status be (?:is|are) now # Atlas is now read-only.
"""  # noqa: E501 — a row is one line
"""Relation, `!` if a subject has one at a time, kind of its object, the verb, an example."""

_ADVERB = (
    "(?: (?:[a-z]{2,12}ly|now|still|also|already|then|later|just|both|since|again|full-time))?"
)
_STATE = (
    r" (?:(?P<one>{s}|is{a} {ing}|has{a} (?:been {ing}|{ed}))"
    r"|(?P<many>{b}|are{a} {ing}|have{a} (?:been {ing}|{ed}))"
    r"|(?P<ended>(?:has |have )?(?:stopped|quit) {ing}|no longer (?:{s}|{b})"
    r"|(?:is|are) no longer {ing}|used to {b}|(?:formerly|previously|once) {ed})"
    r"|(?P<not>(?:does|do|did)(?: not|n['’]t) {b}|(?:has )?never {ed}"
    r"|(?:is|are|was|were)(?: not|n['’]t| never) {ing})|(?P<past>{ed})){a}"
)
_EVENT = (
    r" (?:(?:(?P<one>has)|(?P<many>have)){a} |(?P<not>never |(?:has|have)(?: not|n['’]t| never) ))?"
    r"{ed}| did(?P<did>(?: not|n['’]t)) {b}"
)


class Verb(NamedTuple):
    relation: str
    exclusive: bool
    takes: str
    """The kind of its object: a key of `OBJECTS`."""
    pattern: re.Pattern[str]
    example: str
    """A sentence that states the relation with this verb."""


def _verb(kind: str, line: str) -> Verb:
    row, example = line.split(" # ")
    relation, exclusive, takes, first, *rest = row.split()
    shape = _STATE
    after = ""
    phrase = " ".join((first, *rest))
    if kind == "state":
        forms = dict(zip(("b", "s", "ed", "ing"), (first, *rest), strict=False))
        after = " ".join(("", *rest[3:]))
    elif kind == "being":
        forms = {"b": f"be {phrase}", "s": f"is {phrase}", "ing": phrase}
        forms["ed"] = f"(?:was|were) {phrase}"
    else:
        shape = _EVENT
        forms = {"b": first, "ed": " ".join(rest).replace("<FROM>", f"(?:from {NAME} )?")}
    forms_said = shape.format(a=_ADVERB, **forms)
    pattern = lazy_pattern(f"{_ADVERB}(?:{forms_said}){after}(?= )")
    return Verb(relation, exclusive == "!", takes, pattern, example)


@lru_cache(maxsize=256)
def verb_of(relation: str) -> Verb:
    """Return the verb of a relation outside the table: `is insured by` for `insured_by`."""
    phrase = " ".join(map(re.escape, spoken(relation).split()))
    return _verb("being", f"- - name {phrase} # -")._replace(relation=relation)


VERBS = tuple(
    _verb(kind, line)
    for kind, lines in (("state", _STATES), ("being", _BEINGS), ("event", _EVENTS))
    for line in lines.strip().splitlines()
)

# Times, amounts, roles


_MONTH = any_of([name.capitalize() for name in MONTHS])
_WEEKDAY = any_of([name.capitalize() for name in WEEKDAYS]) + "s?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:1\d|20|21)\d\d(?![\w-]{0,9}[a-z])"
_SEASON = "(?:[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter)"
_WHEN = (
    r"(?:\d{4}-\d\d(?:-\d\d)?"
    r"|(?:(?:early|late|mid)[ -]|(?:the )?(?:start|beginning|middle|end) of )?"
    rf"(?:(?:{_DAY} (?:of )?)?{_MONTH}(?: {_DAY}(?!\d))?(?:,? {_YEAR})?|{_YEAR}"
    rf"|Q[1-4](?: {_YEAR})?|(?:the )?{_SEASON}(?: of)? {_YEAR})"
    rf"|(?:last|this|next) (?:week|month|year|quarter|{_SEASON}|{_WEEKDAY}|{_MONTH})"
    rf"|[Yy]esterday|[Tt]oday|{_WEEKDAY}|Christmas|Easter"
    rf"|(?:\d{{1,3}}|{any_of([*COUNTS])}) (?:day|week|month|year)s? ago)\b"
)
_SINCE = "(?:since|(?:starting|beginning|effective)(?: in| on| from)?|as of|as from)"
_HELD = (
    rf"(?:(?:from|between) )?(?P<first>{_WHEN})(?: ?[-–] ?| (?:to|and|until|till|through) )"
    rf"(?P<last>{_WHEN})|\b(?:{_SINCE}|(?P<from>from)) (?P<since>{_WHEN})"
    rf"|\b(?:until|till|up to|through) (?P<until>{_WHEN})|(?:\b(?:in|on|at) )?(?P<at>\b{_WHEN})"
)
DURING = lazy_pattern(_HELD)
OPENING_TIME = lazy_pattern(rf"(?:{_HELD}),? ", re.IGNORECASE)
CLAUSE = lazy_pattern(
    r"[;:]|\((?!\d|since|from|until)|, (?!since)"
    r"|\b(?:and|but|who|which|where|when|while|because|after|before|so|then|to)\b"
)
"""The end of the clause with the object; a time after it belongs to something else."""
_PER = (
    r"(?: per| an?| each|/) ?(?:month|year|week|day|hour|minute|night|quarter|season|term|user|seat"
    r"|person|member|child|unit|piece|licen[cs]e|lit(?:re|er)|kilo|kg|tonne|met(?:re|er)|mile|km)"
)
_AMOUNT = lazy_pattern(
    r" ((?:(?:about|around) )?(?:[$€£¥] ?\d[\d.,]*[kKmM]?|\d[\d.,]* ?(?:€|USD|EUR|GBP|CHF|dollars"
    rf"|euros|pounds|francs|cents)|\d{{1,6}}[.,]\d\d(?!\d))(?<![.,])"
    rf"(?: (?:million|billion))?(?:{_PER}){{0,2}})(?![\w%])"
)
_DURATION = lazy_pattern(
    rf" ((?:(?:about|around) )?(?:\d[\d.,]*|{any_of([*COUNTS])}) "
    r"(?:second|minute|hour|day|week|month|year)s?)(?= ?(?:[.,;!)]|$|and\b|but\b|since\b|now\b))"
)
_ROLES = (
    r"(?:C[EFIMOPT]O|S?VP|head|lead|leader|manager|director|president|chair(?:man|woman)?|engineer"
    r"|designer|developer|architect|consultant|analyst|partner|treasurer|secretary|teacher|professor"
    r"|lecturer|principal|dean|doctor|nurse|surgeon|lawyer|judge|minister|mayor|senator|governor"
    r"|captain|coach|editor|owner|maintainer|administrator|officer|founder|chef|pilot|accountant"
    r"|coordinator|supervisor|assistant|intern|member)"
)
_ROLE = lazy_pattern(
    r" (?:the |an? |our |its |their )?((?:(?!(?:of|not|better|good|great|real|most)\b)"
    rf"(?:{NAME}|[\w-]{{1,20}}) ){{0,3}}?{_ROLES})\b(?: (?:of|for|at) {NAME}|(?! (?:of|for)\b))",
    re.IGNORECASE,
)
_STATUS = lazy_pattern(
    r" ((?:back |fully |temporarily )?(?:on hold|read-only|blocked|done|closed|open|live|deprecated"
    r"|archived|cancell?ed|paused|inactive|offline|online|down|available|unavailable|completed?"
    r"|retired|approved|rejected|obsolete|frozen|merged|fixed|resolved|unsupported"
    r"|in (?:production|progress|review|beta)))(?![\w-])"
)
_NAMES = rf"(?P<first>{NAME})(?:(?:, {NAME}){{0,9}},? (?:and|&) {NAME})?"
OBJECTS = {"name": lazy_pattern(f" {_NAMES}"), "amount": _AMOUNT, "duration": _DURATION}
OBJECTS |= {"role": _ROLE, "status": _STATUS}

# Clauses

SUBJECT = lazy_pattern(_NAMES)
BETWEEN = (
    lazy_pattern("(?= )"),
    lazy_pattern(", (?:who|which)(?= )"),
    lazy_pattern(r", (?:an?|the|our|my|his|her|their|who|which|formerly|now) [^,]{1,80},"),
    lazy_pattern(r" \([^()]{1,80}\)"),
)
"""Texts that may stand between a subject and its verb."""
JOINED = lazy_pattern(rf"(?<={NAME})(?:,? (?:and|&)|,) $")
RELATIVE = lazy_pattern(r"\b(?:who|that|which|whose|whom) .")
MAY_PRECEDE = lazy_pattern(
    r"(?:^|[,;:(*•#\]+–—-]|\b(?:and|but|while|whereas|because|although|though|then|now|so|that"
    r"|meanwhile|also|when|after|before|since|currently|recently|finally|eventually|originally"
    rf"|only|both|later|where|still|(?:my|our) [a-z]{{1,20}}|{_WHEN})) ?$",
    re.IGNORECASE,
)
"""Texts after which a clause may begin; after other words a name is part of a phrase."""
GOES_ON = lazy_pattern(
    rf"(?: (?:(?:in|on|since|until) )?{_WHEN})?,? (?:and|but|then)(?: then| later)?"
)
LEFT_OUT = lazy_pattern(
    r"(?P<pronoun>(?:He|She|It) )|(?P<being>(?:Based|Owned|Led|Managed|Maintained|Hosted|Located"
    r"|Responsible|Married|Blocked) (?:in|by|on|for|to) )|(?:No longer [a-z]+s|Works|Lives|Reports"
    r"|Owns|Leads|Depends|Runs|Uses|Costs|Takes|Joined|Left|Moved|Became|Is now|Belongs|Studies) "
)
"""The beginning of a sentence without a subject, as in notes, or with a pronoun."""
SPACE = lazy_pattern(rf"[\s{NAME}]")
NEXT = lazy_pattern(rf" ?(?:(?P<time>{_WHEN})|(?P<word>[^\W_][\w-]*|\S))")

# Words


MAY_FOLLOW = STOP_WORDS - word_set(
    "a an when while during more my his her their is was has"
) | word_set(
    "till anymore full-time part-time remotely directly alongside starting effective yesterday"
)
"""Words that may follow an object. Before a noun, a name would be only a part of the object."""
NOT_AFTER = {
    "joined": word_set("at for on with over by"),
    "left": word_set("at in on with over by to under"),
    "replaced": word_set("with by in on"),
}
"""After the object, these words give the verb another meaning, unless a time follows: joined Ben
for lunch."""
OF_PEOPLE = word_set("works_at lives_in studies_at married_to born_in")
PLURAL = lazy_pattern(r"\w{1,30}(?:ers|ors|ists|ees|ents|ings|ions|ies|ants|men)")
"""Matches a first word that means several things of a kind: Users left."""

# Names

_HEADS = any_of(
    """service server team project app api database gateway cluster queue pipeline site office
    website library module repository repo platform system dashboard department division worker
    backend frontend portal budget subscription plan licence license warehouse lab clinic studio
    factory package printer rack committee squad""".split()  # noqa: SIM905
)
"""Nouns that form a name with the words before them: the billing service."""
_NUMBERED = any_of([word.title() for word in COUNTS if len(word) > 2])
_NO_NAMES = word_set(
    "currently unfortunately sadly luckily update afterwards nowadays fyi updated note btw news "
    "success people everything everybody someone somebody anybody anything something management "
    "staff correction reminder info status everyone anyone whoever starting"
)
_VAGUE = word_set("old whole entire current main best big small local original different")
_ANY_CASE = any_of([*(STOP_WORDS | _NO_NAMES) - {"new", "us"}])
_TITLE = rf"(?=[A-Z])(?i:Dr|Mr|Mrs|Ms|Prof|Sir|{_ROLES})\b\.?"
_CAPITAL = (
    rf"(?!(?i:{_ANY_CASE})(?![\w&/'’-])|New [^A-Z]|{_TITLE}|Us\b)"
    r"(?:(?:St|[A-Z])\.(?= )|[^\W\d_a-z](?:\w|[-'’.&/](?=\w)){0,60})"
)
_CODED = (
    r"[a-z][a-z_.-]{0,30}\d(?:\w|[.-](?=\w)){0,30}|[a-z]{1,30}_\w{1,30}|[a-z]{1,30}[A-Z]\w{0,30}"
    rf"|(?:[a-z]{{1,30}}-){{1,3}}{_HEADS}\b"
)
_PARTICLE = "(?:of(?: the)?|de|van|von|der|den|la|le|del|da|di|du|dos|bin|ibn|al|el|ter|zu|&)"
_STOP = rf"(?:{any_of([*STOP_WORDS | _VAGUE])})\b"
_NOUN = r"[a-z][\w-]{0,30}"
PHRASE = lazy_pattern(
    rf"(?P<time>\b{_WHEN})|(?<![\w`])(?:(?:[Tt]he|[Oo]ur|[Mm]y) )?(?:{_TITLE} ){{0,3}}"
    rf"(?P<name>`[^`\n]{{1,80}}`|(?:{_CAPITAL}|{_CODED})"
    rf"(?: (?:{_PARTICLE} )?(?!{_WHEN})(?:{_CAPITAL}|{_CODED}))*"
    rf"(?: (?:{_HEADS}|{_NUMBERED}|\d{{1,4}})\b(?!\.\d))?)"
    rf"|\b(?:[Tt]he|[Oo]ur) (?P<nouns>(?!{_STOP})(?:{_NOUN} ){{1,3}}?{_HEADS})\b"
    r"|\b(?:[Aa]n?|[Tt]he|[Oo]ur|[Ee]ach) "
    rf"(?P<thing>(?!{_STOP}){_NOUN}(?: (?!{_STOP}){_NOUN}){{0,2}}?)"
    r"(?= (?:now |still |no longer |used to )?(?:costs?|is (?:now )?priced|takes?) )"
)
"""A time, or a name with its article and title: CTO Ana Ruiz, the Bank of England, the app."""
