"""The progress bar: what is being done, how much of it, how fast, and how long it will take.

Work tells of itself as (what, done, total). Each `what` is a bar of its own, so that rate
and time left are those of the phase under way and not of the ones before.
"""

from __future__ import annotations

from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text


class Amount(ProgressColumn):
    """How much is done, and of how much where that is known."""

    def render(self, task: Task) -> Text:
        of = "" if task.total is None else f" of {task.total:,.0f}"
        return Text(f"{task.completed:,.0f}{of}")


class Rate(ProgressColumn):
    """How many a second."""

    def render(self, task: Task) -> Text:
        rate = _rate(task)
        if not rate:
            return Text("")
        return Text(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s", style="cyan")


class Left(ProgressColumn):
    """How long the rest takes at this rate."""

    def render(self, task: Task) -> Text:
        rate = _rate(task)
        if not rate or task.total is None:
            return Text("")
        return Text(f"{timedelta(seconds=round((task.total - task.completed) / rate))} left")


def _rate(task: Task) -> float:
    """From the first report to now: batches are few and uneven, so no shorter window."""
    return (task.completed - task.fields["first"]) / task.elapsed if task.elapsed else 0.0


class Bars:
    """Bars on a terminal; hearing of new work, the old bar goes."""

    def __init__(self, console: Console, *, disable: bool = False) -> None:
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            Amount(),
            Rate(),
            Left(),
            console=console,
            transient=True,
            disable=disable,
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
