"""Health: sizes, stages of recall, caches, quality and jobs, as this server knows them."""

from __future__ import annotations

from nicegui import ui

from hades.domain.plain import one_line
from hades.domain.promotion import QualityReport
from hades.domain.statement import moment_words
from hades.ui.calls import Series
from hades.ui.controls import box, empty, table, text
from hades.ui.frame import Frame, page

JOBS_SHOWN = 50
BAR_WIDTH = 160


@page("/health", "Health")
async def health(frame: Frame) -> None:
    """Draw sizes and use of the chosen space, then its quality, which takes longer."""
    text("Health", "", "h1")
    sizes: dict[str, int] = await frame.call_now("stats")
    series = await frame.visitor.measured()
    with box("two"):
        with box("stack"):
            _stages(series)
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
            text("Caches", "", "h2")
            _caches(series)
    with quality:
        await _quality(frame)


def _stages(series: list[Series]) -> None:
    text("Stages of questions, since the server started", "", "h2")
    times = [it for it in series if it.name == "hades_stage_seconds"]
    capped = {it.label: it.count for it in series if it.name == "hades_stage_capped"}
    if not times:
        empty("No question was asked since the server started.", then="Ask one", href="/")
        return
    slowest = max(it.p95 for it in times) or 1.0
    with box("card scroll"), box("", "table"):
        with box("", "thead"), box("", "tr"):
            for title in ("Stage", "Times", "P50, ms", "P95, ms", "", "Capped"):
                text(title, "wide" if not title else "", "th", scope="col")
        with box("", "tbody"):
            for it in times:
                with box("", "tr"):
                    shown = (it.label, f"{it.count:,.0f}", _ms(it.p50), _ms(it.p95))
                    for cell in shown:
                        text(cell, "", "td")
                    with box("wide", "td"):
                        ui.html(_bar(it.p50 / slowest, it.p95 / slowest), sanitize=False)
                    text(f"{capped.get(it.label, 0):,.0f}", "", "td")


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.1f}"


def _bar(middle: float, high: float) -> str:
    """Return a bar for P50 inside one for P95; it has numbers only."""
    inner, outer = (round(max(1.0, share * BAR_WIDTH)) for share in (middle, high))
    return (
        f'<svg width="{BAR_WIDTH}" height="10" aria-hidden="true"><rect width="{outer}" '
        f'height="10" rx="5" fill="var(--line)"/><rect width="{inner}" height="10" rx="5" '
        'fill="var(--accent)"/></svg>'
    )


def _caches(series: list[Series]) -> None:
    uses: dict[str, dict[str, float]] = {}
    for it in series:
        if it.name == "hades_cache_uses":
            cache, _, outcome = it.label.partition(" ")
            uses.setdefault(cache, {})[outcome] = it.count
    if not uses:
        empty("No cache was used since the server started.")
        return
    rows = []
    for cache, outcomes in sorted(uses.items()):
        total = sum(outcomes.values())
        share = outcomes.get("kept", 0) / total if total else 0
        rows.append((cache, f"{total:,.0f}", f"{share:.0%}"))
    with box("card"):
        table(("Cache", "Look-ups", "Hits"), rows)


def _jobs(frame: Frame) -> None:
    jobs = frame.visitor.jobs(frame.space)[:JOBS_SHOWN]
    if not jobs:
        empty("No job ran since the server started.")
        return
    rows = []
    for job in jobs:
        why = job.problem.detail if job.problem else ""
        rows.append((job.kind, job.status, moment_words(job.created_at), one_line(job.by), why))
    with box("card"):
        table(("Job", "Status", "Begun", "By", "Problem"), rows)


async def _quality(frame: Frame) -> None:
    checked = text("Checking …", "muted")
    report: QualityReport = await frame.call_now("quality")
    checked.delete()
    rows = [
        (finding.what, f"{finding.count:,}", "; ".join(map(one_line, finding.examples))[:300])
        for finding in report.findings
    ]
    table(("What", "Number", "Such as"), rows)
