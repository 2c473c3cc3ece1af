"""Lines for a prompt: which notes are shown beside those that the agent knows."""

from __future__ import annotations

from pathlib import Path

import hades
from hades.hooks.lines import lines_for

OLD = "About 95 euro a day for the both of us, then 15,000 are left for transport and visas."
NEW = "80 a day for the both of us. From now on we spend 80 euro a day, not 95."
PROMPT = "how much can we spend per day"


def test_an_old_note_is_no_line_if_a_later_one_makes_it_outdated(tmp_path: Path) -> None:
    with hades.open(tmp_path / "trip.hades") as memory:
        memory.remember("facts/budget", OLD, valid_from="2026-03-06")
        assert shown(memory) == ["facts/budget@1"]
        memory.remember("decisions/day", NEW, valid_from="2026-04-27")
        assert shown(memory) == ["decisions/day@1"]
        assert shown(memory, "decisions/day@1") == []  # the brief has it


def shown(memory: hades.Memory, *known: str) -> list[str]:
    lines = lines_for(memory, PROMPT, unwanted=known, own="")
    return [line.id for line in lines]
