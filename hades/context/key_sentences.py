"""Key sentences: the most important sentences of a text, as many as fit."""

from __future__ import annotations

from collections.abc import Sequence

from hades.context.tokens import TokenFamily
from hades.language.english.lexicon import DECISION, NOTABLE


def key_sentences(texts: Sequence[str], family: TokenFamily, at_most: int) -> list[str]:
    """Return the most important sentences, in their order, within `at_most` tokens.

    Decisions come first, then sentences with a number or something that was done, then the earlier
    ones. The best sentence is always returned, even if it is longer: the caller must cut it.
    """
    worth = [2 * bool(DECISION.search(text)) + bool(NOTABLE.search(text)) for text in texts]
    kept: list[int] = []
    for at in sorted(range(len(texts)), key=lambda at: -worth[at]):
        tokens = family.count([texts[at]])[0]
        if not kept or tokens <= at_most:
            kept.append(at)
            at_most -= tokens
    return [texts[at] for at in sorted(kept)]
