"""A library: many memories that are asked as one."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from making import UNHURRIED, remember_story
from shell import hades as command

import hades
from hades.library.library import Library
from hades.store.database import Database

NOTES = {
    "people/maya": "Maya Lind leads sales in Oslo.",
    "people/tom": "Tom Berg reports to Maya Lind.",
    "places/oslo": "The office in Oslo is near the harbour.",
    "rooms/7": "Room 7 has ten chairs and a projector.",
    "rooms/8": "Room 8 has four chairs and a whiteboard.",
    "food/lunch": "Lunch is served at noon, with soup on Fridays.",
}


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with hades.open_library(tmp_path / "team.hades", volumes=3) as library:
        for topic, text in NOTES.items():
            library.remember(topic, text)
        yield library


def _topics(recall: hades.Recall) -> list[str]:
    return [passage.chunk.topic for passage in recall.passages]


def _volumes_of(library: Library) -> dict[str, str]:
    """By topic: the volume that has it."""
    found = {}
    for volume in library.volumes():
        place = library._catalogue.place(volume)
        with hades.open(place, read_only=True) as memory:
            found |= {topic.name: volume.name for topic in memory.topics()}
    return found


def test_notes_are_spread_and_each_topic_lives_in_one_volume(library: Library) -> None:
    homes = _volumes_of(library)
    assert homes.keys() == NOTES.keys()
    assert len(set(homes.values())) > 1
    library.remember("rooms/7", "Room 7 has twelve chairs.")
    assert library.get("rooms/7").version == 2
    assert _volumes_of(library) == homes


def test_a_question_is_answered_from_all_volumes(library: Library) -> None:
    answer = library.ask("How many chairs are in room 8?", plan=UNHURRIED)
    assert answer.sentences[0].text == "rooms/8: Room 8 has four chairs and a whiteboard."
    found = library.recall("Who leads sales in Oslo?", plan=UNHURRIED)
    assert _topics(found)[0] == "people/maya"
    assert [hit.chunk.topic for hit in library.search("soup on Fridays", 1)] == ["food/lunch"]


def test_it_finds_what_one_memory_finds(library: Library, tmp_path: Path) -> None:
    with hades.open(tmp_path / "single.hades") as single:
        for topic, text in NOTES.items():
            single.remember(topic, text)
        for question in ("Who leads sales in Oslo?", "Who does Tom report to?", "Where is lunch?"):
            alone = single.recall(question, plan=UNHURRIED)
            assert _topics(library.recall(question, plan=UNHURRIED)) == _topics(alone)


def test_names_join_volumes(tmp_path: Path) -> None:
    with hades.open_library(tmp_path / "team.hades", volumes=4) as library:
        remember_story(library)
        assert len(set(_volumes_of(library).values())) > 1
        (path, *_) = library.paths("design/approach_x", "refactoring/q1")
        assert path.nodes[-1].name == "refactoring/q1"
        assert {"refactoring/q1"} <= {near.name for near in library.neighbours("bugs/bug_y")}
        now = library.ask("Is approach X viable?", plan=UNHURRIED)
        assert "viable" in str(now)
        then = library.at("2024-01-20").recall("Why was approach X rejected?", plan=UNHURRIED)
        assert all(fact.edge.relation == "rejected_because" for fact in then.facts)
        assert library.at("2024-01-20").get("bugs/bug_y").version == 1
        assert {edge.relation for edge in library.edges("design/approach_x", all=True)} >= {
            "rejected_because"
        }


def test_a_brief_tells_of_all_volumes(library: Library) -> None:
    library.remember("adr/1", "We decided to rent the office.", tags=["decision"])
    brief = library.brief()
    assert [line.cite for line in brief.decisions] == ["adr/1@1"]
    assert {line.cite for line in brief.changes} >= {f"{topic}@1" for topic in NOTES}


def test_counts_and_lists_are_put_together(library: Library) -> None:
    assert [topic.name for topic in library.topics()] == sorted(NOTES)
    assert [topic.name for topic in library.topics(limit=2)] == sorted(NOTES)[:2]
    assert library.stats()["topics"] == len(NOTES)


def test_a_purge_reaches_every_volume_and_the_sketches(library: Library) -> None:
    library.status()
    assert any("Maya" in hit.chunk.text for hit in library.search("Maya Lind", 3))
    assert library.purge("people/maya")["wiped"] == 1
    library.purge("maya lind")
    assert not any(
        sketch.holds(["people/maya", "maya lind"])
        for volume in library.volumes()
        if (sketch := library._catalogue.sketch(volume.name, "default")) is not None
    )
    assert _topics(library.recall("Who leads sales?", plan=UNHURRIED))[:1] != ["people/maya"]
    with pytest.raises(hades.NotFound):
        library.get("people/maya")


def test_a_volume_that_is_gone_is_named_and_the_others_answer(
    library: Library, tmp_path: Path
) -> None:
    homes = _volumes_of(library)
    library.close()
    gone = homes["people/maya"]
    for path in tmp_path.glob(f"team-{gone}.hades*"):
        path.rename(path.with_name(f"away-{path.name}"))
    left = next(topic for topic, volume in homes.items() if volume != gone)
    with hades.open_library(tmp_path / "team.hades") as library:
        found = library.recall(NOTES[left], plan=UNHURRIED)
        assert left in _topics(found)
        (reason,) = (one for one in found.reasons if one.reason is hades.Reason.VOLUME_MISSING)
        assert reason.detail.startswith(f"{gone}: There is no memory at")
        assert "without a part of the library" in str(library.ask(NOTES[left], plan=UNHURRIED))


def test_a_volume_that_is_late_is_not_waited_for(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hades.library import volume

    library.recall("Who leads sales?", plan=UNHURRIED)
    late = _volumes_of(library)["people/maya"]
    find = volume.Volume.find

    def slow(self: volume.Volume, sought: volume.Sought) -> volume.Candidates | None:
        if late in str(self._memory._store.database.place):
            waiting.wait(30)
        return find(self, sought)

    import threading

    waiting = threading.Event()
    monkeypatch.setattr(volume.Volume, "find", slow)
    found = library.recall("Who leads sales?", plan={"budget": {"latency_ms": 4_000}})
    waiting.set()
    (reason,) = (one for one in found.reasons if one.reason is hades.Reason.VOLUME_MISSING)
    assert reason.detail == f"{late}: no answer within 2.0 s"


def test_a_process_that_was_killed_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADES_LIBRARY_WORKERS", "processes")
    with hades.open_library(tmp_path / "team.hades", volumes=2) as library:
        for topic, text in NOTES.items():
            library.remember(topic, text)
        assert _topics(library.recall("Who leads sales?", plan=UNHURRIED))[0] == "people/maya"
        for child in psutil.Process().children(recursive=True):
            if "spawn_main" in " ".join(child.cmdline()):
                os.kill(child.pid, signal.SIGKILL)
                child.wait(10)
        lost = library.search("Who leads sales?", 1) if False else None
        assert lost is None
        with pytest.raises(hades.Unavailable):
            library.recall("Who leads sales?", plan=UNHURRIED)
        found = library.recall("Who leads sales?", plan=UNHURRIED)
        assert _topics(found)[0] == "people/maya"
        assert library.stats()["topics"] == len(NOTES)


def test_spaces_and_years_decide_where_something_goes(tmp_path: Path) -> None:
    with hades.open_library(tmp_path / "years.hades", volumes=1, by="year") as library:
        library.add_volume("past", "past.hades", ["2023", "2024"])
        library.remember("log/old", "The old log.", valid_from="2023-05-01")
        library.remember("log/new", "The new log.", valid_from="2026-05-01")
        assert _volumes_of(library) == {"log/old": "past", "log/new": "volume1"}
        library.remember("log/old", "The old log, corrected.", valid_from="2026-06-01")
        assert library.get("log/old").version == 2
    with hades.open_library(tmp_path / "tenants.hades", volumes=1, by="space") as library:
        library.add_volume("acme", "acme.hades", ["acme*"])
        library.create_space("acme-eu")
        library.in_space("acme-eu").remember("a", "Acme sells anvils.")
        library.remember("b", "We sell hammers.")
        found = library.recall("Who sells anvils?", plan=UNHURRIED)
        assert _topics(found) == ["b"]
        assert _topics(library.in_space("acme-eu").recall("Who sells anvils?")) == ["a"]
        library.drop_space("acme-eu")
        assert [space.name for space in library.spaces()] == ["default"]


def test_a_volume_moves_with_what_it_holds(library: Library, tmp_path: Path) -> None:
    homes = _volumes_of(library)
    name = homes["people/maya"]
    library.move_volume(name, "elsewhere.hades")
    assert library._catalogue.volume(name).place == "elsewhere.hades"
    assert (tmp_path / "elsewhere.hades").exists()
    assert _topics(library.recall("Who leads sales?", plan=UNHURRIED))[0] == "people/maya"
    assert _volumes_of(library) == homes


def test_what_a_library_does_not_do_is_said(library: Library) -> None:
    with pytest.raises(hades.Unavailable, match="does not do 'organise' as one"):
        library.organise()
    with pytest.raises(hades.Unavailable, match="atomic within one volume"):
        library.batch()
    with pytest.raises(hades.InvalidInput, match="the question is empty"):
        library.ask(" ")
    with pytest.raises(hades.Conflict):
        library.add_volume("volume1", "other.hades")


def test_commands_make_and_ask_a_library(tmp_path: Path) -> None:
    place = tmp_path / "team.hades"
    made = json.loads(command("library", "create", str(place), "--volumes", "2", "--json").stdout)
    assert [volume["name"] for volume in made] == ["volume1", "volume2"]
    command("remember", "rooms/7", "Room 7 has ten chairs.", "-m", str(place))
    assert "ten chairs" in command("ask", "How many chairs?", "-m", str(place)).stdout
    command("library", "add", "more.hades", "--name", "more", "-m", str(place))
    listed = command("library", "list", "-m", str(place)).stdout
    assert "more.hades" in listed
    command("library", "move", "more", "moved.hades", "-m", str(place))
    shown = json.loads(command("library", "status", "--json", "-m", str(place)).stdout)
    assert sum(volume["topics"] for volume in shown) == 1
