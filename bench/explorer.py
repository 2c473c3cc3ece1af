"""The explorer: the time of the first page, and what open pages cost the API.

Recalls over HTTP are asked in turns at two equal servers, one of them with visitors. Visitors
(`bench.visitors`) and the client are processes of their own.
"""

from __future__ import annotations

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.growth import WORDS
from bench.load import Order
from bench.served import Served, served, under_load
from bench.table import note, show
from hades.serve.auth.browsers import StartLinks

VISITORS = 200
TURNS, TURNS_SMALL = 40, 8
SECONDS = 2.0
"""How long recalls are asked at one server before it is the other one's turn."""
SETTLING_S = 20.0
NOTES, ASKED, OPENED = 400, 100, 9


def run(*, small: bool = False) -> None:
    """Measure the explorer."""
    print("## Explorer\n")
    chance = random.Random(5)
    with tempfile.TemporaryDirectory() as visited, tempfile.TemporaryDirectory() as quiet:
        paths = [Path(folder) / "served.hades" for folder in (visited, quiet)]
        with hades.open(paths[0]) as memory:
            with memory.batch():
                for number in range(NOTES):
                    memory.remember(f"note/{number}", " ".join(chance.choices(WORDS, k=40)))
            memory.warm()
            memory.backup(paths[1])
        asked = [" ".join(chance.choices(WORDS, k=5)) for _ in range(ASKED)]
        with served(paths[0], Path(visited)) as server, served(paths[1], Path(quiet)) as other:
            _first_page(server)
            _with_visitors(server, other, asked, TURNS_SMALL if small else TURNS)


def _first_page(server: Served) -> None:
    """Time pages in browsers with an empty cache, the first one right after the server's start."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("Playwright is not installed: the first page was not measured.\n")
        return
    url = f"http://127.0.0.1:{server.port}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--headless", "--no-sandbox"]
        )
        ms = [_opened(browser, url, StartLinks(server.memory).create()) for _ in range(OPENED)]
        browser.close()
    plain, pages = zip(*ms, strict=True)
    rows = [
        ("Ask, first after the server's start", f"{pages[0]:.0f} ms"),
        (f"Ask, median of the {OPENED - 1} after it", f"{statistics.median(pages[1:]):.0f} ms"),
        ("the sign-in page, plain HTML", f"{statistics.median(plain):.0f} ms"),
    ]
    show(f"Pages, until their field can be used, empty cache; {_load()}", ("page", "time"), rows)


def _opened(browser: Any, url: str, token: str) -> tuple[float, float]:
    """Return the milliseconds until the sign-in page and until the page Ask could be used."""
    page = browser.new_context().new_page()
    times = [time.perf_counter()]
    for address, label in (
        (f"{url}/sign-in", "Your key"),
        (f"{url}/start/{token}", "Your question"),
    ):
        page.goto(address)
        page.get_by_label(label).wait_for()
        times.append(time.perf_counter())
    page.context.close()
    return (times[1] - times[0]) * 1000, (times[2] - times[1]) * 1000


def _with_visitors(server: Served, other: Served, asked: list[str], turns: int) -> None:
    """Ask two servers in turns, one of which has visitors, so that other work slows both alike."""
    orders = {
        it: Order([it.recall(question) for question in asked], 1, SECONDS, it.port)
        for it in (other, server)
    }
    ms: dict[Served, list[float]] = {other: [], server: []}
    used: dict[Served, float] = {other: 0.0, server: 0.0}
    for order in orders.values():
        under_load(order)
    with visitors(server, VISITORS):
        time.sleep(SETTLING_S)
        before, begun = server.processor_s(), time.monotonic()
        for turn in range(turns):
            note(f"turn {turn + 1} of {turns}")
            for it, order in orders.items():
                spent = it.processor_s()
                ms[it] += under_load(order).ms
                used[it] += it.processor_s() - spent
        whole = server.processor_s() - before - used[server]
        idle = whole / (time.monotonic() - begun - turns * SECONDS)
    rows = []
    for name, it in {"no visitors": other, f"{VISITORS} visitors": server}.items():
        middle, high = np.percentile(ms[it], (50, 95))
        rows.append((name, len(ms[it]), middle, high, used[it] * 1000 / len(ms[it])))
    ratios = [many / none for none, many in zip(rows[0][2:], rows[1][2:], strict=True)]
    shown = [(name, count, *(f"{it:.1f}" for it in cells)) for name, count, *cells in rows]
    show(
        f"Recall over HTTP, {NOTES:,} notes, {turns} turns of {SECONDS:.0f} s each; {_load()}",
        ("server with", "recalls", "p50, ms", "p95, ms", "the server's processor, a recall, ms"),
        [*shown, ("ratio", "", *(f"{ratio:.2f}" for ratio in ratios))],
    )
    print(f"Open pages alone take {idle:.1%} of one core.\n")


@contextmanager
def visitors(server: Served, count: int) -> Iterator[None]:
    """Hold pages open; all visitors must still be connected in the end."""
    command = [sys.executable, "-m", "bench.visitors", f"http://127.0.0.1:{server.port}"]
    process = subprocess.Popen(
        [*command, server.key, str(count)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    connected = process.stdout.readline().strip()
    yield
    process.stdin.close()
    stayed = process.stdout.readline().strip()
    process.wait(60)
    if (connected, stayed) != (str(count), str(count)):
        print(f"Of {count} visitors {connected or 'none'} connected, {stayed or 'none'} stayed.\n")


def _load() -> str:
    return f"load {os.getloadavg()[0]:.1f}"
