"""A simulated year of a project: is what holds now told, what held then, and nothing else?

Twenty-four services, people and suppliers change all year, a few hundred logs a month say
nothing of worth, and an agent feeds back thanks, copies and what it recalled. All of it is
generated from one seed. Then the year is asked for: what holds now, what held on a day, and
what happened in a month; the last with and without summaries. The peer in the same run is
plain search, by its first passage.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import hades
from bench.table import note, seconds, show
from hades.context.tokens import count

SEED = 2025
BEGIN = datetime(2025, 1, 1, 8, tzinfo=UTC)
DAYS, DAYS_SMALL = 365, 120
ASKED, ASKED_SMALL = 200, 40
LOGS_A_DAY, JUNK_A_DAY, INCIDENTS_A_MONTH = 6, 1.4, 6
CHANGE_EVERY_DAYS = 75.0
VALUES_AT_MOST, INDEXED_EVERY_NOTES = 20, 50

NAMES = """
    Alder Basalt Cinder Dorsal Ember Fathom Girder Hollow Ingot Juniper Kelp Lumen Mortar
    Nimbus Osprey Pillar Quarry Rivet Saddle Thicket Umber Vessel Willow Yarrow
""".split()  # noqa: SIM905
FIRST = """
    Ada Bruno Carmen Dov Elif Farah Goran Hilde Isak Jana Kofi Leda Milo Nadia Otis Petra
    Quinn Rosa Sven Tilda Ugo Vera Wen Yara
""".split()  # noqa: SIM905
LAST = """
    Aldin Brask Corvo Delmar Egede Fosse Gruber Hallam Imani Joris Kranz Lowe Mandel Nyberg
    Orsi Pacek Quist Rask Soto Thorne Ulvang Voss Wirth Zeman
""".split()  # noqa: SIM905
CITIES = """
    Aarhus Bergen Cadiz Dresden Esbjerg Faro Ghent Haarlem Innsbruck Jena Kaunas Leuven Malmo
    Nantes Odense Porto Rostock Split Tartu Utrecht Vigo Wels Ystad Zadar
""".split()  # noqa: SIM905
KINDS = ("fact", "log", "incident", "junk")
TEAMS = """
    Avocet Bittern Curlew Dunlin Eider Falcon Godwit Heron Ibis Jackdaw Kestrel Linnet Merlin
    Nuthatch Ouzel Plover Quail Rook Siskin Tern Veery Wagtail Whimbrel Yaffle
""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Attribute:
    """Something that can change about a kind of subject."""

    kind: str
    name: str
    first: str
    changed: Sequence[str]
    asked: Sequence[str]

    def value(self, dice: random.Random) -> str:
        """A value of it."""
        return {
            "port": lambda: str(dice.randrange(2_000, 9_900)),
            "owner": lambda: f"team {dice.choice(TEAMS)}",
            "limit": lambda: f"{dice.randrange(11, 99) * 10} requests a minute",
            "region": lambda: f"the {dice.choice(CITIES)} hall",
            "room": lambda: f"room {dice.choice('ABCD')}{dice.randrange(101, 499)}",
            "city": lambda: dice.choice(CITIES),
            "extension": lambda: f"extension {dice.randrange(2_000, 9_900)}",
            "price": lambda: f"{dice.randrange(110, 990)} euros a month",
            "contact": lambda: f"{dice.choice(FIRST)} {dice.choice(LAST)}",
            "notice": lambda: f"{dice.randrange(2, 29)} weeks",
        }[self.name]()


