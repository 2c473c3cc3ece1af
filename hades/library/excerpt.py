"""The excerpt of a library: rows of several volumes in one small memory, for one question.

Rows get new numbers here. Entities with the same key become one, and an entity named like a topic
becomes that topic's subject, so that walks cross from one volume to another. The usual recall runs
over the excerpt, with the word and name statistics of the whole library.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property
from itertools import count
from operator import itemgetter
from pathlib import Path
from typing import Any

from hades.domain.graph import NodeKind
from hades.domain.times import AsOf, Clock, system_clock
from hades.index.graph_cache import GraphCache
from hades.index.indexes import Indexes, usable
from hades.index.space_words import SpaceWords
from hades.index.words import Presence, Words, searched_texts
from hades.language.names import name_key
from hades.library.volume import SentRows
from hades.memory import View
from hades.operations.inside import Inside
from hades.recall.engine import RecallEngine
from hades.recall.find.finder import Finder, Scope
from hades.settings import load_settings
from hades.store.around import Rows
from hades.store.catalogue import NODE_TABLES, TABLES
from hades.store.changefeed import Changefeed
from hades.store.records import Progress
from hades.store.sqlite.opening import open_file
from hades.store.store import Store

Frequency = Callable[[str], int]
"""Returns the number of passages of the library that have a stem."""

ROWS_AT_MOST = 1_000_000
"""More rows than any excerpt has."""
_SHARED = {"relations": "name", "actors": "name", "encoders": "name", "entities": "key"}
"""Rows of different volumes become one row if this column has the same value."""
_BY_NAME = {**_SHARED, "topics": "name"}
_FIRST = ("relations", "actors", "encoders", "entities", "topics", "states", "chunks")
"""Tables that others refer to, in the order in which their rows get new numbers."""


class ExcerptOfLibrary:
    """A small memory made of rows from volumes; the end of its `with` block deletes it."""

    def __init__(self, space: str, clock: Clock) -> None:
        self._folder = _new_folder()
        path = self._folder / "excerpt.hades"
        shutil.copyfile(_template(), path)
        self.store = Store(path, create=False, read_only=False, busy_timeout_s=1.0, clock=clock)
        self.store.uses.counts = False
        self.store.query_log.kept = 0
        self.frequency: dict[int, int] = defaultdict(int)
        """The passages of the library that mention each entity."""
        self._space = space
        self._next = defaultdict[str, Iterator[int]](lambda: count(1))
        """For each table, the next number."""
        self._known: dict[tuple[str, str], int] = {}
        """By table and name: the number of a row that volumes may share."""
        self._terms: dict[int, bytes] = {}
        self._said: dict[int, float] = {}
        self._written = defaultdict[str, set[int]](set)
        self._written_topics = set[int]()
        """The topics that have a version."""
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in TABLES}

    def __enter__(self) -> ExcerptOfLibrary:
        return self

    def __exit__(self, *_error: object) -> None:
        self.store.database.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, sent: SentRows) -> None:
        """Add the rows of one volume, with new numbers.

        A row is left out if it needs a row that was not sent, or belongs to a topic that another
        volume sent before. A topic without a version, which only a link made, is joined with the
        topic of that name.
        """
        rows = sent.rows
        new: dict[str, dict[int, int]] = {table: {} for table in (*_FIRST, "edges")}
        for table in _FIRST:
            self._number(table, rows, new)
        for edge in {row[1] for row in rows["edges"]}:
            new["edges"][edge] = next(self._next["edge"])
        for entity, mentions in sent.mentions:
            if entity in new["entities"]:
                self.frequency[new["entities"][entity]] += mentions
        for table in TABLES.keys() & rows.keys():
            self._renumber(table, rows[table], new)
        own = new["chunks"]
        self._terms |= {own[chunk]: hashed for chunk, hashed in sent.terms if chunk in own}
        self._said |= {own[chunk]: score for chunk, score in sent.words if chunk in own}

    def finish(self) -> None:
        """Write all rows that were added."""
        self._join_names()
        database = self.store.database
        # the rows were checked in their volumes, and this file exists for one question only
        connection: sqlite3.Connection = database.connection  # type: ignore[attr-defined]
        connection.execute("PRAGMA synchronous=OFF")
        connection.create_function("row_guard", -1, lambda *_values: 0, deterministic=True)
        with self.store.transaction():
            database.run("UPDATE spaces SET name = ? WHERE id = 1", self._space)
            for table, rows in self._rows.items():
                if rows:
                    database.load(table, rows)
        self._rows.clear()

    def weigh(self, text: str, frequency: Frequency, size: int) -> None:
        """Weigh words as in the whole library, which has `size` passages; `text` is the
        question."""
        words = _SoughtWords(self.store, text, self._said, (frequency, size))
        self._words = _ExcerptWords(self.store, words)
        self.store.changefeed = _ExcerptFeed(self.store, self.frequency, size)

    def view(self, as_of: AsOf, encoder: str) -> View:
        """Return a view of it as of a moment."""
        engine = RecallEngine(self.store, encoder, load_settings().ranker)
        engine.finder = _ExcerptFinder(self.store, encoder, self._words, self._terms)
        return View(Inside(self.store, self._space, as_of, "", encoder, {encoder: engine}))

    def _number(self, table: str, rows: Rows, new: dict[str, dict[int, int]]) -> None:
        """Choose the new numbers of the rows of a table that others refer to."""
        columns = list(TABLES[table].columns)
        at = columns.index("id")
        name = _BY_NAME.get(table)
        topic = columns.index("topic") if "topic" in columns else None
        versions = columns.index("versions") if table == "topics" else None
        for row in rows[table]:
            if topic is not None and row[topic] not in new["topics"]:
                continue
            key = None if name is None else (table, row[columns.index(name)])
            known = None if key is None else self._known.get(key)
            if versions is not None and row[versions]:
                if known in self._written_topics:
                    continue
                known = next(self._next[table]) if known is None else known
                self._written_topics.add(known)
            number = next(self._next[table]) if known is None else known
            new[table][row[at]] = number
            if key is not None:
                self._known[key] = number

    def _renumber(self, table: str, rows: list[Any], new: dict[str, dict[int, int]]) -> None:
        """Add rows of a table with the new numbers."""
        change = [self._changer(table, column, new) for column in TABLES[table].columns]
        changed = [at for at, to in enumerate(change) if to is not None]
        roles = [column.role for column in TABLES[table].columns.values()]
        # A `link` or `derived` reference becomes NULL if its row was not sent.
        needed = [at for at in changed if roles[at] not in ("link", "derived")]
        written = self._written[table] if table in _SHARED else None
        for row in rows:
            values = list(row)
            for at in changed:
                values[at] = None if row[at] is None else change[at](row[at])  # type: ignore[misc]
            if any(values[at] is None and row[at] is not None for at in needed):
                continue
            if written is not None:
                if values[0] in written:
                    continue
                written.add(values[0])
            self._rows[table].append(tuple(values))

    def _changer(
        self, table: str, column: str, new: dict[str, dict[int, int]]
    ) -> Callable[[int], int | None] | None:
        """Return the function that renumbers a column; None if it stays as it is."""
        about = TABLES[table].columns[column]
        if column == "space":
            return lambda _: 1
        if about.role == "itself":
            own = new.get(table) if column == "id" else None
            return own.get if own is not None else lambda _: next(self._next[table])
        if about.role == "node":
            return lambda node: _node(node, new)
        target = "states" if column == "latest" else about.target
        return new[target].get if target in new else None

    def _join_names(self) -> None:
        """Join topics with entities of the same name from other volumes.

        An entity that has exactly a topic's name, and that no text mentions, comes from a fact
        told in a volume without that topic: its facts move to the topic. Otherwise an entity with
        the key of a topic's name becomes the topic's subject.
        """
        topics = list(TABLES["topics"].columns)
        entities = list(TABLES["entities"].columns)
        name = topics.index("name")
        subject = topics.index("entity")
        by_versions = sorted(self._rows["topics"], key=itemgetter(topics.index("versions")))
        self._rows["topics"] = [*{row[0]: row for row in by_versions}.values()]
        of_name = {row[name]: row[0] for row in self._rows["topics"]}
        mentioned = {row[1] for row in self._rows["mentions"]}
        told = {
            row[0]: of_name[row[entities.index("name")]]
            for row in self._rows["entities"]
            if row[0] not in mentioned and row[entities.index("name")] in of_name
        }
        self._rows["entities"] = [row for row in self._rows["entities"] if row[0] not in told]
        for at, row in enumerate(self._rows["topics"]):
            own = self._known.get(("entities", name_key(row[name])))
            if row[subject] is None and own in mentioned:
                self._rows["topics"][at] = (*row[:subject], own, *row[subject + 1 :])
        meant = {NodeKind.ENTITY.node(one): NodeKind.TOPIC.node(of) for one, of in told.items()}
        ends = [list(TABLES["edges"].columns).index(end) for end in ("source", "target")]
        for at, row in enumerate(self._rows["edges"]):
            values = list(row)
            for end in ends:
                values[end] = meant.get(row[end], row[end])
            self._rows["edges"][at] = tuple(values)


def _node(node: int, new: dict[str, dict[int, int]]) -> int | None:
    kind = NodeKind(node & 7)
    row = new[NODE_TABLES[kind]].get(node >> 3)
    return None if row is None else row << 3 | kind


def _new_folder() -> Path:
    """Return a new folder, in main memory if the system offers that, so that no text of an excerpt
    is left on a disk."""
    in_memory = Path("/dev/shm")
    parent = in_memory if os.access(in_memory, os.W_OK) else None
    return Path(tempfile.mkdtemp(prefix="hades-excerpt-", dir=parent))


@cache
def _template() -> Path:
    """Return the file of an empty memory, which each excerpt is copied from."""
    path = _new_folder() / "empty.hades"
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    open_file(path, create=True, read_only=False, busy_timeout_s=1.0, clock=system_clock).close()
    return path


class _ExcerptFeed(Changefeed):
    """The changefeed of an excerpt, which knows how often the library mentions each name."""

    def __init__(self, store: Store, mentions: Mapping[int, int], size: int) -> None:
        super().__init__(store.database)
        self._mentions = mentions
        self._size = size

    def frequency(self, entities: Sequence[int]) -> tuple[dict[int, int], int] | None:
        """Return how often the library mentions each entity, and how many chunks it has."""
        return {entity: self._mentions.get(entity, 0) for entity in entities}, self._size


class _SoughtWords(Words):
    """Words of an excerpt, weighed as in the library.

    The volumes sent the BM25 of passages for the question. Texts are read only for another search.
    """

    def __init__(
        self, store: Store, text: str, said: Mapping[int, float], whole: tuple[Frequency, int]
    ) -> None:
        super().__init__()
        self._whole = whole
        self._unread = Words().part_of(*whole)
        self._store = store
        self._text = text
        self._said = said

    @cached_property
    def _read(self) -> Words:
        said = next(self._store.changefeed.said(1, 0, ROWS_AT_MOST), [])
        texts = searched_texts(self._store, [row[1] for row in said])
        presences = ((Presence(*row), texts[row[1]]) for row in said if row[1] in texts)
        return self._unread.with_recent(presences)

    def best(
        self,
        question: str,
        valid: int,
        known: int,
        limit: int,
        topics: Sequence[int] | None = None,
        *,
        earlier: bool = False,
    ) -> list[tuple[int, float]]:
        """Return the best chunks; for the text that the volumes scored, whatever their time and
        topic."""
        if question == self._text:
            return sorted(self._said.items(), key=lambda one: (-one[1], one[0]))[:limit]
        return self._read.best(question, valid, known, limit, topics, earlier=earlier)

    def saying(self, name: str) -> list[int]:
        """Return the ids of the chunks that contain a folded name as a phrase."""
        return self._read.saying(name)


class _ExcerptWords(SpaceWords):
    """The words of an excerpt's one space."""

    def __init__(self, store: Store, words: Words) -> None:
        super().__init__(store, usable(store.index_folder))
        self._words = words

    def of(
        self, space: int, generation: str, change: int, on_progress: Progress | None = None
    ) -> Words:
        """Return the words of the excerpt."""
        return self._words


class _ExcerptFinder(Finder):
    """Finds passages in an excerpt of a library."""

    excerpt_because = ""

    def __init__(
        self, store: Store, setting: str, words: SpaceWords, terms: Mapping[int, bytes]
    ) -> None:
        super().__init__(store, setting)
        self._words = words
        self._terms = terms

    @contextmanager
    def around(
        self,
        moment: ExitStack,
        scope: Scope,
        question: str,
        nodes: Sequence[int] = (),
        on_progress: Progress | None = None,
    ) -> Iterator[Indexes]:
        """Yield the indexes of the whole excerpt."""
        moment.enter_context(self._store.snapshot())
        self._part.catch_up(scope.space, on_progress)
        yield self._part

    @cached_property
    def _part(self) -> Indexes:
        return Indexes(self._store, self.encoder.model, self.encoder.dims, self._words)

    @cached_property
    def _graph(self) -> GraphCache:
        graphs = GraphCache(self._store, self._part.folder, saved=False)
        graphs.catch_up(self._part, 1)
        graphs.tables.terms.put_hashed(self._terms)
        return graphs

    def graphs_of(self, indexes: Indexes) -> GraphCache:
        """Return the graphs of the excerpt."""
        return self._graph
