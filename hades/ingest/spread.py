"""Spread: reading, cutting, encoding and finding names on workers of Ray.

Each of these is a function of one part of the work and needs no store, so it can run anywhere. The
results come back in the order of the parts, and the ingesting process writes them as it does
without Ray, so the stored result is the same. If a worker dies, another one repeats its part;
nothing of it was written before.

Anyone who can reach a Ray cluster can run code on it. A cluster that is started here listens on
loopback only, and ends with the ingestion.
"""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib import import_module
from itertools import chain, groupby, islice, tee
from pathlib import Path
from socket import create_connection
from typing import Any, Protocol, TypeVar

from hades import __version__
from hades.errors import HadesError, InvalidInput, Unavailable, lacking
from hades.ingest.gather import Read
from hades.ingest.history import batches
from hades.ingest.readers.text import RAW_BYTES_AT_MOST, one_line
from hades.ingest.reading import Task
from hades.ingest.workers import LOOK_EVERY_S, Answer, Workers
from hades.models.encoder import Encoder, load_encoder
from hades.models.onnx_encoder import Vectors
from hades.settings import cores, load_settings

LOCAL = "local"
PART_FILES = 20
"""How many files one worker reads together."""
CONNECT_S = 10.0
PARTS_AHEAD = 2
"""How many parts are sent for each core of the cluster: one in progress and one waiting."""

Part = TypeVar("Part")
Made = TypeVar("Made")


class Spread(Protocol):
    """A function such as `map`, which applies another function to parts of the work, in order.

    Parts may be read ahead. The function needs nothing but its part.
    """

    def __call__(
        self, function: Callable[[Part], Made], parts: Iterable[Part], /
    ) -> Iterator[Made]:
        """Yield the result of the function for each part."""


class RayWorkers:
    """Workers of the Ray cluster at an address; `local` starts a cluster here and stops it.

    The cluster is connected or started when there is work. A Ray that this process already uses is
    reused. `still_wanted` is called while waiting for results and may raise to stop.
    """

    def __init__(self, address: str, still_wanted: Callable[[], None]) -> None:
        self._ray = load_ray(address)
        self._address = address
        self._still_wanted = still_wanted
        self._is_ours = False

    def close(self) -> None:
        """Leave the cluster. A cluster started here ends."""
        if self._is_ours:
            self._ray.shutdown()

    def __call__(
        self, function: Callable[[Part], Made], parts: Iterable[Part], /
    ) -> Iterator[Made]:
        """Yield the results of a function for parts, in order; several run at once."""
        ray = self._ray
        parts = iter(parts)
        under_way = deque[Any]()
        if (first := next(parts, None)) is None:
            return
        parts = chain((first,), parts)
        work = self._work
        room = PARTS_AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
        try:
            while True:
                for part in islice(parts, room - len(under_way)):
                    under_way.append(work(function, part))
                if not under_way:
                    return
                while not ray.wait([under_way[0]], timeout=LOOK_EVERY_S)[0]:
                    self._still_wanted()
                yield ray.get(under_way.popleft())
        except ray.exceptions.RayError as error:
            cause = getattr(error, "cause", None)
            if isinstance(cause, HadesError):
                raise cause from error
            why = one_line(str(cause or error))
            raise Unavailable(f"Ray failed ({why}): ingest again to continue.") from error

    @cached_property
    def _work(self) -> Callable[..., Any]:
        """Connect to the cluster and return the remote function that runs one part."""
        self._is_ours = join_ray(self._ray, self._address)
        limits = load_settings()
        environment = {
            "HADES_THREADS": "1",
            "HADES_INGEST_SECONDS": str(limits.ingest_seconds),
            "HADES_INGEST_MEMORY_MB": str(limits.ingest_memory_mb),
            "HADES_INGEST_TEXT_MB": str(limits.ingest_text_mb),
        }
        return partial(self._ray.remote(_work).remote, __version__, environment)


def load_ray(address: str) -> Any:
    """Return the module `ray`. `address` is `local` or the host:port of a cluster."""
    host, _, port = address.rpartition(":")
    if address != LOCAL and not (host and port.isdecimal()):
        raise InvalidInput(f"{address} is not a Ray cluster: give local, or its host:port.")
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if address == LOCAL:
        # Ray reads this on import: its node is then 127.0.0.1 on every system.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    try:
        return import_module("ray")
    except ImportError as error:
        raise lacking("Ray needs", "cluster") from error


def join_ray(ray: Any, address: str) -> bool:
    """Connect to a cluster or start one; return False if this process already uses Ray."""
    if ray.is_initialized():
        return False
    options = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address == LOCAL:
            options |= {"num_cpus": cores(), "include_dashboard": False}
        else:  # Ray itself would try for 15 minutes to reach a missing host
            host, _, port = address.rpartition(":")
            create_connection((host, int(port)), CONNECT_S).close()
        ray.init(address, **options)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        why = one_line(str(error))
        raise Unavailable(f"Ray at {address} cannot be used: {why}") from error
    return True


def _work(
    version: str, environment: dict[str, str], function: Callable[[Any], Any], part: Any
) -> Any:
    """Apply a function to a part, on a worker, with the limits of the ingesting process."""
    if version != __version__:
        raise Unavailable(f"A Ray worker has HADES {__version__} instead of {version}.")
    os.environ.update(environment)
    return function(part)


def reading_spread(spread: Spread, read_here: Read) -> Read:
    """Return a function that reads files on workers, which get the bytes and not the paths.

    A file that may hold many documents, is too large or cannot be opened is left to `read_here`.
    """

    def read(tasks: Iterable[Task]) -> Iterator[tuple[Task, Answer]]:
        for is_loaded, some in groupby(map(_loaded, tasks), lambda task: task.data is not None):
            if not is_loaded:
                yield from read_here(some)
                continue
            parts, ahead = tee(batches(some, lambda task: len(task.data or b""), PART_FILES))
            for part, answers in zip(parts, spread(_read_all, ahead), strict=True):
                yield from zip(part, answers, strict=True)

    return read


def _loaded(task: Task) -> Task:
    """Return a task with the bytes of its file; unchanged if `many`, too large or unreadable."""
    if task.many or task.data is not None:
        return task
    try:
        with Path(task.path).open("rb") as file:
            data = file.read(RAW_BYTES_AT_MOST + 1)
    except OSError:
        return task
    return task if len(data) > RAW_BYTES_AT_MOST else replace(task, data=data)


@cache
def _workers() -> Workers:
    """Return the worker processes with limits that parse untrusted files on a Ray worker."""
    return Workers(lambda: None)


def _read_all(tasks: Sequence[Task]) -> list[Answer]:
    return [answer for _, answer in _workers().read(tasks)]


@dataclass(frozen=True, slots=True)
class LoadedElsewhere:
    """An encoder that is loaded on the worker; it must be the same as in this process."""

    setting: str
    model: str
    dims: int
    max_tokens: int

    @classmethod
    def of(cls, setting: str, here: Encoder) -> LoadedElsewhere:
        """Return a stand-in for the encoder `here`, which a worker loads by the setting."""
        return cls(setting, here.model, here.dims, here.max_tokens)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a unit vector per text, in order; Unavailable if the worker's model differs."""
        encoder = _encoder(self.setting)
        if encoder.model != self.model:
            raise Unavailable(f"A Ray worker has the encoder {encoder.model}, not {self.model}.")
        return encoder.encode(texts)


@cache
def _encoder(setting: str) -> Encoder:
    return load_encoder(setting)
