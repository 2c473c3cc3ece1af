"""Follow-up questions, which are read with the last question that stands alone."""

from __future__ import annotations

from collections.abc import Sequence

from hades.language.english.question_terms import refers

CONTEXT_CHARACTERS = 200
"""The most characters of the earlier question that are read with a follow-up question."""


def in_context(question: str, turns: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the text to search for, and the turns to search beside it.

    A follow-up question is joined with the last question of the turns that stands alone; only the
    turns after that one are returned. Any other question is returned unchanged, with all turns.

    >>> in_context("And when did she join?", ["Who is Maya Lind?", "Maya Lind leads sales."])
    ('And when did she join? (Who is Maya Lind)', ['Maya Lind leads sales.'])
    """
    if not turns or not refers(question):
        return question, turns
    asked = [at for at, turn in enumerate(turns) if turn.rstrip().endswith("?")] or [len(turns) - 1]
    alone = next((at for at in reversed(asked) if not refers(turns[at])), asked[-1])
    before = turns[alone][:CONTEXT_CHARACTERS].rstrip(" ?")
    return f"{question} ({before})", turns[alone + 1 :]
