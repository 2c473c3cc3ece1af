"""Layout: the difference between lines of HADES and stored text; names and times.

Only lines that HADES writes begin at the margin. Stored text is indented by one space, so that it
cannot imitate the head or the end of a passage. A space before a word costs no token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from hades.domain.answer import Passage
from hades.domain.plain import one_line
from hades.domain.quoting import indented, without_controls
from hades.domain.topics import State

EXCERPT_CHARACTERS = 300
"""Length of the beginning of a text that is shown in a list."""

_MORE_THAN_A_NAME = re.compile(r"[@,·\[\]\"]")
"""Characters that separate a name from what follows it in the head of a passage."""
_CITED = re.compile(r"(.+)@(\d{1,18})(?:#(\d{1,18}))?", re.DOTALL)
"""How a version or a passage is cited: the topic, the version, and the number of the passage."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a result's plain text."""

    text: str
    details: tuple[str, ...] = ()
    """Shown after the text, less prominently."""
    style: str = ""
    """`head`, `quiet`, `time` or `warning`; empty: plain."""

    def __str__(self) -> str:
        text = "  ".join(part for part in (self.text, *self.details) if part)
        return one_line(f"Note: {text}" if self.style == "warning" else text)


@dataclass(frozen=True, slots=True)
class TextBody:
    """Several lines of a result's plain text: stored text, or a finished context."""

    text: str
    stored: bool = True

    def __str__(self) -> str:
        return indented(self.text) if self.stored else self.text


PlainText = Iterable[TextLine | TextBody]
Writer = TypeVar("Writer", bound=Callable[..., PlainText])
WRITERS: dict[Any, Callable[..., PlainText]] = {}
"""The functions that write the plain text of a result, by its type."""


def writes(kind: Any) -> Callable[[Writer], Writer]:
    """Return a decorator that registers a function as the writer of results of type `kind`."""

    def declare(writer: Writer) -> Writer:
        WRITERS[kind] = writer
        return writer

    return declare


def joined(lines: PlainText) -> str:
    """Return a result's plain text as a model reads it."""
    return "\n".join(map(str, lines))


def flat(text: str) -> str:
    """Return a text on one line, with single spaces for all white space."""
    return without_controls(" ".join(text.split()))


def quoted(text: str) -> str:
    """Return a stored text on one line in double quotes, so that it is clear where it ends."""
    return json.dumps(flat(text), ensure_ascii=False)


def excerpt(text: str, at_most: int = EXCERPT_CHARACTERS) -> str:
    """Return the first `at_most` characters of a text, with an ellipsis if it is longer."""
    return text if len(text) <= at_most else f"{text[:at_most]}…"


def shown(head: str, text: str) -> str:
    """Return a head line with a stored text below it."""
    return "\n".join(part for part in (head, indented(text)) if part)


def shown_name(name: str) -> str:
    """Return a name on one line, in quotes if it has characters that separate parts of a line."""
    name = flat(name)
    return quoted(name) if _MORE_THAN_A_NAME.search(name) else name


def shown_cite(cite: str) -> str:
    """Return a citation, `topic@2` or `topic@2#0`, with its topic as `shown_name` writes it."""
    topic, *_ = read_cite(cite)
    return shown_name(topic) + cite[len(topic) :]


def read_cite(cite: str) -> tuple[str, int | None, int | None]:
    """Return the topic, version and passage number of a citation; None for parts it lacks."""
    cited = _CITED.fullmatch(cite)
    if cited is None:
        return cite, None, None
    return cited[1], int(cited[2]), None if cited[3] is None else int(cited[3])


def moment(time: datetime | None) -> str:
    """Return a time to the second in UTC, the day alone at midnight, and a dash for none."""
    return "–" if time is None else f"{time:%Y-%m-%d %H:%M:%S}".removesuffix(" 00:00:00")


def since_until(since: datetime, until: datetime | None) -> str:
    """Say from when to when something holds: `since 2024-01-10 until 2024-02-20`."""
    return f"since {moment(since)}" + (f" until {moment(until)}" if until else "")


def held_days(held: State | Passage) -> str:
    """Return the first and last day of a state or passage, or only the first if it holds."""
    until = f" to {held.valid_to:%Y-%m-%d}" if held.valid_to else ""
    return f"{held.valid_from:%Y-%m-%d}{until}"
