"""A server counts what questions used, though its readers cannot write."""

from __future__ import annotations

from pathlib import Path

from serving import Server

import hades
from tests.conftest import HeldClock


def test_what_is_asked_of_a_server_is_counted_when_it_stops(
    server: Server, path: Path, clock: HeldClock
) -> None:
    with server.serving(path, clock), hades.open(server.address) as client:
        client.remember("a", "Ada keeps bees.")
        for _ in range(3):
            assert client.recall("Who keeps bees?").passages[0].strength is not None
    with hades.open(path, clock=clock) as memory:
        assert memory.get("a").access_count == 1  # one caller, one day
