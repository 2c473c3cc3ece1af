"""Visitors of the explorer that hold a page open, as browsers do, without a browser.

    python -m bench.visitors URL KEY COUNT

Each signs in, loads a page, and polls for its events. When all are connected, the number of
them is printed; they leave when standard input is closed.
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import uuid

import aiohttp
import socketio

PAGES = ("/", "/topics", "/map", "/health")
AT_ONCE = 8
PATIENCE_S = 60


async def visit(url: str, key: str, page: str, at_once: asyncio.Semaphore) -> socketio.AsyncClient:
    """Sign in, load a page, and connect as its script does."""
    async with at_once:
        web = aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))
        await web.post(f"{url}/sign-in", data={"key": key})
        shown = await web.get(f"{url}{page}", headers={"accept": "text/html"})
        own = re.search(r"'client_id': '([^']+)'", await shown.text())
        assert own is not None, f"{page} was answered with {shown.status}"
        drawn = asyncio.Event()
        browser = socketio.AsyncClient(reconnection=False, http_session=web)
        browser.on("*", lambda *_: drawn.set())
        ids = f"tab_id={uuid.uuid4()}&document_id={uuid.uuid4()}&next_message_id=0"
        await browser.connect(
            f"{url}?client_id={own[1]}&implicit_handshake=true&{ids}",
            transports=["polling"],
            socketio_path="/_nicegui_ws/socket.io",
            wait_timeout=PATIENCE_S,
        )
        await asyncio.wait_for(drawn.wait(), PATIENCE_S)
        return browser


async def hold(url: str, key: str, count: int) -> None:
    """Connect visitors, say how many stay, and wait until standard input ends."""
    at_once = asyncio.Semaphore(AT_ONCE)
    pages = [PAGES[number % len(PAGES)] for number in range(count)]
    browsers = await asyncio.gather(*(visit(url, key, page, at_once) for page in pages))
    print(sum(browser.connected for browser in browsers), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(sum(browser.connected for browser in browsers), flush=True)
    os._exit(0)  # as a laptop that is closed: nobody says goodbye


if __name__ == "__main__":
    asyncio.run(hold(sys.argv[1], sys.argv[2], int(sys.argv[3])))
