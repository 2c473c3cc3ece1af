"""Workers: processes that parse files, with limits for each document.

An untrusted file may take hours or gigabytes to parse, or crash its parser. So it is read outside
the serving process and before anything is locked. A worker that exceeds its limits ends and is
replaced. The file is reported with the reason, and the others are read.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from queue import Empty, Full, Queue

from hades.ingest.document import Bad, Document
from hades.ingest.reading import Task, read
from hades.ingest.worker import NoAnswer, receive_answers, send_task
from hades.settings import cores, load_settings

LOOK_EVERY_S = 0.1
"""How often a waiting process checks whether the answer is still wanted."""
ANSWERS_WAITING = 8
"""How many answers of one task may wait to be written. If there are more, its worker waits."""
ALONE_S = 0.5
"""Work that takes longer than this gets more than one worker. Starting a worker takes 0.1 s."""
ANSWER_MB_BESIDE_TEXT = 256
"""How much larger than its text an answer may be, for outline and metadata."""
ENDING_S = 10.0
"""How long a worker may take to end. On a busy machine that is more than a second, and a worker
that is killed would count as crashed."""

Answer = Document | Bad
Answers = Queue[Answer | BaseException | None]
"""The answers to one task; None marks the end."""


class Workers:
    """Reads sources in worker processes, which start on demand and end with `close`.

    `still_wanted` is called while waiting for an answer and may raise to stop. With `in_process`,
    sources are read in this process without limits, for debugging.
    """

    def __init__(self, still_wanted: Callable[[], None], *, in_process: bool = False) -> None:
        self._settings = load_settings()
        self._still_wanted = still_wanted
        self._in_process = in_process
        self._threads = ThreadPoolExecutor(cores(), "hades-reading")
        self._idle: list[subprocess.Popen[bytes]] = []
        self._started: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def close(self) -> None:
        """Kill all workers."""
        self._closed = True
        for process in list(self._started):
            process.kill()
        self._threads.shutdown(cancel_futures=True)
        for process in self._started:
            _end(process)

    def read(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Answer]]:
        """Yield each task with each of its documents, or with a Bad, in the order of the tasks."""
        if self._in_process:
            yield from ((task, answer) for task in tasks for answer in read(task))
            return
        waiting: deque[tuple[Task, Answers]] = deque()
        tasks = iter(tasks)
        began = time.monotonic()
        while True:
            room = 1 if time.monotonic() - began < ALONE_S else cores() + 1
            for task in islice(tasks, max(0, room - len(waiting))):
                waiting.append((task, Queue(ANSWERS_WAITING)))
                self._threads.submit(self._work, *waiting[-1])
            if not waiting:
                return
            task, answers = waiting[0]
            try:
                answer = answers.get(timeout=LOOK_EVERY_S)
            except Empty:
                self._still_wanted()
                continue
            if isinstance(answer, BaseException):
                raise answer
            if answer is None:
                waiting.popleft()
            else:
                yield task, answer

    def _work(self, task: Task, answers: Answers) -> None:
        """Have a worker read a source, and put its answers, then None, into the queue `answers`."""
        at_most = (4 * self._settings.ingest_text_mb + ANSWER_MB_BESIDE_TEXT) * 2**20
        try:
            while True:
                is_used = bool(self._idle)
                process = self._idle.pop() if is_used else self._start()
                assert process.stdin is not None
                assert process.stdout is not None
                try:
                    send_task(process.stdin, task)
                    for answer in receive_answers(process.stdout, at_most):
                        self._put(answers, answer)
                except (NoAnswer, BrokenPipeError, ValueError, KeyError, TypeError):
                    self._started.discard(process)
                    code = _end(process)
                    if code != 0 or not is_used:  # else it had ended after its last task
                        self._put(answers, Bad(task.topic, self._why_ended(code)))
                        return
                else:
                    self._idle.append(process)
                    return
        except BaseException as error:  # noqa: BLE001 - the edge of a thread: `read` raises it
            self._put(answers, error)
        finally:
            self._put(answers, None)

    def _put(self, answers: Answers, answer: Answer | BaseException | None) -> None:
        while not self._closed:
            with suppress(Full):
                answers.put(answer, timeout=LOOK_EVERY_S)
                return

    def _start(self) -> subprocess.Popen[bytes]:
        limits = self._settings
        numbers = (limits.ingest_seconds, limits.ingest_memory_mb, limits.ingest_text_mb)
        # With -P, nothing is imported from the current folder.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "hades.ingest.worker", *map(str, numbers)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._started.add(process)
        if self._closed:
            process.kill()
        return process

    def _why_ended(self, code: int) -> str:
        if code == -signal.SIGALRM:
            seconds = self._settings.ingest_seconds
            return f"It takes longer than {seconds:g} s to read (ingest_seconds)."
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return f"Its reader crashed ({how})."


def _end(process: subprocess.Popen[bytes]) -> int:
    """Close the streams of a worker, wait for its end, then kill it. Return its exit code."""
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            with suppress(OSError):
                stream.close()
    try:
        return process.wait(ENDING_S)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
