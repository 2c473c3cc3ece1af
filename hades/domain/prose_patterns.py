"""The verbs, times and words by which prose is read for facts, as tables and patterns.

Every repetition is bounded or of one sign: the work grows with the length of a sentence alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from hades.domain.times import COUNTS, MONTHS, WEEKDAYS

# The table of verbs

_STATES = """
works_at        ! name   work works worked working               (?:at|for)
lives_in        ! name   live lives lived living                 in
studies_at      ! name   study studies studied studying          at
reports_to      ! name   report reports reported reporting       to
belongs_to      ! name   belong belongs belonged belonging       to
owns            - name   own owns owned owning
leads           - name   lead leads led leading
manages         - name   manage manages managed managing
maintains       - name   maintain maintains maintained maintaining
depends_on      - name   depend depends depended depending       on
depends_on      - name   rely relies relied relying              on
runs_on         - name   run runs ran running                    on
uses            - name   use uses used using
costs           ! amount cost costs cost costing
"""
_BEINGS = """
based_in        ! name   (?:based|headquartered) in
located_in      - name   located in
owned_by        ! name   owned by
led_by          ! name   (?:led|headed|chaired) by
managed_by      ! name   (?:managed|run) by
maintained_by   ! name   maintained by
hosted_on       ! name   hosted (?:on|by|at)
blocked_by      - name   blocked by
responsible_for - name   (?:responsible for|in charge of)
married_to      ! name   married to
part_of         - name   part of
member_of       - name   (?:a )?member of
"""
_EVENTS = """
joined          - name   join joined
left            - name   leave left
moved_to        ! name   (?:move|relocate) (?:moved|relocated) <FROM>(?:back )?to
founded         - name   (?:co-?)?found (?:co-?)?founded
acquired        - name   acquire acquired
replaced        - name   replace replaced
married_to      ! name   marry married
migrated_to     ! name   migrate migrated <FROM>to
switched_to     ! name   switch switched <FROM>to
born_in         - name   be was born in
founded_by      - name   be (?:was|were) (?:co-?)?founded by
acquired_by     ! name   be (?:was|were|been) (?:acquired|bought|taken over) by
replaced_by     ! name   be (?:is|was|were|been) (?:now )?(?:replaced|superseded) by
renamed_to      ! name   be (?:(?:was|were|been) renamed(?: to)?|is now (?:called|known as))
became          ! role   become be(?:came|come)
became          ! role   be (?:was|were|been) (?:promoted to|appointed|named|elected)(?: as)?
became          ! role   be (?:is|are) now
is_now          ! status be (?:is|are) now
"""
"""Relation, `!` where a subject has one at a time, what follows the verb, and the verb."""

_ADVERB = (
    "(?: (?:currently|now|still|also|already|recently|then|later|just|officially|finally|eventually"
    "|directly|subsequently|both|mainly|partly|since|jointly|formally|remotely|full-time|part-time"
    "|again|primarily|heavily))?"
)
_FROM = r"(?:from (?:the )?[A-Z][\w-]{0,30}(?: [A-Z][\w-]{0,30})? )?"
_STATE = (
    r" (?:(?P<one>{s}|is{a} {ing}|has{a} (?:been {ing}|{ed}))"
    r"|(?P<many>{b}|are{a} {ing}|have{a} (?:been {ing}|{ed}))"
    r"|(?P<ended>(?:has |have )?(?:stopped|quit) {ing}|no longer (?:{s}|{b})"
    r"|(?:is|are) no longer {ing}|used to {b}|(?:formerly|previously|once) {ed})"
    r"|(?P<not>(?:does|do|did)(?: not|n['’]t) {b}|(?:has )?never {ed})|(?P<past>{ed})){a}"
)
_BEING = (
    r" (?:(?P<one>is{a} {p}|has{a} been{a} {p})|(?P<many>are{a} {p}|have{a} been{a} {p})"
    r"|(?P<ended>(?:is|are) no longer {p}|used to be {p}|(?:was|were) (?:formerly|previously) {p})"
    r"|(?P<not>(?:is|are)(?: not|n['’]t) {p}|(?:was|were) never {p})|(?P<past>(?:was|were) {p}))"
)
_EVENT = (
    r" (?:(?:(?P<one>has)|(?P<many>have)){a} |(?P<not>never |(?:has|have)(?: not|n['’]t| never) ))?"
    r"{ed}| did(?P<did>(?: not|n['’]t)) {b}"
)


class Verb(NamedTuple):
    relation: str
    exclusive: bool
    takes: str
    """What its object is: a `name`, an `amount`, a `role` or a `status`."""
    pattern: re.Pattern[str]


def _verb(shape: str, line: str) -> Verb:
    relation, exclusive, takes, first, *rest = line.split()
    forms = dict(zip(("s", "ed", "ing"), rest, strict=False)) | {"b": first, "p": first}
    after = ""
    if shape is _STATE:
        after = " ".join(("", *rest[3:]))
    elif shape is _BEING:
        forms["p"] = " ".join((first, *rest))
    else:
        forms["ed"] = " ".join(rest).replace("<FROM>", _FROM)
    said = shape.format(a=_ADVERB, **forms)
    return Verb(relation, exclusive == "!", takes, re.compile(f"{_ADVERB}(?:{said}){after}(?= )"))


VERBS = tuple(
    _verb(shape, line)
    for shape, lines in ((_STATE, _STATES), (_BEING, _BEINGS), (_EVENT, _EVENTS))
    for line in lines.strip().splitlines()
)

# Times, amounts, roles


def _one_of(words: Sequence[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=lambda word: (-len(word), word))) + ")"


_MONTH = _one_of([name.capitalize() for name in MONTHS])
_WEEKDAY = _one_of([name.capitalize() for name in WEEKDAYS]) + "s?"
_DAY, _YEAR = r"\d{1,2}(?:st|nd|rd|th)?", r"(?:1\d|20|21)\d\d(?![\w-]{0,9}[a-z])"
_SEASON = "(?:[Ss]pring|[Ss]ummer|[Aa]utumn|[Ff]all|[Ww]inter)"
_WHEN = (
    r"(?:\d{4}-\d\d(?:-\d\d)?"
    r"|(?:(?:early|late|mid)[ -]|(?:the )?(?:start|beginning|middle|end) of )?"
    rf"(?:(?:{_DAY} (?:of )?)?{_MONTH}(?: {_DAY}(?!\d))?(?:,? {_YEAR})?|{_YEAR}"
    rf"|Q[1-4](?: {_YEAR})?|(?:the )?{_SEASON}(?: of)? {_YEAR})"
    rf"|(?:last|this|next) (?:week|month|year|quarter|{_SEASON}|{_WEEKDAY}|{_MONTH})"
    rf"|[Yy]esterday|[Tt]oday|{_WEEKDAY}|Christmas|Easter"
    rf"|(?:\d{{1,3}}|{_one_of([*COUNTS])}) (?:day|week|month|year)s? ago)\b"
)
_SINCE = "(?:since|(?:starting|beginning|effective)(?: in| on| from)?|as of|as from)"
_HELD = (
    rf"(?:(?:from|between) )?(?P<first>{_WHEN})(?: ?[-–] ?| (?:to|and|until|till|through) )"
    rf"(?P<last>{_WHEN})|\b(?:{_SINCE}|(?P<from>from)) (?P<since>{_WHEN})"
    rf"|\b(?:until|till|up to|through) (?P<until>{_WHEN})|(?:\b(?:in|on|at) )?(?P<at>\b{_WHEN})"
)
DURING = re.compile(_HELD)
OPENING_TIME = re.compile(rf"(?:{_HELD}),? ", re.IGNORECASE)
CLAUSE = re.compile(
    r"[;:]|\((?!\d|since|from|until)|, (?!since)"
    r"|\b(?:and|but|who|which|where|when|while|because|after|before|so|then|to)\b"
)
"""Where what is said of the object ends: a later time belongs to something else."""
_PER = r"(?: per| an?| each|/) ?(?:month|year|week|day|hour|user|seat|person|night|unit|licen[cs]e)"
_AMOUNT = re.compile(
    r" ((?:(?:about|around) )?(?:[$€£¥] ?\d[\d.,]*[kKmM]?|\d[\d.,]* ?(?:€|USD|EUR|GBP|CHF|dollars"
    rf"|euros|pounds|francs|cents))(?<![.,])(?: (?:million|billion))?(?:{_PER}){{0,2}})(?![\w%])"
)
_ROLES = (
    r"(?:C[EFIMOPT]O|S?VP|head|lead|leader|manager|director|president|chair(?:man|woman)?|engineer"
    r"|designer|developer|architect|consultant|analyst|partner|treasurer|secretary|teacher|professor"
    r"|lecturer|principal|dean|doctor|nurse|surgeon|lawyer|judge|minister|mayor|senator|governor"
    r"|captain|coach|editor|owner|maintainer|administrator|officer|founder|chef|pilot|accountant"
    r"|coordinator|supervisor|assistant|intern|member)"
)
_ROLE = re.compile(
    r" (?:the |an? |our |its |their )?((?:(?!(?:of|not|better|good|great|real|most)\b)"
    rf"[\w-]{{1,20}} ){{0,3}}?{_ROLES})\b(?P<of> (?:of|for|at) )?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r" ((?:back |fully |temporarily )?(?:on hold|read-only|blocked|done|closed|open|live|deprecated"
    r"|archived|cancell?ed|paused|inactive|offline|online|down|available|unavailable|completed?"
    r"|retired|approved|rejected|obsolete|frozen|merged|fixed|resolved|unsupported"
    r"|in (?:production|progress|review|beta)))(?![\w-])"
)
OBJECTS = {"amount": _AMOUNT, "role": _ROLE, "status": _STATUS}

# Words

TROUBLE = re.compile(
    r"\b(?:if|unless|whether|would|could|might|should|maybe|perhaps|probably|possibly|presumably"
    r"|apparently|allegedly|supposedly|reportedly|seemingly|hypothetical\w*|likely|unlikely|say|says"
    r"|said|saying|tells?|told|claim\w*|think\w*|thought|believ\w+|hears?|heard|rumou?r\w*|gossip"
    r"|according|suppos\w+|assum\w+|suspect\w*|imagin\w+|pretend\w*|dream\w*|wish\w*|hope\w*|hoping"
    r"|guess\w*|doubt\w*|den(?:y|ies|ied)|untrue|false\w*|wrong\w*|incorrect\w*|mistaken\w*|myth"
    r"|lie|lies|lied|fiction\w*|novel|story|film|movie|episode|joke\w*|kidding|propos\w+|idea|option"
    r"|todo|draft|scenario|example|instance|neither|nor|none|nobody|no one|except|expect\w*|want\w*"
    r"|plans? to|planned|planning|intend\w*|consider\w*|suggest\w*|insist\w*|argu\w+|predict\w*"
    r"|fear\w*|worr\w+|wonder\w*|ask\w*|quot\w+|wrote|writes|announc\w+|it seems|seems|unclear"
    r"|not (?:true|sure|certain|clear|the case)|ensure|make sure|almost|nearly|as though|will|shall"
    r"|won['’]t|ought|must|game|contrary|misconception|speculat\w+|unconfirmed|fake|template|or"
    r"|as far as|afaik|in theory|on paper|tentative\w*|pending|as soon as|in case|provided|pope"
    r"|otherwise|jok\w+|sarcas\w+|either|half|part-owner)\b|\?|let['’]s|I['’]d|^[>|]|\[ \]"
    r"|^(?:is|are|does|do|did|was|were|has|have|had|can|may|what|where|who|which|why|how|whose)\b",
    re.IGNORECASE,
)
"""What makes a sentence a question, a guess, a wish, a plan, or the word of somebody else."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


