"""Health: growth, quality and jobs of a space; for callers of all spaces also times and caches."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from nicegui.element import Element

from hades.domain.plain import counted, one_line
from hades.domain.promotion import QualityReport
from hades.domain.statement import moment_words
from hades.domain.topics import Growth
from hades.serve.auth.caller import Role
from hades.serve.jobs import Job
from hades.serve.telemetry.latencies import QUESTION
from hades.serve.telemetry.metrics import Measurements
from hades.ui.charts import lines
from hades.ui.controls import box, button, empty, select, table, text
from hades.ui.frame import Frame, page

JOBS_SHOWN = 50
_PERIODS_S = {"hour": 3_600.0, "day": 86_400.0}


@page("/health", "Health")
async def health(frame: Frame) -> None:
    """Draw growth and use of the chosen space, then its quality, which takes longer."""
    text("Health", "", "h1")
    sizes: dict[str, int] = await frame.call_now("stats")
    growth: list[Growth] = await frame.call_now("growth")
    sees_server = frame.visitor.caller.spaces is None
    measured = await frame.visitor.measured() if sees_server else None
    with box("two"):
        with box("stack"):
            text("Growth", "", "h2")
            _growth(growth)
            if measured is not None:
                text("Time of questions", "", "h2")
                with box("stack") as times:
                    _times(times, measured, "day", QUESTION)
            text("Jobs", "", "h2")
            _jobs(frame)
            text("Quality", "", "h2")
            quality = box("card")
        with box("stack"):
            text("Sizes", "", "h2")
            with box("card"):
                table(
                    ("What", "Number"),
                    [(name.replace("_", " "), f"{number:,}") for name, number in sizes.items()],
                )
            if measured is not None:
                text("Caches", "", "h2")
                _caches(measured)
                text("Scheduled upkeep", "", "h2")
                _schedule(measured)
    with quality:
        await _quality(frame)


def _growth(growth: list[Growth]) -> None:
    if not growth:
        empty("Nothing was written yet.")
        return
    with box("card"):
        lines(
            "Topics and versions over time",
            {
                "topics": [(step.at, step.topics) for step in growth],
                "versions": [(step.at, step.states) for step in growth],
            },
        )
        for step in (growth[0], growth[len(growth) // 2], growth[-1]):
            counts = f"{counted(step.topics, 'topic')}, {counted(step.states, 'version')}"
            text(f"{counts} by {moment_words(step.at)}.", "muted small", "div")


def _times(place: Element, measured: Measurements, period: str, stage: str) -> None:
    """Draw the time of one stage as lines, and of all stages as a table."""
    latencies = measured.latencies.by_stage(_PERIODS_S[period])
    if not latencies and period == "day":
        empty("No question was asked since the server started.", then="Ask one", href="/")
        return

    def choose(chosen_period: str, chosen_stage: str) -> None:
        place.clear()
        with place:
            _times(place, measured, chosen_period, chosen_stage)

    with box("card"):
        with box("line"):
            stages = {name: name.replace("_", " ") for name in (QUESTION, stage, *latencies)}
            select("stage", "Stage", stages, stage, lambda it: choose(period, it))
            periods = {name: f"the last {name}" for name in _PERIODS_S}
            select("period", "Period", periods, period, lambda it: choose(it, stage))
        minutes = measured.latencies.over_time(stage, _PERIODS_S[period])
        lines(
            f"Time of the stage {stage} in milliseconds, minute by minute",
            {
                "P50, ms": [(minute.at, minute.p50_s * 1000) for minute in minutes],
                "P95, ms": [(minute.at, minute.p95_s * 1000) for minute in minutes],
            },
        )
        rows = [
            (name.replace("_", " "), f"{it.count:,}", _ms(it.p50_s), _ms(it.p95_s),
             f"{measured.caps.get(name, 0):,.0f}")
            for name, it in latencies.items()
        ]  # fmt: skip
        table(("Stage", "Times", "P50, ms", "P95, ms", "Capped"), rows)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f}"


def _caches(measured: Measurements) -> None:
    if not measured.caches:
        empty("No cache was used since the server started.")
        return
    rows = []
    for cache, outcomes in sorted(measured.caches.items()):
        total = sum(outcomes.values())
        share = outcomes.get("kept", 0) / total if total else 0
        rows.append((cache, f"{total:,.0f}", f"{share:.0%}"))
    with box("card"):
        table(("Cache", "Look-ups", "Hits"), rows)


def _schedule(measured: Measurements) -> None:
    if not measured.schedule:
        empty("Nothing is scheduled: settings such as organise_every_hours do that.")
        return
    rows = []
    for task, last in measured.schedule.items():
        ended = datetime.fromtimestamp(last["ended_at"], UTC)
        when = moment_words(ended) if last["ended_at"] else "not yet"
        took = f"{last['seconds']:,.1f}"
        rows.append((task, f"{last['done']:,.0f}", f"{last['failed']:,.0f}", when, took))
    with box("card"):
        table(("Task", "Done", "Failed", "Last", "Seconds"), rows)


def _jobs(frame: Frame) -> None:
    jobs = frame.visitor.jobs(frame.space)[:JOBS_SHOWN]
    if not jobs:
        empty("No job of yours ran since the server started.")
    for job in jobs:
        with box("card line spread"):
            with box("tight"):
                text(f"{job.kind}: {job.status}")
                why = f": {job.problem.detail}" if job.problem else ""
                begun = f"begun {moment_words(job.created_at)} by {one_line(job.by)}"
                text(begun + why, "muted small")
            if not job.ended and frame.visitor.may(Role.WRITER, frame.space):
                button("Cancel", partial(_cancel, frame, job), "small")


async def _cancel(frame: Frame, job: Job) -> None:
    outcome = "The job stops at its next step; what it wrote stays."
    await frame.do(outcome, frame.visitor.cancel_job(frame.space, job.id))


async def _quality(frame: Frame) -> None:
    checked = text("Checking …", "muted")
    report: QualityReport = await frame.call_now("quality")
    checked.delete()
    for finding in report.findings:
        text(f"{finding.what}: {finding.count:,}", "" if finding.count else "muted", "p")
        if finding.count:
            text("; ".join(map(one_line, finding.examples))[:500], "muted small", "p")
