"""Calls: the only way from a page to the memory.

A page names an operation and its arguments, as a request does. They are checked by the same
types, run by the same executor with the rights of the visitor's key as it is now, and recorded
in the same audit log and metrics.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel, ValidationError, create_model

from hades.domain.topics import Space
from hades.errors import Denied, HadesError, InvalidInput, NotFound, Unavailable
from hades.memory import Memory, View
from hades.operations.declare import OPERATIONS, Operation
from hades.serve.auth.audit import Audit, Mode
from hades.serve.auth.caller import CALL_RECORD, Caller, CallRecord, Role, record_call
from hades.serve.auth.keys import Key, Keys
from hades.serve.auth.middleware import Observe
from hades.serve.executor import Executor, Work
from hades.serve.jobs import Job, Jobs
from hades.serve.problems import status_of
from hades.serve.rest.models import Body
from hades.serve.rest.operations import field_of, run
from hades.serve.telemetry.metrics import Metrics
from hades.serve.uploads import Uploads, safe_parts
from hades.store.drafts import remove_path
from hades.store.records import Progress
from hades.ui.sessions import BrowserSession, BrowserSessions

Result = TypeVar("Result")
LOGGED_AT_MOST = 1_000
"""Changes that are read back to say which topics an addition wrote."""


class SentFile(Protocol):
    """A file that a browser sent."""

    name: str

    async def save(self, path: str | Path, /) -> None:
        """Write it to a path, whose folder is made."""


@dataclass(frozen=True, slots=True)
class Calls:
    """What calls of pages go through: the executor, the sessions, the audit log and metrics."""

    executor: Executor
    sessions: BrowserSessions
    audit: Audit | None = None
    observe: Observe | None = None
    jobs: Jobs | None = None
    uploads: Uploads | None = None
    metrics: Metrics | None = None
    keys: Keys | None = None


@dataclass(slots=True)
class Series:
    """One series of a metric: its name, its labels in words, its count and its quantiles."""

    name: str
    label: str
    count: float = 0.0
    p50: float = 0.0
    p95: float = 0.0


class Visitor:
    """One browser that is signed in."""

    def __init__(self, calls: Calls, token: str) -> None:
        self._calls = calls
        self._token = token

    @property
    def session(self) -> BrowserSession:
        """The visitor's session; raise SignedOut if it has ended."""
        return self._calls.sessions.session(self._token)

    @property
    def caller(self) -> Caller:
        """The visitor's rights now; raise SignedOut if the session or the key has ended."""
        return self._calls.sessions.caller(self._token)

    def sign_out(self) -> None:
        """End the visitor's session."""
        self._calls.sessions.end(self._token)

    def may(self, role: Role, space: str) -> bool:
        """Whether the visitor has a role in a space; pages show only what may be done."""
        caller, writes = self.caller, role > Role.READER
        refused = writes and self._calls.executor.read_only
        return caller.role >= role and caller.sees(space) and not refused

    def require(self, role: Role, space: str) -> None:
        """Raise Denied or Unavailable with the reason why `may` is false."""
        self.caller.require(role, space)
        if not self.may(role, space):
            raise Unavailable("This server is read-only.")

    async def call(
        self,
        name: str,
        space: str,
        /,
        *,
        valid: str | None = None,
        known: str | None = None,
        on_progress: Progress = lambda *_: None,
        **given: Any,
    ) -> Any:
        """Run an operation in a space, as of a time, and return its result."""
        operation = OPERATIONS[name]

        async def work(caller: Caller) -> Any:
            arguments = _checked(operation, given)
            if operation.whole_memory and caller.spaces is not None:
                raise Denied("This concerns all spaces: it needs a key for all spaces.")
            executor = self._calls.executor
            if operation.writes and operation.long:
                return await executor.work(
                    caller,
                    space,
                    lambda memory, report: run(
                        operation, memory, {**arguments, "on_progress": report}
                    ),
                    on_progress,
                    role=operation.role,
                )
            if operation.writes:
                return await executor.write(
                    caller,
                    space,
                    lambda memory: run(operation, memory, arguments),
                    role=operation.role,
                )
            return await executor.read(
                caller,
                space,
                lambda view: executor.observed(run(operation, view, arguments)),
                valid=valid,
                known=known,
                fresh=operation.asks,
                patient=operation.long,
                model=operation.calls_model(arguments),
            )

        return await self._recorded(name, work)

    async def spaces(self) -> list[Space]:
        """Return the spaces that the visitor may use."""

        def listed(view: View) -> list[Space]:
            return view.spaces()

        async def work(caller: Caller) -> list[Space]:
            spaces = await self._calls.executor.read(caller, None, listed)
            return [space for space in spaces if caller.sees(space.name)]

        spaces: list[Space] = await self._recorded("spaces", work)
        return spaces

    async def create_space(self, name: str) -> None:
        """Create an empty space; needs the role admin."""

        async def work(caller: Caller) -> None:
            caller.require(Role.ADMIN, name)
            await self._calls.executor.write(
                caller, None, lambda memory: memory.create_space(name), role=Role.ADMIN
            )

        await self._recorded("create space", work)

    async def keys(self) -> list[Key]:
        """Return all keys, without their secrets."""
        keys: list[Key] = await self._with_keys("keys", Keys.listed)
        return keys

    async def create_key(self, name: str, role: Role, spaces: list[str] | None) -> str:
        """Create a key and return its token, which is not kept."""
        _, token = await self._with_keys("create key", lambda keys: keys.create(name, role, spaces))
        return str(token)

    async def revoke_key(self, name: str) -> None:
        """Revoke a key; its sessions end."""
        await self._with_keys("revoke key", lambda keys: keys.revoke(name))

    async def _with_keys(self, name: str, use: Callable[[Keys], Any]) -> Any:
        """Use the keys in a thread. As for the API, an admin's key does not suffice."""
        keys = self._calls.keys

        async def work(caller: Caller) -> Any:
            record_call(None, writes=name != "keys")
            caller.require(Role.ADMIN)
            if not caller.local or keys is None:
                raise Denied("Keys are managed on the server's own machine: run `hades ui` there.")
            return await asyncio.to_thread(use, keys)

        return await self._recorded(name, work)

    async def measured(self) -> list[Series]:
        """Return what the server's metrics say about stages and caches, for all spaces."""
        metrics = self._calls.metrics

        async def work(caller: Caller) -> list[Series]:
            if metrics is None:
                return []
            return await self._calls.executor.read(caller, None, lambda _view: _series(metrics))

        series: list[Series] = await self._recorded("metrics", work)
        return series

    def jobs(self, space: str) -> list[Job]:
        """Return the jobs of a space that the visitor may see, newest first."""
        caller, jobs = self.caller, self._calls.jobs
        caller.require(Role.READER, space)
        return [] if jobs is None else jobs.seen_by(caller, space)

    async def add_files(self, space: str, files: Sequence[SentFile]) -> Job:
        """Start a job that ingests files, each as the source that REST would make of it."""
        jobs, uploads = self._calls.jobs, self._calls.uploads
        if jobs is None or uploads is None:
            raise Unavailable("This server accepts no files.")

        async def work(caller: Caller) -> Job:
            record_call(space, writes=True)
            caller.require(Role.WRITER, space)
            jobs.refuse_more(caller.name)
            names = [safe_parts(file.name, parts_at_most=1)[0] for file in files]
            folder, job = await asyncio.to_thread(uploads.new_folder), None
            try:
                with uploads.receiving(caller.name):
                    for number, (name, file) in enumerate(zip(names, files, strict=True)):
                        await file.save(folder / str(number) / name)
                paths = [folder / str(number) / name for number, name in enumerate(names)]
                job = jobs.start(
                    *(caller, space, "ingest", _ingestion(paths, caller.name)),
                    afterwards=lambda: remove_path(folder),
                )
            finally:
                if job is None:
                    await asyncio.to_thread(remove_path, folder)
            return job

        job: Job = await self._recorded("add files", work)
        return job

    async def _recorded(self, name: str, work: Callable[[Caller], Any]) -> Any:
        """Run a call, and record it as the middleware records a request."""
        caller = self.caller
        started, record, status = time.perf_counter(), CallRecord(secrets.token_hex(8)), 500
        token = CALL_RECORD.set(record)
        try:
            result = await work(caller)
            status = 200
        except HadesError as error:
            status = status_of(error)
            raise
        finally:
            CALL_RECORD.reset(token)
            seconds = time.perf_counter() - started
            mode: Mode = "RW" if record.writes else "RO"
            call = f"page {name}"
            if self._calls.audit is not None:
                self._calls.audit.add(
                    mode,
                    who=caller.name,
                    listener="http",
                    space=record.space,
                    call=call,
                    status=status,
                    ms=round(seconds * 1000, 2),
                    request=record.request,
                )
            if self._calls.observe is not None:
                self._calls.observe(call, mode, status, seconds)
        return result


