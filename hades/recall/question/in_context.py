"""A question that refers to what was said before, read with the last question that stands alone."""

from __future__ import annotations

from collections.abc import Sequence

from hades.language.english.question_terms import refers

CONTEXT_CHARACTERS = 200
"""The beginning of an earlier question that is read with the one that refers to it."""


def in_context(question: str, turns: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the text to search for, and the turns after the one that it is read with.

    >>> in_context("And when did she join?", ["Who is Maya Lind?", "Maya Lind leads sales."])
    ('And when did she join? (Who is Maya Lind)', ['Maya Lind leads sales.'])
    """
    if not turns or not refers(question):
        return question, turns
    asked = [at for at, turn in enumerate(turns) if turn.rstrip().endswith("?")] or [len(turns) - 1]
    alone = next((at for at in reversed(asked) if not refers(turns[at])), asked[-1])
    before = turns[alone][:CONTEXT_CHARACTERS].rstrip(" ?")
    return f"{question} ({before})", turns[alone + 1 :]