MAY_PRECEDE = _words(
    "and but while whereas because although though then now so that today meanwhile also when "
    "after before since yesterday currently recently finally eventually originally officially "
    "only both later afterwards where still nowadays"
)
"""A clause may begin after these; after another word a name is part of a phrase."""
DETERMINERS = _words("my our his her their the a an")
RELATIVE = _words("who that which whose whom")
MAY_FOLLOW = _words(
    "and but as since from until till in on at with where which who because so after before for "
    "to again too now then instead together though although via over under last this full-time "
    "today part-time remotely alongside directly through near between effective starting by "
    "yesterday"
)
"""What may stand after an object; before another noun a name is only a part of it."""
NOT_AFTER = {
    "joined": _words("at for on with over by"),
    "left": _words("at in on with over by to under"),
    "replaced": _words("with by in on"),
}
"""Unless a time follows, such an object is another thing: joined Ben for lunch."""
HEADS = _words(
    "service server team project app api database gateway cluster queue pipeline site office "
    "website library module repository repo platform system dashboard department division worker "
    "backend frontend portal budget subscription plan licence license warehouse lab clinic studio "
    "factory package printer rack committee squad"
)
"""Nouns that make a name of what stands before them: the billing service."""
VAGUE = _words(
    "new old whole same other entire current former main only best big small local own right "
    "wrong first second third next last previous original final single different good latest"
)
NOT_NAMES = _words(
    "currently recently finally eventually originally officially unfortunately sadly luckily "
    "update afterwards meanwhile nowadays fyi updated note btw congrats news people everything "
    "everybody someone somebody anybody anything something nothing others success progress "
    "management timing pricing life staff ps correction reminder info status everyone anyone "
    "whoever starting"
)
OF = _words(
    "bank committee center centre university ministry department house institute school museum "
    "city church republic college office bureau board council court academy port isle bay society "
    "kingdom county state chamber"
)
"""What is called by `of` and another name: the Bank of England."""
PARTICLES = _words("de van von der den la le del da di du dos bin ibn al el ter zu &")
APPOSITION = _words("a an the our my his her their who which formerly previously now")
OF_PEOPLE = _words("works_at lives_in studies_at married_to born_in")
TITLE = re.compile(rf"(?:Dr|Mr|Mrs|Ms|Prof|Sir|{_ROLES})\.?", re.IGNORECASE)
PLURAL = re.compile(r"\w{1,30}(?:ers|ors|ists|ees|ents|ings|ions|ies|ants|men)")
"""A first word that means many of a kind: Users left."""
NUMBERED = re.compile(r"[a-z][a-z_.-]{0,30}\d[\w.-]*")
NO_PERSON = re.compile(r"\d|\b\w$")
GOES_ON = re.compile(
    rf"(?: (?:(?:in|on|since|until) )?{_WHEN})?,? (?:and|but|then)(?: then| later)?"
)
SPACE = re.compile(r"\s")
LEFT_OUT = re.compile(
    r"(?P<pronoun>(?:He|She|It) )|(?P<being>(?:Based|Owned|Led|Managed|Maintained|Hosted|Located"
    r"|Responsible|Married|Blocked) (?:in|by|on|for|to) )|(?:No longer [a-z]+s|Works|Lives|Reports"
    r"|Owns|Leads|Depends|Runs|Uses|Costs|Joined|Left|Moved|Became|Is now|Belongs|Studies) "
)
"""A sentence whose subject is left out, as notes do, or is a pronoun."""
TOKEN = re.compile(
    rf"(?P<time>\b{_WHEN})|(?P<code>`[^`\n]{{1,80}}`)"
    r"|(?P<word>(?:Dr|Mr|Mrs|Ms|Prof|St|[A-Z])\.(?=\s)|[^\W_](?:\w|[-'’.&/](?=\w))*)|(?P<sign>\S)"
)
