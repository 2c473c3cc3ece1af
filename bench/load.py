"""A lean HTTP client for load: raw asyncio, so that the server is what is measured.

    python -m bench.load < order.json > result.json

The order names an address, ready-made requests, how many clients and for how long. Each
client sends one request, waits for its answer and sends the next. As a process of its own it
takes nothing from the server but the machine.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any


class Client(asyncio.Protocol):
    """One connection that asks again and again until the time is over."""

    def __init__(self, requests: Sequence[bytes], seed: int, ends: float, paced_s: float) -> None:
        self.times_ms: list[float] = []
        self.done = asyncio.get_running_loop().create_future()
        self.statuses: Counter[str] = Counter()
        self.acknowledged: list[int] = []
        """The numbers of the requests that were answered with success."""
        self._requests = requests
        self._next = random.Random(seed).randrange(len(requests))
        self._ends = ends
        self._paced_s = paced_s
        self._buffer = bytearray()
        self._length = -1
        self._status = ""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._ask()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.statuses["lost"] += 1
            self.done.set_result(None)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._length < 0 and not self._read_head():
            return
        if len(self._buffer) >= self._length:
            self.times_ms.append((time.perf_counter() - self._asked) * 1000)
            self.statuses[self._status] += 1
            if self._status.startswith("2"):
                self.acknowledged.append(self._number)
            self._buffer.clear()
            self._length = -1
            if self._paced_s:
                asyncio.get_running_loop().call_later(self._paced_s, self._ask)
            else:
                self._ask()

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        self._status = head[9:12].decode()
        at = head.find(b"content-length:")
        line = (
            b"0"
            if at < 0
            else head[at + 15 : head.find(b"\r\n", at) if b"\r\n" in head[at:] else None]
        )
        self._length = end + 4 + int(line)
        return True

    def _ask(self) -> None:
        self._asked = time.perf_counter()
        if self._asked >= self._ends:
            if not self.done.done():
                self.done.set_result(None)
            self._transport.close()
            return
        self._number = self._next % len(self._requests)
        self._next += 1
        self._transport.write(self._requests[self._number])


async def _load(order: dict[str, Any]) -> dict[str, Any]:
    loop = asyncio.get_running_loop()
    requests = [text.encode() for text in order["requests"]]
    started = time.perf_counter()
    ends = started + order["seconds"]
    clients = []

    def made(number: int) -> Client:
        client = Client(requests, number, ends, order.get("paced_s", 0.0))
        clients.append(client)
        return client

    for number in range(order["clients"]):
        if "socket" in order:
            await loop.create_unix_connection(lambda n=number: made(n), order["socket"])
        else:
            await loop.create_connection(lambda n=number: made(n), "127.0.0.1", order["port"])
    await asyncio.wait([client.done for client in clients], timeout=order["seconds"] + 60)
    return {
        "seconds": time.perf_counter() - started,
        "times_ms": [one for client in clients for one in client.times_ms],
        "statuses": sum((client.statuses for client in clients), Counter()),
        "acknowledged": sorted(one for client in clients for one in client.acknowledged),
        "processor_s": time.process_time(),
    }


def main() -> None:
    import uvloop

    result = uvloop.run(_load(json.load(sys.stdin)))
    json.dump(result, sys.stdout)


if __name__ == "__main__":
    main()
