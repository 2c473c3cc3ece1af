"""Memory: the list of all operations, in two classes: `View` reads one space as of one moment,
`Memory` also writes.

Each line in them names a function of `hades/operations/`, where it is declared and documented. The
command line, the servers and the client call nothing else. The underscored members are what these
functions share.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

import hades.operations as op
from hades.domain.rules import clean_kind, clean_name, clean_text
from hades.domain.times import NOW, TIMES_MEANT, AsOf, TimeLike
from hades.errors import InvalidInput, NotFound, Unavailable
from hades.language.english.moments import parse_time
from hades.store.records import Phase, Progress, Write
from hades.store.store import Store

if TYPE_CHECKING:
    from hades.ingest.phases import Phases
    from hades.recall.engine import RecallEngine
    from hades.recall.find.finder import Finder, Scope

DEFAULT_SPACE = "default"
DEFAULT_ENCODER = "minilm"
EMBEDDED_AT_ONCE = 1_000
"""The most passages and facts that a question embeds before it is answered, which takes two cores
10 to 25 s; more are left to `index`."""
INDEXED_AGAIN_AT_MOST = 3
"""The most attempts to index new states if some of them are purged meanwhile."""


class View:
    """One space of a memory as of one moment, read-only."""

    # States
    get = op.states.get
    history = op.states.history
    diff = op.states.diff
    topics = op.states.topics
    chunks = op.states.chunks

    originals = op.summaries.originals
    summaries = op.summaries.summaries

    # Edges and entities
    edges = op.edges.edges
    edge = op.edges.edge
    when_changed = op.edges.when_changed
    inverses = op.edges.inverses
    entities = op.entities.entities
    entity = op.entities.entity
    about = op.entities.about
    mentions = op.entities.mentions

    # The hierarchy
    hierarchy = op.hierarchy.hierarchy
    clusters = op.hierarchy.clusters

    # Questions
    search = op.questions.search
    recall = op.questions.recall
    ask = op.questions.ask
    rank = op.questions.rank
    sample_questions = op.questions.sample_questions
    examine = op.questions.examine
    warm = op.questions.warm
    retrieve_within_budget = op.context.retrieve_within_budget

    # Core blocks
    core = op.context.core

    # The graph around a name
    paths = op.graph.paths
    query_paths = op.graph.query_paths
    neighbours = op.graph.neighbours
    subgraph = op.graph.subgraph
    working_memory = op.graph.working_memory
    brief = op.briefs.brief
    sessions = op.distil.sessions
    session = op.distil.session
    suggest = op.promotion.suggest

    # Learning
    query_log = op.feedback.query_log
    weights = op.feedback.weights
    weight_snapshots = op.feedback.weight_snapshots
    weights_diff = op.feedback.weights_diff

    # The memory as a whole
    proposals = op.proposals.proposals
    spaces = op.maintenance.spaces
    stats = op.maintenance.stats
    lifetime = op.maintenance.lifetime
    growth = op.maintenance.growth
    quality = op.promotion.quality
    log = op.maintenance.log
    check = op.maintenance.check
    export = op.maintenance.export
    export_to = op.maintenance.export_to
    models = op.models.models
    tiers = op.tiers.tiers

    def __init__(
        self,
        store: Store,
        space: str,
        as_of: AsOf,
        encoder: str = DEFAULT_ENCODER,
        engines: dict[str, RecallEngine] | None = None,
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._engines = {} if engines is None else engines
        """The engines by encoder; shared by all views of a memory, and made at first use."""
        self._space = clean_name(space, "space")
        self._space_id = store.spaces.id(space)
        self._as_of = as_of
        self._actor = ""

    @property
    def space(self) -> str:
        """The name of the space this view looks at."""
        return self._space

    @property
    def as_of(self) -> AsOf:
        """The moment this view looks at."""
        return self._as_of

    @property
    def change(self) -> int:
        """The number of the last committed write."""
        return op.maintenance.change(self)

    @property
    def pending(self) -> int:
        """How many states of this space wait to be indexed; a question indexes them first."""
        return op.maintenance.pending(self)

    @property
    def unembedded(self) -> int:
        """How many passages of this space have no vector yet: only words and names find them."""
        return op.maintenance.unembedded(self)

    def at(
        self,
        time: TimeLike | None = None,
        *,
        valid: TimeLike | None = None,
        known: TimeLike | None = None,
    ) -> View:
        """Return a read-only view of the same space as of another time.

        `at("2024-03")` is how the world was then, by all we know today; `at(known="2024-03")` is
        what we knew then; `at(valid=…, known=…)` combines both.
        """
        moment = self._moment(time, valid, known)
        view = View(self._store, self._space, moment, self._encoder, self._engines)
        view._actor = self._actor
        return view

    def in_space(self, name: str) -> View:
        """Return a view of another space as of the same moment; raise NotFound if it is missing."""
        return View(self._store, name, self.as_of, self._encoder, self._engines)

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context in which all reads see one moment, even if others write meanwhile."""
        return self._store.snapshot()

    # For the operations

    def _time(self, time: TimeLike | None) -> datetime | None:
        return None if time is None else parse_time(time, self._store.now())

    def _moment(
        self, time: TimeLike | None, valid: TimeLike | None, known: TimeLike | None
    ) -> AsOf:
        if time is not None and valid is not None:
            raise InvalidInput("Give `at` one valid time: either the first argument or valid=….")
        valid = valid if time is None else time
        if valid is None and known is None:
            raise InvalidInput("Say which time: at('2024-03'), at(valid=…) or at(known=…).")
        return AsOf(self._time(valid), self._time(known))

    def _require_space(self) -> None:
        """Raise NotFound if the space was dropped, also if one of its name was created since."""
        if self._store.spaces.id(self._space) != self._space_id:
            raise NotFound(
                f"The space {self._space!r} was dropped and created again: open it again."
            )

    def _named_node(self, name: str) -> int:
        clean_name(name)
        self._require_space()
        node = self._store.entities.node(self._space_id, name, self.as_of)
        if node is None:
            raise NotFound(f"There is no topic or entity {name!r} in the space {self._space!r}.")
        return node

    def _meant_node(self, name: str) -> int:
        """Return the node that a user means by a name; raise NotFound if none or several fit."""
        from hades.recall.find.meant import meant_node

        clean_name(name)
        self._require_space()
        return meant_node(self._store, self._scope(), name)

    def _meant_topic(self, name: str) -> str:
        """Return the topic that a user means by a name; raise NotFound if none or several fit."""
        from hades.recall.find.meant import meant_topic

        clean_name(name)
        self._require_space()
        return meant_topic(self._store, self._scope(), name)

    @property
    def _engine(self) -> RecallEngine:
        if self._encoder not in self._engines:
            from hades.recall.engine import RecallEngine
            from hades.settings import load_settings

            engine = RecallEngine(self._store, self._encoder, load_settings().ranker)
            self._engines.setdefault(self._encoder, engine)  # another thread may have been first
        return self._engines[self._encoder]

    @property
    def _finder(self) -> Finder:
        return self._engine.finder

    def _scope(
        self,
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        by: str = "written",
    ) -> Scope:
        """Return the scope of a question: space, moment and filters, which are checked here."""
        from hades.recall.find.finder import Scope

        for pattern in (tag, glob):
            if pattern is not None:
                clean_name(pattern, "pattern")
        clean_kind(kind)
        if by not in TIMES_MEANT:
            raise InvalidInput(f"Filter by {' or '.join(TIMES_MEANT)}, not by {by!r}.")
        times = self._time(since), self._time(until), by == "event"
        return Scope(self._space_id, self._space, self.as_of, tag, kind, glob, *times)

    def _ready(
        self, question: str, on_progress: Progress | None, *, degrades: bool = False
    ) -> None:
        """Raise InvalidInput if the question is empty, then index new states."""
        clean_text(question, "question")
        if not question.strip():
            raise InvalidInput("Ask something: the question is empty.")
        self._bring_up_to_date(on_progress, degrades=degrades)

    def _bring_up_to_date(self, on_progress: Progress | None, *, degrades: bool = False) -> None:
        """Index new states; raise InvalidInput inside a batch. `degrades`: ignore Unavailable."""
        if self._store.in_transaction:
            raise InvalidInput("Search before or after a batch or snapshot, not inside it.")
        self._require_space()
        # An answer has reasons that report it (not_indexed, encoder_failed); a list has none.
        with suppress(*((Unavailable,) if degrades else ())):
            self._index_pending(on_progress)

    def _is_behind(self) -> bool:
        """Return whether a question must first index small notes or a few facts of this space."""
        from hades.ingest.sharing import few_facts, small_share

        store, space = self._store, self._space_id
        return bool(small_share(store, space)) or few_facts(
            store, space, self._finder.encoder.model
        )

    def _vectors_missing(self) -> int:
        """Count the space's passages and facts without vectors, up to EMBEDDED_AT_ONCE + 1 each."""
        store, model, most = self._store, self._finder.encoder.model, EMBEDDED_AT_ONCE + 1
        passages = store.chunks.unembedded(
            model, store.chunks.embedded(model), most, self._space_id
        )
        return len(passages) + len(store.edges.unembedded(model, most, self._space_id))

    def _phases(self, space: int, on_progress: Progress | None) -> Phases:
        from hades.ingest.phases import Phases

        finder = self._finder
        return Phases(
            self._store, space, "hades", on_progress, lambda names: finder.saying(space, names)
        )

    def _index_share(self) -> None:
        """Index the few states and facts that a question waits for (`_index_in_turns`: all)."""
        from hades.ingest.sharing import index_share

        if not self._store.read_only and self._is_behind():
            phases, finder = self._phases(self._space_id, None), self._finder
            index_share(self._store, self._space_id, phases, finder.encoder, finder.indexing)

    def _index_in_turns(self, on_progress: Progress) -> None:
        """Index all that waits, in all spaces, alternating between spaces and actors."""
        from hades.ingest.sharing import Background

        finder = self._finder
        Background(
            self._store,
            self._space_id,
            lambda space: self._phases(space, on_progress),
            finder.encoder,
            finder.indexing,
            on_progress,
        ).run()

    def _index_pending(self, on_progress: Progress | None, *, for_question: bool = True) -> None:
        """Cut, link and embed the space's new states; do nothing if open for reading only.

        With `for_question`, compute few vectors (the answer reports the rest); else compute all.
        """
        if self._store.read_only:
            return
        vectors, count = self._vectors_missing(), self._store.chunks.pending_count
        uncut = self.pending - count(self._space_id, Phase.EMBEDDINGS)
        if for_question and not (self.pending or vectors):
            return
        if for_question and not uncut and vectors > EMBEDDED_AT_ONCE:
            self._index_share()
            return
        finder, phases = self._finder, self._phases(self._space_id, on_progress)
        with finder.indexing:
            for _ in range(INDEXED_AGAIN_AT_MOST):
                with suppress(NotFound):  # a state was purged while it was read: try again
                    phases.cut()
                    phases.link()
                    if for_question and self._vectors_missing() <= EMBEDDED_AT_ONCE:
                        phases.embed(finder.encoder, for_question=True)
                    break
        if for_question and uncut > EMBEDDED_AT_ONCE:
            # Read the new indexes here: the time limit of the question begins later.
            with self._engine.query_context(self._scope(), on_progress):
                pass
        if not for_question:
            phases.embed(finder.encoder)
        elif self._vectors_missing() > EMBEDDED_AT_ONCE:
            self._index_share()


