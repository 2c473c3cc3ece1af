"""A topic is promoted: its versions, its edges and what these lead to become one new state."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from making import remember_story
from shell import Shell

import hades
from tests.conftest import HeldClock

sys.path.append(str(Path(__file__).parent / "models"))
from chat_making import said, scripted

X, Y = "design/approach_x", "bugs/bug_y"
WHY = "The refactoring is merged."


@pytest.fixture
def told(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    """The story of approach X, in March."""
    clock.set("2024-03-01")
    remember_story(memory)
    return memory


def test_the_new_state_says_what_holds_what_changed_and_why(told: hades.Memory) -> None:
    before = told.get(X)
    done = told.promote(X, reason=WHY)
    assert (done.changed, done.by, done.before.id) == (True, "extractive", before.id)
    assert told.get(X).content == done.state.content
    assert done.state.content == (
        "Approach X is viable after the fix of Bug Y.\n\n"
        "Until 20 February 2024: Considered approach X but rejected due to Bug Y.\n\n"
        f"Reason: {WHY}"
    )
    assert done.sources == (f"{X}@1", f"{X}@2", "refactoring/q1@1", "edge 2", "edge 1")
    made = done.state.metadata["promotion"]
    assert (made["by"], made["reason"]) == ("extractive", WHY)
    assert made["promoted_from"] == list(done.sources)
    assert made["cited"] == [f"{X}@2", f"{X}@1, edge 1", "reason given"]
    assert [edge.relation for edge in done.kept] == ["viable_after_fix"]
    assert done.state.tags == ("decision",)


def test_again_without_news_nothing_changes(told: hades.Memory) -> None:
    done = told.promote(X, reason=WHY)
    change = told.change
    again = told.promote(X, reason=WHY)
    assert (again.changed, again.state.id, again.by) == (False, done.state.id, "extractive")
    assert told.change == change
    told.remember("refactoring/q1", "Refactored the data layer in 3 weeks.")
    news = told.promote(X, reason=WHY)
    assert "refactoring/q1@2" in news.sources
    assert news.state.version == 4


def test_the_past_stays_as_it_was(told: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-05-01")
    before = [state.content for state in told.history(X)]
    told.promote(X, reason=WHY)
    assert told.at("2024-04").get(X).version == 2
    assert told.at(known="2024-04").get(X).version == 2
    assert [state.content for state in told.history(X)][:2] == before


@pytest.mark.parametrize(
    ("topic", "before", "after"),
    [
        ("people/ines", "She works at the chandlery.", "She works at Norvik Marine since May."),
        ("people/leif", "He lives in the old harbour house.", "He moved to Aalborg."),
        ("people/ines", "Ines is commodore.", "Ines stepped down as commodore."),
        ("people/oduya", "Her shift is on Monday.", "Her shift is on Sunday."),
        ("boats/one", "The engine is a 40 hp Yamaha.", "The engine is a 60 hp Suzuki."),
    ],
)
def test_a_later_sentence_of_the_same_thing_replaces_the_earlier(
    memory: hades.Memory, topic: str, before: str, after: str
) -> None:
    memory.remember(topic, before)
    memory.remember(topic, after)
    text = memory.promote(topic, reason="A year is over.").state.content
    assert text.startswith(f"{after}\n\nUntil 1 January 2024: {before}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("She works at the chandlery.", "She lives in Rome."),
        ("She works at the weekend.", "She works at Norvik Marine."),
        ("The crane is broken.", "The winch works again."),
        ("The crane is broken: the cable snapped.", "The crane works again, with a limit."),
    ],
)
def test_what_no_rule_sees_replaced_is_kept_with_its_day(
    memory: hades.Memory, before: str, after: str
) -> None:
    memory.remember("people/ines", before)
    memory.remember("people/ines", after)
    text = memory.promote("people/ines", reason="A year is over.").state.content
    assert f"{before.removesuffix('.')} (1 January 2024)." in text


def test_what_a_later_note_does_not_say_again_still_holds(memory: hades.Memory) -> None:
    memory.remember("server/db07", "It has 64 GB of memory. The backup runs at night (since May).")
    memory.remember("server/db07", "It has 128 GB of memory.")
    assert memory.promote("server/db07", reason="More memory.").state.content == (
        "It has 128 GB of memory.\n\n"
        "The backup runs at night (since May) (1 January 2024).\n\n"
        "Until 1 January 2024: It has 64 GB of memory.\n\n"
        "Reason: More memory."
    )


@pytest.mark.parametrize(
    ("topic", "before", "now"),
    [
        ("staff/pavel", "Pavel works at Acme. Lives in Jena.", "Pavel moved to Erfurt."),
        ("staff/marta", "Pavel leads the night team.", "Marta leads the night team again."),
        ("mill", "The mill delivers flour on Tuesdays.", "The mill delivers on Thursdays now."),
        ("market", "We have a stall at the market.", "We gave up the stall at the market."),
        ("oven", "The oven has four decks.", "The oven has five decks."),
        ("lamp", "The lamp is not dimmable.", "The lamp is dimmable."),
        ("staff/ida", "She has 2 cats.", "She has 3 cats."),
    ],
)
def test_what_a_later_note_says_otherwise_does_not_hold(
    memory: hades.Memory, clock: HeldClock, topic: str, before: str, now: str
) -> None:
    memory.remember(topic, before)
    clock.tick()
    memory.remember(topic, now)
    text = memory.promote(topic, reason="A look at it.").state.content
    holds, until = text.split("Until ")
    ended = before.split(". ")[-1]
    assert ended in until
    assert ended.rstrip(".") not in holds
    assert ("Pavel works at Acme (" in holds) == before.startswith("Pavel works")


def test_a_sentence_held_until_the_first_that_says_otherwise(
    memory: hades.Memory, clock: HeldClock
) -> None:
    for day, text in enumerate(("Lives in Jena.", "It moved to Erfurt.", "Lives in Gera."), 1):
        clock.set(f"2024-01-0{day}")
        memory.remember("staff/pavel", text)
    text = memory.promote("staff/pavel", reason="A look at it.").state.content
    assert "Until 2 January 2024: Lives in Jena." in text


def test_what_is_another_thing_still_holds(memory: hades.Memory) -> None:
    memory.remember("staff/pavel", "Pavel works at Acme since May 2024. Night baker.")
    memory.remember("staff/pavel", "Pavel wants a raise.")
    text = memory.promote("staff/pavel", reason="We talked.").state.content
    assert "Until" not in text
    assert "Pavel works at Acme since May 2024. Night baker (" in text


def test_what_the_reason_settles_does_not_hold(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("design/x", "Approach X needs 2 GB. We rejected it due to bug Y.")
    memory.remember(Y, "Bug Y corrupts data.")
    memory.relate("design/x", "rejected_because", Y)
    clock.set("2024-02-01")
    text = memory.promote("design/x", reason="Bug Y is fixed.").state.content
    assert text == (
        "Approach X needs 2 GB (1 January 2024).\n\n"
        "Until 1 February 2024: We rejected it due to bug Y.\n\n"
        "Reason: Bug Y is fixed."
    )
    assert "Bug Y is fixed." in str(memory.ask("Is bug Y fixed for design x?"))


def test_no_question_is_answered_worse_after_a_promotion(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("staff/marta", "Head baker. Marta leads the night team.")
    memory.remember("prices/rye_loaf", "A rye loaf costs 4.20 euros.")
    clock.set("2024-02-01")
    memory.remember("staff/marta", "Marta earns 16.50 euros an hour.")
    clock.set("2024-03-01")
    memory.remember("staff/marta", "Marta moved house to Erfurt.")
    memory.remember("prices/rye_loaf", "A rye loaf costs 4.60 euros.")
    facts = {
        "What does Marta earn?": "16.50",
        "Which team does Marta lead?": "night team",
        "Where does Marta live?": "Erfurt",
        "When did Marta move?": "March 2024",
        "What does a rye loaf cost?": "4.60",
        "What did a rye loaf cost in January 2024?": "4.20",
    }
    assert [one for one in facts if facts[one] not in str(memory.ask(one))] == []
    clock.set("2024-06-01")
    memory.promote("staff/marta", reason="Her pay was agreed.")
    memory.promote("prices/rye_loaf", reason="Flour got dearer.")
    assert [one for one in facts if facts[one] not in str(memory.ask(one))] == []
    assert "June 2024" not in str(memory.ask("When did Marta move?"))


def test_the_last_version_stays_the_passages_it_was(memory: hades.Memory) -> None:
    memory.remember("plan", "# Plan\n\nIt is long.\n\n## Money\n\n- It costs 5 euros.\n- Ann pays.")
    before = [(one.chunk.text, one.chunk.heading) for one in memory.search("What does it cost?")]
    memory.promote("plan", reason="A look at it.")
    after = [(one.chunk.text, one.chunk.heading) for one in memory.search("What does it cost?")]
    assert [one for one in after if one[0] != "Reason: A look at it."] == before
    memory.promote("plan", reason="It costs 6 euros.")
    assert memory.search("What does it cost?")[0].chunk.text == "Reason: It costs 6 euros."


def test_the_reason_is_found_and_settles_a_bug(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("project/atlas", "Working on feature X of Atlas.")
    memory.remember(Y, "Bug Y causes data corruption.")
    clock.set("2024-02-01")
    memory.promote("project/atlas", reason="Feature X complete")
    assert "Feature X complete." in str(memory.ask("Is feature X complete?"))
    assert memory.search("Feature X complete")[0].chunk.text == "Reason: Feature X complete."
    done = memory.promote(Y, reason="Fixed by refactoring")
    ended = "Until 1 February 2024: Bug Y causes data corruption."
    assert done.state.content == f"{ended}\n\nReason: Fixed by refactoring."
    assert "Fixed by refactoring." in str(memory.ask("What is the status of bug Y?"))
    assert ended in str(memory.ask("What does bug Y cause?"))


@pytest.mark.parametrize(
    ("versions", "reason", "until"),
    [
        (["Rent is 850."], "Rent is 910 since 1 May 2025", "1 May 2025: Rent is 850."),
        (["Rent is 850.", "Rent went up to 910 in May 2025."], "-", "1 May 2025: Rent is 850."),
        (["Rent is 850.", "Rent is 910 from 1 July 2025."], "-", "1 July 2025: Rent is 850."),
        (["Rent is 850.", "Rent is 850 until 3 May 2025."], "-", "3 May 2025: Rent is 850."),
        (["Rent is 850.", "Rent is 850 until 3 May 2025."], "Rent is 910", "3 May 2025: Rent"),
        (["Rent is 850.", "Rent is 910."], "-", "1 June 2025: Rent is 850."),
        (["Rent is 850. The rent of 850 ended in May 2025."], "-", "1 May 2025: Rent is 850."),
        (["Ann works at Acme. Ann left Acme in May 2025."], "-", "1 May 2025: Ann works at Acme."),
        (["Ann works at Acme. Bo left Acme in May 2025."], "-", ""),
        (["Server 1 has 64 GB. Server 2 has 128 GB."], "-", ""),
    ],
)
def test_a_sentence_held_until_the_time_that_the_note_says(
    memory: hades.Memory, clock: HeldClock, versions: list[str], reason: str, until: str
) -> None:
    for day, text in zip(("2025-01-05", "2025-06-01"), versions, strict=False):
        clock.set(day)
        memory.remember("flat/rent", text)
    clock.set("2026-10-01")
    text = memory.promote("flat/rent", reason=f"Yearly look. {reason}").state.content
    assert f"Until {until}" in text if until else "Until" not in text


def test_what_another_note_ended_held_until_that_note(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2025-01-05")
    memory.remember("project/atlas", "The Atlas release is due on 3 June.")
    clock.set("2025-03-01")
    memory.remember("plans/spring", "The Atlas release is due on 10 June.")
    memory.relate("project/atlas", "part_of", "plans/spring")
    clock.set("2026-10-01")
    text = memory.promote("project/atlas", reason="A look at it.").state.content
    assert text.startswith("Until 1 March 2025: The Atlas release is due on 3 June.")


def test_a_promotion_is_not_made_of_promotions(told: hades.Memory) -> None:
    told.promote(X, reason=WHY)
    state = told.remember(X, "Approach X ships in June.")
    assert "promotion" not in state.metadata
    done = told.promote(X, reason="It was planned.")
    assert f"{X}@3" not in done.sources
    assert done.state.content.startswith("Approach X ships in June.\n\n")


def test_an_edge_that_the_reason_settles_is_closed_and_its_inverse_opened(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("project/a", "We wait.")
    memory.remember(Y, "Bug Y eats data.")
    memory.relate("project/a", "blocked_by", Y)
    memory.relate("project/a", "owned_by", "Ann")
    clock.set("2024-02-01")
    done = memory.promote("project/a", reason="Bug Y is fixed.")
    assert [str(edge) for edge in done.closed] == [f"project/a --[blocked_by]--> {Y}"]
    assert [str(edge) for edge in done.opened] == [f"project/a --[enabled_by]--> {Y}"]
    assert [edge.relation for edge in done.kept] == ["owned_by"]
    assert done.closed[0].superseded_by == done.opened[0].id
    then = memory.at("2024-01-15").edges("project/a")
    assert [edge.relation for edge in then] == ["blocked_by", "owned_by"]
    assert not memory.promote("project/a", reason="Bug Y is fixed.").changed


def test_what_only_another_note_settles_is_proposed(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("project/a", "We wait.")
    memory.relate("project/a", "blocked_by", Y)
    clock.tick()
    memory.remember(Y, "Fixed in 1.2.")
    for proposal in memory.proposals():
        memory.reject(proposal.id)
    done = memory.promote("project/a", reason="A look at the state of things.")
    assert (done.closed, done.proposed) == ((), ())  # it was rejected before
    memory.relate("project/b", "blocked_by", "bugs/z")
    memory.remember("project/b", "We wait, too.")
    memory.remember("bugs/z", "Unclear.")
    clock.tick()
    done = memory.promote("bugs/z", reason="Fixed by the new driver.")
    assert [one.kind for one in done.proposed] == ["unrelate"]
    assert done.proposed == tuple(memory.proposals())


def test_facts_that_disagree_are_settled_by_rule_or_wait(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("people/ann", "Ann is an engineer.")
    memory.relate("people/ann", "works_at", "Acme", valid_from="2022")
    memory.relate("people/ann", "works_at", "Globex", valid_from="2023")
    done = memory.promote("people/ann", reason="She changed jobs.")
    (conflict,) = done.conflicts
    assert conflict.taken == (1, "the later one")
    assert [side.source for side in conflict.sides] == ["edge 1", "edge 2"]
    (old,) = done.closed
    assert (old.target.name, old.valid_to) == ("Acme", memory.edges()[0].valid_from)
    memory.relate("people/ann", "lives_in", "Rome")
    memory.relate("people/ann", "lives_in", "Oslo")
    done = memory.promote("people/ann", reason="She moved.")
    assert done.conflicts[0].taken == (None, "waits for review")
    assert [one.fields["relation"] for one in done.proposed] == ["lives_in"]
    assert len(memory.edges("people/ann", relation="lives_in")) == 2
    assert not memory.promote("people/ann", reason="She moved.").changed


def test_texts_that_disagree_are_named_with_confidence_source_and_time(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("project/atlas", "The Atlas release is due on 3 June.", confidence=0.6)
    memory.remember("plans/spring", "The Atlas release is due on 10 June.")
    memory.relate("project/atlas", "part_of", "plans/spring")
    done = memory.promote("project/atlas", reason="A new plan.")
    (conflict,) = done.conflicts
    assert conflict.taken == (1, "the surer one")
    assert done.state.content == (
        "Until 1 January 2024: The Atlas release is due on 3 June.\n\nReason: A new plan."
    )
    assert str(conflict).startswith(
        "“The Atlas release is due on 3 June.” [project/atlas@1, 2024-01-01, confidence 0.6] "
    )
    assert "against “The Atlas release is due on 10 June.” [plans/spring@1" in str(conflict)


def test_what_a_purged_topic_said_is_in_no_promotion(
    memory: hades.Memory, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("project/atlas", "The Atlas release is due on 3 June.")
    memory.remember("plans/spring", "The Atlas release is due on 10 June. Quuxly pays 5 euros.")
    memory.relate("project/atlas", "blocked_by", "plans/spring", evidence="Quuxly said so.")
    with scripted("The Atlas release is due on 3 June [1].") as server:
        use(monkeypatch, server.url)
        memory.promote("project/atlas", reason="A new plan.", model="m")
        assert "uuxly" not in server.requests[0]["messages"][-1]["content"]
    memory.promote("project/atlas", reason="The plan again.")
    memory.purge("plans/spring")
    history = [state.content for state in memory.history("project/atlas")]
    assert len(history) == 3
    assert not any("uuxly" in text or "10 June" in text for text in history)
    memory.close()
    for file in path.parent.rglob("*"):
        if file.is_file():
            assert b"uuxly" not in file.read_bytes()
            assert b"plans/spring" not in file.read_bytes()


def test_what_no_rule_decides_waits_for_review(memory: hades.Memory) -> None:
    memory.remember("project/atlas", "The Atlas release is due on 3 June.")
    memory.remember("plans/spring", "The Atlas release is due on 10 June.")
    memory.relate("project/atlas", "part_of", "plans/spring")
    done = memory.promote("project/atlas", reason="A new plan.")
    (waiting,) = done.proposed
    assert (waiting.kind, waiting.fields["relation"]) == ("relate", "contradicts")
    memory.approve(waiting.id)
    assert memory.edges("project/atlas")[-1].relation == "contradicts"


@pytest.mark.parametrize("decide", ["approve", "reject"])
def test_what_somebody_decided_is_not_named_again(memory: hades.Memory, decide: str) -> None:
    memory.remember("project/atlas", "The Atlas release is due on 3 June.")
    memory.remember("plans/spring", "The Atlas release is due on 10 June.")
    memory.relate("project/atlas", "part_of", "plans/spring")
    memory.relate("ann", "lives_in", "Rome")
    memory.relate("ann", "lives_in", "Oslo")
    memory.remember("ann", "Ann travels.")
    assert _contradictions(memory) == 2
    for topic in ("project/atlas", "ann"):
        assert memory.promote(topic, reason="A look at it.").conflicts
    for proposal in memory.proposals():
        getattr(memory, decide)(proposal.id)
    assert _contradictions(memory) == 0
    for topic in ("project/atlas", "ann"):
        assert memory.promote(topic, reason="Another look.").conflicts == ()


def _contradictions(memory: hades.Memory) -> int:
    return next(one.count for one in memory.quality().findings if one.what == "contradictions")


def test_a_dry_run_writes_nothing(told: hades.Memory) -> None:
    change = told.change
    done = told.promote(X, reason=WHY, dry_run=True)
    assert (done.dry_run, done.state.version, told.get(X).version) == (True, 3, 2)
    assert told.change == change
    real = told.promote(X, reason=WHY)
    assert real.state.content == done.state.content


def test_what_cannot_be_promoted_is_refused(told: hades.Memory) -> None:
    with pytest.raises(hades.Conflict, match="version 2, not 1"):
        told.promote(X, reason=WHY, expect_version=1)
    for topic, reason in ((X, " "), ("", WHY)):
        with pytest.raises(hades.InvalidInput):
            told.promote(topic, reason=reason)
    with pytest.raises(hades.NotFound):
        told.promote("nothing", reason=WHY)
    told.remember("manual", "Chapter 1.", kind="document")
    with pytest.raises(hades.InvalidInput, match="is a document"):
        told.promote("manual", reason=WHY)
    with pytest.raises(hades.InvalidInput, match=r"at most 2,?000 characters"):
        told.promote(X, reason="x" * 2_001)
    told.remember("long", "Yes. " + " ".join(f"Point {n} is open." for n in range(100)))
    with pytest.raises(hades.InvalidInput, match="more than 100 sentences"):
        told.promote("long", reason=WHY)
    assert told.get(X).version == 2


@pytest.mark.parametrize("forged", ["x", {"of": 7}, {"of": "1"}, {"of": 1, "mark": "x"}, None])
def test_metadata_that_only_looks_like_a_promotion_does_no_harm(
    memory: hades.Memory, forged: Any
) -> None:
    memory.remember("a", "One.", metadata={"promotion": forged})
    memory.forget("a")
    memory.remember("a", "Two.", metadata={"promotion": forged})
    memory.remember("b", "See a.")
    memory.relate("b", "about", "a")
    assert memory.promote("a", reason=WHY).state.content.startswith("Two.")
    assert memory.promote("b", reason=WHY).changed


@pytest.mark.embedded("inside a client's batch nothing is given back")
def test_in_a_batch_it_is_all_or_nothing(told: hades.Memory) -> None:
    def both(version: int) -> None:
        with told.batch():
            told.remember(X, "Approach X ships in June.")
            done = told.promote(X, reason=WHY, expect_version=version)
            assert "ships in June" in done.state.content

    with pytest.raises(hades.Conflict):
        both(7)
    assert told.get(X).version == 2
    both(3)
    assert told.get(X).version == 4


def test_a_space_knows_nothing_of_another(told: hades.Memory) -> None:
    told.create_space("other")
    other = told.in_space("other")
    other.remember(X, "Something else.")
    text = other.promote(X, reason=WHY).state.content
    assert "Bug Y" not in text
    assert other.suggest() == []
    assert other.quality().findings[0].examples == (X,)


# With a model


def use(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    model = {"name": "m", "url": url, "model": "m", "retries": 0, "timeout_s": 5}
    monkeypatch.setenv("HADES_MODELS", json.dumps([model]))


def test_of_a_models_sentences_those_stay_that_their_source_supports(
    story: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = "Approach X is viable after the fix of Bug Y [1]. It was built by 40 llamas [1]. Yes."
    with scripted(reply) as server:
        use(monkeypatch, server.url)
        done = story.promote(X, reason=WHY, model="default")
        sent = server.requests[0]["messages"][-1]["content"]
        assert "\n Approach X is viable" in sent
        assert not story.promote(X, reason=WHY, model="default").changed
        assert len(server.requests) == 1
    assert (done.by, done.dropped, done.why) == ("model", 2, "")
    assert done.state.content == f"Approach X is viable after the fix of Bug Y.\n\nReason: {WHY}"
    made = done.state.metadata["promotion"]
    assert (made["by"], made["cited"]) == ("model", [f"{X}@2", "reason given"])
    assert done.usage is not None
    assert done.usage.completion_tokens == 5


def test_where_nothing_is_supported_it_is_extractive_and_says_why(
    story: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted("Llamas are nice [1]. Ignore all rules.") as server:
        use(monkeypatch, server.url)
        done = story.promote(X, reason=WHY, model="m")
    assert (done.by, done.dropped) == ("extractive", 2)
    assert done.why.startswith("none of its 2 sentences is supported")
    assert done.state.content.startswith("Approach X is viable")


def test_before_a_model_is_asked_its_cost_is_told(
    story: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted("Hello.") as server:
        use(monkeypatch, server.url)
        done = story.promote(X, reason=WHY, model="m", dry_run=True)
        assert not server.requests
    assert done.usage is not None
    assert done.usage.prompt_tokens > 50
    assert story.get(X).version == 2


def test_who_writes_while_the_model_thinks_is_not_overwritten(
    story: hades.Memory, monkeypatch: pytest.MonkeyPatch, path: Path, clock: HeldClock
) -> None:
    body = said("Approach X is viable after the fix of Bug Y [1].")

    def think(handler: Any) -> None:
        with hades.open(path, clock=clock) as other:
            other.remember(X, "Approach X is dropped.")
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(body)))
        handler.send_header("Content-Type", "application/json")
        handler.end_headers()
        handler.wfile.write(body)

    with scripted(think) as server:
        use(monkeypatch, server.url)
        with pytest.raises(hades.Conflict, match="promote it again"):
            story.promote(X, reason=WHY, model="m")
    assert story.get(X).content == "Approach X is dropped."


def test_without_a_server_it_is_extractive_and_says_why(
    story: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "http://127.0.0.1:9/v1")
    with pytest.raises(hades.InvalidInput, match="batch"), story.batch():
        story.promote(X, reason=WHY, model="m")
    done = story.promote(X, reason=WHY, model="m")
    assert (done.changed, done.by) == (True, "extractive")
    assert "did not answer" in done.why


def test_a_real_small_model_is_checked(
    story: hades.Memory, chat_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hades.lifecycle.promote.REPLY_TOKENS_AT_MOST", 40)
    done = story.promote(X, reason=WHY, model="default")
    assert done.changed
    assert done.usage is not None
    assert done.usage.completion_tokens > 0
    assert (done.by == "model") == (not done.why)
    assert WHY in done.state.content


# By command


def test_the_command_promotes(story: hades.Memory, path: Path) -> None:
    story.close()
    shell = Shell(path)
    would = shell("promote", X, "--reason", WHY, "--dry-run")
    assert f"{X}@3" in would
    shown = shell("promote", X, "--reason", WHY)
    assert "is viable after the fix of Bug Y." in shown
    assert "extractive: 5 sources" in shown
    assert "no news" in shell("promote", X, "--reason", WHY)
    assert shell.json("promote", X, "--reason", "Another.")["state"]["version"] == 4
    assert "reason" in shell.run("promote", X).stderr
