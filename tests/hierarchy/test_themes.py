"""Questions for an overview are answered from the clusters of the hierarchy."""

from __future__ import annotations

from pathlib import Path

import pytest
from notes_making import remember_subjects
from shell import Shell

import hades
from hades.recall.answer import themes
from tests.conftest import HeldClock


@pytest.fixture
def organised(memory: hades.Memory) -> hades.Memory:
    remember_subjects(memory)
    memory.organise()
    return memory


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What are the main themes?", ""),
        ("What are the key topics covered here?", ""),
        ("Summarise the project", ""),
        ("Outline everything we know", ""),
        ("What are these papers about?", ""),
        ("What does this corpus say about bread?", "bread"),
        ("Give me an overview of bread baking.", "bread baking"),
        ("What are the main areas of research in astronomy?", "astronomy"),
        ("Tell me about Ann", None),
        ("Who bakes the bread?", None),
        ("What happened last month?", None),
    ],
)
def test_the_subject_of_an_overview(
    memory: hades.Memory, question: str, subject: str | None
) -> None:
    memory.remember("bread", "Ann bakes bread.")
    assert memory.recall(question).asked.subject == subject


def test_main_themes_are_the_largest_clusters(
    organised: hades.Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(themes, "THEMES_AT_MOST", 2)  # level 1 has three
    found = organised.recall("What are the main themes?")
    assert [theme.cluster.level for theme in found.themes] == [2, 2]
    assert sum(theme.score for theme in found.themes) == pytest.approx(1, abs=1e-3)
    assert found.themes[0].cluster.size > found.themes[1].cluster.size
    assert f"[T1] {found.themes[0].cluster.id}: {found.themes[0].cluster.label}" in found.context
    answer = organised.ask("What are the main themes?")
    assert [(row.kind, row.label) for row in answer.sentences] == [
        ("theme", "[T1]"),
        ("theme", "[T2]"),
    ]
    assert "bread" in str(answer)
    shell = Shell(path)
    told = shell("ask", "What are the main themes?")
    assert f"[T2] {found.themes[1].cluster.id}, 7 passages, bread/" in told
    assert "[T1] c_" in shell("recall", "What are the main themes?", "--explain")


def test_few_clusters_are_all_named(organised: hades.Memory) -> None:
    answer = organised.ask("What are the main themes?")
    assert [theme.cluster.level for theme in answer.recall.themes] == [1, 1, 1]
    assert all(subject in str(answer) for subject in ("boat", "bread", "star"))


def test_a_subject_gets_the_clusters_of_its_passages(organised: hades.Memory) -> None:
    answer = organised.ask("What does this corpus say about bread?")
    first: hades.Sentence = answer.sentences[0]
    assert first.text.startswith("bread")
    theme = answer.recall.themes[0]
    assert theme.cluster.level == 1
    assert all(cite.startswith("bread/") for cite in theme.cites)
    cited = [cite for cite in answer.recall.citations if cite.kind == "theme"]
    assert cited[0].nodes == theme.cites
    members = organised.clusters(theme.cluster.id).members  # drill down
    assert set(theme.cites) <= {member.cite for member in members}


def test_a_narrow_subject_is_quoted_from_its_passages(organised: hades.Memory) -> None:
    organised.remember("bread/stone", "A pizza stone keeps the heat of the oven.")
    organised.index()  # the summaries are older than this note
    answer = organised.ask("What do my notes say about pizza?")
    assert "A pizza stone keeps the heat of the oven. (bread/stone@1#0)" in str(answer)


def test_without_a_hierarchy_the_answer_says_so(memory: hades.Memory, path: Path) -> None:
    remember_subjects(memory)
    asked = "What does this corpus say about bread?"
    answer = memory.ask(asked)
    assert answer.recall.themes == ()
    assert answer.sentences
    note = "the passages are not organised into themes: `hades organise`"
    assert note in " ".join(Shell(path)("ask", asked).split())


def test_other_questions_have_no_themes(organised: hades.Memory) -> None:
    for question in ("Who sells bread rolls?", "Tell me about Ann", "Summarise March"):
        assert organised.recall(question).themes == ()


def test_themes_are_those_of_the_time(memory: hades.Memory, clock: HeldClock) -> None:
    remember_subjects(memory)
    clock.set("2024-02-01")
    memory.organise()
    asked = "What are the main themes?"
    assert memory.recall(asked).themes
    then = memory.at(known="2024-01-15").recall(asked)
    assert then.themes == ()
    assert "no_hierarchy" in {note.reason.value for note in then.reasons}


def test_an_answer_with_themes_is_kept(organised: hades.Memory) -> None:
    first, second = (organised.recall("What are the main themes?") for _ in range(2))
    assert second.telemetry[0].stage == "cache"
    assert second.themes == first.themes
