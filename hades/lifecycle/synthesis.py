"""Synthesis: which sentences of a topic's versions still hold, and which a later one replaced.

Every sentence either holds, was replaced, or is repeated in a later version. None is made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from hades.domain.promotion import Side
from hades.domain.question import TimeKind, TimeWords
from hades.domain.topics import State
from hades.language.english.replacement import (
    ends,
    facts_of,
    repeats,
    replaces,
    said_words,
    settles,
    share_words,
)
from hades.language.english.time_words import read_time
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
    topic: str, trace: Sequence[State], reason: Sequence[Side], over: Sequence[Side], now: datetime
) -> tuple[list[Side], list[tuple[Side, Side]]]:
    """Return the sentences that hold, newest first, and (replaced, replacement) pairs.

    `trace` has the versions, oldest first. A sentence is replaced by one of a later version, by one
    of `reason`, by a later one of its own version that says so, or by an obstacle of `over` that
    has gone since: "rejected due to bug Y" ends when bug Y does. A replacement begins at the time
    that its words name, if they do. A sentence that a later version repeats is left out, and the
    later one counts.
    """
    versions = [sentences_of_state(state) for state in trace]
    holds: list[Side] = []
    changed = []
    for at in reversed(range(len(versions))):
        later = [side for version in versions[at + 1 :] for side in version]
        for place, sentence in enumerate(versions[at]):
            words = said_words(sentence.text)
            near = [  # the comparison below is slow, and most sentences share no word
                side
                for side in (*later, *reason)
                if not words or words & said_words(side.text) or facts_of(side.text, topic)
            ]
            if any(repeats(side.text, sentence.text, topic) for side in near if side not in reason):
                continue
            after = versions[at][place + 1 :]
            all_after = (*after, *later, *reason)
            replacing = [side for side in near if _replaces(side, sentence, topic)]
            replacing += [side for side in after if ends(side.text, sentence.text, topic)]
            replacing += [side for side in all_after if settles(side.text, sentence.text, topic)]
            replacing = [_from_its_time(side, sentence) for side in replacing]
            replacing += [
                side
                for side in over
                if sentence.since < side.since and says(sentence.text, side.text)
            ]
            replacing += _ends_said(sentence, [*after, *near], now)
            replacing.sort(key=lambda side: (side.since, -share_words(side.text, sentence.text)))
            if replacing:  # the sentence held until the earliest of them
                changed.append((sentence, replacing[0]))
            else:
                holds.append(sentence)
    return holds, changed[::-1]


def _replaces(side: Side, replaced: Side, topic: str) -> bool:
    """Return whether a sentence replaces an earlier one, as it is or without its time."""
    time = _time_in(side.text, side.since)
    texts = [side.text]
    if time is not None:
        texts.append(_since(side.text).replace(f" {time.said}", ""))
    return any(replaces(text, replaced.text, topic) for text in texts)


def _from_its_time(side: Side, replaced: Side) -> Side:
    """Return a sentence with the time in its words as its start, if that is later than the sentence
    it replaces."""
    time = _time_in(side.text, side.since)
    if time is None or time.since is None or time.since <= replaced.since:
        return side
    return replace(side, since=time.since)


def _ends_said(sentence: Side, others: Sequence[Side], now: datetime) -> Iterator[Side]:
    """Yield sentences that repeat another one and say until when it held."""
    own = said_words(sentence.text)
    for side in others:
        time = _time_in(side.text, side.since) if own and own <= said_words(side.text) else None
        if time is None or time.kind is not TimeKind.BEFORE or time.until is None:
            continue
        if sentence.since < time.until <= now:
            yield replace(side, since=time.until)


def _since(text: str) -> str:
    """Replace `from` with `since` in a text, because the time parser reads `from` as a range."""
    return text.replace(" from ", " since ")


@lru_cache(maxsize=4_096)
def _time_in(text: str, noted: datetime) -> TimeWords | None:
    """Return the time in the words of a sentence, seen from when it was noted."""
    time = read_time(_since(text), noted)
    return None if time is None or time.event else time
