"""Statement: an edge in words, with the time for which it held."""

from __future__ import annotations

from datetime import datetime, time, timedelta

from hades.domain.graph import Edge


def statement(edge: Edge) -> str:
    """Return an edge in words: `server/db07 runs on rack 4, since 3 May 2025`.

    An edge recorded before it begins says `from` instead of `since`. A start in the year 1 means
    unknown and is left out.
    """
    words = f"{edge.source} {relation_words(edge.relation)} {edge.target}"
    when = _when(edge)
    return f"{words}, {when}" if when else words


def relation_words(relation: str) -> str:
    """Return a relation in words: `runs_on` as `runs on`."""
    return " ".join(relation.replace("_", " ").replace("-", " ").split())


def _when(edge: Edge) -> str:
    begins = edge.valid_from
    ends = edge.valid_to
    known = begins.year > 1
    if ends is None:
        word = "since" if begins <= edge.recorded_at else "from"
        return f"{word} {day(begins)}" if known else ""
    if not known:
        return f"until {day(ends)}"
    if begins.date() == ends.date():
        return f"on {day(ends)}"
    first = day(begins)
    if begins.year == ends.year:
        first = first.removesuffix(f" {begins.year}")
    return f"from {first} to {day(ends)}"


def day(moment: datetime) -> str:
    """Return the date: `3 May 2025`."""
    return f"{moment.day} {moment:%B} {moment.year}"


def moment_words(moment: datetime) -> str:
    """Return the date, with the time of day unless it is midnight: `3 May 2025 14:30`."""
    return day(moment) + (f" {moment:%H:%M}" if moment.time() != time.min else "")


def window_words(since: datetime, until: datetime) -> str:
    """Return the first and the last day of a window that ends before `until`: `1 to 31 March 2025`.

    A window that does not start and end at midnight is written with its times of day.
    """
    if since.time() != time.min or until.time() != time.min:
        return f"{moment_words(since)} to {moment_words(until)}"
    last = until - timedelta(days=1)
    first = day(since)
    for same in (f" {last.year}", f" {last:%B}"):
        if not first.endswith(same):
            break
        first = first.removesuffix(same)
    return day(last) if since.date() == last.date() else f"{first} to {day(last)}"
