"""Half a year of a small project: notes of every day, few of which matter, made the same each
time. What matters is returned, by month."""

from __future__ import annotations

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import hades

FIRST_DAY = datetime(2024, 1, 1, tzinfo=UTC)
PEOPLE = ("Ada", "Bela", "Cleo", "Dora", "Emil", "Fritz")
PARTS = ("login page", "search box", "export", "invoice run", "help text", "mail gateway")
TALK = (
    "{who} looked at the {part} again and found nothing unusual there, so it stays as it is.",
    "Short call with {who} about the {part}; everybody will think about it until next week.",
    "The tests of the {part} ran through, and {who} cleaned up some old comments.",
    "{who} answered three mails of customers who asked how the {part} works.",
)
DECIDED = (
    "Decided: the {part} moves to {what}, because the old one was too slow.",
    "{who} signed the contract with {what}; it runs for two years from now.",
    "We agreed with {who} to release the {part} together with {what}.",
    "The team rejected {what} for the {part}: it costs too much.",
)
THINGS = ("Harbour", "Quill", "Basalt", "Lantern", "Osprey", "Juniper", "Cobalt", "Thistle")


def remember_months(
    memory: hades.Memory, months: int = 6, notes_a_day: int = 14, seed: int = 7
) -> dict[str, list[str]]:
    """Remember them; by month (`2024-01`), the word by which each fact that matters is known."""
    chance, day = random.Random(seed), FIRST_DAY
    planted: dict[str, list[str]] = {}
    end = FIRST_DAY.replace(month=FIRST_DAY.month + months)
    with memory.batch():
        while day < end:
            if day.weekday() < 5:
                for number in range(notes_a_day):
                    who, part = chance.choice(PEOPLE), chance.choice(PARTS)
                    text = chance.choice(TALK).format(who=who, part=part)
                    topic = f"journal/{day:%Y-%m-%d}/{number}"
                    memory.remember(
                        topic, text, valid_from=day + timedelta(hours=8, minutes=number)
                    )
                if day.weekday() == 2:
                    what = f"{chance.choice(THINGS)}{chance.randrange(100, 999)}"
                    planted.setdefault(f"{day:%Y-%m}", []).append(what)
                    text = chance.choice(DECIDED).format(
                        who=chance.choice(PEOPLE), part=chance.choice(PARTS), what=what
                    )
                    memory.remember(
                        f"decisions/{day:%Y-%m-%d}", text, valid_from=day + timedelta(hours=15)
                    )
            day += timedelta(days=1)
    return planted


def said_in(text: str, facts: Iterable[str]) -> float:
    """The share of facts that a text says."""
    wanted = list(facts)
    return sum(fact in text for fact in wanted) / len(wanted)
