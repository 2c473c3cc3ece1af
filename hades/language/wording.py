"""Names and facts in the words that people say."""

from __future__ import annotations

from hades.language.names import DIGITS
from hades.language.patterns import lazy_pattern

_NAME_JOINTS = lazy_pattern(r"[/_:\-]|\.(?!\d)")


def spoken(name: str) -> str:
    """Return a topic's name as people say it, with spaces for separators.

    >>> spoken("server/db07"), spoken("design/approach_x"), spoken("plan 2.0")
    ('server db07', 'design approach x', 'plan 2.0')
    """
    return " ".join(_NAME_JOINTS.sub(" ", name).split())


def own_heading(topic: str, heading: str) -> str:
    """Return a heading without the topic's name, which precedes the headings of a note.

    >>> own_heading("server/db07", "server db07"), own_heading("server/db07", "server db07 > Disks")
    ('', 'Disks')
    """
    name = spoken(topic)
    return "" if heading == name else heading.removeprefix(f"{name} > ")


def numberless(name: str) -> str:
    """Return a name with every number replaced by 0, so that bug 102 and bug 103 are equal.

    >>> numberless("server/db07"), numberless("Bug 102")
    ('server db0', 'bug 0')
    """
    return DIGITS.sub("0", spoken(name).casefold())


def fact_words(source: str, relation: str, target: str) -> str:
    """Return a fact in the words that are embedded and searched.

    >>> fact_words("server/db07", "runs_on", "rack 4")
    'server db07 runs on: rack 4'
    """
    return f"{spoken(source)} {spoken(relation)}: {spoken(target)}"


def plain_fact(source: str, relation: str, target: str) -> str:
    """Return a fact in plain words, as the reader reads it: names without their folders.

    >>> plain_fact("server/db07", "runs_on", "rack 4")
    'db07 runs on rack 4'
    """
    ends = (spoken(name.rsplit("/", 1)[-1]) for name in (source, target))
    return f" {spoken(relation)} ".join(ends)
