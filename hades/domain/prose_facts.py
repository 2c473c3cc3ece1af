"""Facts that prose says plainly: "Maya works at Acme since May 2024".

A small table of verbs, each read between two names that stand right beside it. Precision comes
first: what is asked, supposed, quoted, hoped for or said by others is no fact, nor is what a
pronoun or a nested phrase ("the brother of Maya works at") is the subject of. Nothing here guesses
what kind of thing a name is, so a relation is called as the text says it: `moved_to`, `joined`.
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
"""An apposition or parenthesis of so many words may stand between a subject and its verb."""


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


class _Verb(NamedTuple):
    relation: str
    exclusive: bool
    confidence: float
    takes: str
    """What its object is: a `name`, an `amount`, a `role` or a `status`."""
    plural: str
    """The first word where the subject is plural."""
    pattern: re.Pattern[str]


def _one_of(words: Sequence[str] | frozenset[str]) -> str:
    return "(?:" + "|".join(sorted(words, key=lambda word: (-len(word), word))) + ")"


_ADVERB = (
    "(?: (?:currently|now|still|also|already|recently|then|later|just|officially|finally"
    "|eventually|directly|subsequently|both|all|mainly|partly|since|jointly|formally))?"
)
_OFTEN = (
    "(?: (?:remotely|full-time|part-time|again|once again|primarily|heavily|directly|full time))?"
)
_FROM = r"(?:from (?:the )?[A-Z][\w-]{0,30}(?: [A-Z][\w-]{0,30})? )?"
_STATE = (
    r" (?:(?P<now>{s}|{b}|(?:is|are){a} {ing}|ha(?:s|ve){a} (?:been {ing}|{ed}))"
    r"|(?P<ended>(?:has |have )?(?:stopped|quit) {ing}|no longer (?:{s}|{b})"
    r"|(?:is|are) no longer {ing}|used to {b}|(?:formerly|previously|once) {ed})"
    r"|(?P<not>(?:does|do|did)(?: not|n['’]t) {b}|never {ed}|has never {ed})|(?P<past>{ed}))"
)
_BEING = (
    r" (?:(?P<now>(?:is|are){a} {p}|ha(?:s|ve){a} been{a} {p})"
    r"|(?P<ended>(?:is|are) no longer {p}|used to be {p}|(?:was|were) (?:formerly|previously) {p})"
    r"|(?P<not>(?:is|are)(?: not|n['’]t) {p}|(?:was|were) never {p})|(?P<past>(?:was|were) {p}))"
)
_EVENT = (
    r" (?:(?P<now>(?:ha(?:s|ve){a} )?{ed})"
    r"|(?P<not>(?:never|(?:has|have)(?: not|n['’]t| never)) {ed}|did(?: not|n['’]t) {b}))"
)
_STATES = """
works_at        ! .96 name   work works worked working                     (?:at|for)
lives_in        ! .96 name   live lives lived living                       in
studies_at      ! .95 name   study studies studied studying                at
reports_to      ! .97 name   report reports reported reporting             to
belongs_to      ! .94 name   belong belongs belonged belonging             to
owns            - .96 name   own owns owned owning
leads           - .95 name   lead leads led leading
manages         - .95 name   manage manages managed managing
depends_on      - .95 name   (?:depend|rely) (?:depends|relies) (?:depended|relied) relying on
runs_on         - .94 name   run runs ran running                          on
uses            - .94 name   use uses used using
maintains       - .94 name   maintain maintains maintained maintaining
costs           ! .96 amount cost costs cost costing
"""
_BEINGS = """
based_in        ! .97 name   (?:based|headquartered) in
located_in      - .95 name   located in
owned_by        ! .97 name   owned by
led_by          ! .97 name   (?:led|headed|chaired) by
managed_by      ! .97 name   (?:managed|run) by
maintained_by   ! .96 name   maintained by
hosted_on       ! .95 name   hosted (?:on|by|at)
blocked_by      - .96 name   blocked by
responsible_for - .95 name   (?:responsible for|in charge of)
married_to      ! .97 name   married to
part_of         - .94 name   part of
member_of       - .94 name   (?:a )?member of
"""
_EVENTS = """
joined          - .95 name   join joined
left            - .95 name   leave left
moved_to        ! .95 name   (?:move|relocate) (?:moved|relocated)         <FROM>(?:back )?to
founded         - .96 name   (?:co-?)?found (?:co-?)?founded
acquired        - .96 name   acquire acquired
replaced        - .95 name   replace replaced
married_to      ! .95 name   marry married
migrated_to     ! .94 name   migrate migrated                              <FROM>to
switched_to     ! .94 name   switch switched                               <FROM>to
became          ! .94 role   become be(?:came|come)
born_in         - .96 name   be was born in
founded_by      - .96 name   be (?:was|were) (?:co-?)?founded by
acquired_by     ! .96 name   be (?:was|were|been) (?:acquired|bought|taken over) by
replaced_by     ! .96 name   be (?:is|was|were|been) (?:now )?(?:replaced|superseded) by
renamed_to      ! .95 name   be (?:(?:was|were|been) renamed(?: to)?|is now (?:called|known as))
became          ! .95 role   be (?:was|were|been) (?:promoted to|appointed|named|elected)(?: as)?
became          ! .93 role   be (?:is|are) now
is_now          ! .92 status be (?:is|are) now
"""
"""Relation, `!` where a subject has one at a time, how sure, what follows, and the verb."""


def _verb(shape: str, line: str) -> _Verb:
    relation, exclusive, sure, takes, base, *rest = line.split(maxsplit=5)
    words = rest[0].split() if rest else []
    if shape is _STATE:
        forms = {"b": base, "s": words[0], "ed": words[1], "ing": words[2]}
        after = words[3:] and _OFTEN + " " + " ".join(words[3:])
    elif shape is _BEING:
        forms, after = {"p": " ".join((base, *words))}, ""
    else:
        forms, after = {"b": base, "ed": " ".join(words).replace("<FROM>", _FROM)}, ""
    plural = {_STATE: base, _BEING: "are", _EVENT: ""}[shape]
    pattern = shape.format(a=_ADVERB, **forms)
    whole = re.compile(f"{_ADVERB}{pattern}{after or ''}(?= )")
    return _Verb(relation, exclusive == "!", float(sure), takes, plural, whole)


_VERBS = tuple(
    _verb(shape, line)
    for shape, lines in ((_STATE, _STATES), (_BEING, _BEINGS), (_EVENT, _EVENTS))
    for line in lines.strip().splitlines()
)

_MONTH = _one_of([*(name.capitalize() for name in MONTHS)])
_WEEKDAY = _one_of([name.capitalize() for name in WEEKDAYS]) + "s?"
_DAY, _YEAR = r"\d{1,2}(?:st|nd|rd|th)?", r"(?:19|20|21)\d\d(?![\w-]*[a-z])"
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
_TOKEN = re.compile(
    rf"(?P<time>\b{_WHEN})|(?P<code>`[^`\n]{{1,80}}`)"
    r"|(?P<word>(?:Dr|Mr|Mrs|Ms|Prof|St|[A-Z])\.(?=\s)|[^\W_](?:\w|[-'’.&/](?=\w))*)|(?P<sign>\S)"
)
_SINCE = "(?:since|(?:starting|beginning|effective)(?: in| on| from)?|as of|as from)"
_UNTIL = "(?:until|till|up to|through|up until)"
_DURING = re.compile(
    rf"(?:from|between)? ?(?P<first>{_WHEN})(?: ?[-–] ?| (?:to|and|until|till|through) )"
    rf"(?P<last>{_WHEN})|\b(?:{_SINCE}|(?P<from>from)) (?P<since>{_WHEN})"
    rf"|\b{_UNTIL} (?P<until>{_WHEN})|(?:\b(?:in|on|at) )?(?P<at>\b{_WHEN})"
)
_OPENING_TIME = re.compile(
    rf"(?:(?:{_SINCE}|(?P<from>[Ff]rom)) (?P<since>{_WHEN})|{_UNTIL} (?P<until>{_WHEN})"
    rf"|(?:(?:[Ii]n|[Oo]n) )?(?P<at>{_WHEN})),? ",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[;:]|\b(?:and|but|who|which|where|when|while|because|after|before|so|then|to)\b|, (?!since)"
)
_AMOUNT = re.compile(
    r" ((?:(?:about|around) )?(?:[$€£¥]\s?\d[\d.,]*\d?[kKmM]?|\d[\d.,]* ?(?:€|USD|EUR|GBP|CHF"
    r"|dollars|euros|pounds|francs|cents))(?: (?:million|billion|thousand))?"
    r"(?:(?: per | an? | each |/)(?:\w+ )?(?:month|year|week|day|hour|user|seat|person|night|unit"
    r"|quarter|licen[cs]e|kilo|litre|ticket|head))?(?: per month| per year| a month| a year)?)"
)
_ROLES = (
    r"(?:C[EFIMOPT]O|VP|SVP|CISO|head|lead|leader|manager|director|president|chair(?:man|woman)?"
    r"|engineer|designer|developer|architect|consultant|analyst|partner|treasurer|secretary"
    r"|teacher|professor|lecturer|principal|dean|doctor|nurse|surgeon|lawyer|judge|minister|mayor"
    r"|senator|governor|chancellor|captain|coach|editor|owner|maintainer|administrator|officer"
    r"|founder|chef|pilot|accountant|coordinator|supervisor|assistant|intern|member|king|queen)"
)
_ROLE = re.compile(
    rf" (?:the |an? |our |its |their )?((?:(?!of\b|not\b)[\w-]{{1,20}} ){{0,3}}?{_ROLES})\b"
    r"(?! [a-z-]+(?:er|or|ist)\b)(?P<of> (?:of|for|at) )?",
    re.IGNORECASE,
)
_STATUS = re.compile(
    r" ((?:back |fully |temporarily |permanently )?(?:on hold|read-only|blocked|done|closed"
    r"|open|live|deprecated|archived|cancell?ed|paused|active|inactive|offline|online|down|up"
    r"|available|unavailable|completed?|retired|approved|rejected|obsolete|frozen|merged|fixed"
    r"|resolved|in (?:production|progress|review|beta)|public|private|end of life|unsupported))"
    r"(?= (?:again|since|from|as of|in|on|and|but|for|because|until)\b|[.,;:!)]|$)"
)
_TROUBLE = re.compile(
    r"\b(?:if|unless|whether|would|could|might|should|maybe|perhaps|probably|possibly|presumably"
    r"|apparently|allegedly|supposedly|reportedly|seemingly|hypothetical\w*|likely|unlikely"
    r"|say|says|said|saying|tells?|told|claim\w*|think\w*|thought|believ\w+|hear|heard|hears"
    r"|rumou?r\w*|gossip|according|suppos\w+|assum\w+|suspect\w*|imagin\w+|pretend\w*|dream\w*"
    r"|dreamt|wish\w*|hope\w*|hoping|guess\w*|doubt\w*|den(?:y|ies|ied)|untrue|false\w*|wrong\w*"
    r"|incorrect\w*|mistaken\w*|myth|lie|lies|lied|fiction\w*|novel|story|film|movie|episode|joke\w*"
    r"|kidding|proposal|propos\w+|idea|option|todo|draft|scenario|example|instance|e\.g|neither|nor"
    r"|none|nobody|no one|except|expect\w*|want\w*|plans? to|planned|planning|intend\w*|consider\w*"
    r"|suggest\w*|insist\w*|argu\w+|predict\w*|fear\w*|worr\w+|wonder\w*|ask\w*|quot\w+|wrote"
    r"|writes|announc\w+|not (?:true|sure|certain|clear|the case)|it seems|unclear|ensure|make sure"
    r"|almost|nearly|as though|until further|will|won['’]t|shall|ought|must|game"
    r"|contrary|misconception|speculat\w+|unconfirmed|fake|template|or)\b"
    r"|\?|let['’]s|I['’]d|^(?:is|are|does|do|did|was|were|has|have|can|may|what|where|who|which|why"
    r"|how|whose|>)\b|^[>|]|['’]d like",
    re.IGNORECASE,
)
"""What makes a sentence a question, a guess, a wish, a plan, or the word of somebody else."""
_NOT_BEFORE = frozenset(
    """of with for from to by like than about at in on near under behind between against without
    not never no or nor unlike despite per via as everyone anyone whose every each any both
    versus vs into onto""".split()  # noqa: SIM905
)
"""After these a name is inside a phrase, and not the subject of what follows."""
_MAY_FOLLOW = frozenset(
    """and but as since from until till in on at with where which who while because so after before
    when for during to again too now then instead together though although via over under last
    this full-time part-time remotely today alongside directly through these near between
    effective starting by that yesterday once already only also only""".split()  # noqa: SIM905
)
"""What may stand after an object; before another noun a name is only a part of it."""
_HEADS = frozenset(
    """service server team project app api database db gateway cluster queue pipeline site office
    website library module repository repo platform system dashboard department group division
    board worker backend frontend portal job budget migration release roadmap subscription plan
    licence license account store shop warehouse lab clinic practice school studio plant factory
    bot agent client package crate product tool host node router switch printer rack machine vm
    committee squad guild""".split()  # noqa: SIM905
)
"""Nouns that make a name of what stands before them: the billing service."""
_VAGUE = frozenset(
    """new old whole same other entire current former main only best big small local own right wrong
    first second third next last previous original final single different whole sales-only good
    bad great nice latest newest entire larger smaller international national small
    late early young older younger""".split()  # noqa: SIM905
)
_NOT_NAMES = frozenset(
    """currently recently finally eventually originally officially unfortunately sadly luckily
    afterwards meanwhile nowadays fyi update updated note btw congrats news people everything
    everybody someone somebody anybody anything something nothing others success progress
    management timing availability pricing life staff today ps ok yes no correction reminder
    info status fact facts nb mr mrs ms dr prof sir everyone anyone whoever whatever effective
    starting""".split()  # noqa: SIM905
)
_OF = frozenset(
    """bank university ministry department house institute school museum city church republic
    college office bureau board council court academy faculty port isle bay ministry society
    kingdom duchy county town state order league united chamber""".split()  # noqa: SIM905
)
_PARTICLES = frozenset(
    """de van von der den la le del da di du dos bin ibn al el ter zu""".split()  # noqa: SIM905
)
_TITLE = re.compile(
    rf"(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|President|King|Queen|Sergeant|{_ROLES})\.?", re.IGNORECASE
)
_PLURAL = re.compile(r"\w+(?:ers|ors|ists|ees|ents|ings|ions|ies|ants|men)")
"""A first word that means many of a kind: Users left."""


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


def facts_in(text: str, topic: str = "") -> list[ProseFact]:
    """The facts that a text states plainly, in its order.

    A sentence that leaves out its subject (`Works at Acme.`) speaks of `topic`, where given; so
    does one that begins with a pronoun, as long as the text named nothing else.

    >>> [(one.subject, one.relation, one.object) for one in facts_in("Ana works at Acme.")]
    [('Ana', 'works_at', 'Acme')]
    """
    found: dict[tuple[str, str, str, bool], ProseFact] = {}
    others = False
    own = {name_key(topic), name_key(spoken(topic)), name_key(topic.rpartition("/")[2])}
    for start, end in spans(text[:TEXT_CHARACTERS_AT_MOST]):
        sentence = _SPACES.sub(" ", text[start:end])
        if end - start > SENTENCE_CHARACTERS_AT_MOST:
            continue
        left_out = _LEFT_OUT.match(sentence) if topic and "`" not in topic else None
        if left_out and (left_out["verb"] or not others):
            sentence = _with_subject(topic, sentence, left_out)
        read = _Sentence(sentence)
        others = others or any(name_key(one.text) not in own for one in read.names.values())
        if not _TROUBLE.search(sentence):
            for fact in read.facts():
                key = (name_key(fact.subject), fact.relation, name_key(fact.object), fact.negated)
                found.setdefault(key, replace(fact, start=start, end=end))
    return list(found.values())


_SPACES = re.compile(r"\s")
_LEFT_OUT = re.compile(
    r"(?P<pronoun>(?:He|She|It|They) )|(?P<verb>(?P<being>(?:Currently |Now )?(?:[Bb]ased|[Oo]wned"
    r"|[Ll]ed|[Mm]anaged|[Mm]aintained|[Hh]osted|[Ll]ocated|[Rr]esponsible|[Mm]arried|[Bb]locked) "
    r"(?:in|by|on|for|to) )|(?:No longer [a-z]+s|Works|Lives|Reports|Owns|Leads|Depends|Runs|Uses"
    r"|Costs|Joined|Left|Moved|Became|Is now|Belongs|Was replaced|Studies) )"
)


def _with_subject(topic: str, sentence: str, left_out: re.Match[str]) -> str:
    """The sentence with the topic's name as its subject."""
    if left_out["pronoun"]:
        return f"`{topic}` {sentence[left_out.end() :]}"
    being = "is " if left_out["being"] else ""
    return f"`{topic}` {being}{sentence[0].lower()}{sentence[1:]}"


