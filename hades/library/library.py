"""Library: many memories that are asked as one, by the same operations.

Questions run over an excerpt of the volumes. Operations about one topic go to the volume that has
it. Counts and lists of the volumes are joined. An operation on a memory as a whole, such as a
backup, raises Unavailable: do it volume by volume.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn

from hades.domain.answer import Answer, Recall, StageReport
from hades.domain.graph import Entity
from hades.domain.times import AsOf, TimeLike, from_micros
from hades.errors import Conflict, HadesError, InvalidInput, NotFound, Unavailable
from hades.ingest.summary import Summary
from hades.language.names import name_key
from hades.library.calls import Results, VolumeCalls
from hades.library.catalogue import Catalogue, Share, VolumeEntry
from hades.library.gathering import OPENING_S, GatheredRows, Gathering
from hades.library.sketch import Sketch
from hades.library.volume import Moment, Open
from hades.library.workers import workers_of
from hades.memory import Memory, View
from hades.operations import maintenance
from hades.operations.declare import OPERATIONS, Operation
from hades.operations.inside import Inside
from hades.operations.parameters import Filters
from hades.recall.find.turns import clean_turns
from hades.recall.plan import Plan, make_plan
from hades.recall.question.in_context import in_context
from hades.store.store import Store

QUESTIONS = ("search", "recall", "ask", "rank", "query_paths", "retrieve_within_budget")
NAMED = {
    "paths": ("source", "target"),
    "neighbours": ("name",),
    "subgraph": ("names",),
    "working_memory": ("topic",),
    "edges": ("name",),
    "when_changed": ("name",),
    "about": ("name",),
}
"""Operations about names, and the parameters with them."""
AT_HOME = {
    **dict.fromkeys(("get", "history", "diff", "chunks"), "topic"),
    **dict.fromkeys(("remember", "forget", "withdraw", "promote"), "topic"),
    **dict.fromkeys(("entity", "mentions", "add_alias", "set_kind", "rename"), "name"),
    "relate": "source",
    "unrelate": "source",
    "change_fact": "source",
}
"""Operations about one topic or name, and the parameter with it."""


def _sums(counts: list[dict[str, int]]) -> dict[str, int]:
    return {key: sum(one.get(key, 0) for one in counts) for one in counts for key in one}


def _entities(lists: list[list[Entity]]) -> list[Entity]:
    """Join lists of entities; one that several volumes know is listed once."""
    joined: dict[str, Entity] = {}
    for entity in chain(*lists):
        key = name_key(entity.name)
        known = joined.get(key)
        if known is not None:
            counts = known.frequency + entity.frequency, known.edges + entity.edges
            entity = replace(known, frequency=counts[0], edges=counts[1])
        joined[key] = entity
    return sorted(joined.values(), key=attrgetter("name"))


def _by(place: str, *, newest: bool = False) -> Callable[[list[Any]], list[Any]]:
    """Return a function that joins lists in the order of an attribute."""
    return lambda lists: sorted(chain(*lists), key=attrgetter(place), reverse=newest)


MERGED: dict[str, Callable[[list[Any]], Any]] = {
    "stats": _sums,
    "purge": lambda counts: {**_sums(counts), "wiped": min(one["wiped"] for one in counts)},
    "index": sum,
    "warm": lambda seconds: {key: max(one[key] for one in seconds) for key in seconds[0]},
    "topics": _by("name"),
    "entities": _entities,
    "log": _by("at", newest=True),
}
"""Operations that every volume does, and how their results are joined."""
NOT_AS_ONE = (
    "A library cannot do {0!r} as a whole: do it in a volume. "
    "`hades library list` says where they are."
)
LATENCY_S = 5.0
"""The time limit of an operation about names, and of a short read of every volume."""


OF_CATALOGUE = ("models", "change", "pending", "unembedded", "spaces", "create_space", "once")
"""Operations that the catalogue does itself."""


class LibraryInside(Inside):
    """The `Inside` of the catalogue, which passes operations on to the volumes."""

    as_one: Callable[[Callable[..., Any], Sequence[Any], Mapping[str, Any]], Any]

    def do(
        self, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """Do an operation over the volumes, unless it is one of the catalogue."""
        if function.__name__ in OF_CATALOGUE:
            return function(self, *args, **named)
        return self.as_one(function, args, named)

    def batch(self) -> NoReturn:
        """Raise Unavailable: a write is atomic within one volume."""
        raise Unavailable("A library has no batches: a write is atomic within one volume.")


class LibraryView(View):
    """One space of a library as of one moment, read-only."""

    inside: LibraryInside

    def __init__(self, library: Library, space: str, as_of: AsOf, actor: str) -> None:
        super().__init__(replace(library.inside, space=space, as_of=as_of, actor=actor))
        self.inside.as_one = self._as_one
        self._library = library

    def at(
        self,
        time: TimeLike | None = None,
        *,
        valid: TimeLike | None = None,
        known: TimeLike | None = None,
    ) -> LibraryView:
        """Return a read-only view of the same space as of another time, exact in every volume."""
        moment = self._moment(time, valid, known)
        return LibraryView(self._library, self.space, moment, self.inside.actor)

    def in_space(self, name: str) -> LibraryView:
        """Return a view of another space as of the same moment; raise NotFound if it is missing."""
        return LibraryView(self._library, name, self.as_of, self.inside.actor)

    def snapshot(self) -> AbstractContextManager[None]:
        """Return a context that holds nothing: each volume has moments of its own.

        `at(known=…)` is exact in all volumes.
        """
        return nullcontext()

    def _as_one(
        self, function: Callable[..., Any], args: Sequence[Any], named: Mapping[str, Any]
    ) -> Any:
        """Do an operation over the volumes; every operation of a library comes here."""
        name = function.__name__
        if name == "ingest":
            return self._library._ingested(args, named)
        if name == "check":
            return [*chain(*self._library._of_all("check").values())]
        operation = OPERATIONS.get(name)
        if operation is None:
            raise Unavailable(NOT_AS_ONE.format(name))
        bound = operation.signature.bind(self, *args, **named).arguments
        given = dict(list(bound.items())[1:])
        given.pop("on_progress", None)
        if name in QUESTIONS:
            return self._asked(operation, given)
        if name == "brief" or (name in NAMED and given.get(NAMED[name][0]) is not None):
            return self._about_names(operation, given)
        if name in AT_HOME:
            return self._at_home(operation, given)
        if name in MERGED:
            return self._merged(operation, given)
        raise Unavailable(NOT_AS_ONE.format(name))

    @property
    def _place(self) -> Moment:
        return Moment(self.space, self.as_of, self.inside.actor)

    def _asked(self, operation: Operation, given: dict[str, Any]) -> Any:
        text = given["question"]
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput("Ask something: the question is empty.")
        names = Filters.__annotations__
        filters = {name: given[name] for name in names if given.get(name) is not None}
        self.inside.scope(**filters)  # bad filters are refused before a volume is asked
        sought, _ = in_context(text, clean_turns(given.get("turns")))
        latency_s = _latency_ms(given.get("plan")) / 1000
        gathering = self._library._gathering
        gathered = gathering.for_question(self._place, sought, filters, latency_s)
        return self._over(gathered, operation, given)

    def _about_names(self, operation: Operation, given: dict[str, Any]) -> Any:
        is_brief = operation.name == "brief"
        names = list[str]()
        for parameter in ("topic",) if is_brief else NAMED[operation.name]:
            value = given.get(parameter) or ()
            names += [value] if isinstance(value, str) else value
        gathering = self._library._gathering
        gathered = gathering.for_names(self._place, names, LATENCY_S, brief=is_brief)
        return self._over(gathered, operation, given)

    def _over(self, gathered: GatheredRows, operation: Operation, given: dict[str, Any]) -> Any:
        """Do an operation over the excerpt of what was gathered; name the missing volumes."""
        report = gathered.report
        with self._library._gathering.view(self._place, gathered) as view:
            args, named = operation.arguments(given)
            result = operation.of(view, *args, **named)
        if isinstance(result, Answer):
            return replace(result, recall=_with_reasons(result.recall, gathered, report))
        return _with_reasons(result, gathered, report) if isinstance(result, Recall) else result

    def _at_home(self, operation: Operation, given: dict[str, Any]) -> Any:
        name = given[AT_HOME[operation.name]]
        args, named = operation.arguments(given)
        library = self._library
        missing: HadesError | None = None
        volumes = library._holders(self._place, name, given.get("valid_from"), operation)
        for volume in volumes:
            try:
                result = library._calls.one(volume, "do", operation.name, self._place, args, named)
            except (NotFound, Unavailable) as error:
                if missing is None or isinstance(error, Unavailable):
                    missing = error
                continue
            if operation.writes:
                library._gathering.written[self.space].add(volume.name)
            return result
        raise missing or NotFound(f"There is no topic {name!r} in the library.")

    def _merged(self, operation: Operation, given: dict[str, Any]) -> Any:
        is_latest_first = operation.name == "topics" and given.get("latest")
        if is_latest_first and given.get("after"):
            raise InvalidInput("In a library, page through topics by name: leave out `latest`.")
        args, named = operation.arguments(given)
        calls = self._library._calls
        volumes = self._library._catalogue.volumes
        until = None if operation.long or operation.writes else time.monotonic() + LATENCY_S
        results = calls.all(volumes, "do", operation.name, self._place, args, named, until=until)
        if operation.name == "purge":
            self._library._purged(self.space)
        for name, error in list(results.missing.items()):
            if isinstance(error, NotFound) and results.of:
                del results.missing[name]
        _raise_first(results)
        whole = MERGED[operation.name](list(results.of.values()))
        if is_latest_first:
            whole.sort(key=attrgetter("valid_from"), reverse=True)
        limit = given.get("limit")
        return whole[:limit] if isinstance(whole, list) and limit is not None else whole


class Library(LibraryView, Memory):
    """A library, open for reading and writing in one of its spaces."""

    def __init__(
        self,
        store: Store,
        space: str,
        actor: str,
        *,
        encoder: str,
        opened: Open,
        workers: str,
        options: Mapping[str, Any],
    ) -> None:
        Memory.__init__(self, LibraryInside(store, space, actor=actor, encoder=encoder))
        self.inside.as_one = self._as_one
        self._library = self
        self._catalogue = Catalogue(store, actor)
        held = workers_of(workers, opened, {**options, "encoder": encoder, "actor": actor})
        self._opened = opened
        self._calls = VolumeCalls(self._catalogue, held)
        self._gathering = Gathering(self._catalogue, self._calls, encoder)

    def __enter__(self) -> Library:
        return self

    def close(self) -> None:
        """Write the sketches that changed, then close the volumes and the catalogue."""
        if self._owner:
            self._catalogue.keep_all()
            self._calls.close()
            Memory.close(self)

    def in_space(self, name: str, *, actor: str | None = None) -> Library:
        """Return this library in another space; its writes are by `actor` (default: the same)."""
        other = copy(self)
        inside = replace(self.inside, space=name, actor=actor or self.inside.actor)
        Memory.__init__(other, inside, owner=False)
        other.inside.as_one = other._as_one
        return other

    def drop_space(self, name: str) -> None:
        """Erase a space with everything in it, in all volumes."""
        results = self._calls.all(self._catalogue.volumes, "drop_space", name)
        for volume, error in results.missing.items():
            raise Unavailable(f"The volume {volume}: {error} Drop the space again.")
        for volume in results.of:
            self._catalogue.keep(volume, name, None)
        maintenance.drop_space(self.inside, name)

    # The volumes

    def volumes(self) -> tuple[VolumeEntry, ...]:
        """List the volumes of the library."""
        return self._catalogue.volumes

    def add_volume(self, name: str, place: str | Path, takes: Iterable[str] = ()) -> VolumeEntry:
        """Add a memory to the library, and create it if there is none at this place."""
        volume = VolumeEntry(name, str(place), tuple(takes))
        with self._opened(self._catalogue.place(volume)) as memory:
            if isinstance(memory, Library):
                raise InvalidInput(f"{volume.shown} is a library: add its volumes instead.")
            spaces = [space.name for space in memory.spaces()]
        self._catalogue.add(volume)
        for space in spaces:
            if space not in {own.name for own in self.spaces()}:
                self.create_space(space)
            self._catalogue.keep(name, space, self._calls.one(volume, "sketch", space))
        return volume

    def move_volume(self, name: str, place: str | Path) -> VolumeEntry:
        """Copy a volume to another place and use it there; it answers meanwhile.

        Writes wait while copy and original are compared. The original stays where it is.
        """
        from hades.store.copy import copy as copy_memory

        volume = self._catalogue.volume(name)
        old = self._catalogue.place(volume)
        new = replace(volume, place=str(place))
        target = self._catalogue.place(new)
        copy_memory(old, target)
        with self._opened(old, create=False) as source, source.batch():
            with self._opened(target, create=False, read_only=True) as copied:
                if copied.change != source.change:
                    raise Conflict(f"{name} was written to meanwhile: move it again.")
            self._catalogue.moved(name, str(place))
        self._calls.workers.leave(old)
        return self._catalogue.volume(name)

    def remove_volume(self, name: str) -> None:
        """Take a volume out of the library; its memory stays where it is."""
        place = self._catalogue.place(self._catalogue.volume(name))
        for space in self.spaces():
            self._catalogue.keep(name, space.name, None)
        self._catalogue.removed(name)
        self._calls.workers.leave(place)

    def status(self) -> dict[str, Sketch | HadesError | None]:
        """Make new sketches of all volumes; return those of this space, or why one is missing."""
        shown: dict[str, Sketch | HadesError | None] = {}
        for space in self.spaces():
            results = self._calls.all(self._catalogue.volumes, "sketch", space.name)
            for volume, sketch in results.of.items():
                self._catalogue.keep(volume, space.name, sketch)
            if space.name == self.space:
                shown |= {**results.of, **results.missing}
        return shown

    # For the operations

    def _of_all(self, method: str, *args: Any) -> dict[str, Any]:
        """Call a method of all volumes; return the results, or raise the first error."""
        results = self._calls.all(self._catalogue.volumes, method, *args)
        _raise_first(results)
        return results.of

    def _ingested(self, args: Sequence[Any], named: Mapping[str, Any]) -> Summary:
        """Ingest a source: each volume takes its share, as many volumes at once as there are
        cores."""
        if self._catalogue.by == "year":
            raise Unavailable(
                "A library divided by year cannot split a source: ingest it into the volume of "
                "its year."
            )
        on_progress = named.get("on_progress") or (lambda _what, _done, _total: None)
        given = {name: value for name, value in named.items() if name != "on_progress"}
        volumes = self._catalogue.volumes
        held = self._of_all("topics", self._place)
        whole = Summary()
        at_once = self._calls.workers.cores
        for begin in range(0, len(volumes), at_once):
            on_progress("volumes", begin, len(volumes))
            some = volumes[begin : begin + at_once]
            shares = {volume.name: self._share(volume, held) for volume in some}
            results = self._calls.all(some, "ingest", self._place, args, given, own=shares)
            self._gathering.written[self.space] |= shares.keys()
            _raise_first(results)
            for summary in results.of.values():
                whole.add(summary)
        on_progress("volumes", len(volumes), len(volumes))
        return whole

    def _share(self, volume: VolumeEntry, held: Mapping[str, Sequence[str]]) -> Share:
        others = chain(*(topics for name, topics in held.items() if name != volume.name))
        catalogue = self._catalogue
        return Share(
            volume.name,
            catalogue.volumes,
            catalogue.by,
            self.space,
            own=frozenset(held[volume.name]),
            elsewhere=frozenset(others),
        )

    def _holders(
        self, moment: Moment, name: str, valid_from: TimeLike | None, operation: Operation
    ) -> list[VolumeEntry]:
        """Return the volumes that may have a name, likeliest first; for a write, the one to write
        to."""
        space = moment.space
        volumes = self._catalogue.volumes
        year = (self._time(valid_from) or from_micros(self.inside.store.now())).year
        home: VolumeEntry | None = None
        with suppress(NotFound):  # a topic that exists needs no home
            home = self._catalogue.home(space, name, year)
        likeliest = sorted(volumes, key=lambda volume: volume != home)
        if not operation.writes:
            return likeliest
        of_topic = AT_HOME[operation.name] == "topic"
        until = time.monotonic() + OPENING_S
        results = self._calls.all(volumes, "has", moment, name, not of_topic, until=until)
        for missing, error in results.missing.items():
            sketch = self._catalogue.sketch(missing, space)
            is_home = self._catalogue.volume(missing) == home
            if is_home or sketch is None or sketch.holds([name, name_key(name)]):
                raise Unavailable(f"The volume {missing} may have {name!r}: {error}") from error
        for kind in ("topic",) if of_topic else ("fact", "topic", "entity"):
            for volume in likeliest:
                if kind in results.of.get(volume.name, ()):
                    return [volume]
        return [self._catalogue.home(space, name, year)]

    def _purged(self, space: str) -> None:
        """Make new sketches, so that no trace of a purged name stays in them."""
        for volume in self._catalogue.volumes:
            sketch = None
            with suppress(HadesError):
                sketch = self._calls.one(volume, "sketch", space)
            self._catalogue.keep(volume.name, space, sketch)


def _raise_first(results: Results) -> None:
    """Raise the first error, of a volume that does not answer before one that lacks a name."""
    for name, error in sorted(
        results.missing.items(), key=lambda one: isinstance(one[1], NotFound)
    ):
        is_known = isinstance(error, NotFound)
        raise type(error)(str(error) if is_known else f"The volume {name}: {error}")


def _with_reasons(recall: Recall, gathered: GatheredRows, report: StageReport) -> Recall:
    return replace(
        recall,
        reasons=(*gathered.reasons, *recall.reasons),
        telemetry=(report, *recall.telemetry),
    )


def _latency_ms(plan: Plan | Mapping[str, Any] | None) -> int:
    chosen = Plan() if plan is None else make_plan(Plan(), plan)[0]
    return chosen.budget.latency_ms
