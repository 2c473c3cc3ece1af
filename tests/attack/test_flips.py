"""Single flipped bits: `check` names the damage, or everything is read as it was written."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

import hades

pytestmark = pytest.mark.durable

FLIPS = 1_000 if os.environ.get("HADES_ATTACK") == "long" else 60


def _fill(path: Path) -> None:
    with hades.open(path) as memory:
        for number in range(12):
            for version in range(3):
                text = f"Note {number} of Tim Burton, version {version}. " * 12
                memory.remember(f"note/{number}", text, tags=["t"], metadata={"n": number})
            memory.relate(f"note/{number}", "next", f"note/{number + 1}", evidence="said so")
            memory.relate(f"note/{number}", "by", "Tim Burton", weight=0.5, valid_to="2090")
        memory.add_alias("Tim Burton", "T. Burton")
        memory.relate("Timothy Burton", "made", "Beetlejuice")
        memory.merge("Tim Burton", "Timothy Burton")
        memory.propose("note/1", content="Another text.")
        memory.index()


def _all_of(path: Path) -> bytes:
    """Everything a memory tells."""
    target = path.with_name("all.jsonl")
    target.unlink(missing_ok=True)
    with hades.open(path, read_only=True) as memory:
        memory.export(target)
        told = [str(edge) for edge in memory.edges()] + [str(topic) for topic in memory.topics()]
    return target.read_bytes() + "\n".join(told).encode()


@pytest.mark.slow
def test_a_flipped_bit_is_named_or_harmless(path: Path) -> None:
    _fill(path)
    original, whole = path.read_bytes(), _all_of(path)
    generator = random.Random(12)
    seen: Counter[str] = Counter()
    for _ in range(FLIPS):
        damaged = bytearray(original)
        place = generator.randrange(len(damaged))
        damaged[place] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        try:
            with hades.open(path, read_only=True) as memory:
                named = bool(memory.check())
        except hades.HadesError:
            seen["refused"] += 1
            continue
        if named:
            seen["named"] += 1
            continue
        try:
            same = _all_of(path) == whole
        except hades.HadesError:
            same = False
        seen["harmless" if same else "unnoticed"] += 1
    print(dict(seen))
    assert seen["unnoticed"] == 0, seen
