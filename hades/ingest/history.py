"""Git history as states: one for every commit that touched a file.

The commit's time is the state's valid time, so `at("2024-03")` answers from the code of
that day. A renamed file keeps its history, a deleted one is forgotten as of its commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from hades.domain.times import AsOf
from hades.errors import HadesError, InvalidInput, NotFound
from hades.ingest.document import Document, Unreadable, pack_document
from hades.ingest.gather import fingerprint
from hades.ingest.readers import reader_for
from hades.ingest.readers.git_history import FileAtCommit, read_history
from hades.ingest.summary import Summary
from hades.store.records import Draft, Progress
from hades.store.store import Store

BATCH_STATES = 200


def _commits(repo: Path, since: str | None) -> Iterator[FileAtCommit]:
    """What came after a commit; everything when history was rewritten and it is gone."""
    try:
        yield from read_history(repo, since)
    except Unreadable:
        if since is None:
            raise
        yield from read_history(repo)


class History:
    """Takes the history of a repository into a space."""

    def __init__(self, store: Store, space: int, actor: str, on_progress: Progress | None) -> None:
        self._store = store
        self._space = space
        self._actor = actor
        self._told = on_progress or (lambda _what, _done, _total: None)

    def take(self, repo: Path, prefix: str | None, summary: Summary) -> None:
        """Every state of every file, in the order of the commits."""
        repo = repo.expanduser().resolve()
        prefix = prefix or repo.name
        batch: list[FileAtCommit] = []
        done = 0
        mark = f"history:{self._space}:{prefix}:{repo}"
        last = self._store.meta(mark)
        try:
            for found in _commits(repo, last):
                last = found.commit
                batch.append(found)
                if len(batch) == BATCH_STATES:
                    self._take_all(repo, prefix, batch, summary)
                    done += len(batch)
                    self._told("reading commits", done, 0)
                    batch.clear()
        except Unreadable as error:
            raise InvalidInput(str(error)) from error
        self._take_all(repo, prefix, batch, summary)
        if last is not None:
            with self._store.transaction():
                self._store.set_meta(mark, last)

    def _take_all(
        self, repo: Path, prefix: str, batch: list[FileAtCommit], summary: Summary
    ) -> None:
        with self._store.transaction():
            for found in batch:
                try:
                    self._take(repo, prefix, found, summary)
                except (Unreadable, HadesError) as error:
                    where = f"{prefix}/{found.path} at {found.commit[:10]}"
                    summary.skipped.append((where, str(error)))

    def _is_there(self, topic: str, when: datetime) -> bool:
        try:
            self._store.topics.state(self._space, topic, AsOf(valid=when))
        except NotFound:
            return False
        return True

    def _take(self, repo: Path, prefix: str, found: FileAtCommit, summary: Summary) -> None:
        topic = f"{prefix}/{found.path}"
        exists = self._store.topics.exists(self._space, topic)
        old = f"{prefix}/{found.renamed_from}" if found.renamed_from else None
        if old is not None and not exists and self._store.topics.exists(self._space, old):
            with self._store.write(self._actor, "rename", self._space) as write:
                self._store.sources.rename(write, self._space, old, topic)
            summary.renamed += 1
            exists = True
        if found.data is None:
            if exists and self._is_there(topic, found.when):
                with self._store.write(self._actor, "remove", self._space) as write:
                    gone = Draft(content=None, valid_from=found.when)
                    self._store.topics.add(write, self._space, topic, gone)
                summary.removed += 1
            return
        reader = reader_for(Path(found.path))
        if reader is None or not found.data:
            return
        document = reader(found.data, topic)
        said = {"commit": found.commit, "author": found.author, "message": found.message}
        document = replace(document, metadata={**document.metadata, **said}, valid_from=found.when)
        mark = fingerprint(found.data)
        appended = store_document(self._store, self._space, self._actor, document, str(repo), mark)
        summary.added += not exists
        summary.changed += exists and appended
        summary.unchanged += exists and not appended


def store_document(
    store: Store,
    space: int,
    actor: str,
    document: Document,
    root: str,
    mark: bytes,
    *,
    cut_anew: bool = False,
) -> bool:
    """Write a document as a state of its topic; whether that is a new state.

    `root` and the fingerprint `mark` say what it was read from. With `cut_anew` also an
    unchanged state is cut into chunks again.
    """
    with store.write(actor, "ingest", space) as write:
        draft = Draft(
            content=document.content,
            tags=document.tags,
            metadata=dict(document.metadata),
            valid_from=document.valid_from,
        )
        state, appended = store.topics.add(write, space, document.topic, draft)
        store.sources.put(space, document.topic, root, mark, document.kind, document.title)
        if appended or cut_anew:
            packed = pack_document(document)
            store.chunks.outline(space, document.topic, state.version, packed)
    return appended
