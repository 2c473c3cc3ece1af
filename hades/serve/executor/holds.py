"""Holds: a batch or a snapshot that lasts over several calls.

Over a network, `with memory.batch():` is many calls. A hold keeps the batch or the snapshot
open between them, in a thread of its own in which all of them run. A batch has the thread
that writes, so other writes wait behind it as they would for any write. Batches wait for
each other outside that line, so that what others write comes in between them. A hold that
is silent, or too old, ends by itself, and what was written in it is undone.
"""

from __future__ import annotations

import asyncio
import logging
import queue
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast, get_args

from hades.errors import HadesError, InvalidInput, NotFound, Unavailable
from hades.memory import Memory
from hades.serve.auth.caller import Caller
from hades.serve.executor.pool import STOPPING, Line, Overloaded, TimedOut

Result = TypeVar("Result")
Kind = Literal["batch", "snapshot"]

SNAPSHOTS_AT_MOST = 8
BATCHES_WAITING = 16
OF_ONE_CALLER: dict[Kind, int] = {"batch": 1, "snapshot": 4}
"""Open or waiting: nobody keeps all others out."""
SILENCE_S = 10.0
"""A hold nobody uses for so long ends; others wait for a batch no longer than that."""
AGE_S = 60.0
REMEMBERED_S = 60.0
"""How long a hold that ended is known, so that a repeated commit is answered as the first."""
REMEMBERED_AT_MOST = 1000

_log = logging.getLogger(__name__)


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
    job: Future[None] | None = None
    calls: int = 0
    """Calls handed over and not yet answered."""
    ending: _Asked | None = None
    """What ended it, once its thread took that."""
    committed: bool = False
    """What was written in it is on disk, whatever goes wrong from now on."""


