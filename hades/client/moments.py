"""Times on their way to a server: what is fixed is sent as such, words as they were said.

The server's clock tells what `yesterday` is, as it tells when something was recorded: two
machines need not agree on the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hades.domain.times import AsOf, TimeLike, iso, parse_time

_ONE_TIME, _ANOTHER = 10**15, 11 * 10**14
"""Two moments, in microseconds since 1970: a time that is the same seen from both is fixed."""


@dataclass(frozen=True, slots=True)
class Said:
    """A time as it is sent."""

    text: str
    fixed: datetime | None
    """None: it depends on what time it is."""


def said(time: TimeLike) -> Said:
    """A time somebody gave; InvalidInput when it is none."""
    first = parse_time(time, _ONE_TIME)
    if isinstance(time, str) and parse_time(time, _ANOTHER) != first:
        return Said(time, None)
    return Said(iso(first), first)


def sent(time: TimeLike | None) -> str | None:
    """A time, where one was given, as a server reads it."""
    return None if time is None else said(time).text


def sent_as_of(as_of: AsOf) -> dict[str, str]:
    """A view's moment, as every page that reads takes it."""
    times = {"as_of": as_of.valid, "known_at": as_of.known}
    return {name: iso(time) for name, time in times.items() if time is not None}
