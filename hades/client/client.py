"""Client: a memory behind a server. To whoever uses it, a `Memory`.

What differs from an embedded memory, and why:

- who wrote is who the server takes you for (a key, a user), so `actor` cannot be chosen;
- `once` is not here: every write is already sent with a key of its own;
- `examine` is not here: features are for training, beside the file;
- a batch inside a batch cannot fail alone, since a hold is one transaction;
- files are not sent inside a batch or snapshot: a server takes them in as a job of its own;
- a server has limits: 1,000 hits of a search, 16 million characters of a content;
- `on_progress` is called for what is sent, fetched or followed, not for what the server does
  inside one call;
- a space that was dropped and made anew is simply used: only the file knows its number.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hades.client.connection import Call, Connection, path_of
from hades.client.files import download_backup, upload
from hades.client.ingesting import ingest_from_here, ingest_there
from hades.client.jobs import follow
from hades.client.reviewing import RemoteReviewing
from hades.client.writing import refuse_actor
from hades.domain.address import is_socket, read_address
from hades.domain.graph import Resolution
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.store.records import Problem, Progress

if TYPE_CHECKING:
    from hades.ingest.summary import Summary

DEFAULT_TIMEOUT_S = 60.0
DEFAULT_RETRIES = 4
"""With growing pauses these take a second and a half: a server that restarts is back."""


class Client(RemoteReviewing):
    """A memory behind a server, open in one of its spaces: `Memory`, over HTTP or a socket."""

    # Ingestion

    def ingest(
        self,
        *paths: str | Path,
        prefix: str | None = None,
        fields: Mapping[str, str] | None = None,
        phases: Sequence[str] = ("nodes", "chunks", "embeddings", "edges"),
        history: bool = False,
        dry_run: bool = False,
        source: str | None = None,
        on_progress: Progress | None = None,
    ) -> Summary:
        """Send files and folders of this machine to be taken in; see `Memory.ingest`.

        The server knows them by this machine's name and their path, so that the next time
        what went is forgotten and what is unchanged costs a hash. A git history is read where
        the repository is: at the admin socket, on the same machine.
        """
        if not paths:
            raise InvalidInput("Give at least one file or folder to ingest.")
        self._refuse_reading_only()
        options: dict[str, Any] = {"prefix": prefix, "dry_run": dry_run}
        if history:
            options |= {"fields": fields and dict(fields), "phases": list(phases)}
            return ingest_there(self._connection, self._space, paths, options, on_progress)
        options |= {"field": [f"{name}={theirs}" for name, theirs in (fields or {}).items()]}
        options |= {"phase": list(phases)}
        if source is not None:
            if len(paths) != 1 or Path(source).is_absolute():
                raise InvalidInput("A source names one file or folder, and is no path itself.")
            options["source"] = source
        return ingest_from_here(self._connection, self._space, paths, options, on_progress)

    def index(self, on_progress: Progress | None = None) -> int:
        """Have what was remembered since indexed; a question does it by itself."""
        self._refuse_reading_only()
        self._connection.require_outside("Index")
        done = self._connection.write("POST", "spaces", self._space, "index", patient=True)
        return int(done["value"])

    def import_triples(self, path: str | Path, on_progress: Progress | None = None) -> Summary:
        """Send facts of your own: JSON lines or CSV of subject, predicate, object."""
        from hades.ingest.summary import Summary

        self._refuse_reading_only()
        source = _file(path)
        call = Call("POST", self._path("jobs"), {"kind": "triples", "name": source.name})
        job = upload(self._connection, call, source, on_progress)
        return rebuild(Summary, follow(self._connection, self._space, job, on_progress))

    def reembed(self, encoder: str, on_progress: Progress | None = None) -> int:
        """Move to another encoder; see `Memory.reembed`. At the admin socket only."""
        self._refuse_reading_only()
        self._connection.require_outside("Reembed")
        body = {"encoder": encoder, "space": self._space}
        made = self._connection.write("POST", "admin", "reembed", body=body, patient=True)
        return int(made["value"])

    def resolve(self, *, dry_run: bool = False, on_progress: Progress | None = None) -> Resolution:
        """Find entities that are one under two spellings; see `Memory.resolve`."""
        self._connection.require_outside("Resolve")
        job = self._post({"kind": "resolve", "dry_run": dry_run}, "jobs")
        return rebuild(Resolution, follow(self._connection, self._space, job, on_progress))

    # Upkeep

    def import_(self, path: str | Path, *, into: str | None = None) -> dict[str, int]:
        """Send what `export` wrote as jsonl (admin socket only) or node-link.

        See `Memory.import_`.
        """
        self._refuse_reading_only()
        source = _file(path)
        if into is not None:
            clean_name(into, "space")
        if source.suffix == ".json":
            target = self if into is None else self.in_space(into)
            call = Call("POST", target._path("jobs"), {"kind": "import-node-link"})
            job = upload(self._connection, call, source, None)
            return dict(follow(self._connection, target._space, job, None))
        call = Call("POST", path_of("admin", "import"), {"into": into})
        return dict(upload(self._connection, call, source, None))

    def repair(self, on_progress: Progress | None = None) -> list[Problem]:
        """Repair what can be derived again; the problems that remain. At the admin socket only."""
        self._refuse_reading_only()
        self._connection.require_outside("Repair")
        left = self._connection.write("POST", "admin", "repair", patient=True)
        return rebuild(list[Problem], left["items"])

    def backup(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Fetch a copy of the whole memory as a new file here. At the admin socket only."""
        download_backup(self._connection, Path(path), on_progress)

    def restore(self, path: str | Path, on_progress: Progress | None = None) -> None:
        """Send a backup to be put back over the memory. At the admin socket only."""
        self._refuse_reading_only()
        call = Call("POST", path_of("admin", "restore"))
        upload(self._connection, call, Path(path).expanduser(), on_progress)

    # Inside

    def _path(self, *parts: str) -> str:
        return path_of("spaces", self._space, *parts)


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
    """Open a memory behind a server. What `hades.open` does with an address."""
    refuse_actor(actor)
    connection = Connection(
        read_address(address),
        key=key or (None if is_socket(address) else os.environ.get("HADES_KEY")),
        timeout_s=DEFAULT_TIMEOUT_S if timeout_s is None else timeout_s,
        retries=DEFAULT_RETRIES if retries is None else retries,
    )
    try:
        client = Client(connection, space, read_only=read_only)
        client._look()
    except BaseException:
        connection.close()
        raise
    return client


def _file(path: str | Path) -> Path:
    source = Path(path).expanduser()
    if not source.is_file():
        raise InvalidInput(f"There is no file {source} to import.")
    return source