class _Sentence:
    """One sentence, its tokens and its names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [
            _Token(one[0], one.start(), one.end(), one.lastgroup or "")
            for one in _TOKEN.finditer(text)
        ]
        self.at = {token.start: number for number, token in enumerate(self.tokens)}
        self.names = {name.first: name for name in self._names()}
        self.ends = {name.after: name for name in self.names.values()}

    def facts(self) -> Iterator[ProseFact]:
        """What each name that is a subject is said to do, clause by clause."""
        for name in self.names.values():
            for at in self._verb_places(name):
                yield from self._clauses(name, at)

    def _is_named(self, at: int) -> bool:
        """Whether a token may begin a name or go on with one."""
        token = self.tokens[at] if 0 <= at < len(self.tokens) else _NONE
        word, lower = token.text, token.text.lower()
        if token.kind != "word" or lower in _NOT_NAMES:
            return token.kind == "code"
        if word[0].isupper():
            if word == "New":
                return self._is_named(at + 1)
            return word == "US" or lower not in STOP_WORDS
        head = word.rpartition("-")[2]
        return bool(_NUMBERED.fullmatch(word)) or is_identifier(word) or head in _HEADS - {word}

    def _names(self) -> Iterator[_NameSpan]:
        at, opening = 0, next((n for n, one in enumerate(self.tokens) if one.kind == "word"), 0)
        while at < len(self.tokens):
            after = self._end_of_name(at) if self._is_named(at) else self._end_of_nouns(at)
            if after == at:
                at += 1
                continue
            first, common = at, not self._is_named(at)
            for place in range(at, after - 1):
                if _TITLE.fullmatch(self.tokens[place].text):
                    first = place + 1  # CTO Ana Ruiz
            said = self.text[self.tokens[first].start : self.tokens[after - 1].end].strip("`")
            many = first == opening and after == first + 1 and _PLURAL.fullmatch(said)
            if not many and "'s " not in said.replace("’", "'"):
                yield _NameSpan(said, first, after, common)
            at = after

    def _end_of_name(self, at: int) -> int:
        """The token after a name: capitals, with `of`, `van` or a number between or behind."""
        after = at + 1
        while after < len(self.tokens):
            word, before = self._word(after), self._word(after - 1)
            if self._is_named(after):
                after += 1
            elif word == "of" and before in _OF:
                end = after + 1 + (self._word(after + 1) == "the")
                if not self._is_named(end):
                    break
                after = end + 1
            elif (word in _PARTICLES or word == "&") and self._is_named(after + 1):
                after += 2
            elif word in _HEADS or (word.isdigit() and len(word) <= 4):
                return after + 1
            else:
                break
        return after

    def _end_of_nouns(self, at: int) -> int:
        """The token after `billing service` in `the billing service`, or where it began."""
        first = self._word(at)
        if self._word(at - 1) in ("the", "our") and first not in STOP_WORDS | _VAGUE:
            for after in (at + 4, at + 3, at + 2):
                own = self.tokens[at:after]
                if self._word(after - 1) in _HEADS and all(one.kind == "word" for one in own):
                    return after
        return at

    def _word(self, at: int) -> str:
        return self.tokens[at].text.lower() if 0 <= at < len(self.tokens) else ""

    def _verb_places(self, name: _NameSpan) -> Iterator[int]:
        """Where the verb of a subject may begin: behind it, or what is said of it in between."""
        after = name.after
        yield self.tokens[after - 1].end
        sign, begins = self._word(after), self._word(after + 1)
        if sign == "," and begins in ("who", "which"):
            yield self.tokens[after + 1].end
        closing = {"(": ")", ",": ","}.get(sign)
        if closing == ")" or (closing and begins in _APPOSITION):
            for end in range(after + 2, min(after + WORDS_BETWEEN, len(self.tokens))):
                if self.tokens[end].text == closing:
                    yield self.tokens[end].end
                    return

    def _outside(self, name: _NameSpan) -> int:
        """The token before a name and its article."""
        return name.first - 1 - (self._word(name.first - 1) in ("the", "our", "my"))

    def _begins_clause(self, name: _NameSpan) -> bool:
        at = self._outside(name)
        if at < 0 or self.tokens[at].kind == "time":
            return True
        word = self.tokens[at].text
        if self.tokens[at].kind == "word":
            return word.lower() not in _NOT_BEFORE | _VAGUE
        quotes = sum(word in '"“”„' for word, *_ in self.tokens[:at])
        return word in ",;:(-–—*•#]+" and quotes % 2 == 0

    def _subjects(self, name: _NameSpan) -> list[_NameSpan]:
        """The names of a list that ends with this one, as far as it begins a clause."""
        found, kept = [name], [name] if self._begins_clause(name) else []
        at = self._outside(name)
        if self._word(at) not in ("and", "&"):
            return kept
        at -= 1 + (self._word(at - 1) == ",")
        while (other := self.ends.get(at + 1)) is not None:
            found.insert(0, other)
            if self._begins_clause(other):
                kept = list(found)
            at = self._outside(other)
            if self._word(at) != ",":
                break
            at -= 1
        return kept

    def _clauses(self, name: _NameSpan, at: int) -> Iterator[ProseFact]:
        """The facts of a subject from one verb on: works at Acme and lives in Rome."""
        went_on = True
        while went_on:
            went_on = False
            for verb in _VERBS:
                said = verb.pattern.match(self.text, at)
                who = said and self._agreeing(self._subjects(name), said)
                objects, end = self._objects(verb, said.end()) if said and who else ([], 0)
                if said and who and objects:
                    yield from self._said(verb, said, who, objects, end)
                    more = _GOES_ON.match(self.text, end)
                    went_on, at = more is not None, more.end() if more else at
                    break

    def _agreeing(self, subjects: list[_NameSpan], said: re.Match[str]) -> list[_NameSpan]:
        """Those of the subjects that agree with the verb in number."""
        words = said[0].replace("’", "'").split()
        is_form = said["now"] is not None and said.re.groupindex.get("past") is not None
        form = said["now"].split()[0] if is_form else ""
        singular = not _SINGULAR.isdisjoint(words) or (form.endswith("s") and form != "")
        plural = not _PLURALS.isdisjoint(words) or (is_form and not singular)
        if len(subjects) < 2:
            return [] if plural else subjects
        return subjects[-1:] if singular else subjects

    def _objects(self, verb: _Verb, at: int) -> tuple[list[str], int]:
        """What a verb says of its subject, and where that ends."""
        if verb.takes != "name":
            found = _OBJECTS[verb.takes].match(self.text, at)
            if found is None:
                return [], at
            end = found.end()
            if verb.takes == "role" and found["of"]:
                name = self._name_from(end)
                if name is None or not self._may_end(name.after):
                    return [], at
                end = self.tokens[name.after - 1].end
                return [self.text[found.start(1) : end]], end
            follows = next((n for n, one in enumerate(self.tokens) if one.start >= end), None)
            return ([found[1]] if follows is None or self._may_end(follows) else []), end
        names = []
        name = self._name_from(at + 1)
        while name is not None:
            names.append(name)
            after = name.after
            comma = self._word(after) == ","
            joined = self._word(after + comma) == "and"
            if not comma and not joined:
                break
            name = self._name_from_token(after + comma + joined)
            if joined and name is not None:
                names.append(name)
                break
        closed = len(names) > 1 and self._word(names[-1].first - 1) in ("and", "the", "our")
        kept = names if closed and self._may_end(names[-1].after) else names[:1]
        if not kept or not self._may_end(kept[-1].after):
            return [], at
        return [one.text for one in kept], self.tokens[kept[-1].after - 1].end

    def _name_from(self, at: int) -> _NameSpan | None:
        return self._name_from_token(self.at[at]) if at in self.at else None

    def _name_from_token(self, at: int) -> _NameSpan | None:
        skipped = self._word(at) in ("the", "our", "both")
        return self.names.get(at + skipped)

    def _may_end(self, at: int) -> bool:
        """Whether a name is whole where this token follows."""
        if at >= len(self.tokens) or self.tokens[at].kind == "time":
            return True
        word = self.tokens[at].text
        return word.lower() in _MAY_FOLLOW or word in ".,;:!)(–—-…"

    def _instead(self, verb: _Verb, objects: list[str], end: int) -> Iterator[tuple[str, str]]:
        """What came instead of the object: replaced Jira with Linear."""
        word = {"replaced": " with ", "uses": " instead of "}.get(verb.relation, "")
        if word and self.text.startswith(word, end):
            name = self._name_from(end + len(word))
            if name is not None and self._may_end(name.after):
                yield objects[0], name.text

    def _said(
        self, verb: _Verb, said: re.Match[str], who: list[_NameSpan], objects: list[str], end: int
    ) -> Iterator[ProseFact]:
        groups = said.groupdict()
        ended, past = groups.get("ended") is not None, groups.get("past") is not None
        negated = ended or groups.get("not") is not None
        is_event = "past" not in groups
        since, until = self._times(who[0], end, is_event)
        if ended:
            since, until = None, until or since or self._times(who[0], end, True)[0]
        if past and until is None:
            return
        sure = verb.confidence - 0.02 * (self._outside(who[0]) >= 0) - 0.03 * who[0].common
        exclusive = verb.exclusive and len(objects) == 1
        instead = self._instead(verb, objects, end)
        for old, new in instead:
            if verb.relation == "replaced":
                fact = ProseFact(old, "replaced_by", new, True, False, sure, since, until, 0, 0)
                yield fact
                return
            yield ProseFact(who[0].text, "uses", new, False, True, sure, None, since, 0, 0)
        for name in who:
            if verb.relation in _OF_PEOPLE and (name.common or _DIGIT.search(name.text)):
                continue
            for one in objects:
                if name_key(one) != name_key(name.text):
                    yield ProseFact(
                        *(name.text, verb.relation, one, exclusive, negated, round(sure, 2)),
                        *(since, until, 0, 0),
                    )

    def _times(self, name: _NameSpan, end: int, is_event: bool) -> tuple[str | None, str | None]:
        """The words for the beginning and the end, behind an object or before the sentence."""
        window = self.text[end : end + 100]
        found, cut = _DURING.search(window), _CLAUSE.search(window)
        if found is None or (cut is not None and cut.start() < found.start()):
            first = self.tokens[self._outside(name) + 1].start
            found = _OPENING_TIME.match(self.text)
            if found is None or found.end() != first:
                return None, None
        said = found.groupdict()
        since = said.get("first") or said["since"] or (said["at"] if is_event else None)
        return since, said.get("last") or said["until"]


_NONE = _Token("", 0, 0, "")
_NUMBERED = re.compile(r"[a-z][a-z_.-]{0,30}\d[\w.-]*")
_DIGIT = re.compile(r"\d|^\w$| \w$")
_APPOSITION = frozenset(
    """a an the our my his her their who which formerly previously now""".split()  # noqa: SIM905
)
_GOES_ON = re.compile(
    rf"(?: (?:(?:in|on|since|until) )?{_WHEN})?,? (?:and|but|then)(?: (?:then|later|also))?"
)
_SINGULAR = frozenset(
    """is has was does isn't hasn't wasn't doesn't""".split()  # noqa: SIM905
)
_PLURALS = frozenset(
    """are have were do aren't haven't weren't don't""".split()  # noqa: SIM905
)
_OF_PEOPLE = frozenset(("works_at", "lives_in", "studies_at", "married_to", "born_in"))
_OBJECTS = {"amount": _AMOUNT, "role": _ROLE, "status": _STATUS}
