"""A library: many memories that are asked as one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from making import UNHURRIED, remember_story
from mcp import Client
from serve.graphql_making import ask, served
from serve.mcp_making import meet, stdio, text_of
from serving import Server
from shell import Shell

import hades
from hades.context.text.answers import answer_lines
from hades.context.text.layout import joined
from hades.library import calls, gathering, workers
from hades.library import library as libraries
from hades.library import volume as volumes
from hades.library.library import Library

NOTES = {
    "people/maya": "Maya Lind leads sales in Oslo.",
    "people/tom": "Tom Berg reports to Maya Lind.",
    "places/oslo": "The office in Oslo is near the harbour.",
    "rooms/7": "Room 7 has ten chairs and a projector.",
    "rooms/8": "Room 8 has four chairs and a whiteboard.",
    "food/lunch": "Lunch is served at noon, with soup on Fridays.",
}


@pytest.fixture(autouse=True)
def _busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give volumes time that a machine busy with other tests does not need."""
    for name in ("OPENING_S", "INDEXING_S", "FIND_SHARE", "ROWS_SHARE"):
        monkeypatch.setattr(gathering, name, 300.0)
    monkeypatch.setattr(libraries, "LATENCY_S", 300.0)


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
    found: dict[str, str] = {}
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


def _told(memory: hades.Memory) -> list[str]:
    """What a memory of the story answers, as texts."""
    then = memory.at("2024-01-20")
    return [
        str(memory.ask("Is approach X viable?", plan=UNHURRIED)),
        str(then.ask("Why was approach X rejected?", plan=UNHURRIED)),
        str(then.get("bugs/bug_y").content),
        *map(str, memory.paths("design/approach_x", "refactoring/q1")),
        *(near.node.name for near in memory.neighbours("bugs/bug_y")),
        *map(str, memory.edges("bugs/bug_y", all=True)),
        str(memory.when_changed("design/approach_x", "rejected_because").after),
    ]


def test_names_and_facts_join_volumes_as_in_one_memory(tmp_path: Path) -> None:
    with (
        hades.open(tmp_path / "single.hades") as single,
        hades.open_library(tmp_path / "team.hades", volumes=4) as library,
    ):
        remember_story(single)
        remember_story(library)
        assert len(set(_volumes_of(library).values())) > 1
        alone, together = _told(single), _told(library)
        # The spelling of a name may be that of another volume.
        assert [text.casefold() for text in together] == [text.casefold() for text in alone]


def test_a_link_leads_to_the_topic_in_another_volume(tmp_path: Path) -> None:
    folder = tmp_path / "guide"
    folder.mkdir()
    (folder / "a.md").write_text("# Rooms\n\nThe other rooms are in [the list](b.md).\n")
    place = tmp_path / "team.hades"
    with hades.open_library(place, volumes=2) as library:
        for volume in library.volumes():
            with hades.open(library._catalogue.place(volume)) as memory:
                memory.ingest(folder)
        library.remember("guide/b.md", "Room 8 has three chairs.")
    with hades.open_library(place) as library:
        written = library.remember("guide/b.md", "Room 8 has four chairs and a whiteboard.")
        assert written.version == 2
        recall = library.recall("How many chairs are in room 8?", plan=UNHURRIED)
        assert _topics(recall)[0] == "guide/b.md"


def test_words_weigh_as_in_one_memory(library: Library, tmp_path: Path) -> None:
    with hades.open(tmp_path / "single.hades") as single:
        for topic, text in NOTES.items():
            single.remember(topic, text)
        question = "Which room has a whiteboard?"
        ways = (single.recall(question, plan=UNHURRIED), library.recall(question, plan=UNHURRIED))
    scores = [[round(passage.score, 2) for passage in way.passages[:2]] for way in ways]
    assert scores[0] == scores[1]


def test_a_brief_tells_of_all_volumes(library: Library) -> None:
    library.remember("adr/1", "We decided to rent the office.", tags=["decision"])
    brief = library.brief()
    assert [line.cite for line in brief.decisions] == ["adr/1@1"]
    assert {line.cite for line in brief.changes} >= {f"{topic}@1" for topic in NOTES}


