"""Patterns that are compiled at first use, so that a command compiles only those it needs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, cast

_METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")


class LazyPattern:
    """A regular expression that is compiled when one of its methods is first used."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    def compiled(self) -> re.Pattern[str]:
        """Compile the pattern and set its methods as attributes, so that later calls are direct."""
        compiled = re.compile(self.pattern, self.flags)
        for method in _METHODS:
            setattr(self, method, getattr(compiled, method))
        return compiled

    def __getattr__(self, name: str) -> Any:
        return getattr(self.compiled(), name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern that is used like the result of `re.compile`."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))


def any_of(words: Iterable[str]) -> str:
    """Return the source of a pattern that matches one of these words, the longest first."""
    return "(?:" + "|".join(sorted(words, key=lambda word: (-len(word), word))) + ")"
