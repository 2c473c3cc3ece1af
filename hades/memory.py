"""Memory: the one front door. Every capability of HADES is a method here.

Reading methods come from `View`, telling ones from `Writing`, guarded ones from
`Reviewing`; this adds opening, taking in and upkeep. The command line and the servers call
nothing else.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from hades.domain.address import is_address, is_socket
from hades.domain.rules import clean_name
from hades.domain.times import NOW, Clock, system_clock
from hades.domain.trace import Space
from hades.errors import InvalidInput
from hades.exchange import jsonl, node_link
from hades.reviewing import Reviewing
from hades.store.records import Problem, Progress
from hades.store.store import Store

if TYPE_CHECKING:
    from hades.ingest.facts import Triple
    from hades.ingest.summary import Summary
    from hades.recall.engine import Engine

DEFAULT_SPACE = "default"
DEFAULT_BUSY_TIMEOUT_S = 10.0
DEFAULT_ENCODER = "minilm"

_NOT_A_RECORD = (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError)
"""What a line that is JSON but not one of our records can run into."""


class Memory(Reviewing):
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
        from hades.ingest.facts import ToldMentions, take_facts

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
                    if self._store.topics.exists(self._space_id, name):
                        continue  # a topic goes by its name alone
                    for alias in aliases:
                        clean_name(alias, "alias")
                        self._store.entities.add_alias(write, self._space_id, name, alias)
        return {
            "topics": len(graph.texts),
            "entities": len(graph.aliases),
            "edges": len(graph.edges),
        }

    def repair(self, on_progress: Progress | None = None) -> list[Problem]:
        """Repair what can be derived again (pointers, copies); the problems that remain."""
        left = self._store.check(on_progress, repair=True)
        with self._write("repair"):
            pass  # whoever keeps what they read until something is written reads it again
        return left

    def backup(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Copy the whole memory to a new file while others read and write it."""
        self._store.backup(str(path), on_progress)

    def restore(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Put back a backup over this memory, in one step, under everybody who has it open."""
        self._store.restore(str(path), self._actor, on_progress)

    # Inside

    def _patient(self, seconds: float) -> AbstractContextManager[None]:
        """Inside, writes of this thread wait so long for those of others."""
        return self._store.patient(seconds)

    def _clear_places(self) -> None:
        """Let nothing stay beside the memory of files whose topics are gone."""
        self._store.clear_places()

    def _follow_encoder(self) -> None:
        """Use the encoder the memory remembers: it may have moved since this was opened."""
        self._encoder = self._store.meta("encoder") or self._encoder

    def _use_extractor(self, extractor: str) -> None:
        from hades.models.extractor import DEFAULT_EXTRACTOR, known_extractor

        if known_extractor(extractor) != (self._store.meta("extractor") or DEFAULT_EXTRACTOR):
            with self._write("set_extractor"):
                self._store.set_meta("extractor", extractor)


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
    `unix:///run/hades/rw.sock`. Then `key` is who you are there (by HTTP, else HADES_KEY),
    `timeout_s` how long an answer is waited for (60) and `retries` how often a call that found
    nobody, or a busy server, is tried again (4); encoder, extractor and clock are the server's
    own.

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
        key = key or (None if is_socket(path) else settings.key)
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
    from hades.store.store import Store

    store = Store(
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
