"""Checkpoints of LangGraph in a memory, in a space of their own.

A checkpoint is a topic `c/THREAD/NAMESPACE/ID`, and the writes of one task that belong to it are a
topic `w/THREAD/NAMESPACE/ID/TASK`. The data is compressed in the metadata of a state without
content, so nothing of it is cut, embedded or found by a question; a large checkpoint continues in
topics `p/…`. Deleting a thread purges its topics, which rewrites the file and drops the indexes of
the memory: give the checkpointer a file of its own if threads are deleted often.

Whoever may write to the space can write a checkpoint, and an import can bring one. So what is read
is limited in size, checked, and plain data unless the caller names another serializer.
"""

from __future__ import annotations

import asyncio
import base64
import zlib
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast
from urllib.parse import quote, unquote

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from pydantic import BaseModel, StrictInt, StrictStr, TypeAdapter, ValidationError

from hades.agents.plain_serializer import PlainSerializer
from hades.domain.rules import METADATA_BYTES_AT_MOST
from hades.errors import Conflict, Corrupt, Denied, InvalidInput, NotFound
from hades.memory import Memory
from hades.store.delta import unzip

SPACE = "checkpoints"
ROOT_NAMESPACE = "+"
"""Stands for the empty namespace in a topic's name: quoting gives no name a plus."""
PART_CHARACTERS = METADATA_BYTES_AT_MOST - 1_000
BYTES_AT_MOST = 8 * 1024 * 1024
"""The maximum size of a checkpoint before compression. In the worst case, of empty lists only, the
decoded checkpoint takes 80 times as much memory."""
_UNREADABLE = (ValueError, TypeError, KeyError, RuntimeError, zlib.error)

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _in_thread(
    method: Callable[Concatenate[HadesCheckpointer, Given], Result],
) -> Callable[Concatenate[HadesCheckpointer, Given], Coroutine[Any, Any, Result]]:
    """Return a method that runs another one in a thread."""

    @wraps(method)
    async def run(self: HadesCheckpointer, /, *args: Given.args, **named: Given.kwargs) -> Result:
        return await asyncio.to_thread(method, self, *args, **named)

    return run


class _Checkpoint(BaseModel, strict=True):
    """The fields of a stored checkpoint that LangGraph relies on."""

    v: int
    id: str
    ts: str
    channel_values: dict[str, Any]
    channel_versions: dict[str, int]
    versions_seen: dict[str, dict[str, int]]
    updated_channels: list[str] | None = None


_SAVED: TypeAdapter[Any] = TypeAdapter(tuple[_Checkpoint, dict[str, Any], str | None])
"""A checkpoint, its metadata, and the id of the one before it."""
_WRITES: TypeAdapter[Any] = TypeAdapter(
    list[tuple[StrictInt, StrictStr, StrictStr, StrictStr, Any]]
)
"""For each write: its number, the path of its task, the task, the channel and the value."""


