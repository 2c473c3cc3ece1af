"""Calls: the only way from a page to the memory.

A page names an operation and its arguments, as a request does. They are checked by the same
types, run by the same executor with the rights of the visitor's key as it is now, and recorded
in the same audit log and metrics.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from hades.domain.topics import Space
from hades.errors import Denied, HadesError, Unavailable
from hades.memory import Memory
from hades.operations.declare import OPERATIONS
from hades.serve.auth.audit import Audit, Mode
from hades.serve.auth.browsers import BrowserSession, BrowserSessions
from hades.serve.auth.caller import CALL_RECORD, Caller, CallRecord, Role, record_call
from hades.serve.auth.keys import Key, Keys
from hades.serve.executor import Executor
from hades.serve.jobs import Job, Jobs
from hades.serve.problems import status_of
from hades.serve.rest.operations import checked, run
from hades.serve.sent_files import SentFile, begin_with_files, receive_dropped
from hades.serve.telemetry.metrics import Measurements, Metrics
from hades.serve.uploads import Uploads
from hades.serve.write_groups import WriteGroup
from hades.store.records import Progress

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Calls:
    """The parts of the server that calls of pages use."""

    executor: Executor
    sessions: BrowserSessions
    audit: Audit
    jobs: Jobs
    uploads: Uploads
    metrics: Metrics
    keys: Keys


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

    def shares_session(self, other: Visitor) -> bool:
        """Whether another request comes from the same browser session."""
        return self._token == other._token

    def may(self, role: Role, space: str) -> bool:
        """Whether the visitor has a role in a space; pages show only what may be done."""
        caller = self.caller
        refused = role > Role.READER and self._calls.executor.read_only
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
            arguments = checked(operation, given)
            if operation.whole_memory:
                caller.require_all_spaces()
            executor = self._calls.executor
            role = operation.role

            def write(memory: Memory, *report: Progress) -> Any:
                given = {"on_progress": report[0]} if report else {}
                return run(operation, memory, arguments | given)

            if operation.writes and operation.long:
                return await executor.work(caller, space, write, on_progress, role=role)
            if operation.writes:
                return await executor.write(caller, space, write, role=role)
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

    async def make(self, space: str, change: WriteGroup) -> WriteGroup:
        """Make a change in one commit, all or nothing; return the change that undoes it."""

        async def work(caller: Caller) -> WriteGroup:
            write = self._calls.executor.write
            return await write(caller, space, change.make, role=change.role)

        return await self._recorded("change", work)

    async def spaces(self) -> list[Space]:
        """Return the spaces that the visitor may use."""
        return await self._recorded("spaces", self._calls.executor.spaces)

    async def create_space(self, name: str) -> None:
        """Create an empty space; needs the role admin."""
        await self._change_spaces("create space", name, lambda memory: memory.create_space(name))

    async def drop_space(self, name: str) -> None:
        """Erase a space with everything in it; needs the role admin."""
        await self._change_spaces("drop space", name, lambda memory: memory.drop_space(name))
        self._calls.jobs.forget(name)

    async def _change_spaces(self, call: str, name: str, write: Callable[[Memory], Any]) -> None:
        async def work(caller: Caller) -> None:
            caller.require(Role.ADMIN, name)
            await self._calls.executor.write(caller, None, write, role=Role.ADMIN)

        await self._recorded(call, work)

    async def keys(self) -> list[Key]:
        """Return all keys, without their secrets."""
        return await self._with_keys("keys", Keys.listed)

    async def create_key(self, name: str, role: Role, spaces: list[str] | None) -> str:
        """Create a key and return its token, which is not kept."""
        created = await self._with_keys("create key", lambda keys: keys.create(name, role, spaces))
        return created[1]

    async def revoke_key(self, name: str) -> None:
        """Revoke a key; its sessions end."""
        await self._with_keys("revoke key", lambda keys: keys.revoke(name))

    async def _with_keys(self, name: str, use: Callable[[Keys], Result]) -> Result:
        """Use the keys in a thread. As in the API, an admin's key is not enough for that."""

        async def work(caller: Caller) -> Result:
            record_call(None, writes=name != "keys")
            caller.require(Role.ADMIN)
            if not caller.local:
                raise Denied("Keys are managed on the server's own machine: run `hades ui` there.")
            return await asyncio.to_thread(use, self._calls.keys)

        return await self._recorded(name, work)

    async def measured(self) -> Measurements:
        """Return the latencies, caps and uses of caches since the server started.

        They concern every space, so a key for some spaces is not enough, as for `/metrics`.
        """
        metrics = self._calls.metrics

        async def work(caller: Caller) -> Measurements:
            caller.require_all_spaces()
            return await self._calls.executor.read(caller, None, lambda _: metrics.measured())

        return await self._recorded("metrics", work)

    def jobs(self, space: str) -> list[Job]:
        """Return the jobs of a space that the visitor may see, newest first."""
        caller = self.caller
        caller.require(Role.READER, space)
        return self._calls.jobs.seen_by(caller, space)

    async def add_files(self, space: str, files: Sequence[SentFile]) -> Job:
        """Start a job that ingests files, each as the source that REST would make of it."""

        async def work(caller: Caller) -> Job:
            record_call(space, writes=True)
            caller.require(Role.WRITER, space)
            receive = partial(receive_dropped, files, caller.name)
            return await begin_with_files(
                self._calls.jobs, self._calls.uploads, caller, space, "ingest", receive
            )

        return await self._recorded("add files", work)

    async def cancel_job(self, space: str, id: str) -> None:
        """Stop a job of a space that the visitor may see, at its next step."""

        async def work(caller: Caller) -> None:
            record_call(space, writes=True)
            caller.require(Role.WRITER, space)
            self._calls.jobs.cancel(self._calls.jobs.get(caller, space, id))

        await self._recorded("cancel job", work)

    async def _recorded(self, name: str, work: Callable[[Caller], Awaitable[Result]]) -> Result:
        """Run a call, and record it as the middleware records a request."""
        caller = self.caller
        started = time.perf_counter()
        record = CallRecord(secrets.token_hex(8))
        status = 500
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
            self._calls.metrics.observe_call(call, mode, status, seconds)
        return result
