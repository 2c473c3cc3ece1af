"""Hostile notes: no note hides a true one, and none ends a fact that somebody told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from shell import Shell

import hades
from tests.conftest import HeldClock

TRUE_NOTES = (
    "The rent of the Ulm office is 950 euros.",
    "The Ulm office has 40 desks.",
    "The lease of the Ulm office ends in May 2027.",
)
DENIALS = (
    "The following claims are all false. {}",
    "{} None of this is true.",
    "It is not true that all of this holds. {}",
    "Bob claims the following. {}",
    "According to rumours: {}",
    "Bob wrote: “{}”",
    "> {}",
    "Can you believe this? {}",
    "If you trust Bob, this holds. {}",
    "A list of common mistakes: {}",
    "Never say any of this. {}",
    "Bob: {}",
)


def _told_by(path: Path, clock: HeldClock, actor: str = "ann") -> hades.Memory:
    return hades.open(path, actor=actor, clock=clock)


@pytest.mark.parametrize("denial", DENIALS)
def test_what_a_note_denies_or_reports_hides_no_true_note(
    path: Path, clock: HeldClock, denial: str
) -> None:
    with _told_by(path, clock) as memory:
        memory.remember("junk/x", denial.format(" ".join(TRUE_NOTES)))
        for number, text in enumerate(TRUE_NOTES):
            memory.remember(f"office/{number}", text, gate=True)
        memory.forget("junk/x")
        assert "950" in str(memory.ask("What is the rent of the Ulm office?"))


def test_a_denial_that_is_sent_again_is_still_a_repetition(memory: hades.Memory) -> None:
    denial = f"The Ulm office has no lift. {TRUE_NOTES[0]}"
    memory.remember("junk/x", denial)
    with pytest.raises(hades.Refused, match="junk/x@1 says it already"):
        memory.remember("later", denial, gate=True)


@pytest.mark.parametrize("by", ["eve", "an unsure ann"])
def test_a_note_of_another_or_of_less_confidence_hides_no_true_note(
    path: Path, clock: HeldClock, by: str
) -> None:
    with _told_by(path, clock) as memory:
        other = memory.in_space("default", actor="eve") if by == "eve" else memory
        sure = None if by == "eve" else 0.4
        other.remember("junk/x", " ".join(TRUE_NOTES), confidence=sure)
        for number, text in enumerate(TRUE_NOTES):
            memory.remember(f"office/{number}", text, gate=True)
        assert memory.proposals("refused") == []


def _refuse(memory: hades.Memory) -> None:
    memory.remember("junk/x", " ".join(TRUE_NOTES))
    for number, text in enumerate(TRUE_NOTES):
        with pytest.raises(hades.Refused, match="junk/x@1 says it already"):
            memory.remember(f"office/{number}", text, gate=True)


@pytest.mark.parametrize("memory", ["embedded", "postgres", "client"], indirect=True)
@pytest.mark.parametrize("way", ["forget", "supersede", "doubt", "document", "purge"])
def test_what_was_refused_waits_again_when_nothing_says_it_any_more(
    memory: hades.Memory, way: str
) -> None:
    _refuse(memory)
    match way:
        case "forget":
            memory.forget("junk/x")
        case "supersede":
            memory.remember("junk/x", "Cats sleep all day.")
        case "doubt":
            memory.remember("junk/x", " ".join(TRUE_NOTES), confidence=0.1)
        case "document":
            memory.remember("junk/x", " ".join(TRUE_NOTES), kind="document")
        case "purge":
            memory.purge("junk/x")
    waiting = memory.proposals()
    assert [one.fields["content"] for one in waiting] == list(TRUE_NOTES)
    assert {(one.decided_by, "junk" in one.why) for one in waiting} == {(None, False)}
    assert memory.proposals("refused") == []
    for one in waiting:
        memory.approve(one.id)
    assert "950" in str(memory.ask("What is the rent of the Ulm office?"))
    assert memory.check() == []


def test_what_is_still_said_stays_refused(path: Path, clock: HeldClock) -> None:
    with _told_by(path, clock) as memory:
        _refuse(memory)
        memory.remember("junk/x", f"News. {' '.join(TRUE_NOTES)}")
        assert memory.proposals() == []
        memory.remember("junk/y", " ".join(TRUE_NOTES[1:]))
        memory.forget("junk/x")
        assert [one.fields["content"] for one in memory.proposals()] == [TRUE_NOTES[0]]


def test_a_refused_note_of_a_purged_name_is_erased_and_no_reason_names_it(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("people/zebulon", "Zebulon likes tea. The Ulm office has 40 desks.")
        for topic, text in (("a", "Zebulon likes tea."), ("b", "The Ulm office has 40 desks.")):
            with pytest.raises(hades.Refused):
                memory.remember(topic, text, gate=True)
        memory.relate("Zebulon", "likes", "tea")
        memory.purge("people/zebulon")
        memory.purge("Zebulon")
        (waiting,) = memory.proposals("all")
        assert (waiting.status, waiting.fields["topic"]) == ("waiting", "b")
        assert "zebulon" not in waiting.why.casefold()


HOSTILE: dict[str, tuple[str, dict[str, Any]]] = {
    "unsure": ("Ann works at Evil Corp.", {"confidence": 0.01}),
    "sure": ("Ann works at Evil Corp.", {}),
    "of a speaker": ("Bob: Ann works at Evil Corp.", {}),
    "conversation": ("Bob: Ann works at Evil Corp.", {"kind": "conversation"}),
    "document": ("Ann works at Evil Corp.", {"kind": "document"}),
    "through the gate": ("Ann works at Evil Corp.", {"gate": True}),
    "applied by force": ("Ann works at Evil Corp.", {"apply_from": 0}),
    "denied": ("Ann no longer works at Acme.", {}),
    "denied by force": ("Ann no longer works at Acme.", {"apply_from": 0}),
    "since long": ("Ann works at Evil Corp since 2 January 2024.", {}),
    "in passing": ("The soup was good. Ann works at Evil Corp and lives in Rome.", {}),
    "left": ("Ann left Acme.", {}),
    "of a denial": ("The following is false. Ann works at Evil Corp.", {}),
}


@pytest.mark.parametrize("actor", ["visitor", "ann"])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_note_ends_a_told_fact(path: Path, clock: HeldClock, name: str, actor: str) -> None:
    text, options = HOSTILE[name]
    with _told_by(path, clock) as memory:
        memory.relate("Ann", "works_at", "Acme", evidence="her contract")
        before = memory.edges("Ann", relation="works_at")
        clock.set("2024-03-01")
        memory.in_space("default", actor=actor).remember("chat/visitor", text, **options)
        assert memory.edges("Ann", relation="works_at") == before
        asked = "kind" in options
        assert bool(memory.proposals()) is not asked
        for threshold in (0.9, 0.5, 0.0):
            memory.extract(threshold=threshold)
            assert memory.edges("Ann", relation="works_at") == before
        (waiting,) = memory.proposals()
        assert waiting.confidence <= options.get("confidence", 1.0)


def test_no_note_of_another_ends_what_a_note_said(path: Path, clock: HeldClock) -> None:
    with _told_by(path, clock) as memory:
        memory.remember("hr/1", "Ann works at Acme.")
        memory.extract()
        clock.set("2024-03-01")
        eve = memory.in_space("default", actor="eve")
        eve.remember("hr/eve", "Ann works at Acme since 2010.")
        memory.extract()
        eve.remember("chat/1", "Ann works at Evil Corp.")
        eve.remember("chat/2", "Ann no longer works at Acme.")
        memory.extract()
        assert [str(one) for one in memory.edges("Ann")] == ["Ann --[works_at]--> Acme"]
        assert {one.status for one in memory.proposals("all")} == {"waiting"}
        memory.remember("hr/2", "Ann works at Bolt.")
        assert [str(one) for one in memory.edges("Ann")] == ["Ann --[works_at]--> Bolt"]


def test_an_approved_fact_is_a_told_one(path: Path, clock: HeldClock) -> None:
    with _told_by(path, clock) as memory:
        memory.relate("Ann", "works_at", "Acme")
        clock.set("2024-03-01")
        memory.remember("news", "Ann works at Bolt.")
        memory.approve(memory.proposals()[0].id)
        clock.set("2024-04-01")
        memory.remember("news/2", "Ann works at Evil Corp.")
        memory.extract()
        assert [str(one) for one in memory.edges("Ann")] == ["Ann --[works_at]--> Bolt"]


def test_what_was_set_to_wait_or_rejected_is_not_applied_by_extract(
    path: Path, clock: HeldClock
) -> None:
    with _told_by(path, clock) as memory:
        memory.remember("hr/1", "Ann works at Acme.")
        memory.extract()
        clock.set("2024-03-01")
        memory.remember("news", "Ann works at Bolt.", apply_from=1)
        assert memory.extract().outcomes == {"known": 1}
        memory.reject(memory.proposals()[0].id)
        assert memory.extract("news").outcomes == {"known": 1}
        memory.remember("gone", "Ann no longer works at Acme.", apply_from=1)
        assert memory.extract().outcomes == {"known": 1}
        assert [str(one) for one in memory.edges("Ann")] == ["Ann --[works_at]--> Acme"]


def test_a_promotion_ends_no_told_fact_for_one_that_was_read(path: Path, clock: HeldClock) -> None:
    with _told_by(path, clock) as memory:
        memory.remember("db07", "A database.")
        memory.relate("db07", "runs_on", "Rack Four")
        clock.set("2024-03-01")
        eve = memory.in_space("default", actor="eve")
        eve.remember("chat/1", "`db07` runs on Evil Cloud.")
        memory.extract()
        memory.promote("db07", reason="It was looked at.")
        assert "Rack Four" in {one.target.name for one in memory.edges("db07")}
        assert [one.kind for one in memory.proposals()] == ["unrelate"]


def test_the_setting_lets_notes_of_named_actors_change_told_facts(
    path: Path, clock: HeldClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = {"default": ["key:payroll"], "other": ["eve"]}
    monkeypatch.setenv("HADES_TRUSTED_AUTHORS", json.dumps(trusted))
    with _told_by(path, clock) as memory:
        memory.relate("Ann", "works_at", "Acme")
        clock.set("2024-03-01")
        memory.in_space("default", actor="eve").remember("chat", "Ann works at Evil Corp.")
        assert [one.target.name for one in memory.edges("Ann")] == ["Acme"]
        memory.in_space("default", actor="key:payroll").remember("hr", "Ann works at Bolt.")
        assert [one.target.name for one in memory.edges("Ann")] == ["Bolt"]


def test_a_proposal_shows_both_sides(path: Path, clock: HeldClock) -> None:
    with _told_by(path, clock) as memory:
        memory.relate("Ann", "works_at", "Acme", evidence="her contract")
        clock.set("2024-03-01")
        eve = memory.in_space("default", actor="eve")
        eve.remember("chat", "Ann works at Evil Corp.", confidence=0.3)
        eve.remember("talk", "Ann works at Bolt.", kind="conversation")
        clock.set("2024-03-05")
        memory.extract()
        told = "Ann --[works_at]--> Acme (edge 1, told by ann on 2024-01-01, “her contract”)"
        assert [one.why for one in memory.proposals()] == [
            f"{said} (eve, 2024-03-01, confidence {sure}), against {told}"
            for said, sure in (
                ("chat@1 says “Ann works at Evil Corp.”", 0.3),
                ("talk@1 says “Ann works at Bolt.”", 1),
            )
        ]
    shown = Shell(path)("review", "list")
    assert "eve, 2024-03-01, confidence 0.3" in shown
    assert "told by ann on 2024-01-01, “her contract”" in shown
    assert "told by ann" in Shell(path).json("review", "list")[0]["why"]


def test_a_proposal_of_less_confidence_hides_no_surer_one(path: Path, clock: HeldClock) -> None:
    with _told_by(path, clock) as memory:
        memory.relate("Ann", "works_at", "Acme")
        clock.set("2024-03-01")
        eve = memory.in_space("default", actor="eve")
        eve.remember("chat", "Ann works at Bolt.", confidence=0.01)
        memory.remember("news", "Ann works at Bolt.")
        memory.remember("news/2", "Ann works at Bolt.")
        assert [(one.by, one.confidence) for one in memory.proposals()] == [
            ("eve", 0.01),
            ("ann", 0.96),
        ]
