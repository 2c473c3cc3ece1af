"""Holds: a batch or a snapshot that lasts over several calls.

Over a network, `with memory.batch():` is many calls. A hold keeps the batch or the snapshot
open between them, in a thread of its own in which all of them run. A batch has the thread
that writes, so other writes wait behind it as they would for any write. A hold that is
silent, or too old, ends by itself, and what was written in it is undone.
"""

from __future__ import annotations

import asyncio
import queue
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast, get_args

from hades.errors import HadesError, InvalidInput, NotFound, Unavailable
from hades.memory import Memory
from hades.serve.desk.line import STOPPING, Line, Overloaded, TimedOut
from hades.serve.gate.caller import Caller

Result = TypeVar("Result")
Kind = Literal["batch", "snapshot"]

SNAPSHOTS_AT_MOST = 8
SILENCE_S = 10.0
"""A hold nobody uses for so long ends; others wait for a batch no longer than that."""
AGE_S = 60.0


class _Undo(Exception):
    """Leaves a batch so that nothing of it stays."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A call handed to a hold's thread; without one, the hold shall end."""

    call: Callable[[Memory], Any] | None
    space: str
    answer: Future[Any]
    commit: bool = False


@dataclass(slots=True)
class Hold:
    """One batch or snapshot under way."""

    kind: Kind
    caller: Caller
    space: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    asked: queue.SimpleQueue[_Asked] = field(default_factory=queue.SimpleQueue)
    opened: Future[str] = field(default_factory=Future)
    since: float = field(default_factory=time.monotonic)
    doomed: bool = False
    """Nobody waits for it any more, or for a call in it: all of it is undone."""


