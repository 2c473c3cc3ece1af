"""Summaries that a server makes: as a job, and by itself every so many hours."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from process_making import hades_serve

import hades


@pytest.mark.slow
def test_servers_make_summaries_by_themselves(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes over one memory: both are told to, and each summary is made once."""
    with hades.open(path) as memory:
        for number in range(12):
            memory.remember(f"note/{number}", f"Note {number}.", valid_from="2024-03-05T10:00")
    monkeypatch.setenv("HADES_CONSOLIDATE_EVERY_HOURS", "1")
    for name in ("one", "two"):
        (path.parent / name).mkdir()
    with (
        hades_serve(path, "--no-tcp", folder=path.parent / "one") as first,
        hades_serve(path, "--no-tcp", folder=path.parent / "two") as second,
        hades.open(f"unix://{first.where('rw')}") as client,
    ):
        until = time.monotonic() + 60
        while not client.topics("summary/2024-03") and time.monotonic() < until:
            time.sleep(0.1)
        made = client.consolidate()
        assert (made.made, made.unchanged) == ((), 2)
        assert second.stop() == first.stop() == 0
    with hades.open(path) as memory:
        assert [topic.versions for topic in memory.topics("summary/*")] == [1, 1]
        assert {one.actor for one in memory.log(50) if one.action == "consolidate"} == {"hades"}
