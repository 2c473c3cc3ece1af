"""Memory: the list of all operations, in two classes: `View` reads one space as of one moment,
`Memory` also writes.

Each line in them names a function of `hades/operations/`, where it is declared and documented. The
command line, the servers and the client call nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import hades.operations as op
from hades.domain.times import AsOf, TimeLike
from hades.errors import InvalidInput
from hades.operations.declare import OPERATIONS
from hades.operations.inside import Inside

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def method(
    function: Callable[Concatenate[Inside, Parameters], Result],
) -> Callable[Concatenate[View, Parameters], Result]:
    """Return an operation as a method of views and memories."""
    is_declared = function.__name__ in OPERATIONS

    @wraps(function)
    def called(self: View, /, *args: Parameters.args, **named: Parameters.kwargs) -> Result:
        if is_declared:
            return function(self.inside, *args, **named)
        result: Result = self.inside.do(function, args, named)
        return result

    return called


class View:
    """One space of a memory as of one moment, read-only."""

    # States
    get = method(op.states.get)
    history = method(op.states.history)
    diff = method(op.states.diff)
    topics = method(op.states.topics)
    chunks = method(op.states.chunks)

    originals = method(op.summaries.originals)
    summaries = method(op.summaries.summaries)

    # Edges and entities
    edges = method(op.edges.edges)
    edge = method(op.edges.edge)
    when_changed = method(op.edges.when_changed)
    inverses = method(op.edges.inverses)
    entities = method(op.entities.entities)
    entity = method(op.entities.entity)
    about = method(op.entities.about)
    mentions = method(op.entities.mentions)

    # The hierarchy
    hierarchy = method(op.hierarchy.hierarchy)
    clusters = method(op.hierarchy.clusters)

    # Questions
    search = method(op.questions.search)
    recall = method(op.questions.recall)
    ask = method(op.questions.ask)
    rank = method(op.questions.rank)
    sample_questions = method(op.questions.sample_questions)
    examine = method(op.questions.examine)
    warm = method(op.questions.warm)
    retrieve_within_budget = method(op.context.retrieve_within_budget)

    # Core blocks
    core = method(op.core.core)

    # The graph around a name
    paths = method(op.graph.paths)
    query_paths = method(op.graph.query_paths)
    neighbours = method(op.graph.neighbours)
    subgraph = method(op.graph.subgraph)
    working_memory = method(op.working_memory.working_memory)
    brief = method(op.briefs.brief)
    sessions = method(op.distil.sessions)
    session = method(op.distil.session)
    suggest = method(op.promotion.suggest)

    # Learning
    query_log = method(op.feedback.query_log)
    weights = method(op.feedback.weights)
    weight_snapshots = method(op.feedback.weight_snapshots)
    weights_diff = method(op.feedback.weights_diff)

    # The memory as a whole
    proposals = method(op.proposals.proposals)
    spaces = method(op.maintenance.spaces)
    stats = method(op.maintenance.stats)
    lifetime = method(op.maintenance.lifetime)
    growth = method(op.maintenance.growth)
    quality = method(op.promotion.quality)
    log = method(op.maintenance.log)
    check = method(op.maintenance.check)
    export = method(op.maintenance.export)
    export_to = method(op.maintenance.export_to)
    models = method(op.models.models)
    tiers = method(op.tiers.tiers)

    def __init__(self, inside: Inside) -> None:
        self.inside = inside
        """For the modules of HADES; not part of the public API."""

    @property
    def space(self) -> str:
        """The name of the space this view looks at."""
        return self.inside.space

    @property
    def as_of(self) -> AsOf:
        """The moment this view looks at."""
        return self.inside.as_of

    @property
    def change(self) -> int:
        """The number of the last committed write."""
        return op.maintenance.change(self.inside)

    @property
    def pending(self) -> int:
        """How many states of this space wait to be indexed; a question indexes them first."""
        return op.maintenance.pending(self.inside)

    @property
    def unembedded(self) -> int:
        """How many passages of this space have no vector yet: only words and names find them."""
        return op.maintenance.unembedded(self.inside)

    def at(
        self,
        time: TimeLike | None = None,
        *,
        valid: TimeLike | None = None,
        known: TimeLike | None = None,
    ) -> View:
        """Return a read-only view of the same space as of another time.

        `at("2024-03")` shows how the world was then, as far as we know today; `at(known="2024-03")`
        shows what we knew then; `at(valid=…, known=…)` combines both.
        """
        return View(replace(self.inside, as_of=self._moment(time, valid, known)))

    def in_space(self, name: str) -> View:
        """Return a view of another space as of the same moment; raise NotFound if it is missing."""
        return View(replace(self.inside, space=name, actor=""))

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context in which all reads see one moment, even if others write meanwhile."""
        return self.inside.store.snapshot()

    def _time(self, time: TimeLike | None) -> datetime | None:
        return self.inside.time(time)

    def _moment(
        self, time: TimeLike | None, valid: TimeLike | None, known: TimeLike | None
    ) -> AsOf:
        if time is not None and valid is not None:
            raise InvalidInput("Give `at` one valid time: either the first argument or valid=….")
        valid = valid if time is None else time
        if valid is None and known is None:
            raise InvalidInput("Say which time: at('2024-03'), at(valid=…) or at(known=…).")
        return AsOf(self._time(valid), self._time(known))


