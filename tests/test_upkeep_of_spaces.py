"""Suggestions of what should be joined, and a report of what could be better in a space."""

from __future__ import annotations

from pathlib import Path

import pytest
from shell import Shell

import hades
from tests.conftest import HeldClock

NOTES = {
    "server/db07": "It runs PostgreSQL for the Ledger project.",
    "people/mira": "Mira looks after db07 and the backups.",
    "project/ledger": "Ledger is the new bookkeeping system.",
    "recipes/soup": "Leeks, potatoes and cream make a good soup.",
}


def found(memory: hades.Memory, what: str) -> hades.QualityFinding:
    return next(one for one in memory.quality().findings if one.what.startswith(what))


def test_topics_that_name_each_other_are_suggested_with_the_evidence(memory: hades.Memory) -> None:
    for topic, text in NOTES.items():
        memory.remember(topic, text)
    pairs = {(one.topic, one.other): one for one in memory.suggest()}
    assert {("people/mira", "server/db07"), ("server/db07", "project/ledger")} <= pairs.keys()
    assert not any("recipes/soup" in pair for pair in pairs)
    one = pairs["people/mira", "server/db07"]
    assert "people/mira names server/db07" in one.evidence
    assert 0 < one.score <= 1
    assert one.command == "hades relate people/mira relates_to server/db07"
    only = memory.suggest("project/ledger")
    assert only
    assert {one.topic for one in only} == {"project/ledger"}
    assert memory.suggest("recipes/soup") == []
    with pytest.raises(hades.NotFound):
        memory.suggest("nothing")


def test_what_is_joined_is_not_suggested_and_a_third_may_join(memory: hades.Memory) -> None:
    for topic, text in NOTES.items():
        memory.remember(topic, text)
    memory.relate("people/mira", "looks_after", "server/db07")
    memory.relate("server/db07", "bought_with", "recipes/soup")
    memory.relate("project/ledger", "bought_with", "recipes/soup")
    pairs = {(one.topic, one.other): one for one in memory.suggest()}
    assert ("people/mira", "server/db07") not in pairs
    joined = pairs["server/db07", "project/ledger"]
    assert "both are joined with recipes/soup" in joined.evidence
    assert memory.at("2023").suggest() == []


def test_a_report_names_orphans_duplicates_and_contradictions(memory: hades.Memory) -> None:
    for topic, text in NOTES.items():
        memory.remember(topic, text)
    memory.remember("soups/leek", "Leeks, potatoes and cream make a good soup!")
    memory.remember("project/atlas", "The Atlas release is due on 3 June.")
    memory.remember("plans/spring", "The Atlas release is due on 10 June.")
    memory.remember("odd", "Zebras sleep.")
    for week in (4, 7):
        memory.remember(f"rota/w{week}", f"Rota of week {week}: Ann Mon, Bob Tue, Cyd all days.")
    memory.relate("people/mira", "lives_in", "Rome")
    memory.relate("people/mira", "lives_in", "Oslo")
    memory.search("soup")
    orphans = found(memory, "orphans")
    assert (orphans.count, orphans.examples) == (1, ("odd",))
    assert orphans.advice == "hades relate TOPIC RELATION OTHER"
    assert found(memory, "duplicates").examples == ("soups/leek = recipes/soup",)
    said = found(memory, "contradictions")
    assert said.count == 2
    assert "Rome" in said.examples[0]
    assert "10 June" in said.examples[1]
    edges, notes = memory.quality().disagreements
    assert [side.source for side in edges.sides] == ["edge 1", "edge 2"]
    assert {side.source for side in notes.sides} == {"project/atlas@1", "plans/spring@1"}


def test_edges_that_review_leaves_side_by_side_are_not_named_again(memory: hades.Memory) -> None:
    memory.relate("ann", "lives_in", "Rome")
    memory.relate("ann", "lives_in", "Oslo")
    (conflict,) = memory.quality().disagreements
    sides = {name: side.text for name, side in zip(("says", "said"), conflict.sides, strict=True)}
    waiting = memory.propose("ann", "lives_in", "Rome", metadata=sides, threshold=1.0)
    memory.reject(waiting.id)
    assert memory.quality().disagreements == ()


def test_a_report_names_what_is_stale_or_gone(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("server/db07", "db07 runs PostgreSQL 12.")
    memory.relate("server/db07", "part_of", "project/ledger")
    memory.relate("Ann", "works_at", "Acme", valid_to="2024-02-01")
    memory.remember("old", "To be forgotten.")
    clock.set("2024-09-01")
    memory.remember("project/ledger", "Ledger moved to db12.")
    memory.forget("old")
    memory.relate("Ann", "wrote", "old")
    stale = found(memory, "stale")
    assert stale.examples == ("server/db07, 2024-01-01: project/ledger changed 2024-09-01",)
    assert "Ann works at Acme" in found(memory, "facts that ended").examples[0]
    assert "wrote" in found(memory, "edges to something that is gone").examples[0]
    change = memory.change
    memory.quality()
    assert memory.change == change


def test_entries_of_a_diary_are_neither_duplicates_nor_stale(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("log/2024-01-01", "Workday on the hard: six people scraped hulls.")
    clock.set("2024-09-01")
    memory.remember("log/2024-09-01", "Workday on the hard: six people scraped hulls.")
    assert [found(memory, what).count for what in ("duplicates", "stale")] == [0, 0]


def test_what_is_not_indexed_yet_is_indexed_first_or_said(path: Path) -> None:
    with hades.open(path) as memory:
        for topic, text in NOTES.items():
            memory.remember(topic, text)
        memory.relate("people/mira", "knows", "project/ledger")
    with hades.open(path, read_only=True) as reading:
        assert reading.quality().unindexed == len(NOTES)
    with hades.open(path) as memory:
        assert memory.quality().unindexed == 0
        assert found(memory, "orphans").examples == ("recipes/soup",)


def test_an_empty_space_has_nothing_to_say(memory: hades.Memory) -> None:
    assert memory.suggest() == []
    report = memory.quality()
    assert (report.topics, sum(one.count for one in report.findings)) == (0, 0)


def test_the_commands_suggest_and_report(path: Path) -> None:
    shell = Shell(path)
    for topic, text in NOTES.items():
        shell("remember", topic, text)
    assert "hades relate people/mira" in " ".join(shell("suggest", "people/mira").split())
    assert shell.json("suggest", "--limit", "1")[0]["score"] > 0
    shown = shell("quality")
    assert "4 topics in default, 4 compared" in shown
    assert "recipes/soup" in shown
    assert {one["what"] for one in shell.json("quality")["findings"]} >= {"orphans", "duplicates"}
