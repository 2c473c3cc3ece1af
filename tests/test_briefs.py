"""Briefs: what matters now, chosen by rules and fitted into a budget."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from shell import Shell

import hades
from hades.context.tokens import count
from hades.domain.times import to_micros
from hades.language.english.decisions import decision_said, is_decision, is_open, open_said
from hades.language.english.moments import parse_time


def november() -> int:
    """A clock that stands still."""
    return to_micros(parse_time("2026-11-14", 0))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    """A small project, for tests that only read."""
    path = tmp_path_factory.mktemp("brief") / "project.hades"
    with hades.open(path, clock=november) as memory:
        queue = "We chose Redis streams, because Kafka is too heavy. TODO: migrate the workers."
        memory.remember("infra/queue", queue, tags=["decision"], valid_from="2026-10-01")
        memory.remember("adr/0007-storage", "One SQLite file.", valid_from="2026-11-02")
        memory.remember("adr/0003-mongo", "Status: Superseded\n\nMongo.", valid_from="2026-09-01")
        memory.remember("infra/deploy", "Deploys run on Fridays.", valid_from="2026-10-05")
        memory.remember("infra/deploy", "Deploys run on Mondays.", valid_from="2026-11-10")
        memory.remember("bugs/login", "Login fails. Still open: why.", valid_from="2026-11-11")
        memory.remember("bugs/logout", "Fixed in 1.2.", tags=["todo"], valid_from="2026-11-11")
        memory.remember("open-questions", "Which region?", valid_from="2026-11-12")
        memory.relate("db07", "runs_on", "rack 4", valid_from="2026-10-20")
        memory.change_fact("db07", "runs_on", to="rack 5", at="2026-11-13")
        memory.relate("infra/release", "blocked_by", "bugs/login", valid_from="2026-11-12")
        yield memory


def cites(lines: tuple[hades.BriefLine, ...]) -> list[str]:
    return [line.cite for line in lines]


def test_a_brief_says_what_matters_now(project: hades.Memory) -> None:
    brief = project.brief()
    assert cites(brief.decisions) == ["adr/0007-storage@1", "infra/queue@1"]
    assert cites(brief.open_threads) == [
        *("open-questions@1", "edge 4", "bugs/login@1", "infra/queue@1")
    ]
    assert cites(brief.changes) == ["bugs/logout@1", "infra/deploy@2"]
    assert cites(brief.ended) == ["edge 1"]
    assert " 2026-11-11 Login fails. Still open: why. [bugs/login@1]" in brief.text.splitlines()
    assert "Deploys run on Fridays. → Deploys run on Mondays." in brief.text
    assert "; then rack 5 [edge 1]" in brief.text
    assert (brief.tokens, brief.left_out) == (count([brief.text])[0], 0)


def test_a_brief_of_a_topic_includes_what_is_below_it(project: hades.Memory) -> None:
    brief = project.brief("infra")
    assert cites(brief.decisions) == ["infra/queue@1"]
    assert cites(brief.open_threads) == ["edge 4", "infra/queue@1"]
    assert cites(brief.changes) == ["infra/deploy@2"]
    assert cites(project.brief("db07").ended) == ["edge 1"]  # an entity has facts only
    with pytest.raises(hades.NotFound, match="no topic 'inf' and none below it"):
        project.brief("inf")


def test_a_brief_of_the_past(project: hades.Memory) -> None:
    brief = project.at("2026-10-25").brief()
    assert cites(brief.decisions) == ["infra/queue@1"]
    assert cites(brief.changes) == ["edge 1", "infra/deploy@1"]
    assert not brief.ended
    assert project.at("2020").brief().text == "Nothing was remembered here at that time."


def test_a_brief_keeps_to_its_budget(project: hades.Memory) -> None:
    whole = project.brief()
    for budget in (100, 150, 200, 2_000):
        brief = project.brief(budget=budget)
        lines = (*brief.decisions, *brief.open_threads, *brief.changes, *brief.ended)
        assert brief.tokens <= budget
        assert brief.decisions
        assert len(lines) + brief.left_out == 9
    assert whole.left_out == 0
    with pytest.raises(hades.InvalidInput):
        project.brief(budget=5)


def test_a_topic_that_another_one_replaced_is_no_current_decision(memory: hades.Memory) -> None:
    memory.remember("decisions/mongo", "We use Mongo.")
    memory.remember("decisions/sqlite", "We use SQLite.")
    memory.relate("decisions/mongo", "superseded_by", "decisions/sqlite")
    assert cites(memory.brief().decisions) == ["decisions/sqlite@1"]


def test_documents_do_not_push_notes_out(memory: hades.Memory) -> None:
    memory.remember("ann", "Ann lives in Lyon.", valid_from="2023-11-01")
    with memory.batch():
        for number in range(8):
            memory.remember(
                f"doc {number}", "A long text.", kind="document", valid_from="2023-11-02"
            )
    changes = memory.brief().changes
    assert len(changes) == 6
    assert (changes[0].text, changes[-1].cite) == ("document doc 7", "ann@1")


def test_an_empty_memory_says_what_to_do(path: Path) -> None:
    with hades.open(path) as memory:
        brief = memory.brief()
    assert brief.is_empty
    assert brief.text == "Nothing is remembered here yet: `remember` writes the first note."


def test_the_command_shows_a_brief(path: Path) -> None:
    hades_ = Shell(path)
    hades_("remember", "infra/queue", "Redis it is.", "--tag", "decision")
    assert "Decisions and rules:\n " in hades_("brief")
    assert "Redis it is. [infra/queue@1]" in hades_("brief", "infra", "--budget", "200")
    assert hades_.json("brief")["decisions"][0]["cite"] == "infra/queue@1"
    assert "no topic 'nope'" in hades_.refused("brief", "nope")


@pytest.mark.parametrize(
    ("topic", "tags", "decision", "is_still_open"),
    [
        ("adr/0001-x", (), True, False),
        ("notes/decision-queue", (), True, False),
        ("infra/queue", ("Decision",), True, False),
        ("infra/queue", ("decision", "superseded"), False, False),
        ("todo", (), False, True),
        ("atlas/next-steps", (), False, True),
        ("atlas/open questions", (), False, True),
        ("login", ("blocked",), False, True),
        ("login", ("todo", "done"), False, False),
        ("docs/next.js", (), False, False),
        ("docs/open-source", (), False, False),
        ("shop/opening-hours", (), False, False),
        ("adress", (), False, False),
    ],
)
def test_tags_and_names_that_count(
    topic: str, tags: tuple[str, ...], decision: bool, is_still_open: bool
) -> None:
    assert is_decision(topic, tags) is decision
    assert is_open(topic, tags) is is_still_open


@pytest.mark.parametrize(
    "sentence",
    ["TODO: migrate", "Next steps are clear", "It is blocked by the login bug", "[ ] write docs"],
)
def test_words_that_say_that_something_is_open(sentence: str) -> None:
    assert open_said(sentence)


@pytest.mark.parametrize(
    "sentence", ["The shop is open on Sundays", "There is no open issue", "She sat next to me"]
)
def test_words_that_say_nothing_open(sentence: str) -> None:
    assert not open_said(sentence)


@pytest.mark.parametrize(
    ("sentence", "decides"),
    [
        ("We chose Redis streams.", True),
        ("Decision 12: split by patient.", True),
        ("The board approved the flood barriers.", True),
        ("Adopted a cat, she is called Miso.", False),
        ("The delivery was signed by Ann.", False),
        ("The train was cancelled.", False),
        ("Still to be decided by Oye.", False),
        ("Decision in the January meeting.", False),
        ("It ends on 31 October as agreed.", False),
    ],
)
def test_words_that_report_a_decision(sentence: str, decides: bool) -> None:
    assert decision_said(sentence) is decides


def test_a_note_that_is_marked_is_shown_from_its_beginning(memory: hades.Memory) -> None:
    undo = "Undo is a tree of commands. We chose it because snapshots are large. TODO: prune it."
    memory.remember("decision/undo", undo)
    memory.remember("build", "Builds are signed with our key. Bad requests are rejected.")
    memory.remember(
        "bug/80", "Dropped files are imported twice. The event fires twice. Not yet fixed."
    )
    brief = memory.brief()
    assert [line.text for line in brief.decisions] == [
        "Undo is a tree of commands. We chose it because snapshots are large."
    ]
    assert [line.text for line in brief.open_threads] == [
        "Dropped files are imported twice. Not yet fixed.",
        "Undo is a tree of commands. TODO: prune it.",
    ]
    assert cites(brief.changes) == ["build@1"]


def answered(view: hades.View, question: str) -> list[str]:
    """The sentences of the answer, without their sources."""
    answer = view.ask(question)
    assert answer.recall.intent == "brief"
    return [sentence.text for sentence in answer.sentences]


def test_what_to_work_on_next_is_what_is_open(project: hades.Memory) -> None:
    first, *_, fact = answered(project, "What should I work on next?")
    assert first == "open-questions: Which region? (12 November 2026)"
    assert fact == "infra/release blocked by bugs/login, since 12 November 2026"


def test_decisions_are_told_by_tags_and_names(project: hades.Memory) -> None:
    storage, queue = answered(project, "Which decisions did we make?")
    assert storage == "adr/0007-storage: One SQLite file. (2 November 2026)"
    assert queue.startswith("infra/queue: We chose Redis streams")
    assert answered(project, "What did we decide last month?") == [queue]


def test_catching_up_has_all_parts(project: hades.Memory) -> None:
    sentences = answered(project, "Catch me up")
    heads = [sentence.partition(": ")[0] for sentence in sentences]
    assert heads[:7] == [*["Decision"] * 2, *["Open"] * 3, *["Changed"] * 2]
    assert sentences[-1].startswith(
        "db07 runs on rack 4, from 20 October to 13 November 2026; then"
    )


@pytest.mark.parametrize(
    ("question", "count"),
    [("What's left?", 4), ("Any open issues?", 4), ("What were the last decisions?", 2)],
)
def test_the_same_in_other_words(project: hades.Memory, question: str, count: int) -> None:
    assert len(answered(project, question)) == count


def test_what_changed_is_of_the_last_thirty_days(project: hades.Memory) -> None:
    new = answered(project, "What changed recently?")
    assert new == answered(project, "What's new?")
    assert new[0].startswith("adr/0007-storage")
    assert not [line for line in new if "October" in line and "infra" in line]


def test_what_was_done_includes_changed_facts(project: hades.Memory) -> None:
    done = answered(project, "What did we do this week?")
    assert done[0].startswith("infra/deploy: Deploys run on Fridays. → Deploys run on Mondays.")
    assert done[-1].startswith("db07 runs on rack 4")
    assert len(done) == 6
    then = answered(project, "What did we work on in October?")
    assert "infra/deploy: Deploys run on Fridays. (5 October 2026)" in then
    recalled = project.recall("What did we do this week?")
    assert "No longer" not in recalled.context
    assert {citation.kind for citation in recalled.citations} == {"passage", "fact"}


@pytest.mark.parametrize(
    "question",
    [
        "What did we decide about the queue?",
        "Which decisions did Ann make?",
        "What should I do about the login bug?",
        "What is next to the kitchen?",
        "What is new in the kitchen?",
        "What did we do?",
        "Who decided to use Redis?",
    ],
)
def test_a_question_about_something_is_searched(project: hades.Memory, question: str) -> None:
    assert project.recall(question).intent != "brief"


def test_without_anything_open_or_decided_a_search_answers(memory: hades.Memory) -> None:
    memory.remember("ann", "Ann lives in Lyon.")
    assert memory.recall("Which decisions did we make?").intent != "brief"
    assert answered(memory, "What should I work on next?")[0].startswith("ann: Ann lives in Lyon.")


def test_a_brief_after_writes_is_that_of_a_memory_opened_anew(path: Path) -> None:
    def same() -> None:
        with hades.open(path, clock=november) as anew:
            assert memory.brief() == anew.brief()
            assert memory.brief("infra") == anew.brief("infra")

    with hades.open(path, clock=november) as memory:
        for number in range(500):  # more than a brief reads, so its lists are cut
            memory.remember(f"infra/log-{number}", f"Pump {number} runs.", valid_from="2026-11-01")
        same()
        memory.remember("infra/queue", "We chose Redis.", tags=["decision"])
        memory.relate("infra/queue", "blocked_by", "bugs/9", valid_from="2026-11-02")
        same()
        memory.remember("infra/queue", "We chose Kafka.", valid_from="2026-11-12")
        memory.unrelate("infra/queue", "blocked_by", "bugs/9", at="2026-11-13")
        memory.relate("infra/release", "blocked_by", "bugs/8", valid_from="2026-11-03")
        same()
        memory.forget("infra/log-499")
        memory.remember("infra/plan", "We decided to move.", valid_from="2026-12-24")
        same()
        memory.purge("infra/log-498")
        same()
        with suppress(KeyError), memory.batch():
            memory.remember("infra/undone", "We decided to stop.")
            assert "decided to stop" in memory.brief().text
            raise KeyError
        memory.remember("infra/done", "We decided to go on.")
        same()