class Holds:
    """The holds of one desk."""

    def __init__(self, writer: Line, *, silence_s: float = SILENCE_S, age_s: float = AGE_S) -> None:
        self._writer = writer
        self._snapshots = Line("hold", SNAPSHOTS_AT_MOST, 0)
        self._silence_s = silence_s
        self._age_s = age_s
        self._lock = threading.Lock()
        self._asked_for: dict[str, Hold] = {}
        self._open: dict[str, Hold] = {}
        self._ended: dict[str, tuple[float, Hold]] = {}
        self._waiting: deque[tuple[Hold, Memory]] = deque()
        self._batch: Hold | None = None
        self._leaving = False

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
        self._let_in(hold, memory)
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.wrap_future(hold.opened)
        except BaseException as error:
            self._give_up(hold)
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
        """End a hold; a batch is on disk when this returns, or undone without `commit`.

        Asked again within a minute, the same is answered.
        """
        asked = _Asked(None, "", Future(), commit)
        if (hold := self._remembered(caller, hold_id, commit)) is not None:
            assert hold.ending is not None
            asked = hold.ending
        else:
            hold = self._ask(caller, hold_id, asked, writes=False)
        await self._answered(hold, asked.answer, timeout_s, commit=commit)

    def leave(self) -> None:
        """Undo what nobody is calling in, and begin nothing new."""
        with self._lock:
            self._leaving = True
            idle = [hold for hold in self._open.values() if not hold.calls]
        for hold in idle:
            _doom(hold)

    def close(self) -> None:
        """Undo what is open, and begin nothing new."""
        with self._lock:
            self._leaving = True
            holds = list(self._open.values())
        for hold in holds:
            _doom(hold)
        self._snapshots.close()

    # Beginning

    def _let_in(self, hold: Hold, memory: Memory) -> None:
        """Let a hold begin as soon as it can; Overloaded when there are too many."""
        kind, name = hold.kind, hold.caller.name
        with self._lock:
            same = sum(
                one.kind == kind and one.caller.name == name for one in self._asked_for.values()
            )
            if same >= OF_ONE_CALLER[kind]:
                raise Overloaded(f"You have {same} {kind} open already: end it, or come back.")
            if len(self._waiting) >= BATCHES_WAITING:
                raise Overloaded("Too many batches are waiting: come back in a second.")
            self._asked_for[hold.id] = hold
            if kind == "batch":
                self._waiting.append((hold, memory))
        if kind == "batch":
            self._next_batch()
        else:
            self._submit(self._snapshots, hold, memory)

    def _next_batch(self) -> None:
        """Put a batch in the writing line, behind the writes there, unless one is in it."""
        with self._lock:
            if self._batch is not None or not self._waiting:
                return
            hold, memory = self._waiting.popleft()
            self._batch = hold
        self._submit(self._writer, hold, memory)

    def _submit(self, line: Line, hold: Hold, memory: Memory) -> None:
        try:
            hold.job = line.submit(lambda: self._life(hold, memory))
        except HadesError as error:
            self._gone(hold)
            if hold.opened.set_running_or_notify_cancel():
                hold.opened.set_exception(error)
            return
        hold.job.add_done_callback(lambda job: self._job_done(hold, job))

    def _job_done(self, hold: Hold, job: Future[None]) -> None:
        self._gone(hold)
        if job.cancelled() and hold.opened.set_running_or_notify_cancel():
            hold.opened.set_exception(Unavailable(STOPPING))

    def _gone(self, hold: Hold) -> None:
        with self._lock:
            self._asked_for.pop(hold.id, None)
            if self._batch is hold:
                self._batch = None
        self._next_batch()

    def _give_up(self, hold: Hold) -> None:
        """Nobody waits for it to begin any more."""
        _doom(hold)
        with self._lock:
            waited = any(one is hold for one, _ in self._waiting)
            self._waiting = deque(entry for entry in self._waiting if entry[0] is not hold)
        if waited:
            self._gone(hold)
        elif hold.job is not None:
            hold.job.cancel()  # does nothing when it runs

    # Calling

    def _remembered(self, caller: Caller, hold_id: str, commit: bool) -> Hold | None:
        """A hold that was ended by the same call before."""
        with self._lock:
            _, hold = self._ended.get(hold_id, (0.0, None))
        if hold is None or hold.caller != caller or hold.ending is None:
            return None
        return hold if hold.ending.commit == commit else None

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
            hold.calls += 1
            hold.asked.put(asked)
            return hold

    async def _answered(
        self, hold: Hold, answer: Future[Any], timeout_s: float | None, *, commit: bool = False
    ) -> Any:
        try:
            async with asyncio.timeout(timeout_s) as limit:
                return await asyncio.wrap_future(answer)
        except TimeoutError:
            if not limit.expired():
                raise
            if commit and not answer.cancel():
                return _unfinished(hold, answer)
            _doom(hold)
            raise TimedOut(f"This took too long: the {hold.kind} is undone.") from None
        except asyncio.CancelledError:
            # A commit that was taken goes on: whoever asks again hears what came of it.
            if not commit or answer.cancel():
                _doom(hold)
            raise

    # In the hold's thread

    def _life(self, hold: Hold, memory: Memory) -> None:
        """Open the batch or snapshot, do what is asked, and answer only once it is closed."""
        if hold.doomed or not hold.opened.set_running_or_notify_cancel():
            return
        try:
            self._inside(hold, memory)
        except _Undo:
            if hold.ending is not None and not hold.ending.commit:
                hold.ending.answer.set_result(None)
            elif hold.ending is not None:
                undone = NotFound(f"The {hold.kind} was undone: begin anew.")
                hold.ending.answer.set_exception(undone)
        except BaseException as error:
            self._failed(hold, error)
            raise
        else:
            if hold.ending is not None:
                hold.ending.answer.set_result(None)
        finally:
            self._answer_the_rest(hold)

    def _inside(self, hold: Hold, memory: Memory) -> None:
        if self._leaving:
            raise Unavailable(STOPPING)
        with memory.batch() if hold.kind == "batch" else memory.snapshot():
            if hold.kind == "batch":
                memory._store.afterwards(lambda: _kept(hold))  # the first thing after COMMIT
            memory.in_space(hold.space)  # NotFound; and a read fixes a snapshot's moment
            hold.since = time.monotonic()
            with self._lock:
                self._open[hold.id] = hold
            hold.opened.set_result(hold.id)
            ending = self._serve(hold, memory)
            self._end(hold, ending)
            if ending is None or not ending.commit or hold.doomed:
                raise _Undo

    def _end(self, hold: Hold, ending: _Asked | None) -> None:
        """It takes no more calls; whoever had it may begin another."""
        now = time.monotonic()
        with self._lock:
            self._open.pop(hold.id, None)
            self._asked_for.pop(hold.id, None)
            if ending is None:
                return
            hold.ending = ending
            self._ended[hold.id] = (now, hold)
            for old, (at, _) in list(self._ended.items()):
                if at > now - REMEMBERED_S and len(self._ended) <= REMEMBERED_AT_MOST:
                    break
                del self._ended[old]

    def _failed(self, hold: Hold, error: BaseException) -> None:
        """Tell whoever waits; a batch that is on disk is kept, whatever failed after that."""
        if hold.ending is None:
            self._end(hold, None)
            if not hold.opened.done():
                hold.opened.set_exception(error)
        elif hold.committed:
            _log.error("a batch was kept, but what comes after it failed: %s", error)
            hold.ending.answer.set_result(None)
        else:
            hold.ending.answer.set_exception(error)

    def _serve(self, hold: Hold, memory: Memory) -> _Asked | None:
        """Answer calls until one ends the hold; None when it is over by itself."""
        while not hold.doomed and (hold.calls or not self._leaving):
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
                with self._lock:
                    hold.calls -= 1
        return None

    def _answer_the_rest(self, hold: Hold) -> None:
        """Refuse what came after the end; the same ending asked for twice is answered alike."""
        self._end(hold, hold.ending)
        ending = hold.ending
        while True:
            try:
                asked = hold.asked.get_nowait()
            except queue.Empty:
                return
            if not asked.answer.set_running_or_notify_cancel():
                continue
            if ending is None or asked.call is not None or asked.commit != ending.commit:
                gone = NotFound(f"The {hold.kind} has ended: begin a new one.")
                asked.answer.set_exception(gone)
            elif (error := ending.answer.exception()) is not None:
                asked.answer.set_exception(error)
            else:
                asked.answer.set_result(None)


def _kept(hold: Hold) -> None:
    hold.committed = True


def _unfinished(hold: Hold, answer: Future[Any]) -> Any:
    """What to say of a commit that was taken, and not answered in time."""
    if answer.done():
        return answer.result()
    if not hold.committed:
        raise TimedOut(
            f"This takes too long to wait for: it is not known whether the {hold.kind} is kept; "
            "commit it again to hear that."
        )
    return None


def _doom(hold: Hold) -> None:
    """Let a hold be undone, as soon as its thread can."""
    hold.doomed = True
    hold.asked.put(_Asked(None, "", Future()))  # wakes it


def _do(asked: _Asked, memory: Memory, actor: str) -> None:
    assert asked.call is not None
    try:
        asked.answer.set_result(asked.call(memory.in_space(asked.space, actor=actor)))
    except BaseException as error:  # noqa: BLE001 - it belongs to whoever asked
        asked.answer.set_exception(error)
