"""Facts that prose says plainly: "Maya works at Acme since May 2024".

A table of verbs, each read between two names that stand right beside it. Precision comes first:
what is asked, supposed, quoted, hoped for or said by others is no fact, nor is what a pronoun or a
nested phrase ("the brother of Maya works at") is the subject of. Nothing here guesses what kind of
thing a name is, so a relation is called as the text says it: `moved_to`, `joined`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from hades.domain.names import STOP_WORDS, is_identifier, name_key, spoken
from hades.domain.sentences import spans
from hades.domain.times import COUNTS, MONTHS, WEEKDAYS

TEXT_CHARACTERS_AT_MOST = 200_000
SENTENCE_CHARACTERS_AT_MOST = 600
"""A longer sentence is a table, a log or an attack, and states nothing plainly."""
WORDS_BETWEEN = 12
"""An apposition of fewer words may stand between a subject and its verb."""


@dataclass(frozen=True, slots=True)
class ProseFact:
    """What a sentence says of two names."""

    subject: str
    relation: str
    object: str
    exclusive: bool
    """A subject has one at a time: a new value ends the old one."""
    negated: bool
    """The sentence says that this does not hold, or no longer."""
    confidence: float
    valid_from: str | None
    """The words of the text for the time it began; `valid_to`: for its end."""
    valid_to: str | None
    start: int
    end: int
    """Where its sentence stands in the text."""


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
ENDS = {"left": ("works_at", "studies_at", "joined", "member_of", "lives_in")}
"""Relations to the same object that a fact ends."""
CONFIDENCE, INSIDE, COMMON_NOUNS = 0.96, -0.02, -0.03
"""How sure one is of a sentence that begins with a name; less where another clause stands before
it, and where common nouns are the subject. A judgement: all are above 0.9, as was measured."""

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


class _Verb(NamedTuple):
    relation: str
    exclusive: bool
    takes: str
    """What its object is: a `name`, an `amount`, a `role` or a `status`."""
    pattern: re.Pattern[str]


def _verb(shape: str, line: str) -> _Verb:
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
    return _Verb(relation, exclusive == "!", takes, re.compile(f"{_ADVERB}(?:{said}){after}(?= )"))


_VERBS = tuple(
    _verb(shape, line)
    for shape, lines in ((_STATE, _STATES), (_BEING, _BEINGS), (_EVENT, _EVENTS))
    for line in lines.strip().splitlines()
)
EXCLUSIVE = frozenset(verb.relation for verb in _VERBS if verb.exclusive)
"""Relations of which a subject has one at a time."""

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
_DURING = re.compile(_HELD)
_OPENING_TIME = re.compile(rf"(?:{_HELD}),? ", re.IGNORECASE)
_CLAUSE = re.compile(
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
    r" (?:the |an? |our |its |their )?((?:(?!(?:of|not|better|good|great|real|true|full)\b)"
    rf"[\w-]{{1,20}} ){{0,3}}?{_ROLES})\b(?P<of> (?:of|for|at) )?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r" ((?:back |fully |temporarily )?(?:on hold|read-only|blocked|done|closed|open|live|deprecated"
    r"|archived|cancell?ed|paused|inactive|offline|online|down|available|unavailable|completed?"
    r"|retired|approved|rejected|obsolete|frozen|merged|fixed|resolved|unsupported"
    r"|in (?:production|progress|review|beta)))(?![\w-])"
)
_OBJECTS = {"amount": _AMOUNT, "role": _ROLE, "status": _STATUS}

# Words

_TROUBLE = re.compile(
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


_MAY_PRECEDE = _words(
    "and but while whereas because although though then now so that today meanwhile also when "
    "after before since yesterday currently recently finally eventually originally officially "
    "only both later afterwards where still nowadays"
)
"""A clause may begin after these; after another word a name is part of a phrase."""
_DETERMINERS = _words("my our his her their the a an")
_RELATIVE = _words("who that which whose whom")
_MAY_FOLLOW = _words(
    "and but as since from until till in on at with where which who because so after before for "
    "to again too now then instead together though although via over under last this full-time "
    "today part-time remotely alongside directly through near between effective starting by "
    "yesterday"
)
"""What may stand after an object; before another noun a name is only a part of it."""
_NOT_AFTER = {
    "joined": _words("at for on with over by"),
    "left": _words("at in on with over by to under"),
    "replaced": _words("with by in on"),
}
"""Unless a time follows, such an object is another thing: joined Ben for lunch."""
_HEADS = _words(
    "service server team project app api database gateway cluster queue pipeline site office "
    "website library module repository repo platform system dashboard department division worker "
    "backend frontend portal budget subscription plan licence license warehouse lab clinic studio "
    "factory package printer rack committee squad"
)
"""Nouns that make a name of what stands before them: the billing service."""
_VAGUE = _words(
    "new old whole same other entire current former main only best big small local own right "
    "wrong first second third next last previous original final single different good latest"
)
_NOT_NAMES = _words(
    "currently recently finally eventually originally officially unfortunately sadly luckily "
    "update afterwards meanwhile nowadays fyi updated note btw congrats news people everything "
    "everybody someone somebody anybody anything something nothing others success progress "
    "management timing pricing life staff ps correction reminder info status everyone anyone "
    "whoever starting"
)
_OF = _words(
    "bank committee center centre university ministry department house institute school museum "
    "city church republic college office bureau board council court academy port isle bay society "
    "kingdom county state chamber"
)
"""What is called by `of` and another name: the Bank of England."""
_PARTICLES = _words("de van von der den la le del da di du dos bin ibn al el ter zu &")
_APPOSITION = _words("a an the our my his her their who which formerly previously now")
_OF_PEOPLE = _words("works_at lives_in studies_at married_to born_in")
_TITLE = re.compile(rf"(?:Dr|Mr|Mrs|Ms|Prof|Sir|{_ROLES})\.?", re.IGNORECASE)
_PLURAL = re.compile(r"\w+(?:ers|ors|ists|ees|ents|ings|ions|ies|ants|men)")
"""A first word that means many of a kind: Users left."""
_NUMBERED = re.compile(r"[a-z][a-z_.-]{0,30}\d[\w.-]*")
_NO_PERSON = re.compile(r"\d|\b\w$")
_GOES_ON = re.compile(
    rf"(?: (?:(?:in|on|since|until) )?{_WHEN})?,? (?:and|but|then)(?: then| later)?"
)
_SPACE = re.compile(r"\s")
_LEFT_OUT = re.compile(
    r"(?P<pronoun>(?:He|She|It) )|(?P<being>(?:Based|Owned|Led|Managed|Maintained|Hosted|Located"
    r"|Responsible|Married|Blocked) (?:in|by|on|for|to) )|(?:No longer [a-z]+s|Works|Lives|Reports"
    r"|Owns|Leads|Depends|Runs|Uses|Costs|Joined|Left|Moved|Became|Is now|Belongs|Studies) "
)
"""A sentence whose subject is left out, as notes do, or is a pronoun."""
_TOKEN = re.compile(
    rf"(?P<time>\b{_WHEN})|(?P<code>`[^`\n]{{1,80}}`)"
    r"|(?P<word>(?:Dr|Mr|Mrs|Ms|Prof|St|[A-Z])\.(?=\s)|[^\W_](?:\w|[-'’.&/](?=\w))*)|(?P<sign>\S)"
)


def facts_in(text: str, topic: str = "") -> list[ProseFact]:
    """The facts that a text states plainly, in its order.

    A sentence that leaves out its subject (`Works at Acme.`) speaks of `topic`, where given; so
    does one that begins with a pronoun, as long as the text named nothing else.

    >>> [(one.subject, one.relation, one.object) for one in facts_in("Ana works at Acme.")]
    [('Ana', 'works_at', 'Acme')]
    """
    found: dict[tuple[str, str, str, bool], ProseFact] = {}
    own = {name_key(one) for one in (topic, spoken(topic), topic.rpartition("/")[2]) if one}
    named_others = False
    for start, end in spans(text[:TEXT_CHARACTERS_AT_MOST]):
        said = _SPACE.sub(" ", text[start:end])
        if len(said) > SENTENCE_CHARACTERS_AT_MOST:
            continue
        left_out = _LEFT_OUT.match(said) if topic and "`" not in topic else None
        trouble = _TROUBLE.search(said)
        if left_out and not left_out["pronoun"]:
            being = "is " if left_out["being"] else ""
            said = f"`{topic}` {being}{said[0].lower()}{said[1:]}"
        elif left_out and not named_others:
            said = f"`{topic}` {said[left_out.end() :]}"
        sentence = _Sentence(said, own)
        named_others |= any(name_key(one.text) not in own for one in sentence.names.values())
        for fact in () if trouble else sentence.facts():
            key = (name_key(fact.subject), fact.relation, name_key(fact.object), fact.negated)
            found.setdefault(key, replace(fact, start=start, end=end))
    return list(found.values())


class _Token(NamedTuple):
    text: str
    start: int
    end: int
    kind: str


class _NameSpan(NamedTuple):
    """A name in a sentence: its text, and its tokens from `first` up to `after`."""

    text: str
    first: int
    after: int
    common: bool
    """Made of common nouns, such as the billing service."""


class _Sentence:
    """One sentence, its tokens and its names."""

    def __init__(self, text: str, own: set[str]) -> None:
        self.text = text
        self.own = own
        """Keys of the names of its topic, which may be written small."""
        self.tokens = [
            _Token(one[0], one.start(), one.end(), one.lastgroup or "")
            for one in _TOKEN.finditer(text)
        ]
        self.at = {token.start: number for number, token in enumerate(self.tokens)}
        self.names = {name.first: name for name in self._names()}
        self.ends = {name.after: name for name in self.names.values()}
        self.objects: set[int] = set()
        """Where names end that are the object of a fact."""

    def facts(self) -> Iterator[ProseFact]:
        """What each name that is a subject is said to do, clause by clause."""
        for name in self.names.values():
            for at in self._verb_places(name):
                yield from self._clauses(name, at)

    def _word(self, at: int) -> str:
        return self.tokens[at].text.lower() if 0 <= at < len(self.tokens) else ""

    # Names

    def _is_named(self, at: int) -> bool:
        """Whether a token may begin a name or go on with one."""
        lower = self._word(at)
        if not lower or lower in _NOT_NAMES or self.tokens[at].kind != "word":
            return bool(lower) and self.tokens[at].kind == "code"
        word = self.tokens[at].text
        if word[0].isupper():
            return (
                lower not in STOP_WORDS
                or word == "US"
                or (word == "New" and self._is_named(at + 1))
            )
        head = word.rpartition("-")[2]
        return (
            bool(_NUMBERED.fullmatch(word))
            or is_identifier(word)
            or head in _HEADS - {word}
            or name_key(word) in self.own
        )

    def _names(self) -> Iterator[_NameSpan]:
        at, opening = 0, next((n for n, one in enumerate(self.tokens) if one.kind == "word"), 0)
        while at < len(self.tokens):
            common = not self._is_named(at)
            after = self._end_of_nouns(at) if common else self._end_of_name(at)
            first = begins = at
            for place in range(at, after - 1):
                if _TITLE.fullmatch(self.tokens[place].text):
                    first = place + 1  # CTO Ana Ruiz
            at = max(after, at + 1)
            if after > first:
                said = self.text[self.tokens[first].start : self.tokens[after - 1].end].strip("`")
                many = first == opening and after == first + 1 and _PLURAL.fullmatch(said)
                if not many and "'s " not in said.replace("’", "'"):
                    yield _NameSpan(said, begins, after, common)

    def _end_of_name(self, at: int) -> int:
        """The token after a name: capitals, with `of`, `van` or a number between or behind."""
        after = at + 1
        while after < len(self.tokens):
            word = self._word(after)
            the = word == "of" and self._word(after + 1) == "the"
            joins = word in _PARTICLES or (word == "of" and self._word(after - 1) in _OF)
            if self._is_named(after):
                after += 1
            elif joins and self._is_named(after + 1 + the):
                after += 2 + the
            else:
                return after + (word in _HEADS or (word.isdigit() and len(word) <= 4))
        return after

    def _end_of_nouns(self, at: int) -> int:
        """The token after `billing service` in `the billing service`, or where it began."""
        if self._word(at - 1) in ("the", "our") and self._word(at) not in STOP_WORDS | _VAGUE:
            for after in (at + 4, at + 3, at + 2):
                own = self.tokens[at:after]
                if self._word(after - 1) in _HEADS and all(one.kind == "word" for one in own):
                    return after
        return at

    def _name_at(self, at: int) -> _NameSpan | None:
        return self.names.get(at + (self._word(at) in ("the", "our", "both")))

    # Subjects

    def _verb_places(self, name: _NameSpan) -> Iterator[int]:
        """Where the verb of a subject may begin: behind it, or behind what is put in between."""
        after = name.after
        yield self.tokens[after - 1].end
        sign, begins = self._word(after), self._word(after + 1)
        if sign == "," and begins in ("who", "which"):
            yield self.tokens[after + 1].end
        if sign == "(" or (sign == "," and begins in _APPOSITION):
            for token in self.tokens[after + 2 : after + WORDS_BETWEEN]:
                if token.text == {"(": ")"}.get(sign, sign):
                    yield token.end
                    return

    def _outside(self, name: _NameSpan) -> int:
        """The token before a name and its article."""
        return name.first - 1 - (self._word(name.first - 1) in ("the", "our", "my"))

    def _begins_clause(self, name: _NameSpan) -> bool:
        at = self._outside(name)
        before = [token.text.lower() for token in self.tokens[: at + 1]]
        if not before:
            return True
        if sum(word in '"“”„' for word in before) % 2 or not _RELATIVE.isdisjoint(before[:-1]):
            return False  # the company that acquired Acme and Ben is based in
        word, kind = before[-1], self.tokens[at].kind
        other = self.ends.get(at)
        if word == "," and other is not None and other.after not in self.objects:
            return False  # Tallinn, Estonia is located in
        if kind != "word" or word in _MAY_PRECEDE:
            return kind in ("time", "word") or word in ",;:(-–—*•#]+"
        # My sister Helena; but not: the agency representing Helena.
        noun = self.tokens[at].text.islower() and not word.endswith(("ing", "ed"))
        noun = noun and word not in STOP_WORDS | _VAGUE
        return noun and any(one in _DETERMINERS or one.endswith("s") for one in before[-3:-1])

    def _subjects(self, name: _NameSpan) -> list[_NameSpan]:
        """The names of a list that ends with this one, as far as it begins a clause."""
        at = self._outside(name)
        at -= self._word(at) in ("and", "&") and self._word(at - 1) == ","
        other = self.ends.get(at) if self._word(self._outside(name)) in ("and", "&") else None
        if other is None:
            return [name] if self._begins_clause(name) else []
        found, kept = [other], list[_NameSpan]()
        while True:
            kept = list(found) if self._begins_clause(found[0]) else kept
            at = self._outside(found[0])
            earlier = self.ends.get(at) if self._word(at) == "," else None
            if earlier is None:
                break
            found.insert(0, earlier)
        # Ana reports to Ben and Carl works at Acme: Ben is an object, so Carl begins a clause.
        return [*kept, name] if kept or other.after in self.objects else []

    # Clauses

    def _clauses(self, name: _NameSpan, at: int) -> Iterator[ProseFact]:
        """The facts of a subject from one verb on: works at Acme and lives in Rome."""
        for verb in _VERBS:
            said = verb.pattern.match(self.text, at)
            who = self._subjects(name) if said else []
            if said is None or not who or (len(who) == 1 and said["many"]):
                continue
            objects, end = self._objects(verb, said.end())
            if objects:
                yield from self._said(verb, said, who[-1:] if said["one"] else who, objects, end)
                if more := _GOES_ON.match(self.text, end):
                    yield from self._clauses(name, more.end())
                return

    def _objects(self, verb: _Verb, at: int) -> tuple[list[str], int]:
        """What a verb says of its subject, and where that ends."""
        if verb.takes != "name":
            found = _OBJECTS[verb.takes].match(self.text, at)
            if found is None:
                return [], at
            end = found.end()
            after = next((n for n, one in enumerate(self.tokens) if one.start >= end), -1)
            if verb.takes == "role" and found["of"]:
                name = self._name_at(after)
                if name is None:
                    return [], at
                after, end = name.after, self.tokens[name.after - 1].end
            ok = after < 0 or self._may_follow(after, verb.relation)
            return [self.text[found.start(1) : end]] if ok else [], end
        names, name = list[_NameSpan](), self._name_at(self.at.get(at + 1, -1))
        closed = False
        while name is not None:
            names.append(name)
            comma = self._word(name.after) == ","
            joined = self._word(name.after + comma) == "and"
            name = self._name_at(name.after + comma + joined) if comma or joined else None
            if closed:
                break
            closed = joined and name is not None
        if not closed or not self._may_follow(names[-1].after, verb.relation):
            names, closed = names[:1], False
        # Marks and Spencer is one; nobody lives in two places at a time.
        if not names or (closed and verb.exclusive):
            return [], at
        if not self._may_follow(names[-1].after, verb.relation) or self._is_cut(names[-1]):
            return [], at
        self.objects |= {one.after for one in names}
        return [one.text for one in names], self.tokens[names[-1].after - 1].end

    def _is_cut(self, name: _NameSpan) -> bool:
        """Whether a name goes on: the Committee for Trade, the Memphis, Tennessee area."""
        after, last = self._word(name.after), self._word(name.after - 1)
        goes_on = after == "," and name.after + 1 in self.names
        return (after == "for" and last in _OF) or (goes_on and self._word(name.first - 1) == "the")

    def _may_follow(self, at: int, relation: str) -> bool:
        """Whether an object is whole where this token follows."""
        word = self._word(at)
        if not word or self.tokens[at].kind == "time":
            return True
        if word in _NOT_AFTER.get(relation, ()):
            return at + 1 < len(self.tokens) and self.tokens[at + 1].kind == "time"
        return word in _MAY_FOLLOW or word in ".,;:!)(–—-…"

    def _said(
        self,
        verb: _Verb,
        said: re.Match[str],
        who: list[_NameSpan],
        objects: list[str],
        end: int,
    ) -> Iterator[ProseFact]:
        groups = {name for name, value in said.groupdict().items() if value is not None}
        is_event = "past" not in said.re.groupindex
        since, until = self._times(who[0], end, is_event or "ended" in groups)
        if "ended" in groups and until is None:
            since, until = None, since
        elif "ended" in groups:
            groups = {"past"}  # previously worked at Acme from 2013 to 2014
        if "past" in groups and until is None:
            return
        sure = CONFIDENCE + INSIDE * (self._outside(who[0]) >= 0) + COMMON_NOUNS * who[0].common
        for name in who:
            of_thing = name.common or _NO_PERSON.search(name.text)
            if not (verb.relation in _OF_PEOPLE and of_thing):
                for one in objects:
                    yield ProseFact(
                        *(name.text, verb.relation, one),
                        exclusive=verb.exclusive,
                        negated=not groups.isdisjoint(("ended", "not", "did")),
                        confidence=round(sure, 2),
                        valid_from=since,
                        valid_to=until,
                        start=0,
                        end=0,
                    )

    def _times(self, name: _NameSpan, end: int, is_event: bool) -> tuple[str | None, str | None]:
        """The words for the beginning and the end, behind an object or before the sentence."""
        window = self.text[end : end + 100]
        found, cut = _DURING.search(window), _CLAUSE.search(window)
        if found is None or (cut is not None and cut.start() < found.start()):
            found = _OPENING_TIME.match(self.text)
            if found is None or found.end() != self.tokens[self._outside(name) + 1].start:
                return None, None
        # `from Monday` is the next one, `since Monday` the last.
        since = f"from {found['since']}" if found["from"] else found["since"]
        since = found["first"] or since or (found["at"] if is_event else None)
        return since, found["last"] or found["until"]
