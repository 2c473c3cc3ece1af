"""A lean HTTP client for load: raw asyncio, so that the server is what is measured.

    python -m bench.load < order.json > result.json

The order names an address, ready-made requests, how many clients and for how long. Each
client sends one request, waits for its answer and sends the next, at once or at its pace. As
a process of its own it takes nothing from the server but the machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Order:
    """What is wanted."""

    requests: list[str]
    clients: int
    seconds: float
    port: int = 0
    socket: str = ""
    """A unix socket, instead of the port."""
    paced_s: float = 0.0
    """A client begins a request at most so often; 0: as soon as the last is answered."""
    once: bool = False
    """Every request is sent at most once: the clients share them out."""


@dataclass
class Result:
    """What came of it."""

    seconds: float = 0.0
    ms: list[float] = field(default_factory=list)
    """Of each request that was answered with success."""
    refused_ms: list[float] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    done: list[int] = field(default_factory=list)
    """The numbers of the requests that were answered with success."""

    @property
    def per_s(self) -> float:
        """Successes a second."""
        return len(self.ms) / self.seconds


class Client(asyncio.Protocol):
    """One connection that asks again and again until the time is over."""

    def __init__(self, requests: list[bytes], number: int, ends: float, order: Order) -> None:
        self.result = Result()
        self.over = asyncio.get_running_loop().create_future()
        self._statuses: Counter[str] = Counter()
        self._requests = requests
        share = len(requests) // order.clients
        self._next, self._last = number * share, (number + 1) * share
        self._waits_s = order.paced_s * number / order.clients
        self._ends = ends
        self._order = order
        self._buffer = bytearray()
        self._length = -1
        self._status = ""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        # Those with a pace begin one after another, else they would all come at once.
        asyncio.get_running_loop().call_later(self._waits_s, self._ask)

    def connection_lost(self, error: Exception | None) -> None:
        if not self.over.done():
            self._statuses["lost"] += 1
            self._leave()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._length < 0 and not self._read_head():
            return
        if len(self._buffer) >= self._length:
            self._buffer.clear()
            self._length = -1
            self._answered()

    def _read_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[:end]).lower()
        self._status = head[9:12].decode()
        _, _, rest = head.partition(b"content-length:")
        self._length = end + 4 + int(rest.partition(b"\r\n")[0] or 0)
        return True

    def _answered(self) -> None:
        ms = (time.perf_counter() - self._asked) * 1000
        self._statuses[self._status] += 1
        if self._status.startswith("2"):
            self.result.ms.append(ms)
            self.result.done.append(self._number)
        else:
            self.result.refused_ms.append(ms)
        pause = self._asked + self._order.paced_s - time.perf_counter()
        if self._order.paced_s and pause > 0:
            asyncio.get_running_loop().call_later(pause, self._ask)
        else:
            self._ask()

    def _ask(self) -> None:
        self._asked = time.perf_counter()
        spent = self._order.once and self._next >= self._last
        if self._asked >= self._ends or spent or self._transport.is_closing():
            self._leave()
            return
        self._number = self._next % len(self._requests)
        self._next += 1
        self._transport.write(self._requests[self._number])

    def _leave(self) -> None:
        if not self.over.done():
            self.result.statuses = dict(self._statuses)
            self.over.set_result(None)
        self._transport.close()


async def load(order: Order) -> Result:
    """Do what is wanted."""
    loop = asyncio.get_running_loop()
    requests = [text.encode() for text in order.requests]
    started = time.perf_counter()
    ends = started + order.seconds
    clients: list[Client] = []

    def made() -> Client:
        clients.append(Client(requests, len(clients), ends, order))
        return clients[-1]

    for _ in range(order.clients):
        if order.socket:
            await loop.create_unix_connection(made, order.socket)
        else:
            await loop.create_connection(made, "127.0.0.1", order.port)
    await asyncio.wait([client.over for client in clients], timeout=order.seconds + 60)
    whole = Result(seconds=time.perf_counter() - started)
    statuses: Counter[str] = Counter()
    for client in clients:
        whole.ms += client.result.ms
        whole.refused_ms += client.result.refused_ms
        whole.done += client.result.done
        statuses.update(client.result.statuses)
    whole.statuses = dict(statuses)
    return whole


def main() -> None:
    """An order from standard input, its result to standard output."""
    import uvloop

    result = uvloop.run(load(Order(**json.load(sys.stdin))))
    json.dump(asdict(result), sys.stdout)


if __name__ == "__main__":
    main()
