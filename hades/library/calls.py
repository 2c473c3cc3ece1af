"""Calls of the volumes of a library: several at once, each within its share of the time.

If a volume fails or is late, the results of the others are used and its error is returned. A volume
that failed several times in a row is not called for a while (see `hades.breaker`).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from threading import BoundedSemaphore
from typing import Any

from hades.breaker import breaker_of
from hades.errors import HadesError, Unavailable
from hades.library.catalogue import Catalogue, VolumeEntry
from hades.library.workers import VolumeWorkers

THREADS = 64
"""The most calls at once, of all questions."""
AT_ONCE_PER_CORE = 4
"""The most calls at once of one question, per core of the workers. If time is short, some volumes
answer; all at once would all be late."""


@dataclass(slots=True)
class Results:
    """The results of volumes by name, and the errors of those that are missing."""

    of: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, HadesError] = field(default_factory=dict)


class VolumeCalls:
    """Calls of volumes by their workers."""

    def __init__(self, catalogue: Catalogue, workers: VolumeWorkers) -> None:
        self.workers = workers
        self._catalogue = catalogue
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="hades-library")

    def one(self, volume: VolumeEntry, method: str, *args: Any) -> Any:
        """Call a method of one volume, and raise what it raises."""
        place = self._catalogue.place(volume)
        with breaker_of(f"the volume {volume.name} at {volume.shown}").guard():
            return self.workers.call(place, method, *args)

    def all(
        self,
        volumes: Iterable[VolumeEntry],
        method: str,
        *args: Any,
        own: Mapping[str, Any] | None = None,
        until: float | None = None,
    ) -> Results:
        """Call a method of several volumes at once; `own` has their last arguments by name.

        Wait for them until `until`, a time of `time.monotonic`.
        """
        results = Results()
        turns = BoundedSemaphore(AT_ONCE_PER_CORE * self.workers.cores)
        calls = list[tuple[VolumeEntry, ExitStack, Future[Any]]]()
        for volume in volumes:
            guard = ExitStack()
            try:
                guard.enter_context(
                    breaker_of(f"the volume {volume.name} at {volume.shown}").guard()
                )
            except Unavailable as error:
                results.missing[volume.name] = error
                continue
            more = args if own is None else (*args, own[volume.name])
            place = self._catalogue.place(volume)
            call = self._pool.submit(self._in_turn, turns, until, place, method, *more)
            calls.append((volume, guard, call))
        begun = time.monotonic()
        for volume, guard, call in calls:
            try:
                with guard:
                    results.of[volume.name] = _result(call, begun, until)
            except HadesError as error:
                results.missing[volume.name] = error
        return results

    def _in_turn(
        self, turns: BoundedSemaphore, until: float | None, place: str, method: str, *args: Any
    ) -> Any:
        left = None if until is None else max(0.0, until - time.monotonic())
        if not turns.acquire(timeout=left):
            raise Unavailable("no time was left")  # nobody waits for it any more
        try:
            return self.workers.call(place, method, *args)
        finally:
            turns.release()

    def close(self) -> None:
        """Close the volumes, without waiting for those that are late."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        self.workers.close()


def _result(call: Future[Any], begun: float, until: float | None) -> Any:
    try:
        return call.result(None if until is None else max(0.0, until - time.monotonic()))
    except TimeoutError as error:
        if call.done():
            raise
        call.cancel()
        raise Unavailable(f"no answer within {(until or begun) - begun:.1f} s") from error
