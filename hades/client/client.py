"""Client: a `Memory` behind a server.

Its methods are made from the declarations in `hades/operations/`; only methods that send or
fetch files have code of their own. It differs from an embedded memory as follows (a method that is
missing raises Unavailable):

- the server knows the actor by the key or the user, so `actor` cannot be chosen;
- `batch` collects its writes and sends them as one request when it ends: inside the batch,
  writes return None and reads do not see them;
- `snapshot` is missing: use `at(known=…)` to read one moment;
- `once` is missing: every write is sent with an idempotency key already;
- `examine` is missing: its features are for training, on the machine with the file;
- `mirror` and `export_to` are missing: they run on the machine with the file;
- a server has limits: 1,000 hits of a search, 16 million characters of a content;
- `on_progress` reports uploads, downloads and jobs, but not the work inside one call;
- if a space was dropped and created again, the client uses the new one without an error.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, TextIO

from hades.client.arguments import ANOTHER_TIME, ONE_TIME, json_arguments, result_of
from hades.client.connection import Connection, HttpCall, encode_cursor, path_of
from hades.client.files import download_backup, download_export, follow, upload_path
from hades.client.ingesting import ingest_from_here, ingest_there
from hades.domain.address import is_socket, read_address
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_name, clean_number, clean_source
from hades.domain.times import NOW, AsOf, TimeLike, iso
from hades.domain.topics import Chunk, Space
from hades.errors import Denied, InvalidInput, Unavailable
from hades.ingest.summary import Summary
from hades.language.english.moments import parse_time
from hades.memory import Memory, View
from hades.operations.declare import OPERATIONS, Operation
from hades.operations.parameters import BATCH_WRITES_AT_MOST
from hades.store.records import Problem, Progress

if TYPE_CHECKING:
    from hades.domain.mirror import MirrorSummary
    from hades.exchange.servers import Sent

DEFAULT_TIMEOUT_S = 60.0
DEFAULT_RETRIES = 4
"""With growing pauses the retries take 1.5 s in all, in which a server can restart."""
PAGE = 1_000
"""Items of a long list that are fetched by one request."""


class RemoteView(View):
    """One space of a memory behind a server as of one moment, read-only."""

    def __init__(self, connection: Connection, space: str, as_of: AsOf) -> None:
        self._connection = connection
        self._space = clean_name(space, "space")
        self._as_of = as_of

    @property
    def space(self) -> str:
        """The name of the space this view looks at."""
        return self._space

    @property
    def as_of(self) -> AsOf:
        """The moment this view looks at."""
        return self._as_of

    def at(
        self,
        time: TimeLike | None = None,
        *,
        valid: TimeLike | None = None,
        known: TimeLike | None = None,
    ) -> RemoteView:
        """Return a view of the same space as of another time; the server resolves `yesterday`."""
        return RemoteView(self._connection, self._space, self._moment(time, valid, known))

    def in_space(self, name: str) -> RemoteView:
        """Return a view of another space as of the same moment; raise NotFound if it is missing."""
        other = RemoteView(self._connection, name, self.as_of)
        other._require_space()
        return other

    def snapshot(self) -> NoReturn:
        """Raise Unavailable: over a server, `at(known=…)` reads one moment."""
        raise Unavailable("Over a server, read one moment with at(known=…).")

    def examine(self, question: str) -> tuple[list[Chunk], Any]:
        """Raise Unavailable: the features of candidates are for training, beside the file."""
        raise Unavailable("A server returns no features: open the memory's file to train.")

    def spaces(self) -> list[Space]:
        """Return the spaces of the memory that the key or user of this client may use."""
        return rebuild(list[Space], self._connection.get("spaces")["items"])

    def export(
        self, path: str | Path | TextIO, format: str = "jsonl", *, embeddings: bool = False
    ) -> None:
        """Write the memory to a file or an open text file; see `View.export`.

        `jsonl` is the whole memory, and needs the admin socket. Formats that are folders (`arango`,
        `neo4j`) are refused.
        """
        of = self._connection, self._space, self._moment_query()
        download_export(*of, path, format, embeddings=embeddings)

    def export_to(
        self, url: str, *, embeddings: bool = False, on_progress: Progress | None = None
    ) -> Sent:
        """Raise Unavailable: only the process that has the file has the other server's password."""
        raise Unavailable("A client cannot export to a server: do it where the memory's file is.")

    def check(self, on_progress: Progress | None = None) -> list[Problem]:
        """List damage and how to repair it. Needs the admin socket; `on_progress` is not called."""
        page = self._connection.json(HttpCall("POST", path_of("admin", "check"), patient=True))
        return rebuild(list[Problem], page["items"])

    # Inside

    def _call(self, operation: Operation, given: Mapping[str, Any]) -> Any:
        """Have the server do an operation, and return its result; fetch all pages of a list."""
        if operation.cursor is not None:
            return self._all_pages(operation, dict(given))
        return result_of(operation, self._connection.json(self._request(operation, given)))

    def _request(self, operation: Operation, given: Mapping[str, Any]) -> HttpCall:
        """Build the call for an operation: its path, its query and its body."""
        arguments = json_arguments(operation, given)
        parts: list[str | int] = []
        for part in operation.path.strip("/").split("/"):
            if not part.startswith("{"):
                parts.append(part)
                continue
            name = part[1:-1]
            value = arguments.pop(name)
            if operation.parameter(name).type is int:
                clean_number(value, name)
            else:
                clean_name(value)
            parts.append(value)
        if operation.timed:
            arguments |= self._moment_query()
        path = path_of("spaces", self._space, *parts)
        patient = operation.long or operation.calls_model(given)
        if not operation.has_body:
            return HttpCall(operation.verb, path, arguments, patient=patient)
        return HttpCall(operation.verb, path, body=arguments, patient=patient)

    def _all_pages(self, operation: Operation, given: dict[str, Any]) -> list[Any]:
        """Fetch a list page by page, up to its `limit` or its end."""
        usual = operation.parameter("limit").default
        most = clean_number(given.pop("limit", usual), "limit")
        if most is None and usual is not None:
            raise InvalidInput("Give the limit as a whole number.")
        after = given.pop("after", None)
        cursor = None if after is None or after == 0 else encode_cursor(after)
        items: list[Any] = []
        request = self._request(operation, given)
        while True:
            at_most = PAGE if most is None else min(PAGE, max(1, most - len(items)))
            query = {**(request.query or {}), "limit": at_most, "cursor": cursor}
            page = self._connection.json(HttpCall("GET", request.path, query))
            items += rebuild(operation.returns, page["items"])
            cursor = page["next"]
            if cursor is None or (most is not None and len(items) >= most):
                return items[:most]

    def _moment_query(self) -> dict[str, str]:
        """Return this view's moment as query parameters; {} for now."""
        times = {"as_of": self.as_of.valid, "known_at": self.as_of.known}
        return {name: iso(time) for name, time in times.items() if time is not None}

    def _time(self, time: TimeLike | None) -> datetime | None:
        """Read a time; the server resolves a relative one such as `yesterday` by its clock."""
        if time is None:
            return None
        fixed = parse_time(time, ONE_TIME)
        if not isinstance(time, str) or parse_time(time, ANOTHER_TIME) == fixed:
            return fixed
        return rebuild(
            datetime, self._connection.get("spaces", self._space, "time", when=time)["time"]
        )

    def _require_space(self) -> None:
        """Ask for the space, so that NotFound or Denied is raised now, not at the first call."""
        self._connection.get("spaces", self._space, "change")


