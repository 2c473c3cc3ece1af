"""Git history as states: one for every commit that touched a file.

The commit's time is the state's valid time, so `at("2024-03")` answers from the code of
that day. A renamed file keeps its history, a deleted one is forgotten as of its commit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from hades.domain.times import AsOf
from hades.errors import HadesError, InvalidInput, NotFound
from hades.ingest.document import Bad, Document, Unreadable
from hades.ingest.gather import Read
from hades.ingest.readers import reader_for
from hades.ingest.readers.code.roots import Roots
from hades.ingest.readers.git_history import FileAtCommit, read_history
from hades.ingest.reading import Task
from hades.ingest.summary import Summary
from hades.store.records import Draft, Progress
from hades.store.store import Store

BATCH_DOCUMENTS = 200
BATCH_CHARACTERS = 16 * 2**20
"""What is read before it is written together: no more of either."""

Batched = TypeVar("Batched")


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

    def __init__(self, store: Store, space: int, actor: str, told: Progress, read: Read) -> None:
        self._store = store
        self._space = space
        self._actor = actor
        self._told = told
        self._read = read

    def take(self, repo: Path, prefix: str | None, summary: Summary) -> None:
        """Every state of every file, in the order of the commits."""
        repo = repo.expanduser().resolve()
        prefix = prefix or repo.name
        done = 0
        mark = f"history:{self._space}:{prefix}:{repo}"
        whole = last = self._store.meta(mark)
        try:
            for batch in batches(_commits(repo, last), lambda found: len(found.data or b"")):
                # The next batch may go on with the last commit: only those before it are whole.
                commits = [last, *(found.commit for found in batch)]
                last = commits[-1]
                whole = next((one for one in reversed(commits) if one != last), whole)
                self._take_all(repo, prefix, batch, summary, {mark: whole} if whole else {})
                done += len(batch)
                self._told("reading commits", done, 0)
        except Unreadable as error:
            raise InvalidInput(str(error)) from error
        if last is not None:
            with self._store.transaction():
                self._store.set_meta(mark, last)

    def _take_all(
        self,
        repo: Path,
        prefix: str,
        batch: list[FileAtCommit],
        summary: Summary,
        mark: dict[str, str],
    ) -> None:
        """Read a batch and write it, with the mark from which a stopped run goes on."""
        roots = Roots(repo)  # of today: where a package began in the past is not looked up
        tasks = {
            number: Task(
                found.path,
                f"{prefix}/{found.path}",
                rooted=roots.import_path(repo / found.path),
                data=found.data,
            )
            for number, found in enumerate(batch)
            if found.data and reader_for(Path(found.path)) is not None
        }
        # One file is one document, or the reason why it is none.
        answers = (answer for _, answer in self._read(tasks.values()))
        documents = dict(zip(tasks, answers, strict=True))
        with self._store.transaction():
            for number, found in enumerate(batch):
                try:
                    self._take(repo, prefix, found, documents.get(number), summary)
                except (Unreadable, HadesError) as error:
                    where = f"{prefix}/{found.path} at {found.commit[:10]}"
                    summary.skipped.append((where, str(error)))
            for name, whole in mark.items():
                self._store.set_meta(name, whole)

    def _remove(self, topic: str, found: FileAtCommit, summary: Summary) -> None:
        """Forget a file as of a commit, if it is there."""
        try:
            self._store.topics.state(self._space, topic, AsOf(valid=found.when))
        except NotFound:
            return
        with self._store.write(self._actor, "remove", self._space) as write:
            gone = Draft(content=None, valid_from=found.when, metadata=_said(found))
            self._store.topics.add(write, self._space, topic, gone)
        summary.removed += 1

    def _take(
        self,
        repo: Path,
        prefix: str,
        found: FileAtCommit,
        document: Document | Bad | None,
        summary: Summary,
    ) -> None:
        topic = f"{prefix}/{found.path}"
        exists = self._store.topics.exists(self._space, topic)
        old = f"{prefix}/{found.renamed_from}" if found.renamed_from else None
        if old is not None and exists:
            self._remove(old, found, summary)  # a history that was rewritten is read again
        elif old is not None and self._store.topics.exists(self._space, old):
            with self._store.write(self._actor, "rename", self._space) as write:
                self._store.sources.rename(write, self._space, old, topic)
            summary.renamed += 1
            exists = True
        if not found.data:  # deleted, emptied, or no text
            self._remove(topic, found, summary)
            return
        if document is None:
            return
        if isinstance(document, Bad):
            raise Unreadable(document.why)
        metadata = {**document.metadata, **_said(found)}
        document = replace(document, metadata=metadata, valid_from=found.when)
        appended = store_document(self._store, self._space, self._actor, document, str(repo))
        summary.added += not exists
        summary.changed += exists and appended
        summary.unchanged += exists and not appended


def _said(found: FileAtCommit) -> dict[str, str]:
    """What a state tells of its commit."""
    return {"commit": found.commit, "author": found.author, "message": found.message}


def batches(
    items: Iterable[Batched], size: Callable[[Batched], int], at_most: int = BATCH_DOCUMENTS
) -> Iterator[list[Batched]]:
    """Items in lists that are not too long, nor too large together."""
    batch: list[Batched] = []
    held = 0
    for item in items:
        batch.append(item)
        held += size(item)
        if len(batch) == at_most or held >= BATCH_CHARACTERS:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def store_document(
    store: Store,
    space: int,
    actor: str,
    document: Document,
    root: str,
    *,
    cut_anew: bool = False,
) -> bool:
    """Write a document as a state of its topic; whether that is a new state.

    `root` says what it was read from. With `cut_anew` also an unchanged state is cut into
    chunks again.
    """
    topic = document.topic
    with store.write(actor, "ingest", space) as write:
        draft = Draft(
            content=document.content,
            tags=document.tags,
            metadata=dict(document.metadata),
            valid_from=document.valid_from,
        )
        state, appended = store.topics.add(write, space, topic, draft)
        store.sources.put(space, topic, root, document.fingerprint, document.kind, document.title)
        if appended or cut_anew:
            store.chunks.outline(space, topic, state.version, document.outline)
    return appended