class Memory(View):
    """A memory, open for reading and writing in one of its spaces."""

    # States
    remember = method(op.states.remember)
    forget = method(op.states.forget)
    withdraw = method(op.states.withdraw)
    purge = method(op.states.purge)
    promote = method(op.promotion.promote)
    consolidate = method(op.summaries.consolidate)
    organise = method(op.hierarchy.organise)
    refresh_bridges = method(op.hierarchy.refresh_bridges)
    core_append = method(op.core.core_append)
    core_replace = method(op.core.core_replace)

    # Edges and entities
    relate = method(op.edges.relate)
    unrelate = method(op.edges.unrelate)
    change_fact = method(op.edges.change_fact)
    set_inverse = method(op.edges.set_inverse)
    prune = method(op.edges.prune)
    add_alias = method(op.entities.add_alias)
    rename = method(op.entities.rename)
    set_kind = method(op.entities.set_kind)
    merge = method(op.entities.merge)
    split = method(op.entities.split)
    resolve = method(op.entities.resolve)
    extract = method(op.extraction.extract)
    distil = method(op.distil.distil)

    # Proposals, and writes that are done once
    propose = method(op.proposals.propose)
    approve = method(op.proposals.approve)
    reject = method(op.proposals.reject)
    reopen = method(op.proposals.reopen)
    once = method(op.idempotency.once)

    # Learning
    feedback = method(op.feedback.feedback)
    weights_rollback = method(op.feedback.weights_rollback)

    # Sources
    ingest = method(op.sources.ingest)
    mirror = method(op.sources.mirror)
    index = method(op.sources.index)
    import_triples = method(op.sources.import_triples)
    reembed = method(op.sources.reembed)

    # The memory as a whole
    create_space = method(op.maintenance.create_space)
    drop_space = method(op.maintenance.drop_space)
    repair = method(op.maintenance.repair)
    import_ = method(op.maintenance.import_)
    backup = method(op.maintenance.backup)
    restore = method(op.maintenance.restore)
    archive = method(op.tiers.archive)

    def __init__(self, inside: Inside, *, owner: bool = True) -> None:
        super().__init__(inside)
        self._owner = owner

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file or the connection, unless this memory came from `in_space`."""
        if self._owner:
            self.inside.close()

    def in_space(self, name: str, *, actor: str | None = None) -> Memory:
        """Return this memory in another space; its writes are by `actor` (default: the same)."""
        inside = replace(self.inside, space=name, actor=actor or self.inside.actor)
        return Memory(inside, owner=False)

    def batch(self) -> AbstractContextManager[None]:
        """Return a context that makes all writes inside it one commit: faster, all or nothing.

        >>> with memory.batch():                                # doctest: +SKIP
        ...     for name, text in notes: memory.remember(name, text)
        """
        return self.inside.batch()