ATTRIBUTES = (
    Attribute(
        *("service", "port", "{s} listens on port {v}."),
        (
            "{s} was moved to port {v}; the old one clashed with the proxy.",
            "New port for {s}: {v}. Firewall rules are updated.",
            "From today {s} answers on {v}.",
        ),
        ("Which port does {s} use?", "On what port can I reach {s}?", "port of {s}"),
    ),
    Attribute(
        *("service", "owner", "{s} belongs to {v}."),
        (
            "{v} takes over {s} after the reshuffle.",
            "{s} was handed to {v}.",
            "Ownership of {s} changed: now {v}.",
        ),
        ("Who owns {s}?", "Which team looks after {s}?", "whose is {s}"),
    ),
    Attribute(
        *("service", "limit", "Each key may send {s} {v}."),
        (
            "The rate limit of {s} is now {v}.",
            "We changed the limit of {s} to {v} after complaints.",
            "{s}: limit set to {v}.",
        ),
        ("What is the rate limit of {s}?", "How many calls may a key make to {s}?"),
    ),
    Attribute(
        *("service", "region", "{s} runs in {v}."),
        (
            "{s} was migrated to {v} over the weekend.",
            "{s} now runs in {v}.",
            "The machines of {s} stand in {v} since this morning.",
        ),
        ("Where does {s} run?", "In which hall are the machines of {s}?"),
    ),
    Attribute(
        *("people", "room", "{s} sits in {v}."),
        ("{s} moved to {v}.", "You find {s} in {v} from today.", "New desk for {s}: {v}."),
        ("Where does {s} sit?", "In which room do I find {s}?"),
    ),
    Attribute(
        *("people", "city", "{s} lives in {v}."),
        (
            "{s} has moved to {v} and works from there two days a week.",
            "{s} lives in {v} now.",
            "{s} found a flat in {v} and has left the old one.",
        ),
        ("Where does {s} live?", "In which city does {s} live?"),
    ),
    Attribute(
        *("people", "extension", "{s} has {v}."),
        ("{s} got a new phone: {v}.", "Call {s} under {v} from now on.", "{s}: now {v}."),
        ("What is the phone extension of {s}?", "How do I reach {s} by phone?"),
    ),
    Attribute(
        *("supplier", "price", "{s} charges {v}."),
        (
            "{s} raised its fee: {v} from today.",
            "The contract with {s} was renegotiated to {v}.",
            "{s} costs us {v} now.",
        ),
        ("What does {s} cost us?", "How much do we pay {s}?"),
    ),
    Attribute(
        *("supplier", "contact", "Our contact at {s} is {v}."),
        (
            "{v} is our new contact at {s}.",
            "{s}: ask for {v}, the former contact has left.",
            "At {s} we now talk to {v}.",
        ),
        ("Who is our contact at {s}?", "Whom do I call at {s}?"),
    ),
    Attribute(
        *("supplier", "notice", "The contract with {s} ends with a notice of {v}."),
        ("{s} changed its terms: notice is {v} now.", "Notice period of {s} is now {v}."),
        ("What is the notice period of {s}?", "How long before must we cancel {s}?"),
    ),
)
SUBJECTS = {
    "service": [name.lower() for name in NAMES],
    "people": [f"{one} {other}" for one, other in zip(FIRST, LAST, strict=True)],
    "supplier": [
        f"{name} {kind}" for name, kind in zip(NAMES, ("AG", "Ltd", "Oy") * 8, strict=True)
    ],
}
CHATTER = (
    "Standup was short, {p} is still writing tests.",
    "Coffee machine on the second floor descaled by {p}.",
    "{p} and {q} paired on the docs for an hour, nothing decided.",
    "Lunch with {p}; talked about the summer party.",
    "Reviewed a small pull request of {p}, two comments on naming.",
    "Nightly tests were green again after {p} restarted the runner.",
    "{p} asked for a second monitor.",
    "Long call about the roadmap with {p} and {q}; to be continued.",
    "Cleaned up old branches of {s}.",
    "Looked at the dashboards of {s}: quiet.",
    "{q} is on holiday this week, {p} fills in.",
    "Read an article on queues that {p} had sent round.",
)
CAUSES = (
    "an expired certificate",
    "a full disk",
    "a wrong firewall rule",
    "a failed migration",
    "a power cut",
    "a memory leak",
)
TALK = ("ok", "Thanks!", "Great, thank you so much.", "hello there", "Sounds good to me.", "Noted.")


@dataclass
class Year:
    """What was written, and what is true when."""

    notes: list[tuple[datetime, str, str, str]] = field(default_factory=list)
    """(when, topic, text, what it is: `fact`, `log`, `incident` or `junk`)"""
    truth: dict[tuple[str, Attribute], list[tuple[datetime, str]]] = field(default_factory=dict)
    incidents: dict[int, list[str]] = field(default_factory=dict)
    """By month: the names of what happened."""


