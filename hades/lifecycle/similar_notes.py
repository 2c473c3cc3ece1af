"""Similar notes: those that hold now and may say the same as a new text, or otherwise.

Found by words, in the index as it lies on disk and among what was written since; nothing is
indexed and no encoder is loaded, so that `remember` can ask.
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
"""Sentences of a new text that are looked for."""
PASSAGES_AT_MOST = 32
"""Passages of the index that are compared with them."""
RECENT_AT_MOST = 64
"""States written since the index was, that are compared: newest first."""


class CurrentNote(NamedTuple):
    """What a note says now."""

    topic: str
    version: int
    valid_from: int
    confidence: float
    author: str | None
    sentences: Sequence[str]

    @property
    def id(self) -> str:
        """Its state: `topic@version`."""
        return f"{self.topic}@{self.version}"


def sentences_of(text: str) -> Sequence[str]:
    """The sentences of a note that are compared; none of a longer text."""
    if len(text) > NOTE_CHARACTERS_AT_MOST:
        return ()
    return note_sentences(text) or ((text.strip(),) if text.strip() else ())


def similar_notes(store: Store, space: int, sentences: Sequence[str]) -> list[CurrentNote]:
    """The current notes of a space that have words of these sentences."""
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
    found = []
    for state, content in store.topics.contents(states).items():
        text = content.casefold()
        if any(one and all(word in text for word in one) for one in wanted):
            found.append(CurrentNote(*states[state], sentences_of(content)))
    return found
