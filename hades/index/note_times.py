"""Note times: the times that the sentences of notes speak of, as rows of a derived table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hades.domain.answer import EXACT_DAYS
from hades.domain.times import DAY_MICROSECONDS, from_micros, to_micros
from hades.graph.arrays import Flags, Ints
from hades.index.columns import Columns
from hades.language.english.event_times import dated_sentences

EVENT, REPLACED, DATED = range(3)
"""Kinds of rows: a time that a sentence mentions; a time from which something was moved or
cancelled; a mark that every sentence of a note mentions a time, so that the note's date is ignored.
"""
NOTE_TIMES = {
    "key": np.int64,
    "chunk": np.int64,
    "kind": np.int8,
    "since": np.int64,
    "until": np.int64,
}
_ROWS_BITS = 7
"""The key is the chunk and the number of the row: 16 sentences with up to 5 rows each."""


class Window(NamedTuple):
    """A window of time, in microseconds: `since` <= t < `until`."""

    since: int
    until: int
    ahead: bool = False
    """Whether only the times that sentences speak of count, not the dates of the notes."""


def time_rows(texts: Mapping[int, str], starts: Mapping[int, int]) -> list[Sequence[int]]:
    """Return the rows of notes, given by chunk id with the time of each."""
    rows: list[Sequence[int]] = []
    for chunk, text in texts.items():
        own: list[tuple[int, int, int]] = []
        dated = dated_sentences(text, from_micros(starts[chunk]))
        for sentence in dated:
            spans = [(EVENT, span) for span in sentence.times]
            spans += [(REPLACED, sentence.replaced)] if sentence.replaced else []
            own += [(kind, to_micros(since), to_micros(until)) for kind, (since, until) in spans]
        if dated and all(sentence.times for sentence in dated):
            own.append((DATED, 0, 0))
        rows += [(chunk << _ROWS_BITS | at, chunk, *row) for at, row in enumerate(own)]
    return rows


def chunks_of(rows: Columns, kind: int, window: Window | None = None) -> Ints:
    """Return the ids of the chunks with a row of a kind, or with one that overlaps a window."""
    chosen: Flags = rows["kind"] == kind
    if window is not None:
        since = rows["since"]
        until = rows["until"]
        shared = np.minimum(until, window.until) - np.maximum(since, window.since)
        exact = until - since <= EXACT_DAYS * DAY_MICROSECONDS
        # a future window must cover a fifth of a time such as `in August`, a past window all of it
        vague = shared >= (until - since) // 5 if window.ahead else shared == until - since
        chosen = chosen & (shared > 0) & (exact | vague)
    return np.unique(rows["chunk"][chosen])
