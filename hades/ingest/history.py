"""Git history as states: one state for every commit that touched a file.

The time of the commit is the valid time of the state, so `at("2024-03")` answers from the code of
that day. A renamed file keeps its history. A deleted file is forgotten as of its commit.
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
"""Limits of one batch of documents that are written together."""

Batched = TypeVar("Batched")


def _commits(repo: Path, since: str | None) -> Iterator[FileAtCommit]:
    """Yield the changes after commit `since`; all if it is None or gone (a rewritten history)."""
    try:
        yield from read_history(repo, since)
    except Unreadable:
        if since is None:
            raise
        yield from read_history(repo)


class History:
    """A writer of a repository's history into a space."""

    def __init__(self, store: Store, space: int, actor: str, report: Progress, read: Read) -> None:
        self._store = store
        self._space = space
        self._actor = actor
        self._report = report
        self._read_tasks = read

    def take(self, repo: Path, prefix: str | None, summary: Summary) -> None:
        """Write the states of all files in commits since the last run; count them in `summary`."""
        repo = repo.expanduser().resolve()
        prefix = prefix or repo.name
        done = 0
        mark = f"history:{self._space}:{prefix}:{repo}"
        whole = last = self._store.meta(mark)
        try:
            for batch in batches(_commits(repo, last), lambda file: len(file.data or b"")):
                # The next batch may continue the last commit: only earlier ones are complete.
                commits = [last, *(file.commit for file in batch)]
                last = commits[-1]
                whole = next((commit for commit in reversed(commits) if commit != last), whole)
                self._take_all(repo, prefix, batch, summary, {mark: whole} if whole else {})
                done += len(batch)
                self._report("reading commits", done, 0)
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
        """Read and write a batch; `mark` stores the last complete commit, for a stopped run."""
        roots = Roots(repo)  # the packages of today are used for all commits
        tasks = {
            number: Task(
                file.path,
                f"{prefix}/{file.path}",
                rooted=roots.import_path(repo / file.path),
                data=file.data,
            )
            for number, file in enumerate(batch)
            if file.data and reader_for(Path(file.path)) is not None
        }
        # Each file gives one answer: a document, or why it cannot be read.
        answers = (answer for _, answer in self._read_tasks(tasks.values()))
        documents = dict(zip(tasks, answers, strict=True))
        with self._store.transaction():
            for number, file in enumerate(batch):
                try:
                    self._take(repo, prefix, file, documents.get(number), summary)
                except (Unreadable, HadesError) as error:
                    where = f"{prefix}/{file.path} at {file.commit[:10]}"
                    summary.skipped.append((where, str(error)))
            for name, whole in mark.items():
                self._store.set_meta(name, whole)

    def _remove(self, topic: str, file: FileAtCommit, summary: Summary) -> None:
        """Record that a file is forgotten as of a commit, if its topic exists at that time."""
        try:
            self._store.topics.state(self._space, topic, AsOf(valid=file.when))
        except NotFound:
            return
        with self._store.write(self._actor, "remove", self._space) as write:
            gone = Draft(content=None, valid_from=file.when, metadata=_commit_metadata(file))
            self._store.topics.add(write, self._space, topic, gone)
        summary.removed += 1

    def _take(
        self,
        repo: Path,
        prefix: str,
        file: FileAtCommit,
        document: Document | Bad | None,
        summary: Summary,
    ) -> None:
        topic = f"{prefix}/{file.path}"
        exists = self._store.topics.exists(self._space, topic)
        old = f"{prefix}/{file.renamed_from}" if file.renamed_from else None
        if old is not None and exists:
            self._remove(old, file, summary)  # a rewritten history is read again
        elif old is not None and self._store.topics.exists(self._space, old):
            with self._store.write(self._actor, "rename", self._space) as write:
                self._store.sources.rename(write, self._space, old, topic)
            summary.renamed += 1
            exists = True
        if not file.data:  # the file was deleted or emptied, or is not text
            self._remove(topic, file, summary)
            return
        if document is None:
            return
        if isinstance(document, Bad):
            raise Unreadable(document.why)
        metadata = {**document.metadata, **_commit_metadata(file)}
        document = replace(document, metadata=metadata, valid_from=file.when)
        appended = store_document(self._store, self._space, self._actor, document, str(repo))
        summary.added += not exists
        summary.changed += exists and appended
        summary.unchanged += exists and not appended


def _commit_metadata(file: FileAtCommit) -> dict[str, str]:
    return {"commit": file.commit, "author": file.author, "message": file.message}


def batches(
    items: Iterable[Batched], size: Callable[[Batched], int], at_most: int = BATCH_DOCUMENTS
) -> Iterator[list[Batched]]:
    """Yield items in lists of at most `at_most` items and about BATCH_CHARACTERS in size."""
    batch: list[Batched] = []
    held = 0
    for item in items:
        batch.append(item)
        held += size(item)
        if len(batch) == at_most or held >= BATCH_CHARACTERS:
            yield batch
            batch = []
            held = 0
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
    """Write a document as a state of its topic. Return False if it repeats the current state.

    `root` is the name of the source. With `cut_anew`, an unchanged state is cut into chunks again.
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