def test_counts_and_lists_are_put_together(library: Library) -> None:
    assert [topic.name for topic in library.topics()] == sorted(NOTES)
    assert [topic.name for topic in library.topics(limit=2)] == sorted(NOTES)[:2]
    latest = library.topics(limit=2, latest=True)
    assert [topic.name for topic in latest] == [*NOTES][:-3:-1]
    assert library.stats()["topics"] == len(NOTES)


def test_a_topic_stays_in_its_volume_when_volumes_are_added(tmp_path: Path) -> None:
    place = tmp_path / "team.hades"
    with hades.open_library(place, volumes=2) as library:
        for number in range(8):
            library.remember(f"boxes/{number}", f"Box {number} holds {number}0 nails.")
        for name in ("a", "b", "c", "d"):
            library.add_volume(name, f"{name}.hades")
    with hades.open_library(place) as library:
        for number in range(8):
            changed = library.remember(f"boxes/{number}", f"Box {number} holds {number}5 nails.")
            assert changed.version == 2
        assert len(library.topics()) == 8


@pytest.mark.parametrize("names", [("bakery", "club"), ("club", "bakery")])
def test_a_fact_is_changed_in_the_volume_that_has_it(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    for name in "ab":
        with hades.open(tmp_path / f"{name}.hades") as memory:
            memory.remember(f"people/{name}", "Ines Calder works at the mill in Olm.")
    with hades.open(tmp_path / "a.hades") as memory:
        memory.relate("Ines Calder", "works_at", "Kornblum")
    with hades.open_library(tmp_path / "c.hades", volumes=0) as library:
        for name, volume in zip("ab", names, strict=True):
            library.add_volume(volume, f"{name}.hades")
    with hades.open_library(tmp_path / "c.hades") as library:
        library.change_fact("Ines Calder", "works_at", to="Mill Ostertag")
        (edge,) = (edge for edge in library.edges("Ines Calder") if edge.id > 0)
        assert edge.target.name == "Mill Ostertag"
        library.remember("people/b", "Ines Calder left the mill.")
        library.relate("people/b", "about", "Ines Calder")
        assert library.remember("people/b", "Ines Calder is at the mill again.").version == 3


def test_a_topic_stays_in_the_volume_of_its_year(tmp_path: Path) -> None:
    place = tmp_path / "years.hades"
    with hades.open_library(place, volumes=0, by="year") as library:
        library.add_volume("y24", "y24.hades", ["2024"])
        library.add_volume("y25", "y25.hades", ["2025"])
        library.remember("fee", "The fee is 20 euros.", valid_from="2024-05")
    with hades.open_library(place) as library:
        assert library.remember("fee", "The fee is 25 euros.", valid_from="2025-06").version == 2
        assert library.get("fee").content == "The fee is 25 euros."
        assert library.remember("fee", "The fee is 30 euros.").version == 3
        with pytest.raises(hades.NotFound, match="No volume takes year"):
            library.remember("rent", "The rent is 900 euros.")


def test_nothing_is_purged_without_a_word_while_a_volume_is_missing(
    library: Library, tmp_path: Path
) -> None:
    homes = _volumes_of(library)
    library.close()
    gone = homes["people/maya"]
    (tmp_path / f"team-{gone}.hades").rename(tmp_path / "away.hades")
    with hades.open_library(tmp_path / "team.hades") as library:
        for read in (library.purge, library.get, library.forget):
            with pytest.raises(hades.Unavailable, match=f"There is no memory at .*{gone}"):
                read("people/maya")
        with pytest.raises(hades.Unavailable, match=gone):
            library.topics()


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
        answer = library.ask(NOTES[left], plan=UNHURRIED)
        assert "without a part of the library" in joined(answer_lines(answer))


@pytest.mark.slow
def test_a_volume_that_is_late_is_not_waited_for(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.recall("Who leads sales?", plan=UNHURRIED)
    late = _volumes_of(library)["people/maya"]
    waiting = threading.Event()
    find = volumes.Volume.find

    def slow(self: volumes.Volume, sought: volumes.Sought) -> volumes.VolumeCandidates | None:
        if late in str(self._memory.inside.store.database.place):
            waiting.wait(60)
        return find(self, sought)

    monkeypatch.setattr(volumes.Volume, "find", slow)
    monkeypatch.setattr(gathering, "FIND_SHARE", 0.5)
    found = library.recall("Who leads sales?", plan={"budget": {"latency_ms": 20_000}})
    waiting.set()
    missing = {one.detail for one in found.reasons if one.reason is hades.Reason.VOLUME_MISSING}
    assert missing == {f"{late}: no answer within 10.0 s"}


def test_no_more_volumes_are_asked_at_once_than_the_cores_can_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "cores", lambda: 1)
    asked = threading.BoundedSemaphore(calls.AT_ONCE_PER_CORE)
    find = volumes.Volume.find

    def counted(self: volumes.Volume, sought: volumes.Sought) -> volumes.VolumeCandidates | None:
        assert asked.acquire(blocking=False)
        time.sleep(0.01)
        asked.release()
        return find(self, sought)

    monkeypatch.setattr(volumes.Volume, "find", counted)
    with hades.open_library(tmp_path / "team.hades", volumes=9) as library:
        for topic, text in NOTES.items():
            library.remember(topic, text)
        found = library.recall("Who leads sales?", plan=UNHURRIED)
    assert _topics(found)[0] == "people/maya"
    assert hades.Reason.VOLUME_MISSING not in {one.reason for one in found.reasons}


@pytest.mark.slow
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
        assert _topics(library.in_space("acme-eu").recall("Who sells anvils?", plan=UNHURRIED)) == [
            "a"
        ]
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


def test_an_ingestion_is_divided_among_the_volumes(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "handbook"
    folder.mkdir()
    for number in range(12):
        (folder / f"room{number}.md").write_text(f"# Room {number}\n\nIt has {number} chairs.\n")
    library.remember("handbook/room3.md", "Room 3 is a note.")
    first = library.ingest(folder)
    assert first.added == 11
    assert [topic for topic, _why in first.skipped] == ["handbook/room3.md"]
    homes = {topic: home for topic, home in _volumes_of(library).items() if "handbook" in topic}
    assert len(homes) == 12
    assert len(set(homes.values())) == 3
    found = library.recall("How many chairs are in room 11?", plan=UNHURRIED)
    assert _topics(found)[0] == "handbook/room11.md"
    library.add_volume("later", "later.hades")
    (folder / "room4.md").unlink()
    (folder / "room5.md").write_text("# Room 5\n\nIt has no chairs.\n")
    second = library.ingest(folder)
    assert (second.added, second.changed, second.removed, second.unchanged) == (0, 1, 1, 9)
    assert library.get("handbook/room5.md").version == 2


def test_volumes_may_be_schemas_of_postgresql(new_postgres: str, tmp_path: Path) -> None:
    (tmp_path / "lunch.md").write_text("# Lunch\n\nSoup is served on Fridays.\n")
    with hades.open_library(new_postgres, volumes=2) as library:
        for topic, text in NOTES.items():
            library.remember(topic, text)
        assert library.ingest(tmp_path / "lunch.md").added == 1
        library.add_volume("file", tmp_path / "beside.hades")
        answer = library.ask("How many chairs are in room 7?", plan=UNHURRIED)
        assert "ten chairs" in joined(answer_lines(answer))
        assert len({volume.place for volume in library.volumes()}) == 3
        assert library.stats()["topics"] == len(NOTES) + 1
        library.purge("people/maya")
        assert "people/maya" not in _topics(library.recall("Maya Lind", plan=UNHURRIED))


def test_all_volumes_are_checked(library: Library) -> None:
    assert library.check() == []
    place = library._catalogue.place(library.volumes()[1])
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("DELETE FROM states")
    assert library.check()


def test_what_a_library_does_not_do_is_said(library: Library, tmp_path: Path) -> None:
    with pytest.raises(hades.Unavailable, match="cannot do 'organise' as a whole"):
        library.organise()
    with pytest.raises(hades.Unavailable, match="cannot do 'mirror' as a whole"):
        library.mirror(tmp_path / "mirror")
    with pytest.raises(hades.Unavailable, match="cannot do 'backup' as a whole"):
        library.backup(tmp_path / "copy.hades")
    with pytest.raises(hades.Unavailable, match="atomic within one volume"):
        library.batch()
    with pytest.raises(hades.InvalidInput, match="the question is empty"):
        library.ask(" ")
    with pytest.raises(hades.Conflict):
        library.add_volume("volume1", "other.hades")


def test_commands_make_and_ask_a_library(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "team.hades")
    made = json.loads(shell.alone("library", "create", str(shell.path), "--volumes", "2", "--json"))
    assert [volume["name"] for volume in made] == ["volume1", "volume2"]
    with pytest.raises(AssertionError, match="There is a library at"):
        shell.alone("library", "create", str(shell.path))
    assert "remembered" in shell("remember", "rooms/7", "Room 7 has ten chairs.")
    assert "nothing new" in shell("remember", "rooms/7", "Room 7 has ten chairs.")
    assert "ten chairs" in shell("ask", "How many chairs?", "--plan", json.dumps(UNHURRIED))
    shell("library", "add", "more.hades", "--name", "more")
    assert "more.hades" in shell("library", "list")
    shell("library", "move", "more", "moved.hades")
    assert "moved.hades" not in shell("library", "remove", "more")
    assert "has no volume 'more'" in shell.refused("library", "remove", "more")
    shell("library", "add", "moved.hades", "--name", "more")
    assert sum(volume["topics"] for volume in shell.json("library", "status")) == 1


def test_memories_that_exist_become_a_library(tmp_path: Path) -> None:
    old = Shell(tmp_path / "old.hades")
    old("remember", "rooms/7", "Room 7 has ten chairs.")
    shell = Shell(tmp_path / "team.hades")
    shell.alone("library", "create", str(shell.path), "--volumes", "0")
    assert "No volume takes topic" in shell.refused("remember", "rooms/8", "Room 8 is empty.")
    shell("library", "add", "old.hades", "--name", "old")
    shell("remember", "rooms/8", "Room 8 is empty.")
    assert old.json("topics") == shell.json("topics")


def test_one_memory_is_no_library(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "notes.hades")
    shell("remember", "rooms/7", "Room 7 has ten chairs.")
    assert "This is one memory, not a library" in shell.refused("library", "list")
    with pytest.raises(hades.Conflict, match="name a new file for the catalogue"):
        hades.open_library(shell.path, volumes=2)
    with pytest.raises(hades.NotFound, match="There is no library at"):
        hades.open_library(shell.path)


def test_a_server_serves_a_library(server: Server, tmp_path: Path) -> None:
    place = tmp_path / "team.hades"
    hades.open_library(place, volumes=2).close()
    with server.serving(place), hades.open(server.address) as client:
        for topic, text in NOTES.items():
            client.remember(topic, text)
        found = client.recall("Who leads sales in Oslo?", plan=UNHURRIED)
        assert _topics(found)[:1] == ["people/maya"], found.reasons
        assert client.get("rooms/7").content == NOTES["rooms/7"]
        assert [topic.name for topic in client.topics()] == sorted(NOTES)
        with pytest.raises(hades.Unavailable, match="cannot do 'sessions' as a whole"):
            client.sessions()


def test_agents_and_graphql_read_a_library(tmp_path: Path) -> None:
    place = tmp_path / "team.hades"
    with hades.open_library(place, volumes=2) as library:
        for topic, text in NOTES.items():
            library.remember(topic, text)

    async def life(client: Client) -> tuple[str, str]:
        whole = await client.call_tool("get", {"topic": "rooms/7"})
        return text_of(whole), text_of(await client.call_tool("brief", {}))

    whole, brief = asyncio.run(meet(Client(stdio(place)), life))
    assert NOTES["rooms/7"] in whole
    assert NOTES["food/lunch"] in brief
    with served(place) as client:
        names = ask(client, "{ space { topics { items { name } } } }")["space"]["topics"]["items"]
    assert [topic["name"] for topic in names] == sorted(NOTES)
