"""The progress bar: the work, how much is done, the rate, and the time left.

Progress is reported as (what, done, total). Each `what` has its own bar, so that rate and time left
are those of the current phase.
"""

from __future__ import annotations

from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text


class Pace(ProgressColumn):
    """The column with the amount done, the rate per second, and the time left.

    The rate is the mean since the first report: over a shorter time, uneven batches make it jump.
    """

    def render(self, task: Task) -> Text:
        parts = [f"{task.completed:,.0f}" + (f" of {task.total:,.0f}" if task.total else "")]
        rate = (task.completed - task.fields["first"]) / task.elapsed if task.elapsed else 0.0
        if rate:
            parts.append(f"{rate:,.{0 if rate >= 10 else 1}f}/s")
        if rate and task.total:
            parts.append(f"{timedelta(seconds=round((task.total - task.completed) / rate))} left")
        return Text("  ".join(parts))


class Bars:
    """A progress bar on a terminal, replaced when other work begins."""

    def __init__(self, console: Console) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            Pace(),
            console=console,
            transient=True,
        )
        self._what = ""
        self._task: TaskID | None = None

    def told(self, what: str, done: int, total: int) -> None:
        """Show how much of `what` is done; other work gets a new bar. A total of 0 is unknown."""
        if self._task is None or what != self._what:
            if self._task is not None:
                self.progress.remove_task(self._task)
            self._what, self._task = what, self.progress.add_task(what, total=None, first=done)
        self.progress.update(self._task, completed=done, total=total or None)
