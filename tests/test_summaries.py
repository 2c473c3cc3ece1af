"""Summaries of days, weeks and months: what they say, what they reach, when they answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import hades
from hades.context.tokens import count
from hades.domain.summaries import TOKENS, SummaryPeriod, cite, read_lines
from hades.lifecycle import consolidate
from tests.conftest import HeldClock

LATER = "2024-04-10"
MONDAY = datetime(2024, 3, 4, tzinfo=UTC)
FEW = {"at_least": 2}


def _week(memory: hades.Memory, clock: HeldClock, now: str = "2024-04-10", days: int = 5) -> None:
    """Two notes a day for a week of March 2024, seen from April."""
    clock.set(now)
    with memory.batch():
        for day in range(days):
            at = MONDAY + timedelta(days=day, hours=9)
            memory.remember(f"journal/{day}", f"Called customer number {day} again.", valid_from=at)
            memory.remember("price", f"The price of a seat is {10 + day} euros.", valid_from=at)


def _made(done: hades.Consolidation) -> list[str]:
    return [one.topic.removeprefix("summary/") for one in done.made]


def test_days_weeks_and_months_are_summed_up(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    assert _made(memory.consolidate(**FEW, dry_run=True)) == [
        *(f"2024-03-{day:02}" for day in range(4, 9)),
        *("2024-W10", "2024-03"),
    ]
    assert memory.topics("summary/*") == []
    assert len(memory.consolidate(**FEW).made) == 7
    month = memory.get("summary/2024-03")
    assert (month.level, month.metadata["by"]) == (3, "extractive")
    assert month.consolidated_from == ("summary/2024-W10@1",)
    assert "[price@5]" in month.content
    week = memory.originals("summary/2024-W10")
    assert [state.topic for state in week] == [f"summary/2024-03-{day:02}" for day in range(4, 9)]
    assert len(memory.originals("summary/2024-03", every=True)) == 10
    up = [state.topic.removeprefix("summary/") for state in memory.summaries("journal/0")]
    assert up == ["2024-03-04", "2024-W10", "2024-03"]
    assert len(memory.summaries("price")) == 7  # of all its versions
    assert memory.summaries("price", 5)[0].topic == "summary/2024-03-08"


def test_a_change_says_from_what_to_what(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set(LATER)
    memory.remember("price", "The price is 10 euros.", valid_from="2024-02-01")
    memory.remember("price", "The price is 12 euros.", valid_from="2024-03-05")
    memory.remember("office", "The office is in Bonn.", valid_from="2024-03-05")
    memory.remember("office", "The office is in Kiel.", valid_from="2024-03-05T12:00")
    memory.remember("hat", "Ada wears a green hat.", valid_from="2024-03-05")
    old = memory.relate("Ada", "works_at", "Acme", valid_from="2023-01-01")
    memory.unrelate(old.id, at="2024-03-05")
    new = memory.relate("Ada", "works_at", "Quill", valid_from="2024-03-05")
    memory.consolidate(level="daily", **FEW)
    told = memory.get("summary/2024-03-05").content
    assert "- The price is 10 euros. → The price is 12 euros. [price@2]" in told
    assert "- The office is in Bonn. → The office is in Kiel. [office@2]" in told
    assert "- Ada wears a green hat. [hat@1]" in told
    assert (
        f"- Ended: Ada works at Acme, from 1 January 2023 to 5 March 2024. [edge {old.id}]" in told
    )
    assert f"- Ada works at Quill, since 5 March 2024. [edge {new.id}]" in told


def test_what_was_forgotten_is_not_said_as_current(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-03-05")
    memory.remember("plan", "We go to Rome.")
    memory.remember("other", "We stay here.")
    clock.tick(60)
    memory.forget("plan")
    clock.set(LATER)
    memory.consolidate(level="daily", **FEW)
    lines = read_lines(memory.get("summary/2024-03-05").content)
    assert ("No longer known: We go to Rome.", ("plan", 2)) in lines
    assert [text for text, cited in lines if cited == ("plan", 1)] == []


def test_a_second_run_changes_nothing(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    before = memory.change
    again = memory.consolidate(**FEW)
    assert (again.made, again.unchanged, memory.change) == ((), 7, before)


def test_what_is_written_late_makes_its_day_anew(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    memory.remember("late", "Decided: Osprey is bought.", valid_from="2024-03-06")
    assert _made(memory.consolidate(**FEW)) == ["2024-03-06", "2024-W10", "2024-03"]
    month = memory.get("summary/2024-03")
    assert month.version == 2
    assert "Osprey" in month.content
    memory.relate("Ada", "works_at", "Quill", valid_from="2024-03-07")
    assert _made(memory.consolidate(**FEW)) == ["2024-03-07", "2024-W10", "2024-03"]


def test_only_what_is_over_is_summed_up(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock, "2024-03-06T18:00", days=3)
    assert _made(memory.consolidate(**FEW)) == ["2024-03-04", "2024-03-05"]


def test_thresholds(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    assert _made(memory.consolidate(dry_run=True)) == ["2024-03"]
    assert _made(memory.consolidate(at_least=11, dry_run=True)) == []
    made = memory.consolidate(**FEW, level="daily", since="2024-03-05", until="2024-03-07")
    assert _made(made) == ["2024-03-05", "2024-03-06"]


def test_a_month_without_weeks_is_made_of_its_states(
    memory: hades.Memory, clock: HeldClock
) -> None:
    _week(memory, clock)
    memory.consolidate()
    assert len(memory.get("summary/2024-03").consolidated_from) == 10


def test_what_was_replaced_within_the_time_is_said(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set(LATER)
    for day, text in (
        (3, "Tea costs 1.10."),
        (9, "Tea costs 1.20."),
        (14, "Ada pays for all tea."),
    ):
        memory.remember("tea", text, valid_from=f"2024-03-{day:02}")
    memory.consolidate(**FEW)
    told = memory.get("summary/2024-03").content
    assert "- Tea costs 1.10. → Tea costs 1.20. → Ada pays for all tea. [tea@3]" in told


@pytest.mark.slow
def test_an_answer_from_a_month_is_a_tenth_of_its_states(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set(LATER)
    with memory.batch():
        for number in range(150):
            text = f"Talked with customer {number} about the weather and the price of wood pellets."
            memory.remember(f"log/{number}", text, valid_from=f"2024-03-{number % 28 + 1:02}")
        for word in ("flood", "theft", "strike"):
            memory.remember(f"incident/{word}", f"There was a {word}.", valid_from="2024-03-09")
    memory.consolidate()
    found = memory.recall("What happened last month?")
    assert all(f"There was a {word}." in found.context for word in ("flood", "theft", "strike"))
    assert 10 * found.tokens < 150 * count(["Talked with customer 1 about the weather and …"])[0]


def test_times_in_the_wrong_order_are_refused(memory: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="2024-05-01 is after 2024-04-01"):
        memory.consolidate(since="2024-05-01", until="2024-04-01")


def test_the_context_has_the_same_overview(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.consolidate()
    asked = "What happened in March 2024?"
    found = memory.retrieve_within_budget(asked)
    section = {one.name: one for one in found.sections}["summaries"]
    told = [one.text for one in section.items]
    assert told == [one.chunk.text for one in memory.recall(asked).passages]
    assert not [note for note in found.reasons if note.reason is hades.Reason.NO_HIERARCHY]


def test_the_first_day_there_is(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-04-10")
    for number in range(3):
        memory.remember(f"old/{number}", f"It began, {number}.", valid_from="0001-01-01")
    assert _made(memory.consolidate(**FEW)) == ["0001-01-01", "0001-01"]


def test_purging_a_topic_erases_the_summaries_made_of_it(
    memory: hades.Memory, clock: HeldClock
) -> None:
    _week(memory, clock)
    memory.remember("secret", "The code is 4711.", valid_from="2024-03-06")
    memory.consolidate(**FEW)
    memory.purge("secret")
    left = [topic.name.removeprefix("summary/") for topic in memory.topics("summary/*")]
    assert left == ["2024-03-04", "2024-03-05", "2024-03-07", "2024-03-08"]
    assert _made(memory.consolidate(**FEW)) == ["2024-03-06", "2024-W10", "2024-03"]
    assert "4711" not in memory.get("summary/2024-03").content


def test_purging_a_name_erases_the_summaries_that_say_it(
    memory: hades.Memory, clock: HeldClock
) -> None:
    _week(memory, clock)
    memory.relate("Ada Holm", "works_at", "Quill", valid_from="2024-03-06")
    memory.consolidate(**FEW)
    memory.purge("Ada Holm")
    for topic in memory.topics("summary/*"):
        assert "Ada Holm" not in memory.get(topic.name).content
    assert "2024-03" in _made(memory.consolidate(**FEW))


def _october(memory: hades.Memory, clock: HeldClock) -> None:
    for number in range(12):
        clock.set(f"2026-10-{number + 2:02}")
        memory.remember(f"tasks/{number}", f"Task {number} done.")
    for number, euros in enumerate((500, 9_000, 20)):
        memory.remember(f"invoices/{number}", f"Invoice of {euros} euros from Nordlicht.")
    clock.set("2026-11-05")


@pytest.mark.parametrize("consolidated", [False, True])
def test_a_series_is_counted_and_different_amounts_are_told(
    memory: hades.Memory, clock: HeldClock, consolidated: bool
) -> None:
    _october(memory, clock)
    if consolidated:
        memory.consolidate()
    told = str(memory.ask("What happened in October?"))
    assert "12 tasks: Task 0 done. … Task 11 done." in told
    assert all(f"Invoice of {euros} euros" in told for euros in (500, 9_000, 20))
    assert "Left out" not in told
    found = memory.retrieve_within_budget("What happened in October?")
    latest = {one.name: one for one in found.sections}["latest"]
    assert "invoices/1@1" in [one.cite.partition("#")[0] for one in latest.items]


@pytest.mark.parametrize("consolidated", [False, True])
def test_an_overview_says_what_it_leaves_out(
    memory: hades.Memory, clock: HeldClock, consolidated: bool
) -> None:
    clock.set("2026-10-05")
    with memory.batch():
        for number in range(60):
            text = f"Paid {1_000 + 7 * number} euros for the wood."
            memory.remember(f"wood/{number}", text, valid_from="2026-10-03")
    clock.set("2026-11-05")
    if consolidated:
        memory.consolidate()
        assert "\n\nLeft out for lack of space: " in memory.get("summary/2026-10").content
    answer = memory.ask("What happened in October?")
    lines = len(answer.sentences)
    assert 5 < lines < 60
    assert f"Left out for lack of space: {60 - lines} lines of that time." in str(answer)


@pytest.mark.parametrize("kind", ["conversation", "note"])
@pytest.mark.parametrize("noted", ["2026-08-20", "2026-10-01"])
def test_what_was_talked_about_is_told_by_the_talks_of_that_time(
    memory: hades.Memory, clock: HeldClock, kind: str, noted: str
) -> None:
    clock.set(noted)
    memory.remember("session/2026-08-20", "Rye bread needs sourdough.", kind=kind)
    memory.remember("session/2026-07-02", "The login was slow.", kind=kind)
    memory.remember("people/bo", "Bo lives in Jena.", valid_from="2026-08-10")
    clock.set("2026-10-02")
    told = str(memory.ask("What did we talk about in August?"))
    assert told.startswith("session/2026-08-20: Rye bread needs sourdough.")
    assert "login" not in told
    assert "Jena" not in told


def test_a_run_that_makes_nothing_says_why(memory: hades.Memory, clock: HeldClock) -> None:
    assert memory.consolidate().why == "No state began in that time."
    memory.remember("plan", "We go to Rome.")
    clock.tick()
    assert memory.consolidate().why == "No day, week or month with states is over yet."
    clock.set(LATER)
    assert "the fullest period has 1 state." in memory.consolidate().why
    assert memory.consolidate(at_least=1).why == ""
    assert memory.consolidate(at_least=1).why == "Every summary is up to date."


def test_nobody_is_told_to_relate_a_summary(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    report = memory.quality()
    assert report.compared == 6
    assert not any("summary/" in example for one in report.findings for example in one.examples)


def test_a_summary_is_nobody_elses_to_write(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.remember("summary/2024-W10", "My own week.", valid_from="2024-01-01")
    done = memory.consolidate(**FEW)
    assert [topic for topic, _ in done.skipped] == ["summary/2024-W10"]
    assert memory.get("summary/2024-W10").content == "My own week."
    with pytest.raises(hades.Conflict, match="is a summary"):
        memory.remember("summary/2024-03", "Mine.")
    with pytest.raises(hades.InvalidInput, match="not a summary"):
        memory.originals("price")


def test_no_question_finds_a_summary_by_its_text(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    found = memory.recall("What is the price of a seat?")
    assert found.level == 0
    assert all(not one.chunk.topic.startswith("summary/") for one in found.passages)
    assert all(hit.chunk.topic != "summary/2024-03" for hit in memory.search("price of a seat"))


def test_what_happened_is_answered_from_summaries(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.remember("deal", "Decided with Ada: we buy Osprey.", valid_from="2024-03-06")
    memory.relate("Ada", "works_at", "Quill", valid_from="2024-03-07")
    memory.consolidate(**FEW)
    told = memory.ask("What happened last month?")
    assert told.recall.level == 3
    assert "deal: Decided with Ada: we buy Osprey. (6 March 2024)" in str(told)
    assert "Ada works at Quill, since 7 March 2024." in str(told)
    cited = [one for one in told.recall.citations if one.topic == "deal"]
    assert memory.get(cited[0].topic, cited[0].version).content.startswith("Decided with Ada")


def test_the_length_of_a_time_chooses_the_level(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock, "2024-03-13")
    memory.consolidate(**FEW)
    assert memory.recall("What happened last week?").level == 2
    assert memory.recall("What happened on 6 March?").level == 1
    assert memory.recall("What happened this month?").level == 2
    assert memory.recall("Summarise last week").level == 2
    assert memory.recall("Give me a recap of March 2024").level == 2
    assert memory.recall("Give me an overview of the prices").level == 3
    assert memory.recall("Give me an overview of the weather").level == 0
    assert memory.recall("What happened last week?", plan={"level": 1}).level == 1
    assert memory.recall("What happened last week?", plan={"level": 0}).level == 0


@pytest.mark.parametrize(
    "question",
    [
        "What is the current price?",
        "Why did the price change last month?",
        "Who was called last month?",
        "What happened to Osprey last month?",
        "When was Ada called?",
    ],
)
def test_other_questions_are_answered_from_the_states(
    memory: hades.Memory, clock: HeldClock, question: str
) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    assert memory.recall(question).level == 0


def test_days_in_no_summary_are_told_by_their_states(
    memory: hades.Memory, clock: HeldClock
) -> None:
    _week(memory, clock)
    memory.relate("Ada", "works_at", "Quill", valid_from="2024-03-08")
    memory.remember("cellar", "The cellar is flooded.", valid_from="2024-04-02")
    asked = "What happened since February?"
    assert not _hierarchy(memory.recall(asked))
    assert "no summaries of that time" in _hierarchy(memory.recall(asked, plan={"level": 3}))
    memory.consolidate(**FEW, level="daily", until="2024-03-08")
    found = memory.recall(asked)
    assert found.level == 3
    assert "2 days with states are in no summary, the first 8 March 2024" in _hierarchy(found)
    assert "price of a seat is 14 euros." in found.context
    assert found.context.rstrip().endswith("The cellar is flooded.")  # in the order of time
    assert [fact.edge.target.name for fact in found.facts] == ["Quill"]
    assert "flooded" in memory.recall("Give me an overview of the cellar").context


def test_days_in_no_summary_are_told_as_they_were_known(
    memory: hades.Memory, clock: HeldClock
) -> None:
    _week(memory, clock)
    memory.remember("cellar", "The cellar is dry.", valid_from="2024-03-20")
    memory.consolidate(**FEW, level="daily", until="2024-03-08")
    known = memory.topics("summary/*")[-1].recorded_at
    clock.tick(86_400)
    memory.remember("cellar", "The cellar is flooded.", valid_from="2024-03-19")
    memory.relate("Ada", "works_at", "Quill", valid_from="2024-03-20")
    found = memory.at(known=known).recall("What happened since February?")
    assert (found.level, found.facts) == (3, ())
    assert "The cellar is dry." in found.context
    assert "flooded" not in found.context
    assert "flooded" in memory.recall("What happened since February?").context


def test_the_last_day_there_is(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    memory.remember("sun", "The sun goes out.", valid_from="9999-12-31T10:00:00")
    assert "goes out" in memory.at("9999-12-31T12:00:00").recall("Give me an overview").context


def _hierarchy(found: hades.Recall) -> str:
    return "; ".join(one.detail for one in found.reasons if one.reason is hades.Reason.NO_HIERARCHY)


@pytest.mark.embedded("a client fetches files in another way")
def test_a_graph_takes_no_summaries_along_but_an_export_does(
    memory: hades.Memory, clock: HeldClock, tmp_path: Path
) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    for name, format, left in (("g.json", "node-link", 0), ("m.jsonl", "jsonl", 7)):
        memory.export(tmp_path / name, format)
        with hades.open(tmp_path / f"{name}.hades", clock=clock) as other:
            other.import_(tmp_path / name)
            assert len(other.topics("summary/*")) == left
            assert other.pending == (6 if name == "g.json" else 10)
            assert len(other.consolidate(**FEW).made) == (2 if left == 0 else 0)


def test_an_earlier_moment_knows_no_later_summaries(memory: hades.Memory, clock: HeldClock) -> None:
    _week(memory, clock)
    memory.consolidate(**FEW)
    with pytest.raises(hades.NotFound):
        memory.at("2024-03-20").get("summary/2024-03")
    assert memory.at("2024-03-20").get("summary/2024-W10").level == 2


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda name: name.strip() == name
)


@given(NAMES, st.integers(1, 10**6), st.text(max_size=30))
@example("a [b@1]; c", 2, "as [x@1] says [edge 7]")
@example('"', 1, "- [")
def test_a_line_is_read_as_it_was_written(topic: str, version: int, text: str) -> None:
    flat = " ".join(text.split())
    assert read_lines(f"- {flat} {cite((topic, version))}") == [(flat, (topic, version))]
    assert read_lines(f"- {flat} {cite(('', version), (topic, 1))}") == [(flat, ("", version))]


@given(st.integers(0, 40_000), st.integers(1, 3))
def test_a_day_is_in_one_period_of_each_level(day: int, level: int) -> None:
    period = SummaryPeriod.around(level, day)
    assert day in period.days
    assert {SummaryPeriod.around(level, one) for one in period.days} == {period}


STEPS = st.lists(
    st.tuples(
        st.integers(0, 45),
        st.sampled_from(["a", "b/c", "d"]),
        st.sampled_from(["Pay 3 euros.", "Decided: go.", "Ada is here. Bela left.", None]),
    ),
    min_size=1,
    max_size=25,
)


@pytest.mark.slow
@given(STEPS, st.integers(1, 3))
def test_every_state_is_reached_and_no_limit_is_exceeded(
    tmp_path_factory: pytest.TempPathFactory,
    steps: list[tuple[int, str, str | None]],
    least: int,
) -> None:
    """Every state of a month that is over is reached from its summary, through the levels."""
    clock = HeldClock()
    path = tmp_path_factory.mktemp("many") / "m.hades"
    with hades.open(path, clock=clock) as memory:
        for day, topic, text in sorted(steps, key=lambda step: step[0]):
            clock.micros = int((MONDAY + timedelta(days=day)).timestamp() * 1e6) + day
            clock.tick(3600)
            if text is not None:
                memory.remember(topic, text)
            elif any(one.name == topic for one in memory.topics()):
                memory.forget(topic)
        clock.set("2024-06-01")
        with patch.multiple(consolidate, DAYS=least, WEEKS=least):
            memory.consolidate(at_least=1)
        reached: set[str] = set()
        for topic in memory.topics("summary/*"):
            state = memory.get(topic.name)
            assert count([state.content])[0] <= TOKENS[state.level]
            below = {one.id for one in memory.originals(topic.name, every=True)}
            cited = {cite(one) for _, one in read_lines(state.content)}
            assert cited <= {
                cite((one.rpartition("@")[0], int(one.rpartition("@")[2]))) for one in below
            }
            if state.level == 3:
                reached |= below
        own = [one for topic in ("a", "b/c", "d") for one in _history(memory, topic)]
        assert {one.id for one in own} == reached
        before = memory.change
        memory.consolidate(at_least=1)
        assert memory.change == before


def _history(memory: hades.Memory, topic: str) -> list[hades.State]:
    try:
        return memory.history(topic)
    except hades.NotFound:
        return []


def test_what_happened_on_a_day_is_told_without_summaries(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2026-09-14")
    memory.remember("incidents/mast", "The Skua lost its mast. Mina was taken to hospital.")
    for number in range(5):
        memory.remember(f"log/2026-09-14/{number}", f"Hanne took boat {number} out.")
    clock.set("2026-09-30")
    told = str(memory.ask("What happened on 14 September 2026?"))
    assert "lost its mast" in told
    assert "5 log notes: Hanne took boat 0 out. … Hanne took boat 4 out." in told
    assert str(memory.ask("What happened last week?")) == "Nothing was noted last week."
