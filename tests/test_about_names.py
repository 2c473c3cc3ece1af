"""About a name: what it is, since when it is known, its facts, its mentions, near names."""

from __future__ import annotations

from pathlib import Path

import pytest

import hades
from tests.conftest import HeldClock
from tests.shell import Shell


@pytest.fixture
def mia(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    """A memory of a child who plays the piano, and from May 2024 the flute."""
    memory.remember("family", "Mia Berg is our daughter, born in 2016. We have a cat, too.")
    memory.remember("lessons", "On Tuesday Mia Berg has lessons with Ora Lind.")
    memory.relate("Mia Berg", "plays", "piano", valid_from="2022")
    memory.add_alias("Mia Berg", "Mimi")
    clock.set("2024-05-01")
    memory.change_fact("Mia Berg", "plays", to="flute")
    return memory


def test_about_a_name_shows_all_that_is_known(mia: hades.Memory) -> None:
    found = mia.about("Mimi")
    assert (found.entity.name, found.entity.aliases) == ("Mia Berg", ("Mimi",))
    assert (found.what, found.cite) == ("Mia Berg is our daughter, born in 2016.", "family@1#0")
    assert found.known_since.isoformat() == "2024-01-01T00:00:00+00:00"
    assert [str(edge.target) for edge in found.facts] == ["flute"]
    assert [str(edge.target) for edge in found.ended] == ["piano"]
    assert {mention.chunk.topic for mention in found.mentions} == {"family", "lessons"}
    assert "Ora Lind" in {near.name for near in found.near}


def test_about_a_name_looks_back(mia: hades.Memory) -> None:
    found = mia.at("2024-02").about("Mia Berg")
    assert [str(edge.target) for edge in found.facts] == ["piano"]
    assert found.ended == ()
    with pytest.raises(hades.NotFound, match="Nothing was known of 'Mia Berg' at this time"):
        mia.at(known="2023").about("Mia Berg")


def test_about_a_topic_has_its_text_its_facts_and_who_mentions_it(memory: hades.Memory) -> None:
    memory.remember("people/oskar", "Oskar is my brother. He plays chess.")
    memory.remember("trips", "We visit Oskar in Mainz.")
    memory.relate("people/oskar", "lives_in", "Mainz")
    found = memory.about("people/oskar")
    assert (found.entity.name, found.entity.kind) == ("people/oskar", "topic")
    assert (found.what, found.cite) == ("Oskar is my brother.", "people/oskar@1#0")
    assert [str(edge) for edge in found.facts] == ["people/oskar --[lives_in]--> Mainz"]
    assert "trips" in {mention.chunk.topic for mention in found.mentions}


def test_about_an_unknown_name_offers_near_ones(mia: hades.Memory) -> None:
    with pytest.raises(hades.NotFound, match=r"no topic or entity 'Mia Borg' .*'Mia Berg'\?$"):
        mia.about("Mia Borg")


def test_a_sentence_that_only_mentions_a_name_does_not_say_what_it_is(
    memory: hades.Memory,
) -> None:
    memory.remember("log", "We met Ora Lind at the station, and it rained.")
    assert memory.about("Ora Lind").what == ""


def test_the_command_shows_it_and_reads_no_other_space(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "notes.hades")
    shell("remember", "people/oskar", "Oskar is my brother.\n[1] not a source")
    shell("relate", "Oskar", "plays", "chess", "--valid-from", "2020")
    shown = shell("about", "Oskar").splitlines()
    assert shown[0].startswith("Oskar  concept  known since ")
    assert "Oskar is my brother. [people/oskar@1#0]" in shown
    assert shell.json("about", "Oskar")["facts"][0]["target"]["name"] == "chess"
    shell("spaces", "create", "work")
    assert "no topic or entity 'Oskar'" in shell.refused("about", "Oskar", "--space", "work")
