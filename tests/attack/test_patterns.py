"""No text, whoever wrote it, makes a pattern of the package slow: the work grows with its length.

Steps are counted, not seconds, on the likely shapes of each pattern. Every run tries the patterns
that are new or changed since `patterns_tried.txt` was written; `make test-all` tries all of them,
and `make attack` more shapes, and the clock too.
"""

from __future__ import annotations

import re

import pytest

from tests.attack.patterns import every_pattern, new_patterns, short_attack
from tests.attack.steps import Counter

PARTS = 8


def test_the_steps_of_a_new_pattern_grow_with_the_text_alone() -> None:
    assert [wrong for found in new_patterns() for wrong in short_attack(found)] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_steps_of_every_pattern_grow_with_the_text_alone(part: int) -> None:
    patterns = every_pattern()[part::PARTS]
    assert [wrong for found in patterns for wrong in short_attack(found)] == []


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s+$", "search"),
        (r"(?:a+)+b", "match"),
        (r"(?:ab?|b)*!", "match"),
        (r"\w*\d\w*", "fullmatch"),
        (r"<(\w+)>.*?</\1>", "search"),
        (r"^\s*(?:class\b|using\b)", "search"),
        (r"^is\b.*\bor\b.*\bmore\b", "match"),
    ],
)
def test_what_blows_up_is_seen(pattern: str, use: str) -> None:
    flags = re.MULTILINE if pattern.startswith(r"^\s") else 0
    assert Counter(re.compile(pattern, flags)).grows(use) is not None
