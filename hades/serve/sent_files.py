"""Files that are sent to be read: received into a folder of their own, then read by a job."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Protocol

from hades.errors import InvalidInput, NotFound
from hades.memory import Memory
from hades.serve.auth.caller import Caller
from hades.serve.executor import Work
from hades.serve.jobs import Job, JobKey, Jobs, Kind
from hades.serve.uploads import Uploads, safe_parts
from hades.store.drafts import remove_path
from hades.store.records import Progress

BYTES_AT_MOST = 30_000_000
FILES_AT_MOST = 50
TOO_MUCH = (
    f"At most {FILES_AT_MOST} files and {BYTES_AT_MOST // 10**6} MB can be dropped at once: "
    "add them in parts, or run `hades ingest` on the server."
)
LOGGED_AT_MOST = 1_000
"""How many changes are read to find out which topics an addition wrote."""

Receive = Callable[[Path], Awaitable[tuple[Work[Any], str | None]]]
"""Receives files into a folder, and returns the work that reads them and the name of the source."""


class SentFile(Protocol):
    """A file that a browser sent."""

    name: str

    def size(self) -> int:
        """Return its size in bytes."""

    async def save(self, path: str | Path, /) -> None:
        """Write it to a path, and make the folder of the path."""


async def begin_with_files(
    jobs: Jobs,
    uploads: Uploads,
    caller: Caller,
    space: str,
    kind: Kind,
    receive: Receive,
    key: JobKey | None = None,
) -> Job:
    """Receive files and start the job that reads them; the folder is removed when it ends."""
    jobs.refuse_more(caller.name)
    folder = await asyncio.to_thread(uploads.new_folder)
    job = None
    try:
        with uploads.receiving(caller.name):
            work, source = await receive(folder)
        job = jobs.start(
            caller,
            space,
            kind,
            work,
            source=source,
            key=key,
            afterwards=lambda: remove_path(folder),
        )
    finally:
        if job is None:
            await asyncio.to_thread(remove_path, folder)
    return job


async def receive_dropped(
    files: Sequence[SentFile], actor: str, folder: Path
) -> tuple[Work[Any], None]:
    """Receive files that were dropped on a page. Each becomes a source of its own, named like the
    file."""
    if len(files) > FILES_AT_MOST or sum(file.size() for file in files) > BYTES_AT_MOST:
        raise InvalidInput(TOO_MUCH)
    paths = []
    for number, file in enumerate(files):
        (name,) = safe_parts(file.name, parts_at_most=1)
        paths.append(folder / str(number) / name)
        await file.save(paths[-1])
    return lambda memory, report: _ingested(memory, paths, actor, report), None


def _ingested(
    memory: Memory, paths: Sequence[Path], actor: str, report: Progress
) -> dict[str, Any]:
    """Ingest files one by one; return counts, what was skipped, and the versions written."""
    before = memory.log(1)
    counts = Counter[str]()
    skipped = []
    for path in paths:
        summary = memory.ingest(path, source=f"upload:{path.name}", on_progress=report)
        counts.update({name: getattr(summary, name) for name in ("added", "changed", "unchanged")})
        skipped += summary.skipped
    written = {}
    for change in takewhile(lambda change: [change] != before, memory.log(LOGGED_AT_MOST)):
        if change.actor == actor and change.action == "ingest" and change.subject:
            with suppress(NotFound):
                written[change.subject] = memory.get(change.subject).version
    return {**counts, "skipped": skipped, "written": written}
