"""Ignore files, with the rules of git.

A line becomes a regular expression that never backtracks: after a star, the first place where the
next piece fits is final. So matching is fast even for a hostile line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

LINE_CHARACTERS_AT_MOST = 4_096
"""The longest path of the system; a longer line matches no path."""
_TOKEN = re.compile(r"\*+|\?|\[[!^]?\]?[^\]]{0,200}\]|\\.|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """One line of an ignore file."""

    ignores: bool
    """False if the line begins with `!` and cancels earlier lines."""
    only_folders: bool
    fits: re.Pattern[str]


def read_rules(lines: Iterable[str]) -> list[IgnoreRule]:
    """Return the rules of an ignore file, in order, without comments and invalid lines."""
    return [rule for line in lines if (rule := _rule(line)) is not None]


def is_ignored(rules: list[IgnoreRule], path: str, is_folder: bool) -> bool | None:
    """Return whether the last rule that matches a path ignores it, or None if no rule matches.

    >>> is_ignored(read_rules(["*.log", "!keep.log"]), "a/keep.log", False)
    False
    """
    for rule in reversed(rules):
        if (is_folder or not rule.only_folders) and rule.fits.match(path):
            return rule.ignores
    return None


def _rule(line: str) -> IgnoreRule | None:
    if not line.endswith("\\ "):
        line = line.rstrip()
    if line.startswith("#") or len(line) > LINE_CHARACTERS_AT_MOST:
        return None
    ignores = not line.startswith("!")
    glob = line[0 if ignores else 1 :]
    path = glob.removesuffix("/")
    if not path.strip("/"):
        return None
    at_any_depth = "/" not in path
    try:
        fits = re.compile(_expression(f"**/{path}" if at_any_depth else path.removeprefix("/")))
    except re.error:
        return None  # a range such as [z-a] matches nothing
    return IgnoreRule(ignores, path != glob, fits)


def _expression(path: str) -> str:
    """Return a regular expression for a glob with slashes; `**` is any number of folders."""
    *folders, last = path.split("/")
    text = ""
    close = ""
    for name in folders:
        if name == "**":
            text = f"{text}{close}(?>(?:[^/]++/)*?"
            close = ")"
        else:
            text += _name(name) + "/"
    return text + (".+" if last == "**" else _name(last) + r"\Z") + close


def _name(glob: str) -> str:
    """Return a regular expression for a glob of one file or folder name."""
    pieces = [""]
    widths = [0]
    for token in _TOKEN.findall(glob):
        if token[0] == "*":
            pieces.append("")
            widths.append(0)
            continue
        if token in ("[", "\\"):
            return "(?!)"  # not closed: it matches nothing
        widths[-1] += 1
        if token == "?":
            pieces[-1] += "[^/]"
        elif token[0] == "[":
            negated = token[1] in "!^"
            members = "".join(c if c == "-" else re.escape(c) for c in token[1 + negated : -1])
            pieces[-1] += f"(?!/)[{'^' * negated}{members}]"
        else:
            pieces[-1] += re.escape(token[-1])
    first, *middle = pieces
    if not middle:
        return first
    *middle, last = middle
    between = "".join(f"(?>[^/]*?{piece})" for piece in middle)
    # The last piece is at the end of the name, behind the text that was already matched.
    return f"{first}{between}(?=[^/]{{{widths[-1]}}})[^/]*+(?<={last})"
