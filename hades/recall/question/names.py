"""Names in a question: which entities it names.

The rules are those for texts. The longest name wins, among all names and again among titles. A
title of several words counts in any case; every other name needs a capital letter. In a question
without capitals every case counts, but a name of one word must be one that texts nearly always
write with a capital.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hades.domain.graph import NodeKind
from hades.graph.arrays import Ints
from hades.index.graph_view import GraphView
from hades.index.longest import CAPITAL_SHARE, longest
from hades.language.english.lexicon import STOP_WORDS
from hades.language.words import words

WORDS_AT_MOST = 15
"""The longest name that is looked for, as in texts: titles of papers have up to 15 words."""
QUESTION_WORDS_AT_MOST = 400
CAPITAL_SHARE_ASKED_SMALL = 0.9
"""The share of capitalised uses that a one-word name needs in a question without capitals."""

Lookup = Callable[[Sequence[str]], list[tuple[str, int]]]
"""Returns the (key, entity) pairs of name keys."""


def names_in(question: str, graph: GraphView, lookup: Lookup) -> Ints:
    """Return the numbers of the entities that a question names, without hubs and isolated ones."""
    own = words(question)[:QUESTION_WORDS_AT_MOST]
    row = [word.casefold() for word in own]
    spans: dict[str, list[tuple[int, int]]] = {}
    for start in range(len(row)):
        for length in range(1, min(WORDS_AT_MOST, len(row) - start) + 1):
            if length > 1 or row[start] not in STOP_WORDS:
                key = " ".join(row[start : start + length])
                spans.setdefault(key, []).append((start, length))
    small = not any(word[0].isupper() for word in own[1:])
    known = lookup(list(spans))
    named = [
        (number, start, length, not own[start][0].islower())
        for (key, _), number in zip(known, _numbers(graph, [e for _, e in known]), strict=True)
        if number >= 0
        for start, length in spans[key]
    ]
    usable = [span for span in named if _is_usable(graph, *span, small=small)]
    return _longest(graph, usable)


def _numbers(graph: GraphView, entities: Sequence[int]) -> list[int]:
    """Return the entities' numbers; -1 for hubs and for entities without mentions and edges."""
    nodes = NodeKind.ENTITY.node(np.array(entities, np.int64))
    numbers = graph.numbers(nodes)
    known = np.flatnonzero(numbers >= 0)
    numbers[known] -= graph.first_entity
    # An entity that no chunk mentions may still have edges.
    quiet = known[graph.frequency[numbers[known]] == 0]
    alone = quiet[graph.adjacency.degrees(graph.first_entity + numbers[quiet]) == 0]
    numbers[known[graph.hub[numbers[known]]]] = -1
    numbers[alone] = -1
    return [int(number) for number in numbers]


def _is_usable(
    graph: GraphView, number: int, _start: int, length: int, capital: bool, *, small: bool
) -> bool:
    titled = bool(graph.names.titled[number])
    if length > 1:
        return titled or capital or small
    if small:
        return bool(graph.names.capital_share(number) >= CAPITAL_SHARE_ASKED_SMALL)
    return capital and (titled or bool(graph.names.capital_share(number) >= CAPITAL_SHARE))


def _longest(graph: GraphView, named: list[tuple[int, int, int, bool]]) -> Ints:
    if not named:
        return np.zeros(0, np.int64)
    entity = np.array([span[0] for span in named], np.int64)
    place = np.array([span[1] << 5 | span[2] << 1 | span[3] for span in named], np.int64)
    in_one = np.zeros(len(named), np.int64)
    return np.unique(entity[longest(in_one, entity, place, graph.names.titled[entity])])
