"""Notes are found by their names, tags and every version that was not taken back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from making import UNHURRIED

import hades
from hades.domain.graph import NodeKind
from tests.conftest import HeldClock

NOTES = (
    ("bug/102", "Login fails after midnight.", "2025-05-01"),
    ("bug/103", "Like bug 102, but the export fails: bug 102 again?", "2025-05-02"),
    ("project/alpha", "Rewrite the billing.", "2025-04-02"),
    ("project/beta", "A new app for the phone.", "2025-04-03"),
    ("server/db08", "It stands in rack 5 and runs PostgreSQL 14.", "2025-02-03"),
    ("server/db07", "It stands in rack 4.", "2025-02-02"),
    ("server/db07", "It stands in rack 9 since the move.", "2025-05-20"),
    ("recipe/soup", "Two onions and a litre of stock. Cook it for an hour.", "2025-03-01"),
    ("recipe/soup", "Add a spoon of vinegar at the end.", "2025-04-01"),
    ("lunch", "The cook was friendly.", "2025-05-27"),
)


@pytest.fixture
def notes(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    clock.set("2025-06-02")
    for topic, text, since in NOTES:
        memory.remember(topic, text, valid_from=since)
    return memory


def recalled(view: hades.View, question: str) -> hades.Recall:
    return view.recall(question, plan=UNHURRIED)


def asked(view: hades.View, question: str) -> hades.Answer:
    return view.ask(question, plan=UNHURRIED)


def first(view: hades.View, question: str) -> str:
    return recalled(view, question).passages[0].chunk.topic


def of(found: hades.Recall, topic: str) -> list[hades.Passage]:
    return [one for one in found.passages if one.chunk.topic == topic]


# Names and tags


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("What is Bug 102?", "bug/102"),
        ("What is bug 103?", "bug/103"),
        ("bug/103", "bug/103"),
        ("What about project alpha?", "project/alpha"),
        ("project beta", "project/beta"),
        ("Where is db 7?", "server/db07"),
        ("Where is db07?", "server/db07"),
        ("In which rack is server db 08?", "server/db08"),
        ("Which rack is DB08 in?", "server/db08"),
    ],
)
def test_a_note_is_found_by_its_name_as_people_say_it(
    notes: hades.Memory, question: str, topic: str
) -> None:
    assert first(notes, question) == topic
    assert asked(notes, question).sentences[0].text.startswith(f"{topic}: ")


def test_a_number_that_no_name_has_is_not_answered_with_another(notes: hades.Memory) -> None:
    found = asked(notes, "What is bug 104?")
    assert found.shortfall == "Nothing found says anything about “104”."
    assert str(found).startswith(f"{found.shortfall} Closest:\n")
    assert found.recall.passages
    assert "Bob Stone" in asked(notes, "Who is Bob Stone?").shortfall


def test_a_tag_finds(notes: hades.Memory) -> None:
    notes.remember("garden", "The hedge was cut.", tags=["chores", "week-22"])
    assert first(notes, "chores") == "garden"
    hits = notes.search("chores", retriever="words")
    assert [hit.chunk.topic for hit in hits] == ["garden"]
    notes.remember("garden", "The hedge was cut.", tags=["hobby"])
    assert [hit.chunk.topic for hit in notes.search("hobby", retriever="words")] == ["garden"]


def test_a_memory_of_one_note(memory: hades.Memory) -> None:
    memory.remember("wifi", "The password is on the fridge.")
    found = asked(memory, "Where is the wifi password?")
    assert [one.chunk.topic for one in found.recall.passages] == ["wifi"]
    assert str(found) == "wifi: The password is on the fridge. [1]"
    doubt = asked(memory, "What is the wifi password of 1999?")
    assert doubt.unsaid == ("1999",)
    assert "on the fridge" in str(doubt)


def test_a_memory_without_notes_or_with_an_empty_one(memory: hades.Memory) -> None:
    assert asked(memory, "Where is the wifi password?").sentences == ()
    memory.remember("empty", "", kind="document")
    assert asked(memory, "Where is the wifi password?").sentences == ()


def test_notes_of_two_topics_that_say_the_same_are_two(memory: hades.Memory) -> None:
    memory.remember("server/a", "Runs PostgreSQL 15.")
    memory.remember("server/b", "Runs PostgreSQL 15.")
    memory.remember("server/c", "Runs MySQL.")
    found = asked(memory, "Which servers run PostgreSQL 15?")
    assert {one.text for one in found.sentences} == {
        "server/a: Runs PostgreSQL 15.",
        "server/b: Runs PostgreSQL 15.",
    }


def test_code_keeps_its_lines(memory: hades.Memory) -> None:
    code = "```py\nfor one in found:\n    print(one)\n```"
    memory.remember("snippet", code)
    assert asked(memory, "Show the snippet.").sentences[0].text == f"snippet: {code}"


# Versions


def test_what_no_later_version_repeats_is_found_with_its_date(notes: hades.Memory) -> None:
    found = recalled(notes, "How many onions are in the soup?")
    best = found.passages[0]
    assert best.id == "recipe/soup@1#0"
    assert (f"{best.valid_from:%d.%m.}", f"{best.valid_to:%d.%m.}") == ("01.03.", "01.04.")
    assert not best.superseded
    assert "recipe/soup@1, line 1, 2025-03-01 to 2025-04-01" in found.context
    said = asked(notes, "How many onions are in the soup?").sentences[0].text
    assert said.startswith("recipe/soup: Two onions and a litre of stock.")
    assert said.endswith("(noted 1 March 2025)")


def test_a_superseded_version_is_below_marked_and_not_said(notes: hades.Memory) -> None:
    found = asked(notes, "In which rack does db07 stand?")
    now, before = of(found.recall, "server/db07")
    assert (now.chunk.version, before.chunk.version) == (2, 1)
    assert (now.superseded, before.superseded) == (False, True)
    assert now.score >= before.score
    assert "rack 9" in str(found)
    assert "rack 4" not in str(found)
    assert "superseded since" in found.recall.context


def test_versions_of_the_time_asked_about(notes: hades.Memory) -> None:
    question = "In which rack does db07 stand?"
    then = notes.at("2025-05-01")
    assert {one.chunk.version for one in of(recalled(then, question), "server/db07")} == {1}
    assert "rack 4" in str(asked(then, question))
    assert not of(recalled(notes.at("2025-01-01"), question), "server/db07")


def test_versions_that_were_known_then(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2025-03-01")
    memory.remember("oven", "The oven was repaired by Kim.", valid_from="2025-02-01")
    clock.set("2025-04-01")
    memory.remember("oven", "The oven was repaired by Lou.", valid_from="2025-02-01")
    question = "Who repaired the oven?"
    assert [one.chunk.text[-4:] for one in recalled(memory, question).passages] == ["Lou."]
    known = recalled(memory.at(known="2025-03-15"), question)
    assert [one.chunk.text[-4:] for one in known.passages] == ["Kim."]
    assert not recalled(memory.at(known="2025-02-15"), question).passages


def test_what_was_forgotten_never_comes_back(notes: hades.Memory, clock: HeldClock) -> None:
    question = "How many onions are in the soup?"
    clock.set("2025-07-01")
    notes.forget("recipe/soup")
    assert not of(recalled(notes, question), "recipe/soup")
    clock.set("2025-08-01")
    notes.remember("recipe/soup", "Now it is made of pumpkins.")
    clock.set("2025-09-01")
    notes.remember("recipe/soup", "It is eaten cold.")
    found = of(recalled(notes, question), "recipe/soup")
    assert {one.chunk.text for one in found} == {"Now it is made of pumpkins.", "It is eaten cold."}
    assert "onions" not in str(asked(notes, question))
    before = recalled(notes.at("2025-06-15"), question)
    assert before.passages[0].id == "recipe/soup@1#0"


def test_words_of_a_note_remembered_twice_hold_again(
    memory: hades.Memory, clock: HeldClock
) -> None:
    for day, text in (("01", "The shop is open."), ("05", "The shop is shut."), ("09", "")):
        clock.set(f"2025-03-{day}")
        memory.remember("shop", text or "The shop is open.")
    found = recalled(memory, "Is the shop open?")
    (best, before) = of(found, "shop")
    assert (best.chunk.text, best.valid_to) == ("The shop is open.", None)
    assert f"{best.valid_from:%d}" == "09"
    assert before.chunk.text == "The shop is shut."


def test_a_document_has_no_earlier_versions_among_its_passages(
    memory: hades.Memory, clock: HeldClock, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.md"
    for day, text in (("01", "The bridge is painted red."), ("02", "The bridge is painted blue.")):
        clock.set(f"2025-03-{day}")
        plan.write_text(text)
        memory.ingest(plan)
    found = memory.recall("Which colour is the bridge?", plan={**UNHURRIED, "history": 0})
    assert [one.chunk.text for one in found.passages] == ["The bridge is painted blue."]
    assert not found.notes


# Purging


def _vectors(memory: hades.Memory, kind: NodeKind) -> dict[int, bytes]:
    rows = memory.inside.store.changefeed.vectors(memory.inside.finder.encoder.model, 0, 10_000)
    return {node >> 3: vector for part in rows for node, vector in part if node & 7 == kind}


def test_each_sentence_of_a_note_has_a_vector_behind_the_whole_one(notes: hades.Memory) -> None:
    recalled(notes, "soup")
    encoder = notes.inside.finder.encoder
    size = 2 * encoder.dims
    of_topic = {hit.chunk.text: hit for hit in notes.search("onions vinegar", 50, glob="recipe/*")}
    assert set(of_topic) == {"Add a spoon of vinegar at the end."}
    lengths = sorted(len(vector) // size for vector in _vectors(notes, NodeKind.CHUNK).values())
    # A note of two sentences: itself and both of them; one of one sentence: only itself.
    two = sum(text.count(". ") > 0 for _, text, _ in NOTES)
    assert lengths == [1] * (len(NOTES) - two) + [3] * two
    whole = next(one for one in _vectors(notes, NodeKind.CHUNK).values() if len(one) == 3 * size)
    vectors = np.frombuffer(whole, np.float16).reshape(3, -1).astype(np.float32)
    sentence = encoder.encode(["recipe soup. Cook it for an hour."])[0]
    assert float(vectors[2] @ sentence) > 0.99


def test_purging_a_note_leaves_nothing_of_it(notes: hades.Memory, path: Path) -> None:
    notes.relate("recipe/soup", "needs", "cauldron")
    notes.relate("server/db07", "backed_up_to", "vault nine")
    recalled(notes, "How many onions are in the soup?")
    assert len(_vectors(notes, NodeKind.EDGE)) == 2
    sentence = next(one for one in _vectors(notes, NodeKind.CHUNK).values() if len(one) > 768)
    before = len(_vectors(notes, NodeKind.CHUNK))
    notes.purge("recipe/soup")
    found = recalled(notes, "How many onions are in the soup?")
    assert not of(found, "recipe/soup")
    assert not any("cauldron" in fact.text for fact in found.facts)
    assert len(_vectors(notes, NodeKind.CHUNK)) == before - 2
    assert len(_vectors(notes, NodeKind.EDGE)) == 1
    with notes.inside.engine.query_context(notes.inside.scope()) as query:
        assert len(query.indexes.facts) == 1
        assert len(query.indexes.vectors) == len(query.indexes.chunks) == before - 2
        assert not any(query.terms.having(query.graph.chunks, ["onion"]).ravel())
        assert not query.indexes.words.saying("onions")
    for file in path.parent.rglob("*"):
        if file.is_file():
            kept = file.read_bytes()
            assert b"onions" not in kept
            assert b"cauldron" not in kept
            assert sentence[768:] not in kept


# Among documents


def test_notes_are_found_among_many_documents_and_documents_among_notes(
    notes: hades.Memory, tmp_path: Path
) -> None:
    for number in range(40):
        (tmp_path / f"{number}.md").write_text(
            f"# Chapter {number}\n\nThe harbour of town {number} has a crane and {number} boats.\n"
        )
    notes.ingest(tmp_path)
    assert first(notes, "What is Bug 102?") == "bug/102"
    assert recalled(notes, "How many onions are in the soup?").passages[0].id == "recipe/soup@1#0"
    assert asked(notes, "Where is db07?").sentences[0].text.startswith("server/db07: ")
    found = recalled(notes, "How many boats has the harbour of town 17?")
    assert found.passages[0].chunk.topic.endswith("17.md")
    assert not found.notes


def test_versions_that_are_each_about_another_thing_all_hold(
    memory: hades.Memory, clock: HeldClock
) -> None:
    for line in (
        "importer listens on port 8401.",
        "importer belongs to team Heron.",
        "importer was moved to port 8877; the old one clashed with the proxy.",
        "The rate limit of importer is now 340 requests a minute.",
        "importer was handed to team Plover.",
        "importer now runs in the Odense hall.",
    ):
        clock.tick(9 * 86_400)
        memory.remember("service/importer", line)
    for question, holds, no_longer in (
        ("Which port does importer use?", "8877", "8401"),
        ("Who owns importer?", "Plover", "Heron"),
        ("Where does importer run?", "Odense", "Heron"),
    ):
        told = str(asked(memory, question))
        assert holds in told, question
        assert no_longer not in told, question
        assert "(from " not in told, "what was noted earlier has not ended"


WORDINGS = (
    "{} owns the gateway.",
    "{} took over the gateway from the last owner.",
    "The gateway is now looked after by {}.",
    "Ask {} about the gateway: ownership changed hands this week.",
)


@pytest.mark.slow
def test_the_version_that_holds_is_recalled_with_any_other(
    memory: hades.Memory, clock: HeldClock
) -> None:
    versions = 60
    with memory.batch():
        for number in range(12):
            memory.remember(f"service/{number}", f"Who owns service {number}? Ada Brask owns it.")
        for number in range(1, versions + 1):
            text = WORDINGS[number % 7 % 4].format(f"Person{number} Quist")
            clock.set(f"{2024 + number // 12}-{1 + number % 12:02}-01")
            memory.remember("gateway", text)
    for number in range(4, versions + 1, 5):
        then = memory.at(f"{2024 + number // 12}-{1 + number % 12:02}-02")
        found = recalled(then, "Who owns the gateway?")
        assert number in [one.chunk.version for one in of(found, "gateway")]
        assert len(found.passages) <= found.plan["final_context"]
    assert versions in [one.chunk.version for one in of(recalled(memory, "gateway"), "gateway")]


def test_the_best_passage_stays_when_its_note_has_a_newer_version(memory: hades.Memory) -> None:
    memory.remember("law/brandt", "The hearing is on 4 May in room 12.")
    memory.remember("law/brandt", "The clerk sent the bill for copies.")
    for number in range(8):
        memory.remember(f"clinic/{number}", f"Patient {number} paid the bill.")
        memory.remember(f"clinic/{number}", f"Patient {number} needs another hearing test in June.")
    found = recalled(memory, "When is the hearing in room 12?")
    assert found.passages[0].chunk.text == "The hearing is on 4 May in room 12."
    assert 2 in [one.chunk.version for one in of(found, "law/brandt")]
