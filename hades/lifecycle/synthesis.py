"""Synthesis: which sentences of a topic's versions hold, and which a later one replaced.

Every sentence of the versions either holds or changed; none is left out silently, none is made up.
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
"""Of one text that are read."""


def sentences_of(content: str, source: str, confidence: float, since: datetime) -> list[Side]:
    """The sentences of a text, without list marks, each once."""
    found: dict[str, Side] = {}
    for one in sentences(content, SENTENCES_AT_MOST):
        text = plain_sentence(one)
        if words(text):
            found.setdefault(name_key(text), Side(text, source, confidence, since))
    return list(found.values())


def sentences_of_state(state: State) -> list[Side]:
    """The sentences of a state."""
    return sentences_of(state.content, state.id, state.confidence, state.valid_from)


def compare_versions(
    topic: str, trace: Sequence[State], reason: Sequence[Side], over: Sequence[Side]
) -> tuple[list[Side], list[tuple[Side, Side]]]:
    """What holds, the newest first, and what changed: each earlier sentence with the later one.

    `over` has the names of what is no longer in the way: an earlier sentence that names one
    ("rejected due to bug Y") does not hold any more.
    """
    versions = [sentences_of_state(state) for state in trace]
    holds: list[Side] = []
    changed = []
    for at in reversed(range(len(versions))):
        later = [one for version in versions[at + 1 :] for one in version]
        for sentence in versions[at]:
            words = said_words(sentence.text)
            near = [  # most have nothing to do with it
                one
                for one in (*later, *reason)
                if not words or words & said_words(one.text) or facts_of(one.text, topic)
            ]
            if any(repeats(one.text, sentence.text, topic) for one in near if one not in reason):
                continue
            said = [one for one in near if replaces(one.text, sentence.text, topic)]
            said += [
                one for one in over if sentence.since < one.since and says(sentence.text, one.text)
            ]
            said.sort(key=lambda one: (one.since, -share_words(one.text, sentence.text)))
            if said:  # it held until the first of them
                changed.append((sentence, said[0]))
            else:
                holds.append(sentence)
    return holds, changed[::-1]
