"""What was told by edges is asked in words: now, then, from either side."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from making import UNHURRIED

import hades
from tests.conftest import HeldClock

RACK = "What does server db07 run on?"


@pytest.fixture
def told(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    clock.set("2025-06-02")
    memory.relate(
        "server/db07", "runs_on", "rack 4", valid_from="2025-01-05", valid_to="2025-04-10"
    )
    memory.relate("server/db07", "runs_on", "rack 9", valid_from="2025-04-10")
    memory.relate("server/db08", "runs_on", "rack 5", valid_from="2025-02-01")
    memory.relate("Ann Lee", "manages", "Bo Ek", valid_from="2024-02-01")
    memory.relate("Bo Ek", "lives_in", "Narva", valid_from="2024-02-01")
    memory.relate("Cy Orr", "lives_in", "Tartu", valid_from="2024-02-01", valid_to="2025-01-01")
    return memory


def recalled(view: hades.View, question: str) -> hades.Recall:
    return view.recall(question, plan=UNHURRIED)


def best(view: hades.View, question: str) -> str:
    """What is said first, without how it is cited."""
    found = view.ask(question, plan=UNHURRIED)
    return found.sentences[0].text if found.sentences else found.shortfall


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (RACK, "server/db07 runs on rack 9, since 10 April 2025"),
        ("Where does db 7 run?", "server/db07 runs on rack 9, since 10 April 2025"),
        ("Where does db 8 run?", "server/db08 runs on rack 5, since 1 February 2025"),
        ("What runs on rack 9?", "server/db07 runs on rack 9, since 10 April 2025"),
        ("What runs on rack 5?", "server/db08 runs on rack 5, since 1 February 2025"),
        ("Who manages Bo Ek?", "Ann Lee manages Bo Ek, since 1 February 2024"),
        ("Whom does Ann Lee manage?", "Ann Lee manages Bo Ek, since 1 February 2024"),
        ("Where does Bo Ek live?", "Bo Ek lives in Narva, since 1 February 2024"),
        # A time in the words of the question:
        (
            "What did db07 run on in February?",
            "server/db07 runs on rack 4, from 5 January to 10 April 2025",
        ),
        (
            "What did db07 run on originally?",
            "server/db07 runs on rack 4, from 5 January to 10 April 2025",
        ),
        (
            "What did db07 run on before the move?",
            "server/db07 runs on rack 4, from 5 January to 10 April 2025",
        ),
        (
            "Where did Cy Orr use to live?",
            "Cy Orr lives in Tartu, from 1 February 2024 to 1 January 2025",
        ),
        (
            "Since when does db07 run on rack 9?",
            "server/db07 runs on rack 9, since 10 April 2025",
        ),
    ],
)
def test_a_fact_is_asked_in_words(told: hades.Memory, question: str, answer: str) -> None:
    assert best(told, question) == answer


def test_a_fact_of_another_number_is_not_said(told: hades.Memory) -> None:
    for question in ("What runs on rack 9?", RACK, "Where does db 7 run?"):
        assert "db08" not in str(told.ask(question, plan=UNHURRIED))
    both = str(told.ask("Where do db07 and db08 run?", plan=UNHURRIED))
    assert "rack 9" in both
    assert "rack 5" in both
    # Of what is named itself, the other numbers are news.
    assert "rack 4" in best(told, "What did db07 run on before rack 9?")


def test_what_is_only_alike_is_no_fact(told: hades.Memory) -> None:
    told.relate("Bo Ek", "similar_to", "Bo Eck")
    found = recalled(told, "Who is similar to Bo Ek?")
    assert not any("similar" in fact.text for fact in found.facts)
    with told.inside.engine.query_context(told.inside.scope()) as query:
        assert len(query.indexes.facts) == 6


def test_a_fact_is_cited_and_stands_in_the_context(told: hades.Memory) -> None:
    found = told.ask(RACK, plan=UNHURRIED)
    assert str(found).startswith("server/db07 runs on rack 9, since 10 April 2025 [F1]")
    recall = found.recall
    assert "[F1] server/db07 runs on rack 9, since 10 April 2025" in recall.context
    cited = [one for one in recall.citations if one.kind == "fact"]
    assert len(cited) == len(recall.facts)
    assert cited[0].nodes == ("server/db07", "rack 9")
    assert (
        0
        < recall.facts[0].belief.low
        < recall.facts[0].belief.mean
        < recall.facts[0].belief.high
        < 1
    )
    assert told.recall(RACK, plan={**UNHURRIED, "facts": 0}).facts == ()


def test_a_fact_as_of_then_and_as_known_then(told: hades.Memory, clock: HeldClock) -> None:
    assert "rack 4" in best(told.at("2025-03-01"), RACK)
    assert not recalled(told.at("2024-12-01"), RACK).facts
    clock.set("2025-07-01")
    told.unrelate("server/db08", "runs_on", "rack 5", mistake=True)
    told.relate("server/db08", "runs_on", "rack 6", valid_from="2025-02-01")
    question = "What does server db08 run on?"
    assert "rack 6" in best(told, question)
    assert "rack 5" in best(told.at(known="2025-06-15"), question)
    assert not recalled(told.at(known="2025-06-01"), question).facts


def test_a_time_in_words_is_in_the_result_and_can_be_left_unread(told: hades.Memory) -> None:
    question = "What did db07 run on in February?"
    found = recalled(told, question)
    assert found.time is not None
    assert (found.time.kind, found.time.said) == (hades.TimeKind.DURING, "in February")
    plan = {**UNHURRIED, "retriever": {"timeout_ms": 60_000, "time_words": False}}
    unread = told.recall(question, plan=plan)
    assert unread.time is None
    assert unread.facts[0].text.startswith("server/db07 runs on rack 9")


def test_a_window_has_what_began_or_ended_in_it(told: hades.Memory) -> None:
    def within(since: str | None, until: str | None) -> set[str]:
        found = told.recall(RACK, since=since, until=until, plan=UNHURRIED)
        return {fact.edge.target.name for fact in found.facts if "db07" in fact.text}

    assert within("2025-04-01", "2025-05-01") == {"rack 4", "rack 9"}
    assert within("2025-01-01", "2025-02-01") == {"rack 4"}
    assert within("2025-05-01", None) == set()
    assert within(None, "2025-01-01") == set()
    empty = told.ask(RACK, since="2025-05-01", plan=UNHURRIED)
    assert not any("db07" in one.text for one in empty.sentences)


def test_a_changed_fact(told: hades.Memory, clock: HeldClock) -> None:
    recalled(told, RACK)
    clock.set("2025-06-10")
    told.change_fact("server/db07", "runs_on", to="rack 12", new_relation="runs_on")
    assert best(told, RACK) == "server/db07 runs on rack 12, since 10 June 2025"
    assert not any("rack 9" in fact.text for fact in recalled(told, RACK).facts)
    assert "rack 9" in best(told.at("2025-06-05"), RACK)
    assert "rack 9" in best(told, "What did db07 run on in May?")


def test_an_ended_fact_and_one_that_was_never_true(told: hades.Memory, clock: HeldClock) -> None:
    clock.set("2025-06-10")
    told.unrelate("Bo Ek", "lives_in", "Narva")
    assert not any("Narva" in fact.text for fact in recalled(told, "Where does Bo Ek live?").facts)
    assert best(told, "Where did Bo Ek live in March?").startswith("Bo Ek lives in Narva, from")
    told.unrelate("Ann Lee", "manages", "Bo Ek", mistake=True)
    clock.set("2025-06-11")
    assert not recalled(told, "Whom did Ann Lee manage in March?").facts
    assert "Ann Lee" in best(told.at(known="2025-06-09"), "Whom does Ann Lee manage?")


def test_a_forgotten_end_takes_its_facts_along(told: hades.Memory, clock: HeldClock) -> None:
    told.remember("server/db07", "The old database.")
    recalled(told, RACK)
    clock.set("2025-06-10")
    told.forget("server/db07")
    assert not any("db07" in fact.text for fact in recalled(told, RACK).facts)
    assert "rack 9" in str(told.at("2025-06-05").ask(RACK, plan=UNHURRIED))


@pytest.mark.parametrize(
    ("question", "unsaid"),
    [("What runs on rack 77?", "rack 77"), ("Where does Kim Poe live?", "Kim Poe")],
)
def test_what_nobody_told_is_said(told: hades.Memory, question: str, unsaid: str) -> None:
    found = told.ask(question, plan=UNHURRIED)
    assert found.unsaid == (unsaid,)
    assert found.shortfall == f"Nothing found says anything about “{unsaid}”."


def test_facts_and_notes_are_said_together(told: hades.Memory) -> None:
    told.remember("rack 9", "Rack 9 is in the cellar.")
    found = told.ask("What runs on rack 9?", plan=UNHURRIED)
    said = {one.kind: one.text for one in found.sentences}
    assert said["fact"].startswith("server/db07 runs on rack 9")
    assert said["passage"] == "rack 9: Rack 9 is in the cellar."


def test_filters_of_topics_narrow_facts(told: hades.Memory) -> None:
    told.remember("server/db07", "The old database.", tags=["database"])
    told.remember("lunch", "The soup was good.", tags=["food"])

    def facts(**narrowed: str) -> set[str]:
        found = told.recall(RACK, plan=UNHURRIED, **narrowed)
        return {fact.edge.source.name for fact in found.facts}

    assert facts() == facts(tag="database") == facts(glob="server/*") == {"server/db07"}
    assert facts(glob="lunch") == facts(tag="food") == facts(kind="code") == set()


def test_facts_are_said_among_documents(told: hades.Memory, tmp_path: Path) -> None:
    for number, text in enumerate(("Racks are made of steel.", "A server runs on power.")):
        (tmp_path / f"{number}.md").write_text(text)
        told.ingest(tmp_path / f"{number}.md")
    found = told.ask(RACK, plan=UNHURRIED)
    assert not found.recall.notes
    assert [one.text for one in found.sentences] == [
        "server/db07 runs on rack 9, since 10 April 2025",
        "A server runs on power.",
    ]
    assert (
        str(told.ask("What are racks made of?", plan=UNHURRIED)) == "Racks are made of steel. [1]"
    )


def test_two_spaces_do_not_see_each_others_facts(told: hades.Memory) -> None:
    told.create_space("work")
    work = told.in_space("work")
    work.relate("server/db07", "runs_on", "secret rack")
    assert [fact.edge.target.name for fact in recalled(work, RACK).facts] == ["secret rack"]
    assert "secret" not in recalled(told, RACK).context
    told.create_space("empty")
    assert recalled(told.in_space("empty"), RACK).facts == ()


def test_facts_stay_askable_after_export_and_import(told: hades.Memory, tmp_path: Path) -> None:
    recalled(told, RACK)
    told.export(tmp_path / "all.jsonl")
    with hades.open(tmp_path / "other.hades") as other:
        other.import_(tmp_path / "all.jsonl")
        for view, answer in ((other, "rack 9"), (other.at("2025-03-01"), "rack 4")):
            assert answer in best(view, RACK)


def test_a_purged_name_takes_the_vectors_of_its_facts_along(told: hades.Memory) -> None:
    recalled(told, RACK)
    told.purge("Bo Ek")
    assert not any("Bo Ek" in fact.text for fact in recalled(told, "Who manages Bo Ek?").facts)
    with told.inside.engine.query_context(told.inside.scope()) as query:
        assert len(query.indexes.facts) == 4


@pytest.fixture
def without_vectors(path: Path, tmp_path: Path, clock: HeldClock) -> Path:
    """A memory with a note and a fact that nobody has given a vector."""
    with hades.open(path, clock=clock) as memory:
        memory.remember("cellar", "Rack 9 stands in the cellar.")
        memory.search("cellar")
        memory.relate("server/db07", "runs_on", "rack 9")
    copied = tmp_path / "copy" / "m.hades"
    copied.parent.mkdir()
    shutil.copy(path, copied)
    return copied


def test_a_memory_for_reading_without_vectors_of_facts_answers(
    without_vectors: Path, clock: HeldClock
) -> None:
    clock.set("2024-01-02")
    with hades.open(without_vectors, read_only=True, clock=clock) as reader:
        found = reader.ask("Where does rack 9 stand?", plan=UNHURRIED)
        assert "Rack 9 stands in the cellar." in str(found)
        assert "1 of 1 facts have no vector yet" in str(found.recall.reasons)
        assert best(reader, "What runs on rack 9?").startswith("server/db07 runs on Rack 9")
    with hades.open(without_vectors, clock=clock) as writer:
        assert best(writer, "What runs on rack 9?").startswith("server/db07 runs on Rack 9")
    with closing(sqlite3.connect(without_vectors)) as database:
        (count,) = database.execute("SELECT count(*) FROM embeddings WHERE node & 7 = 3").fetchone()
    assert count == 1


def test_facts_told_of_what_is_named_are_in_the_answer(memory: hades.Memory) -> None:
    memory.relate("Ann Lee", "works_at", "Acme", valid_from="2020")
    assert "Acme" in memory.recall("Where does Ann Lee work?").context
    memory.remember("people/ann", "Ann Lee works at Acme.", valid_from="2020")
    memory.change_fact("Ann Lee", "works_at", to="Globex", at="2022")
    assert "works_at]--> Globex" in memory.recall("Where does Ann Lee work?").context
