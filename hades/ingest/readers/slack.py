"""Slack exports: a folder for each channel, in it a file for each day.

A channel is a conversation and a day is a session of it. People are called as they
call themselves (`users.json`), also where one mentions another.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hades.ingest.document import Unreadable
from hades.ingest.readers.records import Bad, parse_json, read_records, whole_file
from hades.ingest.readers.turns import Session, Turn, make_turn

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_STAMP = re.compile(r"\d{9,11}\.\d{1,9}")
_SPOKEN_SUBTYPES = frozenset({None, "bot_message", "me_message", "thread_broadcast", "file_share"})
"""The others say that somebody came, left or renamed something."""
_REFERENCE = re.compile(r"<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>")


def looks_like_export(folder: Path) -> bool:
    """Whether the folder is an export, or one channel of it."""
    if not (folder / "users.json").is_file() and not (folder.parent / "users.json").is_file():
        return False
    return bool(_days(folder)) or any(_days(channel) for channel in _channels(folder))


def is_message(value: dict[str, Any]) -> bool:
    """Whether this is a message in a day's file."""
    stamp = value.get("ts")
    return (
        value.get("type") == "message" and isinstance(stamp, str) and bool(_STAMP.fullmatch(stamp))
    )


def folder(path: Path) -> Iterator[Session | Bad]:
    """Every day of every channel below an export's folder, or of one channel's."""
    users = _users(path)
    for channel in [path] if _days(path) else _channels(path):
        for day in _days(channel):
            yield from _day(day, users)


def day_file(path: Path) -> Iterator[Session | Bad]:
    """One day of a channel."""
    yield from _day(path, _users(path.absolute().parent))


def _channels(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if child.is_dir() and not child.is_symlink())


def _days(folder: Path) -> list[Path]:
    return sorted(child for child in folder.iterdir() if _DAY.fullmatch(child.name))


def _day(path: Path, users: Mapping[str, str]) -> Iterator[Session | Bad]:
    turns: list[tuple[float, Turn]] = []
    try:
        for record in read_records(path):
            if isinstance(record, Bad):
                yield record
            elif is_message(record.fields) and record.fields.get("subtype") in _SPOKEN_SUBTYPES:
                turn = _turn(record.fields, users)
                if turn is not None:
                    turns.append((float(record.fields["ts"]), turn))
    except Unreadable as error:
        yield Bad(str(path), str(error))
        return
    if turns:
        turns.sort(key=lambda timed: timed[0])
        channel = path.absolute().parent.name
        yield Session(str(path), channel, tuple(turn for _, turn in turns), path.stem)


def _turn(message: dict[str, Any], users: Mapping[str, str]) -> Turn | None:
    text = message.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    profile = message.get("user_profile")
    own = _called(profile) if isinstance(profile, dict) else None
    sender = message.get("user") or message.get("bot_id")
    name = users.get(str(sender)) or own or message.get("username") or sender
    if not isinstance(name, str) or not name.strip():
        return None
    return make_turn(name, _plain(text, users), message["ts"], message["ts"])


def _plain(text: str, users: Mapping[str, str]) -> str:
    """Slack's markup as people read it: `<@U1>` is `@Ann`, `<url|words>` is `words (url)`."""

    def replace(match: re.Match[str]) -> str:
        sign, target, label = match.groups()
        if sign == "@":
            return "@" + (label or users.get(target) or target)
        if sign:
            return sign.replace("!", "@") + (label or target)
        return f"{label} ({target})" if label and label != target else target

    return html.unescape(_REFERENCE.sub(replace, text))


def _users(folder: Path) -> dict[str, str]:
    """Names by id; without the list people keep their ids."""
    for place in (folder, folder.parent):
        path = place / "users.json"
        if path.is_file():
            try:
                listed = parse_json(whole_file(path))
            except (ValueError, RecursionError) as error:
                raise Unreadable(f"{path} is not JSON: {error}.") from error
            people = (
                [user for user in listed if isinstance(user, dict)]
                if isinstance(listed, list)
                else []
            )
            return {str(user.get("id")): name for user in people if (name := _called(user))}
    return {}


def _called(user: dict[str, Any]) -> str | None:
    profile = user.get("profile")
    places = (profile if isinstance(profile, dict) else {}, user)
    for field in ("real_name", "display_name", "name"):
        for place in places:
            name = place.get(field)
            if isinstance(name, str) and name.strip():
                return name.strip()
    return None
