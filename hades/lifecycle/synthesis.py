"""Synthesis: the sentences of a topic's versions as what holds, what changed, and why.

Every sentence of the versions is either said to hold or said to have changed, with its source;
none is left out silently and none is made up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache

from hades.domain.graph import Edge
from hades.domain.names import STOP_WORDS, name_key, words
from hades.domain.promotion import Side
from hades.domain.sentences import sentences
from hades.domain.statement import day, statement
from hades.domain.topics import State

HEADS = ("What holds now", "What changed", "Why", "Conflicts", "Related")
SENTENCES_AT_MOST = 100
"""Of one text that are read."""
SAME_WORDS = 0.6
"""Two sentences that share so much of their words say the same of one thing: a judgement."""
_MARGIN = re.compile(r"^(?:[-*+•>#|]+\s+|\d{1,4}[.)]\s+)+")
_CITED = re.compile(r" ?\[[^\[\]\n]{1,300}\]\.?$")


def sentences_of(content: str, source: str, confidence: float, since: datetime) -> list[Side]:
    """The sentences of a text, without list marks, citations and the heads of a promotion."""
    found: dict[str, Side] = {}
    for one in sentences(content)[:SENTENCES_AT_MOST]:
        text = plain_sentence(one)
        if words(text) and text not in HEADS:
            found.setdefault(name_key(text), Side(text, source, confidence, since))
    return list(found.values())


def sentences_of_state(state: State) -> list[Side]:
    """The sentences of a state."""
    return sentences_of(state.content, state.id, state.confidence, state.valid_from)


def plain_sentence(text: str) -> str:
    """A sentence on one line, without list mark and citation."""
    return _CITED.sub("", _MARGIN.sub("", " ".join(text.split())))


@lru_cache(maxsize=4_096)
def said_words(text: str) -> frozenset[str]:
    """The words of a sentence that say something."""
    return frozenset(name_key(text).split()) - STOP_WORDS


def share_words(one: str, other: str) -> float:
    """The share of their words that two sentences have in common."""
    first, second = said_words(one), said_words(other)
    return len(first & second) / max(1, len(first | second))


def compare_versions(
    trace: Sequence[State], says_anew: Callable[[str, str], bool]
) -> tuple[list[Side], list[tuple[Side, Side]]]:
    """What holds, the newest first, and what changed: each earlier sentence with the later one."""
    versions = [sentences_of_state(state) for state in trace]
    holds: list[Side] = []
    changed = []
    for at in reversed(range(len(versions))):
        later = [one for version in versions[at + 1 :] for one in version]
        for sentence in versions[at]:
            key = name_key(sentence.text)
            if any(name_key(one.text) == key for one in later):
                continue  # said again, word for word
            anew = next((one for one in later if says_anew(sentence.text, one.text)), None)
            if anew is None:
                holds.append(sentence)
            else:
                changed.append((sentence, anew))
    return holds, changed[::-1]


def changed_words(old: Side, new: Side) -> str:
    """What changed, from what to what and when."""
    return f"{day(new.since)}: {old.quoted} → {new.quoted}"


def cited_edge(edge: Edge) -> str:
    """An edge in words, with its number: its evidence is read there."""
    return f"{statement(edge)} [edge {edge.id}]"
