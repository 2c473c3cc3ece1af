"""Workers: they hold the volumes, in threads, processes or actors of Ray.

All of them call a method of a volume, wherever it is, and return its result. If a volume was lost,
the next call opens it again.
"""

from __future__ import annotations

import multiprocessing
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import count
from threading import Lock
from typing import Any

from hades.errors import Unavailable
from hades.ingest.readers.text import one_line
from hades.ingest.spread import join_ray, load_ray
from hades.library.volume import Open, Volume
from hades.settings import cores, load_settings

THREADS = "threads"
PROCESSES = "processes"
CALLS_AT_ONCE = 4
"""The calls that an actor of Ray answers at once."""
READING = ("find", "rows", "revision", "sketch")
"""The calls that any replica of a volume answers."""


Replica = tuple[str, int]
"""The place of a volume, and the number of one of its workers."""


class VolumeWorkers(ABC):
    """Volumes by their place, opened when they are first called."""

    def __init__(self, opened: Open, options: Mapping[str, Any]) -> None:
        self._opened = opened
        self._options = dict(options)
        self._held: dict[Replica, Any] = {}
        self._locks: dict[Replica, Lock] = {}
        self._lock = Lock()
        self._replicas = load_settings().library_replicas
        self._turns = count()

    def call(self, place: str, method: str, *args: Any) -> Any:
        """Call a method of the volume at a place; raise Unavailable if its worker was lost.

        Replicas take calls in turn. Only the first one writes; `ready` goes to all of them.
        """
        numbers: Sequence[int] = (0,)
        if method in READING:
            numbers = (next(self._turns) % self._replicas,)
        elif method == "ready":
            numbers = range(self._replicas)
        results = [self._called((place, number), method, args) for number in numbers]
        return results[0]

    def leave(self, place: str) -> None:
        """Close the volume at a place; the next call opens it again."""
        with self._lock:
            left = [self._held.pop(one) for one in [*self._held] if one[0] == place]
        for held in left:
            self._close(held)

    def close(self) -> None:
        """Close all volumes."""
        for place, _ in list(self._held):
            self.leave(place)

    @property
    def cores(self) -> int:
        """The cores that the workers have together."""
        return cores()

    def _called(self, replica: Replica, method: str, args: tuple[Any, ...]) -> Any:
        with self._lock:
            lock = self._locks.setdefault(replica, Lock())
        with lock:
            if replica not in self._held:
                self._held[replica] = self._open(replica[0])
            held = self._held[replica]
        return self._call(replica[0], held, method, args)

    @abstractmethod
    def _open(self, place: str) -> Any: ...

    @abstractmethod
    def _call(self, place: str, held: Any, method: str, args: tuple[Any, ...]) -> Any: ...

    @abstractmethod
    def _close(self, held: Any) -> None: ...


class InThreads(VolumeWorkers):
    """Volumes in this process, one replica of each; a call runs in the thread of its caller."""

    def __init__(self, opened: Open, options: Mapping[str, Any]) -> None:
        super().__init__(opened, options)
        self._replicas = 1

    def _open(self, place: str) -> Volume:
        return Volume(self._opened, place, self._options)

    def _call(self, place: str, held: Volume, method: str, args: tuple[Any, ...]) -> Any:
        return getattr(held, method)(*args)

    def _close(self, held: Volume) -> None:
        held.close()


class InProcesses(VolumeWorkers):
    """Each volume in a process of its own, so that they use all cores."""

    def _open(self, place: str) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            1,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_open_here,
            initargs=(self._opened, place, self._options),
        )

    def _call(
        self, place: str, held: ProcessPoolExecutor, method: str, args: tuple[Any, ...]
    ) -> Any:
        try:
            return held.submit(_call_here, method, args).result()
        except BrokenProcessPool as error:
            self.leave(place)
            raise Unavailable(f"The process of {place} ended: ask again.") from error

    def _close(self, held: ProcessPoolExecutor) -> None:
        held.shutdown(wait=False, cancel_futures=True)


class OnRay(VolumeWorkers):
    """Volumes in actors of a Ray cluster, which starts a lost actor again, on another node if its
    own is gone. A file must be readable on that node; a database can be reached from everywhere."""

    def __init__(self, opened: Open, options: Mapping[str, Any], address: str) -> None:
        super().__init__(opened, options)
        self._ray = load_ray(address)
        self._is_ours = join_ray(self._ray, address)

    def _open(self, place: str) -> Any:
        actor = self._ray.remote(
            max_restarts=-1, max_task_retries=0, max_concurrency=CALLS_AT_ONCE, num_cpus=0
        )(Volume)
        return actor.remote(self._opened, place, self._options)

    def _call(self, place: str, held: Any, method: str, args: tuple[Any, ...]) -> Any:
        try:
            return self._ray.get(getattr(held, method).remote(*args))
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except self._ray.exceptions.RayError as error:
            why = one_line(str(error))
            raise Unavailable(f"The actor of {place} was lost, ask again ({why}).") from error

    def _close(self, held: Any) -> None:
        self._ray.kill(held)

    @property
    def cores(self) -> int:
        """The cores of the cluster."""
        return int(self._ray.cluster_resources().get("CPU", 1))

    def close(self) -> None:
        """End the actors, and the cluster if it was started here."""
        super().close()
        if self._is_ours:
            self._ray.shutdown()


_here: dict[str, Volume] = {}


def _open_here(opened: Open, place: str, options: Mapping[str, Any]) -> None:
    # opened at the first call: an error raised here would only break the pool
    _here["arguments"] = (opened, place, options)  # type: ignore[assignment]


def _call_here(method: str, args: tuple[Any, ...]) -> Any:
    if "volume" not in _here:
        _here["volume"] = Volume(*_here["arguments"])  # type: ignore[misc]
    return getattr(_here["volume"], method)(*args)


def workers_of(kind: str, opened: Open, options: Mapping[str, Any]) -> VolumeWorkers:
    """Return the workers of a kind: `threads`, `processes`, or the address of a Ray cluster."""
    if kind == THREADS:
        return InThreads(opened, options)
    if kind == PROCESSES:
        return InProcesses(opened, options)
    return OnRay(opened, options, kind)
