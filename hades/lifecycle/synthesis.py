"""Synthesis: which sentences of a topic's versions still hold, and which a later one replaced.

Every sentence either holds, was replaced, or is repeated in a later version. None is made up.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from hades.domain.promotion import Side
from hades.domain.topics import State
from hades.language.english.replacement import facts_of, repeats, replaces, said_words, share_words
from hades.language.names import name_key, says
from hades.language.sentences import plain_sentence, sentences
from hades.language.words import words

SENTENCES_AT_MOST = 100
"""Sentences read of one text."""


def sentences_of(content: str, source: str, confidence: float, since: datetime) -> list[Side]:
    """Return the sentences of a text, without list marks and duplicates."""
    sides: dict[str, Side] = {}
    for sentence in sentences(content, SENTENCES_AT_MOST):
        text = plain_sentence(sentence)
        if words(text):
            sides.setdefault(name_key(text), Side(text, source, confidence, since))
    return list(sides.values())


def sentences_of_state(state: State) -> list[Side]:
    """Return the sentences of a state once each, with its citation, confidence and start."""
    return sentences_of(state.content, state.id, state.confidence, state.valid_from)


def compare_versions(
    topic: str, trace: Sequence[State], reason: Sequence[Side], over: Sequence[Side]
) -> tuple[list[Side], list[tuple[Side, Side]]]:
    """Return the sentences that hold, newest first, and (replaced, replacement) pairs.

    `trace` has the versions, oldest first. A sentence is replaced by one of a later version, by one
    of `reason`, or by an obstacle of `over` that has gone since: "rejected due to bug Y" ends when
    bug Y does. A sentence that a later version repeats is left out; the later one counts instead.
    """
    versions = [sentences_of_state(state) for state in trace]
    holds: list[Side] = []
    changed = []
    for at in reversed(range(len(versions))):
        later = [side for version in versions[at + 1 :] for side in version]
        for sentence in versions[at]:
            words = said_words(sentence.text)
            near = [  # the comparison below is slow, and most sentences share no word
                side
                for side in (*later, *reason)
                if not words or words & said_words(side.text) or facts_of(side.text, topic)
            ]
            if any(repeats(side.text, sentence.text, topic) for side in near if side not in reason):
                continue
            replacing = [side for side in near if replaces(side.text, sentence.text, topic)]
            replacing += [
                side
                for side in over
                if sentence.since < side.since and says(sentence.text, side.text)
            ]
            replacing.sort(key=lambda side: (side.since, -share_words(side.text, sentence.text)))
            if replacing:  # the sentence held until the earliest of them
                changed.append((sentence, replacing[0]))
            else:
                holds.append(sentence)
    return holds, changed[::-1]
