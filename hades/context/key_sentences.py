"""Key sentences: those of a text that say most, as many as fit."""

from __future__ import annotations

from collections.abc import Sequence

from hades.context.tokens import TokenFamily
from hades.language.english.notable import DECISION, NOTABLE


def key_sentences(texts: Sequence[str], family: TokenFamily, at_most: int) -> list[str]:
    """The sentences that say most, in their order, within so many tokens.

    Decisions come first, then what has a number or tells of something that was done, then what
    stands first. The best is always there: where it is longer, it has to be cut.
    """
    worth = [2 * bool(DECISION.search(one)) + bool(NOTABLE.search(one)) for one in texts]
    kept: list[int] = []
    for at in sorted(range(len(texts)), key=lambda at: -worth[at]):
        tokens = family.count([texts[at]])[0]
        if not kept or tokens <= at_most:
            kept.append(at)
            at_most -= tokens
    return [texts[at] for at in sorted(kept)]
