"""Proposals wait for approval; a write sent twice is done once."""

from __future__ import annotations

import io
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from tests.conftest import HeldClock

SECRET = "xyzzy-plugh-7261"


def _bytes_of(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


def test_what_is_sure_enough_is_applied_and_the_rest_waits(memory: hades.Memory) -> None:
    sure = memory.propose("Ann", "knows", "Bob", confidence=0.8)
    unsure = memory.propose("Ann", "knows", "Cyd", confidence=0.79, evidence="a guess")
    assert (sure.status, sure.decided_by, sure.why) == (
        "applied",
        "ann",
        "confidence 0.8 reaches 0.8",
    )
    assert (unsure.status, unsure.decided_by) == ("waiting", None)
    assert unsure.fields == {
        "source": "Ann", "relation": "knows", "target": "Cyd", "evidence": "a guess"
    }  # fmt: skip
    assert [str(edge) for edge in memory.edges()] == ["Ann --[knows]--> Bob"]
    assert memory.proposals() == [unsure]
    assert memory.approve(unsure.id).status == "applied"
    assert memory.edges()[-1].evidence == "a guess"
    assert memory.proposals() == []
    assert [one.id for one in memory.proposals("applied")] == [sure.id, unsure.id]
    assert [one.action for one in memory.log(2)] == ["approve", "relate"]


def test_states_names_and_kinds_can_be_proposed(memory: hades.Memory) -> None:
    memory.relate("Ann", "knows", "Bob")
    wishes = [
        memory.propose("notes/x", content="It works.", tags=["b", "a"], confidence=0.5),
        memory.propose("Ann", alias="Annie", confidence=0.5),
        memory.propose("Ann", kind="person", confidence=0.5),
    ]
    assert [wish.kind for wish in wishes] == ["remember", "alias", "kind"]
    assert memory.topics() == []
    for wish in wishes:
        memory.approve(wish.id)
    state = memory.get("notes/x")
    assert (state.content, state.tags, state.confidence) == ("It works.", ("a", "b"), 0.5)
    (ann,) = memory.entities("Ann")
    assert (ann.kind, ann.aliases) == ("person", ("Annie",))


@pytest.mark.embedded("a client's actor is who the server takes it for")
def test_a_rejected_proposal_is_kept_with_its_reason(memory: hades.Memory) -> None:
    wish = memory.propose("Ann", "knows", "Bob", confidence=0.1)
    gone = memory.in_space("default", actor="eve").reject(wish.id, "they never met")
    assert (gone.status, gone.decided_by, gone.why) == ("rejected", "eve", "they never met")
    assert memory.edges() == []
    for decide in (memory.approve, memory.reject):
        with pytest.raises(hades.Conflict, match="rejected already by eve"):
            decide(wish.id)
    assert memory.propose("Ann", "knows", "Bob", confidence=0.1).id != wish.id


def test_the_same_wish_waits_once_and_goes_when_somebody_is_sure(memory: hades.Memory) -> None:
    first = memory.propose("Ann", "knows", "Bob", confidence=0.2)
    assert memory.propose("Ann", "knows", "Bob", confidence=0.3) == first
    done = memory.propose("Ann", "knows", "Bob", confidence=0.9)
    assert (done.id, done.status) == (first.id, "applied")
    assert memory.proposals() == []


@pytest.mark.embedded("three authors write to one file")
def test_a_change_with_a_quorum_waits_for_several_authors(path: Path) -> None:
    change: dict[str, Any] = {"relation": "moved_to", "target": "Oslo", "quorum": 3}
    for author in ("ann", "bob", "ann"):
        with hades.open(path, actor=author) as memory:
            proposed = memory.propose("Initech", evidence=f"said {author}", **change)
            assert proposed.status == "waiting"
    with hades.open(path, actor="cid") as memory:
        assert [proposal.by for proposal in memory.proposals()] == ["ann", "bob"]
        applied = memory.propose("Initech", **change)
        assert applied.status == "applied"
        assert applied.why == "proposed by ann, bob, cid: joint confidence 0.875 reaches 0.8"
        assert memory.proposals() == []
        assert [str(edge) for edge in memory.edges()] == ["Initech --[moved_to]--> Oslo"]


@pytest.mark.embedded("two authors write to one file")
def test_a_quorum_of_unsure_authors_is_not_enough(path: Path) -> None:
    for author in ("ann", "bob"):
        with hades.open(path, actor=author) as memory:
            memory.relate("Initech", "is_in", "Austin")
            proposed = memory.propose("Initech", kind="company", confidence=0.5, quorum=2)
            assert proposed.status == "waiting"


def test_what_cannot_be_written_is_refused_at_once(memory: hades.Memory) -> None:
    memory.remember("a", "one")
    before = memory.change
    wrong: list[dict[str, Any]] = [
        {"name": ""},
        {"name": "a", "relation": "x"},
        {"name": "a", "content": "two", "expect_version": 7},
        {"name": "a", "content": "two", "weight": 1},
        {"name": "a", "relation": "x", "target": "b", "weight": 2},
        {"name": "a", "relation": "x", "target": "b", "valid_from": "2024", "valid_to": "2023"},
        {"name": "nobody", "alias": "b"},
        {"name": "a", "content": "two", "tags": "two"},
    ]
    for one in wrong:
        with pytest.raises(hades.HadesError):
            memory.propose(one.pop("name"), confidence=0.1, **one)
    for confidence in (2, -1, None, "high"):
        with pytest.raises(hades.InvalidInput):
            memory.propose("a", "x", "b", confidence=confidence)  # type: ignore[arg-type]
    assert (memory.change, memory.proposals("all")) == (before, [])
    assert memory.entities() == []


def test_an_approval_that_fails_leaves_the_proposal_waiting(memory: hades.Memory) -> None:
    memory.remember("a", "one")
    wish = memory.propose("a", content="two", expect_version=1, confidence=0.5)
    memory.remember("a", "another")
    with pytest.raises(hades.Conflict):
        memory.approve(wish.id)
    assert memory.proposals() == [wish]


def test_times_mean_what_they_meant_when_it_was_proposed(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-05-10")
    wish = memory.propose("Ann", "knows", "Bob", valid_from="yesterday", confidence=0.5)
    clock.set("2024-06-10")
    memory.approve(wish.id)
    assert memory.edges()[0].valid_from.isoformat() == "2024-05-09T00:00:00+00:00"


def test_what_a_fixed_bug_blocked_is_put_up_for_review(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("bugs/y", "Crash on save")
    blocked = memory.relate("project/a", "blocked_by", "bugs/y")
    memory.relate("design/x", "rejected because", "bugs/y")
    memory.relate("bugs/y", "blocks", "release/2")
    memory.relate("bugs/y", "found_by", "Ann")
    memory.relate("guide", "describes", "bugs/y")
    clock.set("2024-02-01")
    memory.remember("bugs/y", "Seen with large files. Not fixed yet.")
    assert memory.proposals() == []
    clock.set("2024-02-10")
    state = memory.remember("bugs/y", "Fixed in 1.2, the buffer was too small.")
    assert state.version == 3
    waiting = memory.proposals()
    assert [one.fields for one in waiting] == [
        {"source": source, "relation": relation, "target": target, "at": "2024-02-10T00:00:00Z"}
        for source, relation, target in (
            ("project/a", "blocked_by", "bugs/y"),
            ("design/x", "rejected because", "bugs/y"),
            ("bugs/y", "blocks", "release/2"),
        )
    ]
    assert {(one.kind, one.status) for one in waiting} == {("unrelate", "waiting")}
    assert all(one.why.startswith("bugs/y@3 says “fixed” (") for one in waiting)
    assert "against project/a --[blocked_by]--> bugs/y (edge 1, told by " in waiting[0].why
    assert len(memory.edges("bugs/y")) == 5
    clock.set("2024-03-01")
    memory.remember("bugs/y", "Fixed in 1.2, confirmed by two customers.")
    assert memory.proposals() == waiting
    memory.approve(waiting[0].id)
    memory.reject(waiting[1].id, "another bug was the reason too")
    ended = memory.edge(blocked.id)[-1]
    assert ended.valid_to is not None
    assert ended.valid_to.isoformat() == "2024-02-10T00:00:00+00:00"
    assert [e.relation for e in memory.edges("bugs/y", direction="in")] == [
        "rejected because", "describes"
    ]  # fmt: skip


def test_only_what_the_note_can_have_settled_is_put_up_for_review(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.set_inverse("stuck_on", "enabled_by")
    memory.relate("a", "stuck_on", "bugs/y")
    clock.tick()
    memory.remember("bugs/y", "It is fixed.")
    memory.relate("later", "blocked_by", "bugs/y")
    assert [one.fields["source"] for one in memory.proposals()] == ["a"]
    clock.tick()
    memory.remember("bugs/y", "Crashes again.")
    memory.remember("bugs/y", "Fixed in 0.9.", valid_from="2023")
    memory.relate("other", "waits_for", "permit")
    clock.tick()
    memory.change_fact("permit", "asked_of", to="the city", content="The permit is approved.")
    assert [one.fields["source"] for one in memory.proposals()] == ["a", "other"]


def test_spaces_do_not_see_each_others_proposals(memory: hades.Memory) -> None:
    memory.create_space("work")
    wish = memory.in_space("work").propose("Ann", "knows", "Bob", confidence=0.5)
    assert memory.proposals("all") == []
    with pytest.raises(hades.NotFound, match="no proposal"):
        memory.approve(wish.id)
    memory.drop_space("work")
    memory.create_space("work")
    assert memory.in_space("work").proposals("all") == []


def test_a_memory_opened_for_reading_decides_nothing(path: Path) -> None:
    with hades.open(path) as memory:
        wish = memory.propose("Ann", "knows", "Bob", confidence=0.5)
    with hades.open(path, read_only=True) as memory:
        assert memory.proposals() == [wish]
        for refused in (
            lambda: memory.propose("a", "b", "c", confidence=0.1),
            lambda: memory.approve(wish.id),
            lambda: memory.reject(wish.id),
            lambda: memory.once("key", "request", lambda: 1),
        ):
            with pytest.raises(hades.Denied):
                refused()


def test_lists_of_proposals_have_pages(memory: hades.Memory) -> None:
    for number in range(5):
        memory.propose("Ann", "knows", f"Friend {number}", confidence=0.5)
    first = memory.proposals(limit=2)
    rest = memory.proposals(after=first[-1].id, limit=9)
    assert [one.id for one in (*first, *rest)] == [1, 2, 3, 4, 5]
    with pytest.raises(hades.InvalidInput, match="no status 'open'"):
        memory.proposals("open")


def _approve(path: Path, proposal: int, ready: Any, told: Any) -> None:
    with hades.open(path) as memory:
        ready.wait()
        try:
            memory.approve(proposal)
            told.put("applied")
        except hades.Conflict:
            told.put("conflict")


@pytest.mark.slow
def test_two_processes_approving_one_proposal_apply_it_once(path: Path) -> None:
    spawned = multiprocessing.get_context("spawn")
    with hades.open(path) as memory:
        memory.remember("a", "one")
        wish = memory.propose("a", content="two", confidence=0.5)
    ready, told = spawned.Barrier(2), spawned.Queue()
    both = [spawned.Process(target=_approve, args=(path, wish.id, ready, told)) for _ in range(2)]
    for one in both:
        one.start()
    answers = sorted(told.get(timeout=60) for _ in both)
    for one in both:
        one.join()
    assert answers == ["applied", "conflict"]
    with hades.open(path) as memory:
        assert len(memory.history("a")) == 2


@pytest.mark.embedded("a client's writes are done once by themselves")
def test_a_write_under_one_key_is_done_once(memory: hades.Memory) -> None:
    def write() -> dict[str, Any]:
        return {"version": memory.remember("a", f"at change {memory.change}").version}

    assert memory.once("k1", "PUT a", write) == ({"version": 1}, False)
    assert memory.once("k1", "PUT a", write) == ({"version": 1}, True)
    assert memory.once("k2", "PUT a", write) == ({"version": 2}, False)
    with pytest.raises(hades.Conflict, match="a different request"):
        memory.once("k1", "PUT b", write)
    assert len(memory.history("a")) == 2


@pytest.mark.embedded("a client's writes are done once by themselves")
def test_keys_are_of_an_actor_and_a_space(memory: hades.Memory) -> None:
    memory.create_space("work")
    for other in (memory.in_space("default", actor="eve"), memory.in_space("work")):
        memory.once("k", "one", lambda: 1)
        assert other.once("k", "another", lambda: 2) == (2, False)


@pytest.mark.embedded("a client's writes are done once by themselves")
def test_a_failed_write_keeps_no_answer(memory: hades.Memory) -> None:
    def fail() -> None:
        memory.remember("a", "one")
        raise hades.InvalidInput("no")

    with pytest.raises(hades.InvalidInput):
        memory.once("k", "r", fail)
    assert memory.topics() == []
    with pytest.raises(hades.InvalidInput, match="plain JSON"):
        memory.once("k", "r", lambda: {"at": object()})
    assert memory.once("k", "r", lambda: "done") == ("done", False)


@pytest.mark.embedded("a client's writes are done once by themselves")
def test_answers_are_kept_for_seven_days(memory: hades.Memory, clock: HeldClock) -> None:
    memory.once("k", "r", lambda: 1)
    clock.tick(7 * 86_400 - 1)
    assert memory.once("k", "r", lambda: 2) == (1, True)
    clock.tick(2)
    assert memory.once("k", "r", lambda: 2) == (2, False)


@pytest.mark.embedded("a client's writes are done once by themselves")
def test_a_space_dropped_by_a_write_keeps_no_answer(memory: hades.Memory) -> None:
    memory.create_space("work")
    work = memory.in_space("work")
    assert work.once("k", "DELETE", lambda: work.drop_space("work")) == (None, False)
    assert memory.check() == []


def test_purging_leaves_no_byte_in_proposals_and_answers(path: Path) -> None:
    with hades.open(path) as memory:
        name = f"Agent {SECRET}"
        memory.relate(name, "knows", "Bob")
        memory.add_alias(name, f"double-o {SECRET}")
        memory.propose(name, "likes", "Eve", confidence=0.1)
        memory.propose("Eve", "met", "Bob", confidence=0.1, evidence=f"said double-o {SECRET}!")
        memory.propose("Eve", "likes", "Bob", confidence=0.1)
        memory.once(f"key {SECRET}", f"of {SECRET}", lambda: {"who": [name.upper()]})
        memory.once("other", "request", lambda: {"who": ["Bob"]})
        gone = memory.purge(name)
        assert (gone["proposals"], gone["answers"], gone["wiped"]) == (2, 1, 1)
        assert SECRET.encode() not in _bytes_of(path.parent).lower()
        assert [one.fields["target"] for one in memory.proposals()] == ["Bob"]
        assert memory.once("other", "request", lambda: 0)[1]
        assert memory.check() == []


def test_a_name_that_only_a_proposal_has_can_be_purged(path: Path) -> None:
    with hades.open(path) as memory:
        memory.propose(f"Agent {SECRET}", "likes", "Eve", confidence=0.1)
        assert memory.purge(f"agent {SECRET}") == {"proposals": 1, "wiped": 1}
        assert SECRET.encode() not in _bytes_of(path.parent)
        with pytest.raises(hades.NotFound):
            memory.purge(f"agent {SECRET}")


@pytest.mark.embedded("a client's writes are done once by themselves")
def test_proposals_and_answers_come_back_from_an_export(
    memory: hades.Memory, clock: HeldClock, tmp_path: Path
) -> None:
    def dumped(one: hades.Memory) -> str:
        out = io.StringIO()
        one.export(out)
        return out.getvalue()

    memory.propose("Ann", "knows", "Bob", confidence=0.9)
    memory.reject(memory.propose("Ann", "knows", "Cyd", confidence=0.1).id, "no")
    wish = memory.propose("notes/x", content="It ünïcödé.", confidence=0.1)
    memory.once("k", "r", lambda: {"a": 1})
    memory.export(tmp_path / "all.jsonl")
    with hades.open(tmp_path / "copy.hades", actor="ann", clock=clock) as copy:
        copy.import_(tmp_path / "all.jsonl")
        assert dumped(copy) == dumped(memory)
        assert copy.proposals("all") == memory.proposals("all")
        assert copy.once("k", "r", lambda: 0) == ({"a": 1}, True)
        copy.approve(wish.id)
    with hades.open(tmp_path / "busy.hades") as busy:
        busy.propose("Eve", "knows", "Bob", confidence=0.1)
        busy.import_(tmp_path / "all.jsonl", into="theirs")
        theirs = busy.in_space("theirs")
        (came,) = theirs.proposals()
        assert came.fields == wish.fields
        theirs.approve(came.id)
        assert theirs.get("notes/x").content == "It ünïcödé."
        assert len(busy.proposals("all")) == 1
        assert busy.check() == []


@pytest.mark.embedded("it damages the store")
def test_check_finds_damaged_proposals_and_mend_drops_them(memory: hades.Memory) -> None:
    wish = memory.propose("Ann", "knows", "Bob", confidence=0.1)
    other = memory.propose("Ann", "knows", "Cyd", confidence=0.1)
    engine = memory.inside.store.database  # type: ignore[attr-defined]
    with engine.transaction():
        engine.run("UPDATE proposals SET fields = '{' WHERE id = ?", wish.id)
    with pytest.raises(hades.Corrupt, match="hades check"):
        memory.proposals()
    (problem,) = memory.check()
    assert problem.where == f"proposal {wish.id}"
    assert memory.repair() == []
    assert memory.proposals() == [other]


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda x: st.lists(x) | st.dictionaries(st.text(), x),
)


@given(answer=PLAIN)
def test_an_answer_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, answer: Any
) -> None:
    path = tmp_path_factory.mktemp("once") / "m.hades"
    with hades.open(path) as memory:
        try:
            first = memory.once("k", "r", lambda: answer)
        except hades.InvalidInput:
            return  # a lone surrogate
        assert first == (answer, False)
        assert memory.once("k", "r", lambda: None) == (answer, True)


@pytest.mark.parametrize(
    ("obstacle", "topic", "text"),
    [
        ("bugs/9", "bugs/9", "Bug 9 fixed: pool enlarged"),
        ("bugs/pool", "bugs/pool", "Bug 9 fixed: pool enlarged"),
        ("bugs/9", "journal/today", "Bug 9 fixed: pool enlarged"),
        ("Bug 9", "journal/today", "We fixed bug 9. Lunch was late."),
    ],
)
def test_an_end_in_other_words_is_proposed(
    memory: hades.Memory, clock: HeldClock, obstacle: str, topic: str, text: str
) -> None:
    memory.relate("project/a", "blocked_by", obstacle)
    memory.relate("project/b", "blocked_by", "bugs/10")
    clock.tick()
    memory.remember(topic, text)
    assert [(one.kind, one.fields["target"]) for one in memory.proposals()] == [
        ("unrelate", obstacle)
    ]
