"""The pipeline: from paths to states, and from states to a linked, searchable graph."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path

from hades.domain.rules import clean_name, clean_source
from hades.domain.topics import COMMITS
from hades.errors import HadesError, InvalidInput
from hades.ingest.document import Bad, Document
from hades.ingest.gather import Item, Read, Root, gather, gather_commits, root_of
from hades.ingest.history import BATCH_DOCUMENTS, History, batches, store_document
from hades.ingest.phases import Phases, Saying
from hades.ingest.spread import RayWorkers, Spread, reading_spread
from hades.ingest.summary import Summary
from hades.ingest.walk import LEADS_OUT
from hades.ingest.workers import Workers
from hades.models.encoder import Encoder
from hades.store.records import Draft, Progress
from hades.store.store import Store

PHASES = ("nodes", "chunks", "edges", "embeddings")


class Pipeline:
    """A pipeline that ingests documents into one space, phase by phase."""

    def __init__(
        self,
        store: Store,
        space: int,
        actor: str,
        encoder: Callable[[], Encoder],
        on_progress: Progress | None,
        saying: Saying,
        takes: Callable[[str], bool],
    ) -> None:
        self._store = store
        self._space = space
        self._actor = actor
        self._encoder = encoder
        self._on_progress = on_progress or (lambda _what, _done, _total: None)
        self._last_report = ("looking", 0, 0)
        self._saying = saying
        self._takes = takes

    def ingest(
        self,
        paths: Sequence[str | Path],
        *,
        prefix: str | None,
        fields: Mapping[str, str] | None,
        phases: Sequence[str],
        dry_run: bool,
        history: bool,
        source: str | None,
        follow_links: bool,
        in_process: bool,
        ray: str | None,
    ) -> Summary:
        """Ingest what is new or changed at these paths, and forget what is gone from them.

        With `history`, a path is a repository, and each commit gives a state. `prefix` begins every
        topic. With `fields`, which maps their fields, files are read as records. Only the given
        `phases` run. A `dry_run` counts and writes nothing. `source` replaces the path as the name
        of a single source. `in_process` reads without worker processes and their limits. `ray` is
        the address of a Ray cluster whose workers read, cut, encode and find names.
        """
        phases = (phases,) if isinstance(phases, str) else tuple(phases)
        for phase in phases:
            if phase not in PHASES:
                raise InvalidInput(f"There is no phase {phase!r}: use one of {', '.join(PHASES)}.")
        if prefix is not None:
            clean_name(prefix, "prefix")
        for path in paths:
            if not isinstance(path, str | Path) or not str(path):
                raise InvalidInput(f"A path is a non-empty string, not {path!r}.")
        if source is not None:
            clean_source(source, is_single=len(paths) == 1 and not history)
        roots = [root_of(Path(path), prefix, fields, source, follow_links) for path in paths]
        if not any(root.path.exists() for root in roots):
            raise InvalidInput(f"There is nothing at {paths[0]} to ingest.")
        summary = Summary()
        if history and dry_run:
            raise InvalidInput(
                "A dry run of a history is not possible: leave out dry_run or history."
            )
        if in_process and ray is not None:
            raise InvalidInput(
                "Files are read in this process or by Ray: leave out in_process or ray."
            )
        with ExitStack() as until_done:
            spread: Spread = map
            if ray is not None:
                spread = until_done.enter_context(closing(RayWorkers(ray, self._still_wanted)))
            if "nodes" in phases:
                workers = Workers(self._still_wanted, in_process=in_process)
                read = workers.read if ray is None else reading_spread(spread, workers.read)
                past = History(self._store, self._space, self._actor, self._report, read)
                cut = self._phases(lambda *_: self._still_wanted(), spread).cut
                with _timed(summary, "nodes"), closing(workers):
                    for root in roots:
                        if history:
                            past.take(root.path, prefix, summary)
                            self._take_commits(root, summary, read)
                            continue
                        for _ in self._take_root(root, summary, dry_run, read):
                            if "chunks" in phases and not dry_run:
                                with _timed(summary, "chunks"):
                                    cut()  # so that words are findable before all files are read
                cutting = summary.seconds.get("chunks", 0.0)
                summary.seconds["nodes"] = round(summary.seconds["nodes"] - cutting, 3)
            if not dry_run:
                self._index(summary, phases, spread)
        return summary

    def _phases(self, on_progress: Progress, spread: Spread) -> Phases:
        return Phases(self._store, self._space, self._actor, on_progress, self._saying, spread)

    def _index(self, summary: Summary, phases: Sequence[str], spread: Spread) -> None:
        """Run the phases after the first over all states that wait for them."""
        work = self._phases(self._report, spread)
        steps: dict[str, Callable[[], object]] = {
            "chunks": work.cut,
            "edges": work.link,
            "embeddings": lambda: work.embed(self._encoder()),
        }
        for phase, step in steps.items():
            if phase in phases:
                with _timed(summary, phase):
                    step()

    def _report(self, what: str, done: int, total: int) -> None:
        self._last_report = (what, done, total)
        self._on_progress(*self._last_report)

    def _still_wanted(self) -> None:
        """Repeat the last report while a file is read, because the callback may raise to stop."""
        self._on_progress(*self._last_report)

    def _take_root(self, root: Root, summary: Summary, dry_run: bool, read: Read) -> Iterator[None]:
        """Write the new and changed documents of a root; yield after each batch."""
        known = self._store.sources.of_root(self._space, root.name)
        fresh, gone = self._look(root, known, summary, read)
        renamed = self._renamed(fresh, gone)
        done = 0
        read_items = _read_items(fresh, read)
        for batch in batches(read_items, lambda o: 0 if isinstance(o, Bad) else len(o.content)):
            with nullcontext() if dry_run else self._store.transaction():
                for document in batch:
                    self._take(root, document, known, renamed, summary, dry_run)
            done += len(batch)
            if not dry_run:
                self._report("reading", done, len(fresh))
            yield
        for topic in gone.keys() - set(renamed.values()):
            if not dry_run:
                with self._store.write(self._actor, "remove", self._space) as write:
                    self._store.topics.add(write, self._space, topic, Draft(content=None))
            summary.removed += 1

    def _take_commits(self, root: Root, summary: Summary, read: Read) -> None:
        """Write the commit messages of a repository whose files were taken from its history."""
        known = self._store.sources.of_root(self._space, root.name)
        items = [item for item in gather_commits(root) if isinstance(item, Item)]
        fresh = [item for item in items if known.get(item.topic) != item.fingerprint]
        with self._store.transaction():
            for document in _read_items(fresh, read):
                self._take(root, document, known, {}, summary, dry_run=False)

    def _look(
        self, root: Root, known: Mapping[str, bytes], summary: Summary, read: Read
    ) -> tuple[list[Item], dict[str, bytes]]:
        """Return the new and changed items, and those of the `known` topics that are gone; {} if
        unsure."""
        forgotten = self._store.sources.forgotten(self._space, root.name)
        gone = dict(known)
        seen_all = True
        fresh: list[Item] = []
        topics: set[str] = set()
        for seen, item in enumerate(gather(root, read), start=1):
            if seen % BATCH_DOCUMENTS == 0:
                self._report("looking", seen, 0)
            if isinstance(item, Bad):
                summary.skipped.append((item.where, item.why))
                # An unreadable file keeps its last state. If a folder or a record is
                # unreadable, we cannot tell what is gone, so nothing is removed.
                no_file = item.why == LEADS_OUT or item.where == f"{root.prefix}/{COMMITS}"
                seen_all = (gone.pop(item.where, None) is not None or no_file) and seen_all
                continue
            if item.topic not in known and not self._takes(item.topic):
                continue
            if item.topic in topics:
                why = "Another source here gives the same topic: give it another id or prefix."
                summary.skipped.append((item.topic, why))
                continue
            topics.add(item.topic)
            gone.pop(item.topic, None)
            # A forgotten topic stays forgotten until its source changes.
            if item.fingerprint in (known.get(item.topic), forgotten.get(item.topic)):
                summary.unchanged += 1
            else:
                fresh.append(item)
        return fresh, gone if seen_all else {}

    def _renamed(self, fresh: Iterable[Item], gone: Mapping[str, bytes]) -> dict[str, str]:
        """Map new topics to the gone topics with the same fingerprint: renamed files."""
        by_fingerprint = {mark: topic for topic, mark in gone.items()}
        renamed = {}
        for item in fresh:
            is_new = not self._store.topics.exists(self._space, item.topic)
            if is_new and item.fingerprint in by_fingerprint:
                renamed[item.topic] = by_fingerprint.pop(item.fingerprint)
        return renamed

    def _take(
        self,
        root: Root,
        document: Document | Bad,
        known: Mapping[str, bytes],
        renamed: Mapping[str, str],
        summary: Summary,
        dry_run: bool,
    ) -> None:
        """Write a document, unless `dry_run`; record in the summary what was done, or why not."""
        if isinstance(document, Bad):
            summary.skipped.append((document.where, document.why))
            return
        topic = document.topic
        old_topic = renamed.get(topic)
        try:
            clean_name(topic)
            self._refuse_foreign(root, topic)
            if not dry_run:
                if old_topic is not None:
                    with self._store.write(self._actor, "rename", self._space) as write:
                        self._store.sources.rename(write, self._space, old_topic, topic)
                # Headings and links may contain the file name, so cut a renamed file again.
                store_document(
                    self._store,
                    self._space,
                    self._actor,
                    document,
                    root.name,
                    cut_anew=old_topic is not None,
                )
        except HadesError as error:
            summary.skipped.append((topic, str(error)))
        else:
            summary.renamed += old_topic is not None
            summary.changed += old_topic is None and topic in known
            summary.added += old_topic is None and topic not in known

    def _refuse_foreign(self, root: Root, topic: str) -> None:
        """Raise InvalidInput if a topic was written by hand or another existing source has it."""
        if not self._store.topics.exists(self._space, topic):
            return
        owner = self._store.sources.root_of(self._space, topic)
        if owner == root.name or (owner is not None and _is_gone(owner)):
            return
        whose = "was written by hand" if owner is None else f"comes from {owner}"
        raise InvalidInput(f"A topic of that name {whose}: give another --prefix.")


def _read_items(items: Sequence[Item], read: Read) -> Iterator[Document | Bad]:
    """Yield the document of each item, or a Bad, in order; several files are read at once."""
    wanted = {item.topic: item.fingerprint for item in items}
    for task, answer in read(dict.fromkeys(item.task for item in items)):
        if isinstance(answer, Bad):
            # Bad records within a file were reported when it was gathered.
            if answer.where == task.topic:
                yield answer
        elif not task.many or wanted.pop(answer.topic, None) == answer.fingerprint:
            yield answer


def _is_gone(owner: str) -> bool:
    """Return whether a source is a path that no longer exists."""
    return Path(owner).is_absolute() and not Path(owner).exists()


@contextmanager
def _timed(summary: Summary, phase: str) -> Iterator[None]:
    """Add the seconds of a phase to a summary, even if it fails."""
    start = time.perf_counter()
    try:
        yield
    finally:
        spent = summary.seconds.get(phase, 0) + time.perf_counter() - start
        summary.seconds[phase] = round(spent, 3)
