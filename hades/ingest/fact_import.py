"""Import of facts from files of triples.

A fact joins two entities. If it names the topic it was read in, passages of that topic mention both
entities, so that a walk leads from text to text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from hades.errors import InvalidInput
from hades.ingest.document import Bad, Origin, Unreadable
from hades.ingest.readers.triples import Triple, read_triples
from hades.ingest.summary import Summary
from hades.language.english.proper_names import is_name
from hades.language.names import name_key
from hades.language.words import words
from hades.store.records import Progress, Write
from hades.store.store import Store

REPORTED_EVERY = 500


def take_facts(file: Path, tell: Callable[[Triple], bool], on_progress: Progress | None) -> Summary:
    """Pass each fact of a file to `tell`, which returns whether it was new. Return the counts."""
    summary = Summary()
    try:
        # Reading a file twice costs little compared with storing its facts. A pipe can be read only
        # once.
        counted = on_progress is not None and file.is_file()
        total = sum(1 for _ in read_triples(file)) if counted else 0
        for number, fact in enumerate(read_triples(file), start=1):
            if on_progress is not None and number % REPORTED_EVERY == 0:
                on_progress("relating", number, total)
            if isinstance(fact, Bad):
                summary.skipped.append((fact.where, fact.why))
            elif tell(fact):
                summary.added += 1
            else:
                summary.unchanged += 1
    except Unreadable as error:
        raise InvalidInput(str(error)) from error
    return summary


class ToldMentions:
    """A writer of mentions: it links the entities of imported facts to the facts' source texts."""

    def __init__(self, store: Store, space: int) -> None:
        self._store = store
        self._space = space
        self._texts: dict[str, list[tuple[int, str]]] = {}
        """For each topic, the ids of its chunks, each with the words of the chunk in lower case."""

    def note(self, write: Write, topic: str, names: Sequence[str]) -> None:
        """Store a mention of each name in the chunks of a topic that contain it, or else in the
        first chunk."""
        chunks = self._chunks(topic)
        for name in names:
            key = name_key(name)
            if not chunks or not is_name(key):
                continue
            saying = [chunk for chunk, text in chunks if f" {key} " in text]
            where = saying or [chunks[0][0]]
            links = self._store.mentions
            links.introduce(write, self._space, name, "concept", Origin.TOLD, where)

    def _chunks(self, topic: str) -> list[tuple[int, str]]:
        if topic not in self._texts:
            ids = self._store.chunks.of_topic(self._space, topic)
            texts = self._store.chunks.texts(ids)
            self._texts[topic] = [
                (chunk, f" {' '.join(words(texts.get(chunk, ''))).casefold()} ") for chunk in ids
            ]
        return self._texts[topic]
