"""Similar notes: current notes that may repeat or contradict a new text.

They are found by words, in the index on disk and among the states written since. Nothing is indexed
and no encoder is loaded, so that `remember` stays fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hades.domain.times import FOREVER
from hades.language.english.contradiction import required_words
from hades.language.english.settled import NOTE_CHARACTERS_AT_MOST
from hades.language.sentences import note_sentences
from hades.store.store import Store

SENTENCES_AT_MOST = 8
"""Sentences of a new text that are searched for in the index."""
PASSAGES_AT_MOST = 32
"""Passages of the index that are compared with the new text."""
RECENT_AT_MOST = 64
"""States written since the last indexing that are compared, newest first."""


class CurrentNote(NamedTuple):
    """The current state of a note."""

    topic: str
    version: int
    valid_from: int
    confidence: float
    author: str | None
    sentences: Sequence[str]

    @property
    def id(self) -> str:
        """The id of the state: `topic@version`."""
        return f"{self.topic}@{self.version}"


def sentences_of(text: str) -> Sequence[str]:
    """Return the sentences of a note; a text too long for a note has none."""
    if len(text) > NOTE_CHARACTERS_AT_MOST:
        return ()
    return note_sentences(text) or ((text.strip(),) if text.strip() else ())


def similar_notes(store: Store, space: int, sentences: Sequence[str]) -> list[CurrentNote]:
    """Return the current notes that contain all required words of one of these sentences."""
    chunks: set[int] = set()
    since = 0
    if sentences and (store.index_folder / "spaces" / f"{space}.json").exists():
        from hades.index.space_words import words_on_disk

        words, since = words_on_disk(store, space)
        moment = store.now(), FOREVER - 1
        text = " ".join(sentences[:SENTENCES_AT_MOST])
        chunks = {chunk for chunk, _ in words.best(text, *moment, PASSAGES_AT_MOST)}
    states = store.topics.current_notes(space, sorted(chunks), since, RECENT_AT_MOST)
    wanted = {required_words(sentence) for sentence in sentences}
    notes = []
    for state, content in store.topics.contents(states).items():
        text = content.casefold()
        if any(required and all(word in text for word in required) for required in wanted):
            notes.append(CurrentNote(*states[state], sentences_of(content)))
    return notes
