"""Chats between people: Slack exports and WhatsApp text exports, one session per day."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hades.ingest.document import Bad, Unreadable
from hades.ingest.readers.chat_exports import ChatSession, ChatTurn, Gathered, Sessions, make_turn
from hades.ingest.readers.records import Record, converted, parse_json, read_records, whole_file

# Slack: one folder per channel, with one file per day

_DAY_FILE = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_SLACK_STAMP = re.compile(r"\d{9,11}\.\d{1,9}")
_SPOKEN_SUBTYPES = (None, "bot_message", "me_message", "thread_broadcast", "file_share")
"""Other subtypes report that somebody joined, left or renamed something."""
_SLACK_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def is_slack_folder(folder: Path) -> bool:
    """Return whether the folder is a Slack export, or one channel of it."""
    if not (folder / "users.json").is_file() and not (folder.parent / "users.json").is_file():
        return False
    return bool(_days(folder)) or any(_days(channel) for channel in _channels(folder))


def is_slack_message(value: dict[str, Any]) -> bool:
    """Return whether a record is a Slack message."""
    stamp = value.get("ts")
    is_stamp = isinstance(stamp, str) and bool(_SLACK_STAMP.fullmatch(stamp))
    return value.get("type") == "message" and is_stamp


def slack_folder(path: Path) -> Sessions:
    """Yield a session for each day of each channel of an export, or of one channel."""
    users = _users(path)
    for channel in [path] if _days(path) else _channels(path):
        for day in _days(channel):
            yield from _slack_day(day, users)


def slack_day(path: Path) -> Sessions:
    """Yield the session of one day of a channel, and a Bad for each invalid record."""
    yield from _slack_day(path, _users(path.absolute().parent))


def _channels(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if child.is_dir() and not child.is_symlink())


def _days(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if _DAY_FILE.fullmatch(child.name))


def _slack_day(path: Path, users: Mapping[str, str]) -> Sessions:
    """Yield a day of a channel as one session, if it has turns; `users` are names by id."""
    turns: list[tuple[float, ChatTurn]] = []

    def gather(record: Record) -> None:
        message = record.fields
        is_spoken = is_slack_message(message) and message.get("subtype") in _SPOKEN_SUBTYPES
        if is_spoken and (turn := _slack_turn(message, users)):
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
    """Replace the markup of Slack: `<@U1>` by `@Ann`, `<url|words>` by `words (url)`."""

    def shown(match: re.Match[str]) -> str:
        sign, target, label = match.groups()
        if sign == "@":
            return "@" + (label or users.get(target) or target)
        if sign:
            return sign.replace("!", "@") + (label or target)
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_SLACK_REFERENCE.sub(shown, text))


def _users(folder: Path) -> dict[str, str]:
    """Return the names of users by id, from users.json here or one folder up; {} without it."""
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


# WhatsApp: one line per message, in the date format of the exporting phone

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


def is_whatsapp(path: Path, text: str) -> bool:
    """Return whether a file that begins with `text` is a WhatsApp chat (lines with times)."""
    lines = text.translate(_DIRECTION_MARKS).split("\n")[:50]
    stamps = [stamp for line in lines if (stamp := _WHATSAPP_LINE.match(line))]
    # Logs have times too, but no comma. Some languages omit it, so the file name may decide.
    if "whatsapp" not in path.name.lower():
        stamps = [stamp for stamp in stamps if stamp["comma"]]
    return len(stamps) >= 2 and any(_SPEAKER.match(stamp["text"]) for stamp in stamps)


def whatsapp(path: Path) -> Sessions:
    """Yield each day of the chat as a session.

    A date begins with the year if that has four digits, else with the day, unless some date of the
    file is only possible with the month first.
    """
    name = re.sub(r"(?i)^whatsapp chat (?:with|-) ", "", path.stem)
    if name.startswith("_chat"):
        name = path.absolute().parent.name
    sent = _whatsapp_messages(path)
    month_first = any(re.match(r"\d{1,2}.(1[3-9]|[23]\d)\b", date) for _, date, _, _ in sent)
    # A message that arrived late may be among those of the next day, so all are gathered first.
    gathered = Gathered()
    for line, date, clock, text in sent:
        spoken = _SPEAKER.match(text)
        if spoken and spoken[2].strip() and not _LEFT_OUT.fullmatch(spoken[2].strip()):
            day = _day(date, month_first)
            turn = make_turn(spoken[1], spoken[2], f"{day} {clock}")
            gathered.of(f"{path}, line {line}", name, day).append(turn)
    yield from gathered.sessions()


def _whatsapp_messages(path: Path) -> list[tuple[int, str, str, str]]:
    """Return line, date, clock and text of each message; lines without a time continue the last."""
    try:
        text = whole_file(path).decode()
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path} is not UTF-8 after byte {error.start}.") from error
    sent: list[tuple[int, str, str, list[str]]] = []
    lines = text.translate(_DIRECTION_MARKS).replace("\r\n", "\n").split("\n")
    for number, line in enumerate(lines, 1):
        if stamp := _WHATSAPP_LINE.match(line):
            clock = re.sub(r"(?<=\d)\.(?=\d)", ":", stamp["clock"].lower())
            clock = re.sub(r" ?([ap])\.? ?m\.?", r" \1m", clock)
            sent.append((number, stamp["date"], clock, [stamp["text"]]))
        elif sent:
            sent[-1][3].append(line)
    return [(number, date, clock, "\n".join(parts)) for number, date, clock, parts in sent]


def _day(date: str, month_first: bool) -> str:
    first, second, third = re.split(r"[./-]", date)
    if len(first) == 4:
        return f"{first}-{second:0>2}-{third:0>2}"
    day, month = (second, first) if month_first else (first, second)
    return f"{third if len(third) == 4 else '20' + third}-{month:0>2}-{day:0>2}"
