"""A run: the clock, the document budget and the book-keeping of one question.

Every stage runs inside `stage(...)`. It may ask whether its time is up, must ask before it reads a
document, and reports what it trimmed. So one place enforces the limits of the plan, and the answer
can report what happened.
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
from hades.domain.question import Question
from hades.domain.times import AsOf
from hades.recall.plan import Plan

STATEMENT_AT_LEAST_S = 1.0
"""The least time limit of an SQL statement, so that a question that is late is still answered."""
Result = TypeVar("Result")
Clock = Callable[[], float]
"""A monotonic clock, in seconds."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question as it was read, with its space and the times at which it is asked."""

    question: Question
    space: str
    as_of: AsOf
    now: int
    """When it was asked, in microseconds."""


@dataclass(slots=True)
class Stage:
    """A stage that is running; it sets the counts of its report."""

    name: str
    ends: float
    run: Run
    limit_ms: int
    reads: int = 0
    found: int = 0
    added: int = 0
    cut: int = 0
    coverage: float = 0.0
    dedupe_rate: float = 0.0
    capped: bool = False
    early_stop: bool = False

    def is_over(self) -> bool:
        """Return whether the time of the stage, or of the question, is up."""
        return self.run.clock() >= self.ends

    @property
    def seconds_left(self) -> float:
        """The seconds that the stage may still take."""
        return max(0.0, self.ends - self.run.clock())

    def is_late(self, without: str) -> bool:
        """Return whether the stage's time is up; if so, report what it continues `without`."""
        if self.is_over():
            self.stop(Reason.TIMEOUT, f"without {without}")
            return True
        return False

    def waited(self, call: Callable[[], Result], without: str, *, local: bool) -> Result | None:
        """Return the result of a model's call; None, with a report, if it is late."""
        try:
            return self.run.in_background(call, local=local)(self.seconds_left)
        except TimeoutError:
            self.stop(Reason.TIMEOUT, without)
            return None

    def stop(self, reason: Reason, detail: str = "") -> None:
        """Report that the stage ended early."""
        self.early_stop = True
        if reason is Reason.TIMEOUT:
            detail = f"after {self.limit_ms} ms, {detail}"
        self.note(reason, detail)

    def note(self, reason: Reason, detail: str = "") -> None:
        """Add a diagnostic."""
        self.run.diagnostics.append(Diagnostic(reason, self.name, detail))


@dataclass(slots=True)
class Run:
    """The plan of one question, and its costs so far."""

    plan: Plan
    clock: Clock = time.perf_counter
    within: Callable[[float | None], AbstractContextManager[Any]] = nullcontext
    """Limits statements of the store to a number of seconds; None: no limit."""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    reports: list[StageReport] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    """The numbers of the documents read, never more than the plan's `docs_max`."""
    started: float = 0.0

    def __post_init__(self) -> None:
        self.started = self.clock()

    def in_background(
        self, call: Callable[[], Result], *, local: bool
    ) -> Callable[[float], Result]:
        """Start a call; return a function that waits some seconds for its result.

        If the time is up, the function raises TimeoutError. A `local` model, which runs in this
        process, is called only when its result is wanted, because a second thread costs more than
        it saves (docs/lab/decisions.md). The same holds for a test's clock, which must be read in a
        fixed order.
        """
        is_real = self.clock is time.perf_counter
        if local or not is_real:

            def run(seconds: float) -> Result:
                if is_real and seconds <= 0:
                    raise TimeoutError
                return call()

            return run
        # One pool per call: it starts in 0.1 ms, and a forked process inherits no dead threads.
        pool = ThreadPoolExecutor(1, thread_name_prefix="hades-recall")
        waiting = pool.submit(call)
        pool.shutdown(wait=False)
        return waiting.result

    @property
    def ms(self) -> float:
        """Milliseconds since the question started."""
        return (self.clock() - self.started) * 1000

    @contextmanager
    def stage(
        self, name: str, timeout_ms: int | None = None, *, reads_all: bool = False
    ) -> Iterator[Stage]:
        """Yield a stage limited to its own time and the question's; then add its report.

        With `reads_all`, statements are not limited: the stage may have to index the whole memory.
        """
        begun = self.clock()
        ends = self.started + self.plan.budget.latency_ms / 1000
        if timeout_ms is not None:
            ends = min(ends, begun + timeout_ms / 1000)
        stage = Stage(name, ends, self, max(0, round((ends - begun) * 1000)))
        before = len(self.seen)
        reported = len(self.reports)
        # Stages check their time themselves; this only stops an SQL statement that never ends.
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
        """Count documents as read, each once; return those within the plan's `docs_max`."""
        allowed = []
        for document in documents:
            if document not in self.seen:
                if len(self.seen) >= self.plan.budget.docs_max:
                    continue
                self.seen.add(document)
            allowed.append(document)
        if len(allowed) < len(documents):
            gone = len(documents) - len(allowed)
            stage.capped = True
            stage.cut += gone
            stage.note(Reason.BUDGET_EXHAUSTED, f"{gone} documents beyond docs_max")
        return allowed
