"""`hades serve` as people run it: a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).parent.parent.parent
COMMAND = [sys.executable, "-c", "from hades.cli import main; main()"]


def environment() -> dict[str, str]:
    """That of a shell in which `hades` is this checkout's."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@dataclass
class Process:
    """A running `hades serve`."""

    process: subprocess.Popen[str]
    told: dict[str, Any]
    """What it said when it began to listen."""

    def where(self, listener: str) -> str:
        """Where it listens."""
        return str(
            next(one["where"] for one in self.told["listening"] if one["listener"] == listener)
        )

    def client(self, listener: str = "rw", timeout_s: float = 30) -> httpx.Client:
        """A client at one of its unix sockets."""
        transport = httpx.HTTPTransport(uds=self.where(listener))
        return httpx.Client(transport=transport, base_url="http://hades", timeout=timeout_s)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Tell it to stop; its exit code."""
        self.process.send_signal(how)
        return self.process.wait(60)


@contextmanager
def hades_serve(memory: Path | str, *options: str, folder: Path | None = None) -> Iterator[Process]:
    """Run it at three unix sockets, and end it if the test did not."""
    folder = folder or Path(memory).parent
    sockets = [
        f"--{listener}-socket={folder / listener}.sock" for listener in ("ro", "rw", "admin")
    ]
    with (folder / "stderr").open("a") as log:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--memory", str(memory), "--json", *sockets, *options],
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "stderr").read_text()
        yield Process(process, json.loads(line))
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