def _ingestion(paths: Sequence[Path], actor: str) -> Work[dict[str, Any]]:
    """Return work that ingests files one by one, and tells counts, problems and topics written."""

    def work(memory: Memory, report: Progress) -> dict[str, Any]:
        before, counts, skipped = memory.change, Counter[str](), []
        for path in paths:
            summary = memory.ingest(path, source=f"upload:{path.name}", on_progress=report)
            counts.update(
                {name: getattr(summary, name) for name in ("added", "changed", "unchanged")}
            )
            skipped += summary.skipped
        written = {}
        for change in memory.log(LOGGED_AT_MOST):
            theirs = change.actor == actor and change.action == "ingest"
            if change.number > before and theirs and change.subject:
                with suppress(NotFound):
                    written[change.subject] = memory.get(change.subject).version
        return {**counts, "skipped": skipped, "written": written}

    return work


def _series(metrics: Metrics) -> list[Series]:
    """Return the series of stages and caches; a quantile is the bound of the bucket it is in."""
    series, buckets = [], defaultdict[str, list[tuple[float, float]]](list)
    for family in metrics.registry.collect():
        if family.name not in ("hades_stage_seconds", "hades_stage_capped", "hades_cache_uses"):
            continue
        for sample in family.samples:
            bound = sample.labels.get("le")
            label = " ".join(value for name, value in sample.labels.items() if name != "le")
            if bound is not None:
                buckets[label].append((float(bound), sample.value))
            elif sample.name.endswith(("_count", "_total")):
                series.append(Series(family.name, label, sample.value))
    for it in series:
        if it.name == "hades_stage_seconds":
            it.p50, it.p95 = (_quantile(buckets[it.label], share) for share in (0.5, 0.95))
    return series


def _quantile(buckets: list[tuple[float, float]], share: float) -> float:
    """Return a quantile of a histogram, assuming even values inside a bucket as Prometheus does."""
    wanted, low, below = buckets[-1][1] * share, 0.0, 0.0
    for bound, count in buckets:
        if count >= wanted:
            if bound == float("inf") or count == below:
                return low
            return low + (bound - low) * (wanted - below) / (count - below)
        low, below = bound, count
    return low


@cache
def _model(operation: Operation) -> type[BaseModel]:
    fields = {item.name: field_of(item) for item in operation.parameters if not item.about.local}
    return create_model(f"{operation.name}OnPage", __base__=Body, **fields)


def _checked(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments; raise InvalidInput if REST would refuse them."""
    try:
        model = _model(operation)(**given)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise InvalidInput(f"{where}: {str(fault['msg']).rstrip('.')}."[:500]) from error
    return {name: getattr(model, name) for name in model.model_fields_set}
