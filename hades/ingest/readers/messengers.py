"""Chats between people: Slack exports and WhatsApp text exports, a session a day."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from hades.ingest.document import Unreadable
from hades.ingest.readers.chat_exports import ChatSession, ChatTurn, Sessions, make_turn
from hades.ingest.readers.records import (
    Bad,
    Record,
    converted,
    parse_json,
    read_records,
    whole_file,
)

# Slack: a folder for each channel, in it a file for each day

_DAY_FILE = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_SLACK_STAMP = re.compile(r"\d{9,11}\.\d{1,9}")
_SPOKEN_SUBTYPES = frozenset({None, "bot_message", "me_message", "thread_broadcast", "file_share"})
"""The others say that somebody came, left or renamed something."""
_SLACK_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def is_slack_folder(folder: Path) -> bool:
    """Whether the folder is an export, or one channel of it."""
    if not (folder / "users.json").is_file() and not (folder.parent / "users.json").is_file():
        return False
    return bool(_days(folder)) or any(_days(channel) for channel in _channels(folder))


def is_slack_message(value: dict[str, Any]) -> bool:
    """Whether this is a message in a day's file."""
    stamp = value.get("ts")
    is_stamp = isinstance(stamp, str) and bool(_SLACK_STAMP.fullmatch(stamp))
    return value.get("type") == "message" and is_stamp


def slack_folder(path: Path) -> Sessions:
    """Every day of every channel below an export's folder, or of one channel's."""
    users = _users(path)
    for channel in [path] if _days(path) else _channels(path):
        for day in _days(channel):
            yield from _slack_day(day, users)


def slack_day(path: Path) -> Sessions:
    """One day of a channel."""
    yield from _slack_day(path, _users(path.absolute().parent))


def _channels(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if child.is_dir() and not child.is_symlink())


def _days(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if _DAY_FILE.fullmatch(child.name))


def _slack_day(path: Path, users: Mapping[str, str]) -> Sessions:
    """A channel is a conversation, a day a session of it."""
    turns: list[tuple[float, ChatTurn]] = []

    def gather(record: Record) -> None:
        message = record.fields
        if is_slack_message(message) and message.get("subtype") in _SPOKEN_SUBTYPES:
            turn = _slack_turn(message, users)
            if turn is not None:
                turns.append((float(message["ts"]), turn))

    try:
        yield from converted(read_records(path), gather)
    except Unreadable as error:
        yield Bad(str(path), str(error))
        return
    if turns:
        turns.sort(key=lambda timed: timed[0])
        channel = path.absolute().parent.name
        yield ChatSession(str(path), channel, tuple(turn for _, turn in turns), path.stem)


def _slack_turn(message: dict[str, Any], users: Mapping[str, str]) -> ChatTurn | None:
    text = message.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    sender = message.get("user") or message.get("bot_id")
    own = _called(message.get("user_profile"))
    name = users.get(str(sender)) or own or message.get("username") or sender
    if not isinstance(name, str) or not name.strip():
        return None
    return make_turn(name, _slack_text(text, users), message["ts"], message["ts"])


def _slack_text(text: str, users: Mapping[str, str]) -> str:
    """Slack's markup as people read it: `<@U1>` is `@Ann`, `<url|words>` is `words (url)`."""

    def shown(match: re.Match[str]) -> str:
        sign, target, label = match.groups()
        if sign == "@":
            return "@" + (label or users.get(target) or target)
        if sign:
            return sign.replace("!", "@") + (label or target)
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_SLACK_REFERENCE.sub(shown, text))


def _users(folder: Path) -> dict[str, str]:
    """Names by id, as people call themselves; without the list they keep their ids."""
    paths = (place / "users.json" for place in (folder, folder.parent))
    path = next(filter(Path.is_file, paths), None)
    if path is None:
        return {}
    try:
        listed = parse_json(whole_file(path))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{path} is not JSON: {error}.") from error
    people = listed if isinstance(listed, list) else []
    return {str(user["id"]): name for user in people if (name := _called(user)) and "id" in user}


def _called(user: object) -> str | None:
    if not isinstance(user, dict):
        return None
    profile = user.get("profile")
    places = (profile if isinstance(profile, dict) else {}, user)
    for field in ("real_name", "display_name", "name"):
        for place in places:
            name = place.get(field)
            if isinstance(name, str) and name.strip():
                return name.strip()
    return None


# WhatsApp: a line a message, in the date form of whoever exported it

