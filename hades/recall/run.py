"""A run: the clock, the document budget and the book-keeping of one question.

Every stage runs inside `stage(...)`. It may ask whether its time is up, must ask before it
looks at a document, and says what it trimmed. So the limits of the plan are kept in one
place, and what happened can be told afterwards.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hades.domain.answer import Diagnostic, StageReport
from hades.domain.graph import Reason
from hades.recall.plan import Plan
from hades.settings import cores

STATEMENT_AT_LEAST_S = 1.0
"""A question that has used up its time is still answered, with what is read quickly."""
Result = TypeVar("Result")
Clock = Callable[[], float]
"""Seconds that only grow."""


@dataclass(slots=True)
class Stage:
    """A stage under way."""

    name: str
    ends: float
    run: Run
    limit_ms: int
    """How long it may take."""
    reads: int = 0
    found: int = 0
    added: int = 0
    cut: int = 0
    coverage: float = 0.0
    dedupe_rate: float = 0.0
    capped: bool = False
    early_stop: bool = False

    def is_over(self) -> bool:
        """Whether its time, or the whole question's, is up."""
        return self.run.clock() >= self.ends

    @property
    def seconds_left(self) -> float:
        """How long it may still take."""
        return max(0.0, self.ends - self.run.clock())

    def is_late(self, without: str) -> bool:
        """Whether its time is up; if so, note that it goes on without something."""
        if self.is_over():
            self.stop(Reason.TIMEOUT, f"without {without}")
            return True
        return False

    def stop(self, reason: Reason, detail: str = "") -> None:
        """Say that it ended early."""
        self.early_stop = True
        if reason is Reason.TIMEOUT:
            detail = f"after {self.limit_ms} ms, {detail}"
        self.note(reason, detail)

    def note(self, reason: Reason, detail: str = "") -> None:
        """Say what was done another way."""
        self.run.diagnostics.append(Diagnostic(reason, self.name, detail))


@dataclass(slots=True)
class Run:
    """One question's costs so far."""

    plan: Plan
    clock: Clock = time.perf_counter
    within: Callable[[float | None], AbstractContextManager[Any]] = nullcontext
    """What keeps statements of the store within so many seconds."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    reports: list[StageReport] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    """The documents looked at, by number; never more than the plan's `docs_max`."""
    started: float = 0.0
    under_way: int = 0
    """Calls in other threads."""

    def __post_init__(self) -> None:
        self.started = self.clock()

    def in_background(
        self, call: Callable[[], Result], *, left_behind: bool = False
    ) -> Callable[..., Result]:
        """Start a call in a thread; the function returned waits for its result.

        The encoder and the walks release the interpreter, so on a second core they cost a
        question next to nothing. Where no core is left the call is made when its result is
        wanted: threads that share a core take turns of milliseconds. So it is with a clock
        of a test, which is asked in one order only. A call that may be `left_behind` always has
        its thread: whoever waits says for how many seconds, and then gets a TimeoutError.
        """
        is_real = self.clock is time.perf_counter
        if not is_real or (self.under_way + 1 >= cores() and not left_behind):
            return lambda *_seconds: call()
        self.under_way += 1
        # A pool for one call: starting it takes 0.1 ms, and a fork inherits no dead threads.
        pool = ThreadPoolExecutor(1, thread_name_prefix="hades-recall")
        waiting = pool.submit(call)
        pool.shutdown(wait=False)

        def wait(seconds: float | None = None) -> Result:
            try:
                return waiting.result(seconds)
            finally:
                self.under_way -= 1

        return wait

    @property
    def ms(self) -> float:
        """Milliseconds since the question came."""
        return (self.clock() - self.started) * 1000

    @contextmanager
    def stage(
        self, name: str, timeout_ms: int | None = None, *, reads_all: bool = False
    ) -> Iterator[Stage]:
        """Run a stage within its own time and the question's.

        One that may have to read the whole memory, to index it, may take longer.
        """
        begun = self.clock()
        ends = self.started + self.plan.budget.latency_ms / 1000
        if timeout_ms is not None:
            ends = min(ends, begun + timeout_ms / 1000)
        stage = Stage(name, ends, self, max(0, round((ends - begun) * 1000)))
        before, reported = len(self.seen), len(self.reports)
        # What is late is cut short by the stages; a statement is stopped only when it runs away.
        with self.within(None if reads_all else max(ends - begun, STATEMENT_AT_LEAST_S)):
            yield stage
        inside = sum(report.reads for report in self.reports[reported:])
        stage.reads = len(self.seen) - before - inside
        self.reports.append(
            StageReport(
                stage=name,
                ms=round((self.clock() - begun) * 1000, 3),
                begun_ms=round((begun - self.started) * 1000, 3),
                reads=stage.reads,
                found=stage.found,
                added=stage.added,
                cut=stage.cut,
                dedupe_rate=round(stage.dedupe_rate, 4),
                coverage=round(stage.coverage, 4),
                capped=stage.capped,
                early_stop=stage.early_stop,
            )
        )

    def look_at(self, documents: list[int], stage: Stage) -> list[int]:
        """Those of the documents that may still be looked at; each is counted once."""
        allowed = []
        for one in documents:
            if one not in self.seen:
                if len(self.seen) >= self.plan.budget.docs_max:
                    continue
                self.seen.add(one)
            allowed.append(one)
        if len(allowed) < len(documents):
            gone = len(documents) - len(allowed)
            stage.capped = True
            stage.cut += gone
            stage.note(Reason.BUDGET_EXHAUSTED, f"{gone} documents beyond docs_max")
        return allowed
