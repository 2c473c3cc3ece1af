"""What tests share: a clock they hold, and a memory of their own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import hades
from hades.domain.times import to_micros

settings.register_profile(
    "hades", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60
)
settings.load_profile("hades")


class HeldClock:
    """A clock that stands still until told otherwise."""

    def __init__(self) -> None:
        self.set("2024-01-01")

    def __call__(self) -> int:
        return self.micros

    def set(self, day: str) -> None:
        self.micros = to_micros(datetime.fromisoformat(day).replace(tzinfo=UTC))

    def tick(self, seconds: float = 1) -> None:
        self.micros += int(seconds * 1_000_000)


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("HADES_") and name != "HADES_DATA":
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home-data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home-config"))


@pytest.fixture
def clock() -> HeldClock:
    return HeldClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "notes.hades"


@pytest.fixture
def memory(path: Path, clock: HeldClock) -> Iterator[hades.Memory]:
    with hades.open(path, clock=clock, actor="ann") as opened:
        yield opened