_WHATSAPP_LINE = re.compile(
    r"\[?(?P<date>\d{1,4}([./-])\d{1,2}\2\d{1,4})(?P<comma>,?) "
    r"(?P<clock>\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?: ?[apAP]\.? ?[mM]\.?)?)"
    r"(?:\]| -) (?P<text>.*)",
    re.DOTALL,
)
_DIRECTION_MARKS = str.maketrans(
    {"\u200e": "", "\u200f": "", "\u202f": " ", "\u00a0": " ", "\ufeff": ""}
)
_SPEAKER = re.compile(r"([^:\n]{1,80}?): (.*)", re.DOTALL)
_LEFT_OUT = re.compile(r"<[^<>]* omitted>|\w+ omitted", re.IGNORECASE)
_DateOrder = tuple[int, int, int]
_DAY_FIRST, _MONTH_FIRST, _YEAR_FIRST = (2, 1, 0), (2, 0, 1), (0, 1, 2)
"""Where year, month and day stand: 31/12/2023, 12/31/2023, 2023/12/31."""


@dataclass(slots=True)
class _WhatsAppMessage:
    line: int
    date: str
    clock: str
    text: str


def is_whatsapp(path: Path, text: str) -> bool:
    """Whether a text starts like an export: stamped lines, one of them with a speaker."""
    if path.suffix.lower() != ".txt":
        return False
    lines = text.translate(_DIRECTION_MARKS).split("\n")[:50]
    stamps = [stamp for line in lines if (stamp := _WHATSAPP_LINE.match(line))]
    # Logs have stamps as well, but not the comma; some languages leave it out here too.
    if "whatsapp" not in path.name.lower():
        stamps = [stamp for stamp in stamps if stamp["comma"]]
    return len(stamps) >= 2 and any(_SPEAKER.match(stamp["text"]) for stamp in stamps)


def whatsapp(path: Path) -> Sessions:
    """Every day of the chat as a session."""
    found = _whatsapp_messages(path)
    order = _date_order([message.date for message in found])
    name = re.sub(r"(?i)^whatsapp chat (?:with|-) ", "", path.stem)
    if name.startswith("_chat"):
        name = path.absolute().parent.name
    # Gathered first: a message that came late may stand among those of the next day.
    days: dict[str, tuple[int, list[ChatTurn]]] = {}
    for message in found:
        day = _date(message.date, order) if order else None
        turn = _whatsapp_turn(message, day)
        if turn is not None:
            session = day.isoformat() if day else re.sub(r"[./]", "-", message.date)
            days.setdefault(session, (message.line, []))[1].append(turn)
    for session, (line, turns) in days.items():
        yield ChatSession(f"{path}, line {line}", name, tuple(turns), session)


def _whatsapp_messages(path: Path) -> list[_WhatsAppMessage]:
    """Stamped lines, each with the lines after it that have no stamp."""
    try:
        text = whole_file(path).decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path} is not UTF-8 after byte {error.start}.") from error
    found: list[_WhatsAppMessage] = []
    lines = text.translate(_DIRECTION_MARKS).replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if stamp := _WHATSAPP_LINE.match(line):
            found.append(_WhatsAppMessage(number, stamp["date"], stamp["clock"], stamp["text"]))
        elif found:
            found[-1].text += "\n" + line
    return found


def _whatsapp_turn(message: _WhatsAppMessage, day: date | None) -> ChatTurn | None:
    said = _SPEAKER.match(message.text)
    if said is None or not said[2].strip() or _LEFT_OUT.fullmatch(said[2].strip()):
        return None
    clock = re.sub(r"(?<=\d)\.(?=\d)", ":", message.clock.lower())
    clock = re.sub(r" ?([ap])\.? ?m\.?", r" \1m", clock)
    return make_turn(said[1], said[2], f"{day or message.date} {clock}")


def _date_order(dates: Sequence[str]) -> _DateOrder | None:
    """The one order of day and month that fits every date of the file, if there is one.

    The file itself tells which: a number above twelve, or the one order in which time does
    not run backwards. Where both remain possible, times stay as they are written.
    """
    fitting = []
    for order in (_DAY_FIRST, _MONTH_FIRST, _YEAR_FIRST):
        days = [day for written in dates if (day := _date(written, order)) is not None]
        if len(days) == len(dates):
            fitting.append((order, days))
    if len(fitting) > 1 and any("." in written for written in dates[:1]):
        return _DAY_FIRST
    remaining = [(order, days) for order, days in fitting if days == sorted(days)] or fitting
    same = all(days == remaining[0][1] for _, days in remaining)
    return remaining[0][0] if remaining and same else None


def _date(written: str, order: _DateOrder) -> date | None:
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
