"""Spread: reading, cutting, encoding and finding names, done by workers of Ray.

Each of them is a function of a part of the work and needs no store, so it can run anywhere.
The results come back in the order of the parts, and the process that ingests writes them, as
it does without Ray: what is stored is the same. A part whose worker died is done again by
another, and nothing of it was written before.

Whoever can reach a Ray cluster can run code on it. One that is started here listens on
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
from hades.errors import HadesError, InvalidInput, Unavailable
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
"""So many files are read together by one worker."""
CONNECT_S = 10.0
PARTS_AHEAD = 2
"""For each core of the cluster: one part is done, another waits for it."""

Part = TypeVar("Part")
Made = TypeVar("Made")


class Spread(Protocol):
    """Applies a function to parts of the work, in their order, as `map` does.

    Parts may be drawn ahead. The function needs nothing but its part.
    """

    def __call__(
        self, function: Callable[[Part], Made], parts: Iterable[Part], /
    ) -> Iterator[Made]:
        """What the function makes of each part."""


class RayWorkers:
    """Workers of the Ray cluster at an address; `local` starts one here, and stops it again.

    It is found, or started, when there is work; a Ray that this process uses already is taken
    as it is. `still_wanted` is called while results are waited for; it ends all by raising.
    """

    def __init__(self, address: str, still_wanted: Callable[[], None]) -> None:
        host, _, port = address.rpartition(":")
        if address != LOCAL and not (host and port.isdecimal()):
            raise InvalidInput(f"{address} is not a Ray cluster: give local, or its host:port.")
        os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
        if address == LOCAL:
            # Ray reads this when it is imported: its node then is 127.0.0.1 on every system.
            os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        try:
            self._ray: Any = import_module("ray")
        except ImportError as error:
            raise Unavailable("Ray needs the extra `cluster`: pip install '.[cluster]'.") from error
        self._address = address
        self._still_wanted = still_wanted
        self._is_ours = False

    def close(self) -> None:
        """Leave the cluster; what was started here ends."""
        if self._is_ours:
            self._ray.shutdown()

    def __call__(
        self, function: Callable[[Part], Made], parts: Iterable[Part], /
    ) -> Iterator[Made]:
        """What a function makes of parts, in their order; some are worked on at once."""
        ray, parts, under_way = self._ray, iter(parts), deque[Any]()
        if (first := next(parts, None)) is None:
            return
        parts, work = chain((first,), parts), self._work
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
        """Has a worker do a part: the cluster is found."""
        if not self._ray.is_initialized():
            options = {"log_to_driver": False, "logging_level": logging.ERROR}
            try:
                if self._address == LOCAL:
                    options |= {"num_cpus": cores(), "include_dashboard": False}
                else:  # Ray tries for a quarter of an hour to reach what is not there
                    host, _, port = self._address.rpartition(":")
                    create_connection((host, int(port)), CONNECT_S).close()
                self._ray.init(self._address, **options)
            except (OSError, OverflowError, RuntimeError, ValueError) as error:
                why = one_line(str(error))
                raise Unavailable(f"Ray at {self._address} cannot be used: {why}") from error
            self._is_ours = True
        limits = load_settings()
        environment = {
            "HADES_THREADS": "1",
            "HADES_INGEST_SECONDS": str(limits.ingest_seconds),
            "HADES_INGEST_MEMORY_MB": str(limits.ingest_memory_mb),
            "HADES_INGEST_TEXT_MB": str(limits.ingest_text_mb),
        }
        return partial(self._ray.remote(_work).remote, __version__, environment)


def _work(
    version: str, environment: dict[str, str], function: Callable[[Any], Any], part: Any
) -> Any:
    """On a worker: apply a function to a part, with the limits of who asks."""
    if version != __version__:
        raise Unavailable(f"A Ray worker has HADES {__version__} instead of {version}.")
    os.environ.update(environment)
    return function(part)


def reading_spread(spread: Spread, read_here: Read) -> Read:
    """Has files read elsewhere, which get their bytes: they need not have the files.

    A file of many documents is one long stream: it is read here.
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
    """A task with the bytes of its file, unless it has many documents or cannot be read."""
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
    """On a worker: what is hostile is parsed in a process with limits there as well."""
    return Workers(lambda: None)


def _read_all(tasks: Sequence[Task]) -> list[Answer]:
    return [answer for _, answer in _workers().read(tasks)]


@dataclass(frozen=True, slots=True)
class LoadedElsewhere:
    """An encoder that is loaded where it encodes, which has to be the same there."""

    setting: str
    model: str
    dims: int
    max_tokens: int

    @classmethod
    def of(cls, setting: str, here: Encoder) -> LoadedElsewhere:
        """The encoder a setting names, as it is here."""
        return cls(setting, here.model, here.dims, here.max_tokens)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """A unit vector per text, in order."""
        encoder = _encoder(self.setting)
        if encoder.model != self.model:
            raise Unavailable(f"A Ray worker has the encoder {encoder.model}, not {self.model}.")
        return encoder.encode(texts)


@cache
def _encoder(setting: str) -> Encoder:
    return load_encoder(setting)