def simulate(days: int) -> Year:
    """The notes of a year, in the order in which they are written."""
    dice, year = random.Random(SEED), Year()
    for attribute in ATTRIBUTES:
        for subject in SUBJECTS[attribute.kind]:
            _live(year, attribute, subject, days, dice)
    for day in range(days):
        morning = BEGIN + timedelta(days=day)
        for number in range(LOGS_A_DAY):
            text = dice.choice(CHATTER).format(
                p=dice.choice(SUBJECTS["people"]),
                q=dice.choice(SUBJECTS["people"]),
                s=dice.choice(SUBJECTS["service"]),
            )
            at = morning + timedelta(minutes=61 * number + dice.randrange(60))
            year.notes.append((at, f"log/{at:%Y-%m-%d}/{number}", text, "log"))
    months = sorted({(BEGIN + timedelta(days=day)).month for day in range(days)})
    for month in months[: days // 28]:
        for number in range(INCIDENTS_A_MONTH):
            name = f"INC-{month * 10 + number}"
            at = BEGIN.replace(month=month, day=dice.randrange(1, 29)) + timedelta(hours=5)
            text = (
                f"{name}: {dice.choice(SUBJECTS['service'])} was down for "
                f"{dice.randrange(12, 300)} minutes because of {dice.choice(CAUSES)}."
            )
            year.notes.append((at, f"incident/{name}", text, "incident"))
            year.incidents.setdefault(month, []).append(name)
    year.notes.sort(key=lambda one: one[:2])
    return year


def _live(year: Year, attribute: Attribute, subject: str, days: int, dice: random.Random) -> None:
    """The values an attribute of a subject passes through."""
    topic = f"{attribute.kind}/{subject.lower().replace(' ', '_')}"
    at, values = BEGIN + timedelta(days=dice.random() * 10), list[tuple[datetime, str]]()
    while at < BEGIN + timedelta(days=days) and len(values) < VALUES_AT_MOST:
        told = {value for _, value in values}
        value = next(v for v in iter(lambda: attribute.value(dice), None) if v not in told)
        text = dice.choice(attribute.changed) if values else attribute.first
        year.notes.append((at, topic, text.format(s=subject, v=value), "fact"))
        values.append((at, value))
        at += timedelta(days=5 + dice.expovariate(1 / CHANGE_EVERY_DAYS))
    year.truth[subject, attribute] = values


class Clock:
    """The time of the simulated year, in microseconds."""

    def __init__(self) -> None:
        self.at = BEGIN

    def __call__(self) -> int:
        return int(self.at.timestamp() * 1_000_000)


def write(memory: hades.Memory, clock: Clock, year: Year, *, gate: bool) -> dict[str, int]:
    """Write the year, with an agent's junk between; how much of each was stored or refused."""
    dice = random.Random(SEED + 1)
    counts = dict.fromkeys((*KINDS, *(f"{kind} refused" for kind in KINDS)), 0)
    written: list[str] = []
    for number, (at, topic, text, kind) in enumerate(year.notes):
        for junk in _junk(dice, written):
            _remember(memory, f"agent/{number}", junk, "junk", counts, gate=gate)
        clock.at = at
        _remember(memory, topic, text, kind, counts, gate=gate)
        written.append(text)
        if number % INDEXED_EVERY_NOTES == 0:
            memory.index()  # as questions do
        note(f"writing {number} of {len(year.notes)}")
    return counts


def _junk(dice: random.Random, written: Sequence[str]) -> Iterator[str]:
    """What an agent stores without need: talk, copies, and its own context."""
    if len(written) < 50 or dice.random() > JUNK_A_DAY / (LOGS_A_DAY + 2):
        return
    told = dice.sample(written[-500:], 3)
    passages = "\n".join(f"[{n}] note@1, line 1, 2025-01-01\n {t}" for n, t in enumerate(told, 1))
    yield dice.choice(
        (dice.choice(TALK), told[0], f"Question: what is new?\n\nPassages:\n\n{passages}")
    )


def _remember(
    memory: hades.Memory, topic: str, text: str, kind: str, counts: dict[str, int], *, gate: bool
) -> None:
    with suppress(hades.Refused):
        memory.remember(topic, text, gate=gate)
        counts[kind] += 1
        return
    counts[f"{kind} refused"] += 1


@dataclass
class Score:
    """How many answers were right, and how many told what no longer holds."""

    asked: int = 0
    right: int = 0
    stale: int = 0

    def add(self, answer: str, value: str, others: Sequence[str]) -> None:
        """Count an answer."""
        is_right = _says(answer, value)
        self.asked += 1
        self.right += is_right
        self.stale += not is_right and any(_says(answer, other) for other in others)

    def __str__(self) -> str:
        return f"{self.right / self.asked:.1%} / {self.stale / self.asked:.1%}"


def _says(text: str, value: str) -> bool:
    return value.removeprefix("the ").casefold() in text.casefold()


def ask(memory: hades.Memory, year: Year, count: int) -> list[tuple[str, Score, Score]]:
    """Questions of what holds now and of what held on a day: (kind, recall, plain search)."""
    dice = random.Random(SEED + 2)
    changed = [key for key, values in year.truth.items() if len(values) > 1]
    rows = []
    for kind in ("what holds now", "what held on a day"):
        ours, plain = Score(), Score()
        for subject, attribute in dice.sample(changed, min(count, len(changed))):
            values = year.truth[subject, attribute]
            question = dice.choice(attribute.asked).format(s=subject)
            at = len(values) - 1 if kind == "what holds now" else dice.randrange(len(values) - 1)
            moment = values[at][0] + timedelta(days=2)
            view = memory if kind == "what holds now" else memory.at(moment)
            others = [value for place, (_, value) in enumerate(values) if place != at]
            ours.add(str(view.ask(question)), values[at][1], others)
            found = view.search(question, 1)
            plain.add(found[0].chunk.text if found else "", values[at][1], others)
        rows.append((kind, ours, plain))
    return rows


def overview(memory: hades.Memory, year: Year) -> list[tuple[str, int, str, str, str, str]]:
    """By month: what is told of what happened, for how many tokens.

    First by all notes of the month, which say everything; then by recall without summaries,
    and with those that were made meanwhile.
    """
    rows = []
    for month, names in year.incidents.items():
        question = f"What happened in {datetime(2025, month, 1):%B} 2025?"
        whole = sum(count([text for at, _, text, _ in year.notes if at.month == month]))
        without, told = (memory.recall(question, plan={"level": level}) for level in (0, None))
        held = sum(name in told.context for name in names)
        before = sum(name in without.context for name in names)
        rows.append(
            (
                question,
                len(names),
                f"{whole:,}",
                f"{before} / {without.tokens:,}",
                f"{held} / {told.tokens:,}",
                f"{whole / told.tokens:.1f}×",
            )
        )
    return rows


def run(*, small: bool = False) -> None:
    """Write the year, ask for it, consolidate it and ask again."""
    print("## A simulated year\n")
    days, asked = (DAYS_SMALL, ASKED_SMALL) if small else (DAYS, ASKED)
    year, clock = simulate(days), Clock()
    with (
        tempfile.TemporaryDirectory() as folder,
        hades.open(Path(folder) / "year.hades", clock=clock) as memory,
    ):
        counts = write(memory, clock, year, gate=True)
        clock.at = BEGIN + timedelta(days=days)
        rows = [(kind, counts[kind], counts[f"{kind} refused"]) for kind in KINDS]
        show(f"{sum(counts.values()):,} notes in {days} days", ("", "stored", "refused"), rows)
        took = seconds(memory.index)
        answers = ask(memory, year, asked)
        show(
            f"Right / told what no longer holds; indexed in {took:.0f} s",
            ("", "ask", "plain search, first passage"),
            answers,
        )
        took = seconds(memory.consolidate)
        show(
            f"Overview: planted facts told / tokens; consolidated in {took:.0f} s",
            (
                *("", "planted", "tokens of all notes", "recall without summaries"),
                *("with summaries", "tokens saved"),
            ),
            overview(memory, year),
        )
        show("After consolidation", ("", "ask", "plain search"), ask(memory, year, asked))