class Client(RemoteView, Memory):
    """One space of a memory on a server, by HTTP or unix socket. Jobs and files report progress."""

    def __init__(
        self, connection: Connection, space: str, *, read_only: bool = False, owner: bool = True
    ) -> None:
        RemoteView.__init__(self, connection, space, NOW)
        self._read_only = read_only
        self._owner = owner

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Close the connections to the server, unless this client came from `in_space`."""
        if self._owner:
            self._connection.close()

    def in_space(self, name: str, *, actor: str | None = None) -> Self:
        """Return a client for another space, over the same connections. An `actor` is refused."""
        refuse_actor(actor)
        other = type(self)(self._connection, name, read_only=self._read_only, owner=False)
        other._require_space()
        return other

    def batch(self) -> AbstractContextManager[None]:
        """Return a context that sends all writes inside it as one commit, all or nothing.

        They are sent when it ends: until then they return None and cannot be read.
        A nested batch becomes part of the outer one.
        """
        self._refuse_reading_only()
        return self._collected()

    def once(self, key: str, request: str, do: Callable[[], Any]) -> tuple[Any, bool]:
        """Raise Unavailable: a client already sends each write with an idempotency key."""
        raise Unavailable("A client sends each write with its own key: call the write itself.")

    # Spaces

    def create_space(self, name: str) -> Space:
        """Create an empty space in this memory. Needs the role admin."""
        body = {"name": clean_name(name, "space")}
        return rebuild(Space, self._write_there(HttpCall("POST", path_of("spaces"), body=body)))

    def drop_space(self, name: str) -> None:
        """Erase a space with everything in it. Needs the role admin."""
        self._write_there(HttpCall("DELETE", path_of("spaces", name)))

    # Sources

    def ingest(
        self,
        *paths: str | Path,
        prefix: str | None = None,
        fields: Mapping[str, str] | None = None,
        phases: Sequence[str] = ("nodes", "chunks", "edges", "embeddings"),
        history: bool = False,
        dry_run: bool = False,
        source: str | None = None,
        follow_links: bool = False,
        in_process: bool = False,
        ray: str | None = None,
        on_progress: Progress | None = None,
    ) -> Summary:
        """Send files and folders of this machine to be ingested; see `Memory.ingest`.

        The server knows a source by this machine's name and the path. If it is sent again,
        unchanged files cost a hash and missing files are forgotten. With `history` the server reads
        the git repository itself, which needs the admin socket and the same machine, and ignores
        `source` and `follow_links`. `in_process` and `ray` are refused.
        """
        if not paths:
            raise InvalidInput("Give at least one file or folder to ingest.")
        if in_process:
            raise InvalidInput(
                "A server always reads files in separate processes: leave out in_process."
            )
        if ray is not None:
            raise InvalidInput(
                "A server ingests without Ray: leave out ray, or ingest where the memory's file is."
            )
        self._refuse_now()
        options: dict[str, Any] = {"prefix": prefix, "dry_run": dry_run}
        if history:
            options |= {"fields": fields and dict(fields), "phases": list(phases)}
            return ingest_there(self._connection, self._space, paths, options, on_progress)
        options |= {"field": [f"{name}={theirs}" for name, theirs in (fields or {}).items()]}
        options |= {"phase": list(phases)}
        if source is not None:
            options["source"] = clean_source(source, is_single=len(paths) == 1)
        return ingest_from_here(
            self._connection, self._space, paths, options, on_progress, follow_links
        )

    def mirror(
        self,
        folder: str | Path,
        *,
        deleted: str = "report",
        dry_run: bool = False,
        settled_s: float = 0.0,
        on_progress: Progress | None = None,
    ) -> MirrorSummary:
        """Raise Unavailable: a server neither reads nor writes folders for its clients."""
        raise Unavailable("A client cannot mirror: open the memory's file where it is.")

    def import_triples(self, path: str | Path, on_progress: Progress | None = None) -> Summary:
        """Send a file of facts and wait until it is imported; see `Memory.import_triples`."""
        self._refuse_now()
        source = _file(path)
        call = HttpCall("POST", self._path("jobs"), {"kind": "triples", "name": source.name})
        job = upload_path(self._connection, call, source, on_progress)
        return rebuild(Summary, follow(self._connection, self._space, job, on_progress))

    def reembed(self, encoder: str, on_progress: Progress | None = None) -> int:
        """Change the encoder; see `Memory.reembed`. Needs the admin socket; reports no progress."""
        body = {"encoder": encoder, "space": self._space}
        call = HttpCall("POST", path_of("admin", "reembed"), body=body, patient=True)
        return int(self._write_there(call)["value"])

    # The memory as a whole

    def import_(self, path: str | Path, *, into: str | None = None) -> dict[str, int]:
        """Import an export: jsonl (needs the admin socket) or node-link; see `Memory.import_`."""
        self._refuse_now()
        source = _file(path)
        if into is not None:
            clean_name(into, "space")
        if source.suffix == ".json":
            target = self if into is None else self.in_space(into)
            call = HttpCall("POST", target._path("jobs"), {"kind": "import-node-link"})
            job = upload_path(self._connection, call, source)
            return dict(follow(self._connection, target._space, job, None))
        call = HttpCall("POST", path_of("admin", "import"), {"into": into})
        return dict(upload_path(self._connection, call, source))

    def repair(self, on_progress: Progress | None = None) -> list[Problem]:
        """Repair as `Memory.repair` does. Needs the admin socket; reports no progress."""
        page = self._write_there(HttpCall("POST", path_of("admin", "repair"), patient=True))
        return rebuild(list[Problem], page["items"])

    def backup(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Download a copy of the whole memory to a new file. Needs the admin socket."""
        download_backup(self._connection, Path(path), on_progress)

    def restore(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Replace the server's memory with a backup. Needs the admin socket."""
        self._refuse_now()
        call = HttpCall("POST", path_of("admin", "restore"))
        upload_path(self._connection, call, Path(path).expanduser(), on_progress)

    # Inside

    def _call(self, operation: Operation, given: Mapping[str, Any]) -> Any:
        if not operation.writes:
            if operation.asks and self._connection.batch.writes is not None:
                raise InvalidInput("Search before or after a batch, not inside it.")
            return super()._call(operation, given)
        self._refuse_reading_only()
        if operation.job:
            job = self._write_there(self._request(operation, given))
            result = follow(self._connection, self._space, job, given.get("on_progress"))
            return rebuild(operation.returns, result)
        collected = None if operation.long else self._collecting()
        if collected is None:
            return result_of(operation, self._write_there(self._request(operation, given)))
        if len(collected) == BATCH_WRITES_AT_MOST:
            raise InvalidInput(
                f"A batch over a server has at most {BATCH_WRITES_AT_MOST:,} writes: make several."
            )
        arguments = json_arguments(operation, given)
        collected.append({"operation": operation.name, "arguments": arguments})
        return None

    def _write_there(self, call: HttpCall) -> Any:
        """Send a write at once and return the answer; raise inside a batch or if read-only."""
        self._refuse_now()
        return self._connection.write(call)

    @contextmanager
    def _collected(self) -> Iterator[None]:
        batch = self._connection.batch
        if batch.writes is not None:
            # A nested batch that fails drops its own writes and keeps those before it.
            before = len(batch.writes)
            try:
                yield
            except BaseException:
                del batch.writes[before:]
                raise
            return
        batch.space = self._space
        batch.writes = []
        try:
            yield
            writes = batch.writes
        finally:
            batch.writes = None
        if writes:
            self._write_there(HttpCall("POST", self._path("batch"), body={"operations": writes}))

    def _collecting(self) -> list[dict[str, Any]] | None:
        """Return the writes of this thread's batch, or None; raise if it is of another space."""
        batch = self._connection.batch
        if batch.writes is not None and batch.space != self._space:
            raise InvalidInput(f"Over a server a batch writes to one space: {batch.space!r}.")
        return batch.writes

    def _refuse_reading_only(self) -> None:
        if self._read_only:
            raise Denied(f"{self._connection.address.text} is open for reading only.")

    def _refuse_now(self) -> None:
        """Raise Denied if this client is read-only, InvalidInput if a batch is open."""
        self._refuse_reading_only()
        if self._collecting() is not None:
            raise InvalidInput("Do this before or after the batch, not inside it.")

    def _path(self, *parts: str) -> str:
        return path_of("spaces", self._space, *parts)


def add_method(operation: Operation) -> None:
    """Add an operation to the client as a method, or as a property where `View` has one."""

    @functools.wraps(operation.function)
    def method(self: RemoteView, *args: Any, **kwargs: Any) -> Any:
        bound = operation.signature.bind(self, *args, **kwargs).arguments
        return self._call(operation, dict(list(bound.items())[1:]))

    is_property = isinstance(getattr(View, operation.name, None), property)
    owner = Client if operation.writes else RemoteView
    setattr(owner, operation.name, property(method) if is_property else method)


for _operation in OPERATIONS.values():
    add_method(_operation)


def connect(
    address: str,
    *,
    space: str,
    key: str | None = None,
    timeout_s: float | None = None,
    retries: int | None = None,
    read_only: bool = False,
    actor: str | None = None,
) -> Client:
    """Open a memory on a server. `hades.open` calls this if it is given an address.

    An `actor` is refused, because the server determines it from the key or the user.
    """
    refuse_actor(actor)
    connection = Connection(
        read_address(address),
        key=key or (None if is_socket(address) else os.environ.get("HADES_KEY")),
        timeout_s=DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s,
        retries=DEFAULT_RETRIES if retries is None else retries,
    )
    try:
        client = Client(connection, space, read_only=read_only)
        client._require_space()
    except BaseException:
        connection.close()
        raise
    return client


def refuse_actor(actor: str | None) -> None:
    """Raise InvalidInput if an actor is given: the server determines it."""
    if actor is not None:
        raise InvalidInput("A server knows who writes by the key or the user: leave `actor` out.")


def _file(path: str | Path) -> Path:
    source = Path(path).expanduser()
    if not source.is_file():
        raise InvalidInput(f"There is no file {source} to import.")
    return source
