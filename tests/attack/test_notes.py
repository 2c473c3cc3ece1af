"""Hostile notes: no note hides a true one."""

from __future__ import annotations

from pathlib import Path

import pytest

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
