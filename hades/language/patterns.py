"""Patterns that are compiled at first use, so that a command pays only for those it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class LazyPattern:
    """A regular expression that is compiled when one of its methods is first asked for."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def compiled(self) -> re.Pattern[str]:
        """The compiled pattern; its methods become attributes, so later calls cost nothing."""
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return compiled

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled(), name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """A pattern to be used like that of `re.compile`."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))


def any_of(words: Iterable[str]) -> str:
    """The source of a pattern that matches one of these words, the longest first."""
    return "(?:" + "|".join(sorted(words, key=lambda word: (-len(word), word))) + ")"
