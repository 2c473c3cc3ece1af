"""Memory: the one front door. Every capability of HADES is a method here.

Reading methods come from `View`; this adds opening, writing and upkeep. The command
line and the servers call nothing else.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from hades.domain.address import is_address
from hades.domain.graph import Edge, FactChange, Resolution
from hades.domain.rules import (
    clean_content,
    clean_metadata,
    clean_name,
    clean_number,
    clean_share,
    clean_tags,
)
from hades.domain.times import NOW, Clock, TimeLike, from_micros, system_clock
from hades.domain.trace import Space, State
from hades.errors import Conflict, InvalidInput, NotFound
from hades.exchange import jsonl, node_link
from hades.lifecycle import facts
from hades.store.port import Draft, EdgeDraft, EdgeFilter, Problem, Progress, Store, Write
from hades.view import View

if TYPE_CHECKING:
    from hades.ingest.readers.triples import Triple
    from hades.ingest.summary import Summary
    from hades.recall.engine import Engine

DEFAULT_SPACE = "default"
DEFAULT_BUSY_TIMEOUT_S = 10.0
DEFAULT_ENCODER = "minilm"

_NOT_A_RECORD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What a line that is JSON but not one of our records can run into."""


class Memory(View):
    """A memory, open for reading and writing in one of its spaces."""

    def __init__(
        self,
        store: Store,
        space: str,
        actor: str,
        *,
        encoder: str = DEFAULT_ENCODER,
        engines: dict[str, Engine] | None = None,
        owner: bool = True,
    ) -> None:
        super().__init__(store, space, NOW, encoder, engines)
        self._actor = clean_name(actor, "actor")
        self._owner = owner

    def __enter__(self) -> Memory:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file. What was written stays written."""
        if self._owner:
            self._store.close()

    def in_space(self, name: str, *, actor: str | None = None) -> Memory:
        """The same memory, looking at another space; written to as `actor` where given."""
        return Memory(
            self._store,
            name,
            actor or self._actor,
            encoder=self._encoder,
            engines=self._engines,
            owner=False,
        )

    def batch(self) -> AbstractContextManager[None]:
        """All writes inside become one commit: much faster, and all or nothing.

        >>> with memory.batch():                                # doctest: +SKIP
        ...     for name, text in notes: memory.remember(name, text)
        """
        return self._store.transaction()

    # States

    def remember(
        self,
        topic: str,
        content: str,
        *,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        confidence: float | None = None,
        importance: float | None = None,
        valid_from: TimeLike | None = None,
        expect_version: int | None = None,
    ) -> State:
        """Write what is known of a topic now: a new state, unless nothing changed.

        Tags, metadata and importance carry over from the state before unless given.
        `valid_from` says since when it is true (default: now). `expect_version` makes
        it a Conflict when somebody else wrote first (0: the topic must be new).
        """
        draft = Draft(
            content=clean_content(content),
            tags=clean_tags(tags),
            metadata=clean_metadata(metadata),
            confidence=clean_share(confidence, "confidence"),
            importance=clean_share(importance, "importance"),
            valid_from=self._time(valid_from),
            expect_version=clean_number(expect_version, "expected version"),
        )
        clean_name(topic)
        with self._write("remember") as write:
            state, appended = self._store.traces.add(write, self._space_id, topic, draft)
            write.cancelled = not appended
        return state

    def forget(self, topic: str) -> State:
        """Let a topic be gone from now on, with its edges. Its history is kept."""
        clean_name(topic)
        with self._write("forget") as write:
            state, _ = self._store.traces.add(write, self._space_id, topic, Draft(content=None))
            for node in self._store.entities.own_nodes(self._space_id, topic):
                facts.end_edges_of(self._store, write, self._space_id, node, state.valid_from)
            return state

    def purge(self, name: str) -> dict[str, int]:
        """Erase a topic or entity everywhere, history and all that was derived from it.

        Takes as long as copying the file: it is written anew, so that no byte is left.
        Gives how many rows of each kind went, and `wiped`: 0 inside a batch, where that
        happens at its end, and while another process still reads old pages, which then go
        with the next purge or the last close. Names merged with this one stay.
        """
        clean_name(name)
        with self._write("purge") as write:
            gone = self._store.purge(write, self._space_id, name)
        wiped = self._store.wipe()
        self._drop_indexes()
        return {**gone, "wiped": int(wiped)}

    # Ingestion

    def ingest(
        self,
        *paths: str | Path,
        prefix: str | None = None,
        fields: Mapping[str, str] | None = None,
        phases: Sequence[str] = ("nodes", "chunks", "embeddings", "edges"),
        history: bool = False,
        dry_run: bool = False,
        on_progress: Progress | None = None,
    ) -> Summary:
        """Take in files, folders, chat exports and corpora, and bring them up to date.

        What did not change costs a hash; what changed gets a new state; what went is
        forgotten; what was renamed keeps its trace; what was forgotten by hand stays so
        until its source changes. A folder's files become topics below
        its name, or below `prefix`. `fields` maps the fields of records: id, title, text.
        With `history` the paths are git repositories, and every commit that touched a file
        is a state, true since that commit. One that cannot be read is named in the summary
        and stops nothing. A killed run goes on where it stood.
        """
        from hades.ingest.pipeline import Pipeline

        if not paths:
            raise InvalidInput("Give at least one file or folder to ingest.")
        finder, space = self._finder, self._space_id
        pipeline = Pipeline(
            self._store,
            space,
            self._actor,
            lambda: finder.encoder,
            on_progress,
            lambda names: finder.saying(space, names),
        )
        self._require_space()
        return pipeline.ingest(
            paths,
            prefix=prefix,
            fields=fields,
            phases=phases,
            dry_run=dry_run,
            history=history,
        )

    def index(self, on_progress: Progress | None = None) -> int:
        """Index what was remembered since; a question does it by itself. How many states."""
        waiting = self.pending
        self._index_pending(on_progress)
        return waiting

    def import_triples(self, path: str | Path, on_progress: Progress | None = None) -> Summary:
        """Take in facts of your own: JSON lines or CSV of subject, predicate, object.

        Optional fields: source, valid_from, valid_to, weight, evidence. Where the source is
        a topic, its passages mention both ends. A line that cannot be used is named in the
        summary and stops nothing.
        """
        from hades.ingest.told import ToldMentions, take_facts

        told = ToldMentions(self._store, self._space_id)

        def tell(fact: Triple) -> bool:
            before = self.change
            self.relate(
                fact.subject,
                fact.predicate,
                fact.object,
                weight=fact.weight,
                evidence=fact.evidence,
                valid_from=fact.valid_from,
                valid_to=fact.valid_to,
                metadata={"source": fact.source} if fact.source else None,
            )
            is_news = self.change > before
            if is_news and fact.source:
                with self._write("mention") as write:
                    told.note(write, fact.source, (fact.subject, fact.object))
            return is_news

        with self.batch():
            return take_facts(Path(path).expanduser(), tell, on_progress)

    def reembed(self, encoder: str, on_progress: Progress | None = None) -> int:
        """Move to another encoder: make its vectors beside the old, then use them.

        Meanwhile searches go on with the old one. It can be stopped and called again; the
        memory remembers its encoder from then on. Gives how many vectors were made.
        """
        from hades.ingest.phases import Phases
        from hades.models.encoder import load_encoder

        self._index_pending(on_progress)
        chosen = load_encoder(encoder)
        made = Phases(self._store, self._space_id, self._actor, on_progress).embed(chosen)
        with self._write("reembed"):
            self._store.set_meta("encoder", encoder)
        self._encoder = encoder
        return made

    # Edges

    def relate(
        self,
        source: str,
        relation: str,
        target: str,
        *,
        weight: float | None = None,
        evidence: str = "",
        valid_from: TimeLike | None = None,
        valid_to: TimeLike | None = None,
        exclusive: bool = False,
        metadata: Mapping[str, Any] | None = None,
        kind: str = "concept",
    ) -> Edge:
        """Say that one thing stands in a relation to another, from now or `valid_from` on.

        A name that is no topic becomes an entity of that `kind`. The weight is 1 unless
        given. Saying a fact again updates what is said, and stretches it over the time
        said. An `exclusive` relation has one target at a time: the new fact ends the old.
        """
        for name, what in ((source, "topic"), (relation, "relation"), (target, "topic")):
            clean_name(name, what)
        clean_name(kind, "kind")
        weight = clean_share(weight, "weight")
        starts, ends = self._time(valid_from), self._time(valid_to)
        with self._write("relate") as write:
            draft = EdgeDraft(
                source=self._store.entities.ensure(write, self._space_id, source, kind),
                relation=relation,
                target=self._store.entities.ensure(write, self._space_id, target, kind),
                valid_from=starts,
                valid_to=ends,
                weight=weight,
                evidence=clean_content(evidence),
                metadata=clean_metadata(metadata) or {},
            )
            edge, is_news = facts.relate(
                self._store, write, self._space_id, draft, exclusive=exclusive
            )
            write.cancelled = not is_news
        return edge

    def unrelate(
        self,
        source: str | int,
        relation: str | None = None,
        target: str | None = None,
        *,
        at: TimeLike | None = None,
        mistake: bool = False,
    ) -> list[Edge]:
        """End the edges between two things, or one edge by its number, now or `at` a time.

        `mistake=True` says it was never true: from now on no time shows it.
        """
        ends = self._time(at)
        if not isinstance(source, int) and relation is None:
            raise InvalidInput("Say which relation ends, or give the number of an edge.")
        with self._write("unrelate") as write:
            if isinstance(source, int):
                edges = [self._store.edges.get(self._space_id, source)]
            else:
                edges = self._holding(source, relation, target)
            for edge in edges:
                when = ends or from_micros(write.at)
                if edge.valid_to is not None and edge.valid_to <= when and not (ends or mistake):
                    raise Conflict(f"Edge {edge.id} ended already: give `at` to say otherwise.")
                facts.unrelate(self._store, write, edge, when, mistake=mistake)
            write.subject = self._store.entities.node(self._space_id, edges[0].source.name, NOW)
        return [self._store.edges.beliefs(self._space_id, edge.id, NOW)[-1] for edge in edges]

    def change_fact(
        self,
        subject: str,
        relation: str,
        target: str | None = None,
        *,
        to: str | None = None,
        new_relation: str | None = None,
        content: str | None = None,
        evidence: str = "",
        at: TimeLike | None = None,
    ) -> FactChange:
        """A fact changed: close what no longer holds and open what holds instead.

        The subject's edges of that relation (to `target`, or to all) end; an edge of the
        inverse relation (`inverses`, or `new_relation`) begins, to `to` or to the old
        target; each old edge is superseded by the new one. `content` becomes the
        subject's new state. All in one write.
        """
        moment = self._time(at)
        if content is not None:
            clean_content(content)
        for name, what in ((relation, "relation"), (new_relation, "relation"), (to, "topic")):
            if name is not None:
                clean_name(name, what)
        with self._write("change_fact") as write:
            when = moment or from_micros(write.at)
            closing = self._holding(subject, relation, target, when)
            new_target = None
            if to is not None:
                new_target = self._store.entities.ensure(write, self._space_id, to, "concept")
            return facts.change_fact(
                self._store,
                write,
                self._space_id,
                subject,
                closing,
                at=when,
                to=new_target,
                new_relation=new_relation,
                content=content,
                evidence=clean_content(evidence),
            )

    def set_inverse(self, relation: str, inverse: str) -> None:
        """Say which relation takes over when a fact of this relation changes."""
        clean_name(relation, "relation")
        clean_name(inverse, "relation")
        with self._write("set_inverse") as write:
            self._store.edges.set_inverse(write, relation, inverse)

    # Entities

    def add_alias(self, name: str, alias: str) -> None:
        """Let an entity be found under another name too."""
        clean_name(name, "entity")
        clean_name(alias, "alias")
        with self._write("add_alias") as write:
            self._store.entities.add_alias(write, self._space_id, name, alias)

    def merge(self, keep: str, *others: str) -> None:
        """From now on the others are `keep`; `split` takes any of them out again."""
        if not others:
            raise InvalidInput("Name at least two entities to merge.")
        for name in (keep, *others):
            clean_name(name, "entity")
        with self._write("merge") as write:
            for other in others:
                self._store.entities.merge(write, self._space_id, keep, other)

    def split(self, name: str) -> None:
        """Undo a merge, or make an alias an entity of its own."""
        clean_name(name, "entity")
        with self._write("split") as write:
            self._store.entities.split(write, self._space_id, name)

    def resolve(self, *, dry_run: bool = False, on_progress: Progress | None = None) -> Resolution:
        """Find entities that are one under two spellings, and names near in meaning.

        Names spelled nearly alike are merged, where nothing speaks against it; `split` undoes
        it, and what was split is not merged again. Names near in meaning get an edge
        `similar_to`. Only the more frequent names and titles get a vector for that. A second
        run finds nothing to do; one that was stopped goes on. A `dry_run` writes nothing.
        """
        from hades.lifecycle.resolve import Resolver

        self._require_space()
        if self._store.in_transaction:
            raise InvalidInput("Resolve before or after a batch or snapshot, not inside it.")
        if not dry_run:
            self._index_pending(on_progress)
        finder = self._finder
        told = on_progress or (lambda _what, _done, _total: None)
        resolver = Resolver(
            self._store, self._space_id, self._actor, lambda: finder.encoder, told, dry_run
        )
        return resolver.run()

    # Spaces

    def create_space(self, name: str) -> Space:
        """A new, empty space in this memory."""
        clean_name(name, "space")
        with self._store.write(self._actor, "create_space") as write:
            return self._store.spaces.create(write, name)

    def drop_space(self, name: str) -> None:
        """Erase a space with everything in it."""
        with self._store.write(self._actor, "drop_space") as write:
            self._store.spaces.drop(write, name)
        self._store.wipe()
        self._drop_indexes()

    # Upkeep

    def import_(self, path: str | Path, *, into: str | None = None) -> dict[str, int]:
        """Take in what `export` wrote as jsonl or node-link; how much of each kind came in.

        A jsonl export brings its own spaces, with all their history; `into` puts a
        single exported space under another name. A node-link file goes into this space.
        All or nothing.
        """
        source = Path(path).expanduser()
        if not source.is_file():
            raise InvalidInput(f"There is no file {source} to import.")
        if source.suffix == ".json":
            if into is not None:
                return self.in_space(into).import_(source)
            return self._import_graph(node_link.read(source))
        if into is not None:
            clean_name(into, "space")
        reader = jsonl.Reader(source)
        with self._store.write(self._actor, "import") as write:
            try:
                counts = self._store.load(write, reader, into)
            except _NOT_A_RECORD as error:
                raise InvalidInput(
                    f"{reader.where()} is not a record this version can read ({error}); "
                    "nothing was imported."
                ) from error
        if self._encoder == DEFAULT_ENCODER:
            self._encoder = self._store.meta("encoder") or DEFAULT_ENCODER
        return counts

    def _import_graph(self, graph: node_link.Read) -> dict[str, int]:
        with self.batch():
            for topic, text in graph.texts.items():
                self.remember(topic, text)
            for edge in graph.edges:
                kind = graph.kinds.get(edge["target"], "concept")
                self.relate(**edge, kind=kind)
            with self._write("import") as write:
                for name, aliases in graph.aliases.items():
                    kind = graph.kinds[name]
                    self._store.entities.ensure(write, self._space_id, clean_name(name), kind)
                    if self._store.traces.exists(self._space_id, name):
                        continue  # a topic goes by its name alone
                    for alias in aliases:
                        clean_name(alias, "alias")
                        self._store.entities.add_alias(write, self._space_id, name, alias)
        return {
            "topics": len(graph.texts),
            "entities": len(graph.aliases),
            "edges": len(graph.edges),
        }

    def mend(self, on_progress: Progress | None = None) -> list[Problem]:
        """Mend what can be derived again (pointers, copies); the problems that remain."""
        return self._store.check(on_progress, mend=True)

    def backup(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Copy the whole memory to a new file while others read and write it."""
        self._store.backup(str(path), on_progress)

    def restore(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Put back a backup over this memory, in one step, under everybody who has it open."""
        self._store.restore(str(path), self._actor, on_progress)

    # Inside

    def _use_extractor(self, extractor: str) -> None:
        from hades.models.extractor import DEFAULT_EXTRACTOR, known_extractor

        if known_extractor(extractor) != (self._store.meta("extractor") or DEFAULT_EXTRACTOR):
            with self._write("set_extractor"):
                self._store.set_meta("extractor", extractor)

    def _drop_indexes(self) -> None:
        """Lose what was derived: segments and arrays keep what was purged until rewritten."""
        if self._store.in_transaction:
            self._store.afterwards(self._drop_indexes)
        if self._store.index_folder.exists():
            from hades.index.shelf import drop_files

            drop_files(self._store.index_folder)
        for engine in self._engines.values():
            engine.forget()

    @contextmanager
    def _write(self, action: str) -> Iterator[Write]:
        with self._store.write(self._actor, action, self._space_id) as write:
            if self._store.spaces.id(self._space) != self._space_id:
                raise NotFound(
                    f"The space {self._space!r} was dropped and made anew: open it again."
                )
            yield write

    def _holding(
        self,
        source: str,
        relation: str | None,
        target: str | None,
        at: datetime | None = None,
    ) -> list[Edge]:
        """The edges from one thing that hold now, or at a time; NotFound when there are none."""
        wanted = EdgeFilter(
            node=self._named_node(source),
            direction="out",
            relation=relation,
            target=None if target is None else self._named_node(target),
        )
        as_of = NOW if at is None else type(NOW)(valid=at)
        edges = self._store.edges.find(self._space_id, wanted, as_of)
        if not edges:
            what = f"{source} --[{relation or '*'}]--> {target or '*'}"
            raise NotFound(f"No such edge holds: {what}.")
        return edges


def open(
    path: str | Path | None = None,
    *,
    space: str | None = None,
    actor: str | None = None,
    create: bool = True,
    read_only: bool = False,
    busy_timeout_s: float | None = None,
    encoder: str | None = None,
    extractor: str | None = None,
    clock: Clock = system_clock,
    key: str | None = None,
    timeout_s: float | None = None,
    retries: int | None = None,
) -> Memory:
    """Open a memory, making it when there is none: `hades.open("~/notes.hades")`.

    An address opens the memory a server has: `http://host:8674`, `https://…` or
    `unix:///run/hades/rw.sock`. Then `key` is who you are there (else HADES_KEY), `timeout_s`
    how long an answer is waited for (60) and `retries` how often a call that found nobody,
    or a busy server, is tried again (4); encoder, extractor and clock are the server's own.

    Without a path it is the user's own, and whatever is not given is as the settings say.
    `actor` is who the change log names (your login name), `space` the space to work in
    (`default`), `busy_timeout_s` how long a write waits for another process's (10),
    `encoder` who makes vectors (the built-in `minilm`), `extractor` who finds names in texts
    from now on: `names` (built in) or `spacy`; the memory remembers it.
    """
    if path is None:
        from hades.settings import load_settings

        settings = load_settings()
        path = settings.ready_path()
        space = space or settings.space
        key = key or settings.key
        if not is_address(path):
            actor = actor or settings.actor
            busy_timeout_s = settings.busy_timeout_s if busy_timeout_s is None else busy_timeout_s
            encoder = encoder or (None if settings.encoder == DEFAULT_ENCODER else settings.encoder)
            extractor = extractor or (None if read_only else settings.extractor)
    if is_address(path):
        from hades.client.client import connect

        if encoder is not None or extractor is not None or clock is not system_clock:
            raise InvalidInput("Encoder, extractor and clock are the server's: leave them out.")
        return connect(
            str(path),
            space=space or DEFAULT_SPACE,
            actor=actor,
            key=key,
            timeout_s=timeout_s,
            retries=retries,
            read_only=read_only,
        )
    if "://" in str(path):
        raise InvalidInput(f"{path} is not a file, nor an address: http://, https:// or unix://.")
    if key is not None or timeout_s is not None or retries is not None:
        raise InvalidInput("A file needs no key, timeout_s or retries: they are for a server.")
    from hades.store.sqlite import SqliteStore

    store = SqliteStore(
        Path(path),
        create=create,
        read_only=read_only,
        busy_timeout_s=DEFAULT_BUSY_TIMEOUT_S if busy_timeout_s is None else busy_timeout_s,
        clock=clock,
    )
    try:
        encoder = encoder or store.meta("encoder") or DEFAULT_ENCODER
        memory = Memory(store, space or DEFAULT_SPACE, actor or _user(), encoder=encoder)
        if extractor is not None:
            memory._use_extractor(extractor)
        return memory
    except BaseException:
        store.close()
        raise


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return "unknown"
