"""WhatsApp text exports: a line a message, in the date form of whoever exported it.

Days and months come in either order. The file itself tells which: a number above
twelve, or the one order in which time does not run backwards. Where both remain
possible, times stay as they are written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from hades.ingest.document import Unreadable
from hades.ingest.readers.records import Bad, whole_file
from hades.ingest.readers.turns import Session, Turn, make_turn

_STAMP = re.compile(
    r"\[?(?P<date>\d{1,4}([./-])\d{1,2}\2\d{1,4})(?P<comma>,?) "
    r"(?P<clock>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[apAP]\.? ?[mM]\.?)?)"
    r"(?:\]| -) (?P<text>.*)",
    re.DOTALL,
)
_MARKS = str.maketrans({"\u200e": "", "\u200f": "", "\u202f": " ", "\u00a0": " ", "\ufeff": ""})
_SPEAKER = re.compile(r"([^:\n]{1,80}?): (.*)", re.DOTALL)
_LEFT_OUT = re.compile(r"<[^<>]* omitted>|\w+ omitted", re.IGNORECASE)
_DAY_FIRST, _MONTH_FIRST, _YEAR_FIRST = (2, 1, 0), (2, 0, 1), (0, 1, 2)
"""Where year, month and day stand: 31/12/2023, 12/31/2023, 2023/12/31."""

_Order = tuple[int, int, int]


@dataclass(slots=True)
class _Message:
    line: int
    date: str
    clock: str
    text: str


def looks_like_export(path: Path, text: str) -> bool:
    """Whether a text starts like an export: stamped lines, one of them with a speaker."""
    if path.suffix.lower() != ".txt":
        return False
    lines = text.translate(_MARKS).split("\n")[:50]
    stamps = [stamp for line in lines if (stamp := _STAMP.match(line))]
    # Logs have stamps as well, but not the comma; some languages leave it out here too.
    if "whatsapp" not in path.name.lower():
        stamps = [stamp for stamp in stamps if stamp["comma"]]
    return len(stamps) >= 2 and any(_SPEAKER.match(stamp["text"]) for stamp in stamps)


def sessions(path: Path) -> Iterator[Session | Bad]:
    """Every day of the chat as a session."""
    messages = _messages(path)
    order = _order([message.date for message in messages])
    name = re.sub(r"(?i)^whatsapp chat (?:with|-) ", "", path.stem)
    if name.startswith("_chat"):
        name = path.absolute().parent.name
    # Gathered first: a message that came late may stand among those of the next day.
    days: dict[str, tuple[int, list[Turn]]] = {}
    for message in messages:
        day = _day(message.date, order) if order else None
        turn = _turn(message, day)
        if turn is not None:
            session = day.isoformat() if day else re.sub(r"[./]", "-", message.date)
            days.setdefault(session, (message.line, []))[1].append(turn)
    for session, (line, turns) in days.items():
        yield Session(f"{path}, line {line}", name, tuple(turns), session)


def _messages(path: Path) -> list[_Message]:
    """Stamped lines, each with the lines after it that have no stamp."""
    try:
        text = whole_file(path).decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path} is not UTF-8 after byte {error.start}.") from error
    messages: list[_Message] = []
    for number, line in enumerate(text.translate(_MARKS).replace("\r\n", "\n").split("\n"), 1):
        if stamp := _STAMP.match(line):
            messages.append(_Message(number, stamp["date"], stamp["clock"], stamp["text"]))
        elif messages:
            messages[-1].text += "\n" + line
    return messages


def _turn(message: _Message, day: date | None) -> Turn | None:
    said = _SPEAKER.match(message.text)
    if said is None or not said[2].strip() or _LEFT_OUT.fullmatch(said[2].strip()):
        return None
    clock = re.sub(r"(?<=\d)\.(?=\d)", ":", message.clock.lower())
    clock = re.sub(r" ?([ap])\.? ?m\.?", r" \1m", clock)
    return make_turn(said[1], said[2], f"{day or message.date} {clock}")


def _order(dates: Sequence[str]) -> _Order | None:
    """The one order of day and month that fits every date of the file, if there is one."""
    fitting = []
    for order in (_DAY_FIRST, _MONTH_FIRST, _YEAR_FIRST):
        days = [_day(written, order) for written in dates]
        known = [day for day in days if day is not None]
        if len(known) == len(days):
            fitting.append((order, known))
    if len(fitting) > 1 and any("." in written for written in dates[:1]):
        return _DAY_FIRST
    forward = [(order, days) for order, days in fitting if days == sorted(days)]
    remaining = forward or fitting
    same = all(days == remaining[0][1] for _, days in remaining)
    return remaining[0][0] if remaining and same else None


def _day(written: str, order: _Order) -> date | None:
    parts = re.split(r"[./-]", written)
    year, month, day = (parts[place] for place in order)
    if len(year) not in (2, 4) or len(month) > 2 or len(day) > 2:
        return None
    # Two digits come last in every form WhatsApp writes, so they are not a year at the front.
    if len(year) == 2 and order == _YEAR_FIRST:
        return None
    try:
        return date(int(year) + (2000 if len(year) == 2 else 0), int(month), int(day))
    except ValueError:
        return None