class HadesCheckpointer(BaseCheckpointSaver[int]):
    """A checkpointer for any graph of LangGraph; the checkpoints are in a space of a memory.

    A state is plain data, messages and documents (see `plain_serializer`). For classes of your own
    give `serde=JsonPlusSerializer(allowed_msgpack_modules=[…])`: it imports and calls those.
    """

    def __init__(
        self, memory: Memory, *, space: str = SPACE, serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(serde=serde or PlainSerializer())
        self._root = memory
        self._space = space
        self._inside: Memory | None = None

    def setup(self) -> None:
        """Create the space of the checkpoints unless it exists. The first write does that, too."""
        if self._readable() is not None:
            return
        try:
            self._root.create_space(self._space)
        except Conflict:  # another process was first
            pass
        except Denied as error:
            raise Denied(
                f"Checkpoints need the space {self._space!r}, and you may not create it: "
                f"ask an admin for `hades spaces create {self._space}`."
            ) from error

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that a config names, or the latest of its thread and namespace."""
        thread = _thread(config)
        namespace = _namespace(config) or ""
        wanted = get_checkpoint_id(config)
        if wanted is None:
            ids = self._ids(thread, namespace)
            wanted = ids[-1][2] if ids else None
        return None if wanted is None else self._tuple(thread, namespace, wanted)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, latest first: of a thread, or of all of them."""
        thread = None if config is None else _thread(config)
        only = None if config is None else get_checkpoint_id(config)
        end = None if before is None else get_checkpoint_id(before)
        within = None if config is None else _namespace(config)
        left = limit
        for name, namespace, id_ in reversed(self._ids(thread, within)):
            if left is not None and left <= 0:
                return
            if (only and id_ != only) or (end and id_ >= end):
                continue
            saved = self._tuple(name, namespace, id_)
            if saved is None:  # deleted meanwhile
                continue
            metadata = cast("dict[str, Any]", saved.metadata)
            if all(metadata.get(key) == value for key, value in (filter or {}).items()):
                yield saved
                left = None if left is None else left - 1

    # Writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint whole; `new_versions` is not needed for that."""
        thread = _thread(config)
        namespace = _namespace(config) or ""
        parent = get_checkpoint_id(config)
        data = checkpoint, get_checkpoint_metadata(config, metadata), parent
        self._write(_topic("c", thread, namespace, checkpoint["id"]), data)
        return _config(thread, namespace, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store the writes of a task. Those stored before stay, except errors and interrupts."""
        id_ = get_checkpoint_id(config)
        if id_ is None:
            raise InvalidInput("Writes belong to a checkpoint: the config needs a checkpoint_id.")
        topic = _topic("w", _thread(config), _namespace(config) or "", id_, task_id)
        rows = {row[0]: row for row in self._saved_data(topic, _WRITES) or ()}
        for at, (channel, value) in enumerate(writes):
            number = WRITES_IDX_MAP.get(channel, at)
            if number < 0 or number not in rows:
                rows[number] = (number, task_path, task_id, channel, value)
        self._write(topic, list_(rows.values()))

    # Deleting and copying

    def delete_thread(self, thread_id: str) -> None:
        """Erase all checkpoints and writes of a thread."""
        self._purge(self._topics(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Erase all checkpoints and writes of some runs, in all threads."""
        runs = set(run_ids)
        saved_by_runs = (saved for saved in self.list(None) if saved.metadata.get("run_id") in runs)
        self._purge(self._topics_of(saved_by_runs))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Erase all checkpoints of threads (`delete`), or all but the latest (`keep_latest`).

        Checkpoints that a delta channel of the latest one builds on are kept, too.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput(f"There is no strategy {strategy!r}: use keep_latest or delete.")
        topics: list_[str] = []
        for thread in thread_ids:
            if strategy == "delete":
                topics += self._topics(thread)
                continue
            known = list(self.list({"configurable": {"thread_id": thread}}))
            kept = {id_ for latest in _latest(known) for id_ in self._chain(latest)}
            topics += self._topics_of(saved for saved in known if _id(saved) not in kept)
        self._purge(topics)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another."""
        threads = source_thread_id, target_thread_id
        source, target = (f"/{quote(thread, safe='')}/" for thread in threads)
        memory = self._writable()
        with memory.batch():
            for topic in self._topics(source_thread_id):
                metadata = memory.get(topic).metadata
                copied = topic.replace(source, target, 1)
                memory.remember(copied, "", metadata=metadata, kind="document")

    # The same without blocking the event loop

    aget_tuple = _in_thread(get_tuple)
    aput = _in_thread(put)
    aput_writes = _in_thread(put_writes)
    adelete_thread = _in_thread(delete_thread)
    adelete_for_runs = _in_thread(delete_for_runs)
    aprune = _in_thread(prune)
    acopy_thread = _in_thread(copy_thread)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Like `list`; each checkpoint is read in a thread."""
        rows = self.list(config, filter=filter, before=before, limit=limit)
        while (saved := await asyncio.to_thread(next, rows, None)) is not None:
            yield saved

    # Topics

    def _ids(self, thread: str | None, namespace: str | None) -> list_[tuple[str, str, str]]:
        """Return thread, namespace and id of checkpoints, oldest first: ids grow with time."""
        of = "*" if namespace is None else _quoted(namespace)
        pattern = f"c/{'*' if thread is None else quote(thread, safe='')}/{of}/*"
        rows = (name.split("/")[1:] for name in self._names(pattern))
        known = [
            (unquote(row[0]), unquote(row[1].removeprefix(ROOT_NAMESPACE)), unquote(row[2]))
            for row in rows
        ]
        return sorted(known, key=lambda row: row[2])

    def _tuple(self, thread: str, namespace: str, id_: str) -> CheckpointTuple | None:
        topic = _topic("c", thread, namespace, id_)
        data = self._saved_data(topic, _SAVED)
        if data is None:
            return None
        checkpoint, metadata, parent = data
        if checkpoint["id"] != id_ or (parent is not None and parent >= id_):
            raise self._unreadable(topic, "the order of ids is wrong")
        return CheckpointTuple(
            config=_config(thread, namespace, id_),
            checkpoint=checkpoint,
            metadata=metadata,
            parent_config=None if parent is None else _config(thread, namespace, parent),
            pending_writes=self._pending(thread, namespace, id_),
        )

    def _pending(self, thread: str, namespace: str, id_: str) -> list_[tuple[str, str, Any]]:
        rows = []
        for name in self._names(_topic("w", thread, namespace, id_, "") + "*"):
            for number, path, task, channel, value in self._saved_data(name, _WRITES) or ():
                rows.append((writes_sort_key(path, task, number), (task, channel, value)))
        return [write for _, write in sorted(rows, key=lambda row: row[0])]

    def _chain(self, latest: CheckpointTuple) -> Iterator[str]:
        """Yield the id of a checkpoint, and of those before it that its delta channels need."""
        channels = set(latest.metadata.get("counters_since_delta_snapshot", {}))
        current: CheckpointTuple | None = latest
        while current is not None:
            yield _id(current)
            channels -= current.checkpoint["channel_values"].keys()
            parent = current.parent_config if channels else None
            current = None if parent is None else self.get_tuple(parent)

    def _topics(self, thread: str) -> list_[str]:
        """Return all topics of a thread."""
        name = quote(thread, safe="")
        patterns = (f"[cw]/{name}/*", f"p/[cw]/{name}/*")
        return [name for pattern in patterns for name in self._names(pattern)]

    def _topics_of(self, checkpoints: Iterable[CheckpointTuple]) -> list_[str]:
        """Return all topics of checkpoints: their own, their writes, and the parts of both."""
        topics: list_[str] = []
        for saved in checkpoints:
            of = _thread(saved.config), _namespace(saved.config) or "", _id(saved)
            own = _topic("c", *of)
            writes = _topic("w", *of, "") + "*"
            for pattern in (own, writes, f"p/{own}/*", f"p/{writes}"):
                topics += self._names(pattern)
        return topics

    def _purge(self, topics: Sequence[str]) -> None:
        if topics:
            memory = self._writable()
            with memory.batch():
                for topic in topics:
                    memory.purge(topic)

    def _names(self, pattern: str) -> list_[str]:
        memory = self._readable()
        return [] if memory is None else [topic.name for topic in memory.topics(pattern)]

    def _readable(self) -> Memory | None:
        """Return the memory in its space, or None if nothing was stored yet."""
        if self._inside is None:
            with suppress(NotFound):
                self._inside = self._root.in_space(self._space)
        return self._inside

    def _writable(self) -> Memory:
        """Return the memory in its space, which is created at the first write."""
        memory = self._readable()
        if memory is None:
            self.setup()
            memory = self._inside = self._root.in_space(self._space)
        return memory

    # Data

    def _write(self, topic: str, data: Any) -> None:
        try:
            kind, body = self.serde.dumps_typed(data)
        except _UNREADABLE as error:
            raise InvalidInput(
                f"A checkpoint cannot hold this state ({error}): use strings, numbers, lists, dicts"
                " with strings as keys, times and messages, or give the checkpointer a `serde`."
            ) from error
        if len(body) > BYTES_AT_MOST:
            raise InvalidInput(
                f"A checkpoint of {len(body):,} bytes is larger than {BYTES_AT_MOST:,}: keep large "
                "texts in topics, and their names in the state."
            )
        text = base64.b85encode(zlib.compress(body)).decode()
        parts = [text[at : at + PART_CHARACTERS] for at in range(0, len(text), PART_CHARACTERS)]
        memory = self._writable()
        with memory.batch():
            for number, part in enumerate(parts):
                name = topic if number == 0 else f"p/{topic}/{number:06}"
                metadata = {"type": kind, "parts": len(parts), "data": part}
                memory.remember(name, "", metadata=metadata, kind="document")

    def _saved_data(self, topic: str, shape: TypeAdapter[Any]) -> Any:
        """Return the data of a topic, or None if there is none. Raise Corrupt if it is wrong."""
        memory = self._readable()
        if memory is None:
            return None
        try:
            first = memory.get(topic).metadata
            if first["parts"] not in range(1, 2 * BYTES_AT_MOST // PART_CHARACTERS + 2):
                raise ValueError("the number of its parts is wrong")
            names = (f"p/{topic}/{number:06}" for number in range(1, first["parts"]))
            parts = [first, *(memory.get(name).metadata for name in names)]
            packed = base64.b85decode("".join(part["data"] for part in parts))
            data = self.serde.loads_typed((first["type"], unzip(packed, BYTES_AT_MOST)))
            shape.validate_python(data)
        except NotFound:
            return None
        except ValidationError as error:
            raise self._unreadable(topic, "its fields are not those of a checkpoint") from error
        except _UNREADABLE as error:
            raise self._unreadable(topic, str(error)) from error
        return data

    def _unreadable(self, topic: str, why: str) -> Corrupt:
        return Corrupt(
            f"The checkpoint {topic!r} in the space {self._space!r} cannot be read ({why}): "
            "delete its thread, or use another."
        )


list_ = list  # the class has a method of that name


def _topic(kind: str, thread: str, namespace: str, *rest: str) -> str:
    names = (quote(name, safe="") for name in rest)
    return "/".join([kind, quote(thread, safe=""), _quoted(namespace), *names])


def _quoted(namespace: str) -> str:
    return quote(namespace, safe="") or ROOT_NAMESPACE


def _config(thread: str, namespace: str, id_: str) -> RunnableConfig:
    names = {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": id_}
    return {"configurable": names}


def _thread(config: RunnableConfig) -> str:
    thread = config.get("configurable", {}).get("thread_id")
    if not thread:
        raise InvalidInput("A checkpointer needs a thread: configurable.thread_id in the config.")
    return str(thread)


def _namespace(config: RunnableConfig) -> str | None:
    return cast("str | None", config["configurable"].get("checkpoint_ns"))


def _id(checkpoint: CheckpointTuple) -> str:
    return str(checkpoint.config["configurable"]["checkpoint_id"])


def _latest(checkpoints: Sequence[CheckpointTuple]) -> Iterable[CheckpointTuple]:
    """Return the first checkpoint of each namespace; they come latest first."""
    first: dict[str | None, CheckpointTuple] = {}
    for saved in checkpoints:
        first.setdefault(_namespace(saved.config), saved)
    return first.values()