class Memory(View):
    """A memory, open for reading and writing in one of its spaces."""

    # States
    remember = op.states.remember
    forget = op.states.forget
    withdraw = op.states.withdraw
    purge = op.states.purge
    promote = op.promotion.promote
    consolidate = op.summaries.consolidate
    organise = op.hierarchy.organise
    refresh_bridges = op.hierarchy.refresh_bridges
    core_append = op.context.core_append
    core_replace = op.context.core_replace

    # Edges and entities
    relate = op.edges.relate
    unrelate = op.edges.unrelate
    change_fact = op.edges.change_fact
    set_inverse = op.edges.set_inverse
    prune = op.edges.prune
    add_alias = op.entities.add_alias
    rename = op.entities.rename
    set_kind = op.entities.set_kind
    merge = op.entities.merge
    split = op.entities.split
    resolve = op.entities.resolve
    extract = op.extraction.extract
    distil = op.distil.distil

    # Proposals, and writes that are done once
    propose = op.proposals.propose
    approve = op.proposals.approve
    reject = op.proposals.reject
    reopen = op.proposals.reopen
    once = op.proposals.once

    # Learning
    feedback = op.feedback.feedback
    weights_rollback = op.feedback.weights_rollback

    # Sources
    ingest = op.sources.ingest
    mirror = op.sources.mirror
    index = op.sources.index
    import_triples = op.sources.import_triples
    reembed = op.sources.reembed

    # The memory as a whole
    create_space = op.maintenance.create_space
    drop_space = op.maintenance.drop_space
    repair = op.maintenance.repair
    import_ = op.maintenance.import_
    backup = op.maintenance.backup
    restore = op.maintenance.restore
    archive = op.tiers.archive

    def __init__(
        self,
        store: Store,
        space: str,
        actor: str,
        *,
        encoder: str = DEFAULT_ENCODER,
        engines: dict[str, RecallEngine] | None = None,
        owner: bool = True,
    ) -> None:
        super().__init__(store, space, NOW, encoder, engines)
        self._actor = clean_name(actor, "actor")
        self._owner = owner

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file or the connection, unless this memory came from `in_space`."""
        if self._owner:
            for engine in self._engines.values():
                engine.finder.finish()
            self._store.close()

    def in_space(self, name: str, *, actor: str | None = None) -> Memory:
        """Return this memory in another space; its writes are by `actor` (default: the same)."""
        of = self._store, name, actor or self._actor
        return Memory(*of, encoder=self._encoder, engines=self._engines, owner=False)

    def batch(self) -> AbstractContextManager[None]:
        """Return a context that makes all writes inside it one commit: faster, all or nothing.

        >>> with memory.batch():                                # doctest: +SKIP
        ...     for name, text in notes: memory.remember(name, text)
        """
        return self._store.transaction()

    # For the operations

    def _alone(self) -> AbstractContextManager[None]:
        """Return a context in which nobody else writes to this memory; a batch, if it has those."""
        return self._store.transaction()

    @contextmanager
    def _write(self, action: str) -> Iterator[Write]:
        with self._store.write(self._actor, action, self._space_id) as write:
            self._require_space()
            yield write

    def _finish_owed(self) -> bool:
        """Do the work that an erasure or restore left; return whether none is left.

        Inside a batch, do it when the batch ends, and return False.
        """
        if self._store.in_transaction:
            self._store.afterwards(self._finish_owed)
            return False
        self._store.finish_owed(self._drop_indexes)
        return not self._store.owed()

    def _drop_indexes(self) -> bool:
        """Drop indexes and kept answers, which may contain purged text; return if all are gone."""
        gone = True
        if self._store.index_folder.exists():
            from hades.index.array_store import drop_files
            from hades.index.space_words import forget_opened

            forget_opened()
            gone = drop_files(self._store.index_folder)
        if self._store.index_folder.exists() or "://" in self._store.database.place:
            from hades.recall.answer_cache import forget_shared

            gone = forget_shared(self._store) and gone
        for engine in self._engines.values():
            engine.forget()
        return gone

    def _patient(self, seconds: float) -> AbstractContextManager[None]:
        """Return a context in which this thread's writes wait up to this long for other writers."""
        return self._store.patient(seconds)

    def _follow_encoder(self, *, only_default: bool = False) -> None:
        """Use the encoder that the memory stores. `only_default`: keep one that was chosen."""
        if not only_default or self._encoder == DEFAULT_ENCODER:
            self._encoder = self._store.meta("encoder") or self._encoder

    def _use_extractor(self, extractor: str) -> None:
        from hades.models.extractor import DEFAULT_EXTRACTOR, known_extractor

        if known_extractor(extractor) != (self._store.meta("extractor") or DEFAULT_EXTRACTOR):
            with self._write("set_extractor"):
                self._store.set_meta("extractor", extractor)
