r"""Questions for the connection of two things: "How is Ann connected with Ben?".

To add a rule, add a row to `_ASKED`: the words that join the two names, the pattern whose `<BOTH>`
contains them, and after `#` a question that this row matches and no row before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hades.language.patterns import lazy_pattern

CHARACTERS_READ = 300
"""A longer text is not such a question. The limit keeps the rules fast."""

_ASKED = r"""
and                  ^how <IS> <BOTH> <LINKED>(?: (?:to|with) (?:each other|one another))?$ # How are Ann and Ben related?
<LINKED>_(?:to|with) ^how <IS> <BOTH>$ # How is Ann connected with Ben?
relates?_to          ^how do(?:es)? <BOTH>$ # How does Ann relate to Ben?
and                  ^how do <BOTH> (?:relate|connect)(?: to (?:each other|one another))?$ # How do Ann and Ben relate?
and|with|to          ^what (?:connects|links|joins|ties|relates) <BOTH>$ # What links Ann and Ben?
have_to_do_with      ^what do(?:es)? <BOTH>$ # What does Ann have to do with Ben?
and                  ^<SHOW><LINK> between <BOTH>$ # What is the connection between Ann and Ben?
to                   ^<SHOW>(?:<LINK>|way) from <BOTH>$ # Show the path from Ann to Ben
to|with              ^<SHOW>(?:connections?|links?|relations?|relationships?) of <BOTH>$ # What is the relation of Ann to Ben?
"""  # noqa: E501
"""The words between the two names, a pattern and an example; the first match decides."""
_PARTS = {
    "<IS>": "(?:is|are|was|were)",
    "<LINKED>": "(?:connected|related|linked|joined|tied)",
    "<SHOW>": (
        r"(?:(?:what|which) (?:is|are|was|were) |is there |are there |show |find |give |"
        r"(?:show|give|tell) me )?(?:the |a |an |any )?(?:shortest |best )?"
    ),
    "<LINK>": "(?:connections?|links?|relations?|relationships?|paths?)",
    "<BOTH>": "(?P<both>.{3,250})",
}
_AROUND = "`\"'“”‘’«»,;:"
_ARTICLE = lazy_pattern(r"^(?:the|an?) ", re.IGNORECASE)


class ConnectionRule(NamedTuple):
    """A rule that recognises questions for a connection; `joint` separates the two names."""

    joint: re.Pattern[str]
    pattern: re.Pattern[str]
    example: str

    def pairs(self, asked: str) -> list[tuple[str, str]]:
        """Return the pairs of names in a question, one for each place of the joint."""
        match = self.pattern.search(asked)
        both = match["both"] if match else ""
        ends = [(both[: at.start()], both[at.end() :]) for at in self.joint.finditer(both)]
        return [(first, second) for first, second in ends if first and second]


def _rule(line: str) -> ConnectionRule:
    row, example = line.split(" # ")
    for part, pattern in _PARTS.items():
        row = row.replace(part, pattern)
    joint, rule = row.split(maxsplit=1)
    between = lazy_pattern(rf" (?:{joint.replace('_', ' ')}) ", re.IGNORECASE)
    return ConnectionRule(between, lazy_pattern(rule, re.IGNORECASE), example)


CONNECTION_RULES = tuple(map(_rule, _ASKED.strip().splitlines()))


def connection_asked(question: str) -> list[tuple[str, str]]:
    """Return the pairs of names whose connection a question may ask for; [] for other questions.

    A name may contain the word that joins the two, so there may be several pairs:

    >>> connection_asked("What links Ann and Ben and Jerry's?")
    [('Ann', "Ben and Jerry's"), ('Ann and Ben', "Jerry's")]
    """
    asked = " ".join(question[: CHARACTERS_READ + 1].split()).rstrip(" ?.!")
    if len(asked) > CHARACTERS_READ:
        return []
    return next((pairs for rule in CONNECTION_RULES if (pairs := rule.pairs(asked))), [])


def spellings(name: str) -> Iterator[str]:
    """Yield a name as it was written, then without quotation marks and without its article."""
    plain = name.strip(_AROUND).removesuffix("()")
    yield from dict.fromkeys((name, plain, _ARTICLE.sub("", plain)))
