"""About a name: what it is, since when it is known, its facts, its mentions, near names."""

from __future__ import annotations

import pytest

import hades
from tests.shell import Shell
from tests.store.holding import HeldClock


def _remember_mia(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("family", "Mia Berg is our daughter, born in 2016. We adopted a cat.")
    memory.remember("lessons", "On Tuesday Mia Berg has lessons with Ora Lind.")
    memory.relate("Mia Berg", "plays", "piano", valid_from="2022")
    memory.add_alias("Mia Berg", "Mimi")
    clock.set("2024-05-01")
    memory.change_fact("Mia Berg", "plays", to="flute")


def test_a_page_about_a_name_has_all_that_is_known(memory: hades.Memory, clock: HeldClock) -> None:
    began = memory._store.now() if isinstance(memory, hades.Memory) else None
    _remember_mia(memory, clock)
    found = memory.about("Mimi")
    assert (found.entity.name, found.entity.aliases) == ("Mia Berg", ("Mimi",))
    assert (found.what, found.cite) == ("Mia Berg is our daughter, born in 2016.", "family@1#0")
    assert [str(edge.target) for edge in found.facts] == ["flute"]
    assert [str(edge.target) for edge in found.ended] == ["piano"]
    assert {mention.chunk.topic for mention in found.mentions} == {"family", "lessons"}
    assert found.near == ("Ora Lind",)
