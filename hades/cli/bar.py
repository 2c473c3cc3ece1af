"""The progress bar: what is being done, how much of it, how fast, and how long it will take.

Work tells of itself as (what, done, total). Each `what` is a bar of its own, so that rate
and time left are those of the phase under way and not of the ones before.
"""

from __future__ import annotations

from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text


class Pace(ProgressColumn):
    """How much is done and of how much, how many a second, and how long the rest takes.

    The rate is from the first report to now: batches are few and uneven, so no shorter window.
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
    """Bars on a terminal; hearing of new work, the old bar goes."""

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
        """So much of this work is done; a total of 0 is not known."""
        if self._task is None or what != self._what:
            if self._task is not None:
                self.progress.remove_task(self._task)
            self._what, self._task = what, self.progress.add_task(what, total=None, first=done)
        self.progress.update(self._task, completed=done, total=total or None)