class Holds:
    """The holds of one desk."""

    def __init__(self, writer: Line, *, silence_s: float = SILENCE_S, age_s: float = AGE_S) -> None:
        self._writer = writer
        self._snapshots = Line("hold", SNAPSHOTS_AT_MOST, 0)
        self._silence_s = silence_s
        self._age_s = age_s
        self._lock = threading.Lock()
        self._open: dict[str, Hold] = {}
        self._closed = False

    @property
    def silence_s(self) -> float:
        """After how long without a call a hold ends."""
        return self._silence_s

    def count(self, kind: Kind) -> int:
        """How many of a kind are open."""
        with self._lock:
            return sum(hold.kind == kind for hold in self._open.values())

    async def open(
        self, caller: Caller, kind: Kind, space: str, memory: Memory, timeout_s: float | None
    ) -> str:
        """Begin a hold; its id."""
        if kind not in get_args(Kind):
            raise InvalidInput(f"A hold is a batch or a snapshot, not {kind!r}.")
        hold = Hold(kind, caller, space)
        line = self._writer if kind == "batch" else self._snapshots
        job = line.submit(lambda: self._life(hold, memory))
        job.add_done_callback(lambda done: _never_began(hold, done))
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.wrap_future(hold.opened)
        except BaseException as error:
            if not hold.opened.done() or hold.opened.cancelled():
                job.cancel()
            _doom(hold)
            if isinstance(error, TimeoutError):
                raise Overloaded(f"The {kind} could not begin in time: try again.") from None
            raise

    async def call(
        self,
        caller: Caller,
        hold_id: str,
        space: str,
        call: Callable[[Memory], Result],
        *,
        writes: bool,
        timeout_s: float | None,
    ) -> Result:
        """Do something inside a hold."""
        asked = _Asked(call, space, Future())
        hold = self._ask(caller, hold_id, asked, writes=writes)
        return cast(Result, await self._answered(hold, asked.answer, timeout_s))

    async def release(
        self, caller: Caller, hold_id: str, *, commit: bool, timeout_s: float | None
    ) -> None:
        """End a hold; a batch is on disk when this returns, or undone without `commit`."""
        asked = _Asked(None, "", Future(), commit)
        hold = self._ask(caller, hold_id, asked, writes=False)
        await self._answered(hold, asked.answer, timeout_s)

    def close(self) -> None:
        """Undo what is open, and begin nothing new."""
        self._closed = True
        with self._lock:
            holds = list(self._open.values())
        for hold in holds:
            _doom(hold)
        self._snapshots.close()

    def _ask(self, caller: Caller, hold_id: str, asked: _Asked, *, writes: bool) -> Hold:
        # Handed over under the lock: a hold that is still listed answers everything it got.
        with self._lock:
            hold = self._open.get(hold_id)
            if hold is None or hold.caller != caller:
                raise NotFound(
                    f"There is no hold {hold_id!r}: it ended, and what was not committed in it "
                    "is undone; begin a new one."
                )
            if writes and hold.kind == "snapshot":
                raise InvalidInput("A snapshot is for reading: leave it, then write.")
            hold.asked.put(asked)
            return hold

    async def _answered(self, hold: Hold, answer: Future[Any], timeout_s: float | None) -> Any:
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            if not limit.expired():
                raise
            _doom(hold)
            raise TimedOut(f"This took too long: the {hold.kind} is undone.") from None
        except asyncio.CancelledError:
            _doom(hold)
            raise

    # In the hold's thread

    def _life(self, hold: Hold, memory: Memory) -> None:
        """Open the batch or snapshot, do what is asked, and answer only once it is closed."""
        ending: _Asked | None = None
        if hold.doomed or not hold.opened.set_running_or_notify_cancel():
            return
        try:
            if self._closed:
                raise Unavailable(STOPPING)
            with memory.batch() if hold.kind == "batch" else memory.snapshot():
                memory.in_space(hold.space)  # NotFound; and a read fixes a snapshot's moment
                hold.since = time.monotonic()
                with self._lock:
                    self._open[hold.id] = hold
                hold.opened.set_result(hold.id)
                ending = self._serve(hold, memory)
                with self._lock:
                    del self._open[hold.id]
                if ending is None or not ending.commit or hold.doomed:
                    raise _Undo
        except _Undo:
            if ending is not None and not ending.commit:
                ending.answer.set_result(None)
            elif ending is not None:
                ending.answer.set_exception(NotFound(f"The {hold.kind} was undone: begin anew."))
        except HadesError as error:
            (hold.opened if ending is None else ending.answer).set_exception(error)
            raise
        else:
            if ending is not None:
                ending.answer.set_result(None)
        finally:
            self._refuse_the_rest(hold)

    def _serve(self, hold: Hold, memory: Memory) -> _Asked | None:
        """Answer calls until one ends the hold; None when it is over by itself."""
        while not hold.doomed:
            left = min(self._silence_s, hold.since + self._age_s - time.monotonic())
            try:
                asked = hold.asked.get(timeout=max(0.0, left))
            except queue.Empty:
                return None
            if not asked.answer.set_running_or_notify_cancel():
                hold.doomed = True
            elif asked.call is None:
                return asked
            else:
                _do(asked, memory, hold.caller.name)
        return None

    def _refuse_the_rest(self, hold: Hold) -> None:
        with self._lock:
            self._open.pop(hold.id, None)
        while True:
            try:
                answer = hold.asked.get_nowait().answer
            except queue.Empty:
                return
            if answer.set_running_or_notify_cancel():
                answer.set_exception(NotFound(f"The {hold.kind} has ended: begin a new one."))


def _doom(hold: Hold) -> None:
    """Let a hold be undone, as soon as its thread can."""
    hold.doomed = True
    hold.asked.put(_Asked(None, "", Future()))  # wakes it


def _never_began(hold: Hold, job: Future[None]) -> None:
    if job.cancelled() and hold.opened.set_running_or_notify_cancel():
        hold.opened.set_exception(Unavailable(STOPPING))


def _do(asked: _Asked, memory: Memory, actor: str) -> None:
    assert asked.call is not None
    try:
        asked.answer.set_result(asked.call(memory.in_space(asked.space, actor=actor)))
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
        asked.answer.set_exception(error)
