"""What a user does with a memory, as examples."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.conftest import HeldClock


def test_what_is_remembered_is_there(memory: hades.Memory) -> None:
    state = memory.remember("design/approach_x", "Rejected: it triggers Bug Y", tags=["decision"])
    assert state.id == "design/approach_x@1"
    assert memory.get("design/approach_x") == state
    assert state.content == "Rejected: it triggers Bug Y"
    assert state.tags == ("decision",)


def test_it_is_still_there_after_closing(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "one")
    with hades.open(path) as memory:
        assert memory.get("a").content == "one"


def test_every_version_is_kept(memory: hades.Memory) -> None:
    for text in ("one", "two", "three"):
        memory.remember("a", text)
    assert [s.content for s in memory.history("a")] == ["one", "two", "three"]
    assert memory.get("a").version == 3
    assert memory.get("a", version=1).content == "one"
    assert memory.get("a", version=2).parent == 1


@pytest.mark.slow
def test_long_traces_rebuild_every_version(memory: hades.Memory) -> None:
    lines = [f"line {n}" for n in range(100)]
    texts = []
    for version in range(200):
        lines[version % 100] = f"edited in version {version}"
        texts.append("\n".join(lines))
        memory.remember("doc", texts[-1])
    assert [s.content for s in memory.history("doc")] == texts
    for version in (1, 63, 64, 65, 128, 150, 200):
        assert memory.get("doc", version).content == texts[version - 1]
    assert memory.stats()["stored_bytes"] < sum(map(len, texts)) / 20
    assert memory.check() == []


def test_saying_the_same_again_makes_no_version(memory: hades.Memory) -> None:
    first = memory.remember("a", "one", tags=["x"], metadata={"k": [1]}, importance=0.9)
    change = memory.change
    assert memory.remember("a", "one") == first
    assert memory.remember("a", "one", tags=["x"], metadata={"k": [1]}) == first
    assert memory.change == change
    assert memory.remember("a", "one", tags=["y"]).version == 2


def test_tags_metadata_and_importance_carry_over(memory: hades.Memory) -> None:
    memory.remember("a", "one", tags=["x"], metadata={"k": 1}, importance=0.9, confidence=0.5)
    second = memory.remember("a", "two")
    assert (second.tags, dict(second.metadata), second.importance) == (("x",), {"k": 1}, 0.9)
    assert second.confidence == 1.0, "a new content is not as doubtful as the old one"
    assert memory.remember("a", "two", tags=[]).tags == ()


def test_expect_version_notices_who_wrote_first(memory: hades.Memory) -> None:
    memory.remember("a", "one", expect_version=0)
    memory.remember("a", "two", expect_version=1)
    with pytest.raises(hades.Conflict, match="version 2, not 1"):
        memory.remember("a", "three", expect_version=1)
    with pytest.raises(hades.Conflict):
        memory.remember("a", "new", expect_version=0)
    assert memory.get("a").content == "two"


def test_unknown_things_are_errors_never_empty(memory: hades.Memory) -> None:
    memory.remember("a", "one")
    for ask in (
        lambda: memory.get("b"),
        lambda: memory.history("b"),
        lambda: memory.diff("b"),
        lambda: memory.edges("b"),
        lambda: memory.get("a", version=2),
        lambda: memory.forget("b"),
        lambda: memory.purge("b"),
        lambda: memory.in_space("other"),
        lambda: memory.unrelate("a", "knows", "a"),
        lambda: memory.edge(99),
    ):
        with pytest.raises(hades.NotFound):
            ask()


def test_diff_is_readable(memory: hades.Memory) -> None:
    memory.remember("a", "one\ntwo\nthree", tags=["x"])
    memory.remember("a", "one\n2\nthree", tags=["y"])
    diff = memory.diff("a", 1, 2)
    assert diff == memory.diff("a")
    assert diff.text == "--- a@1\n+++ a@2\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert (diff.added, diff.removed) == (1, 1)
    assert diff.fields == {"tags": (("x",), ("y",))}


def test_diff_far_down_a_document_counts_lines_from_the_top(memory: hades.Memory) -> None:
    lines = [f"line {n}" for n in range(1, 1001)]
    memory.remember("a", "\n".join(lines))
    lines[499] = "changed"
    memory.remember("a", "\n".join(lines))
    assert "@@ -497,7 +497,7 @@" in memory.diff("a").text


def test_topics_by_glob_tag_and_time(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("design/a", "x", tags=["decision"])
    clock.set("2024-02-01")
    memory.remember("design/b", "x")
    memory.remember("bugs/c", "x", tags=["decision", "open"])
    names = lambda **given: [t.name for t in memory.topics(**given)]  # noqa: E731
    assert names() == ["bugs/c", "design/a", "design/b"]
    assert names(glob="design/*") == ["design/a", "design/b"]
    assert names(tag="decision") == ["bugs/c", "design/a"]
    assert names(since="2024-01-15") == ["bugs/c", "design/b"]
    assert names(until="2024-01-15") == ["design/a"]
    assert names(limit=1, after="bugs/c") == ["design/a"]
    assert names(glob="nothing*") == []


def test_topics_by_the_latest_in_pages_with_the_beginning_of_their_texts(
    memory: hades.Memory,
) -> None:
    memory.remember("b", "x" * 500, valid_from="2022")
    memory.remember("a", "Tea.", valid_from="2023")
    memory.remember("c", "Milk.", valid_from="2023")
    latest = memory.topics(latest=True)
    assert [topic.name for topic in latest] == ["a", "c", "b"]
    assert {topic.preview for topic in latest} == {""}
    page = memory.topics(latest=True, after="a", limit=2, preview=True)
    assert [(topic.name, len(topic.preview)) for topic in page] == [("c", 5), ("b", 200)]
    with pytest.raises(hades.NotFound):
        memory.topics(latest=True, after="gone")


def test_forget_is_gone_from_now_on_and_history_is_kept(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("a", "one")
    memory.relate("a", "knows", "b")
    clock.set("2024-02-01")
    memory.forget("a")
    with pytest.raises(hades.NotFound, match="forgotten"):
        memory.get("a")
    assert memory.topics() == []
    assert memory.edges() == []
    assert memory.at("2024-01-15").get("a").content == "one"
    assert len(memory.at("2024-01-15").edges("a")) == 1
    assert [s.forgotten for s in memory.history("a")] == [False, True]
    clock.set("2024-03-01")
    assert memory.remember("a", "one").version == 3
    assert memory.get("a").content == "one"


def test_spaces_do_not_see_each_other(memory: hades.Memory) -> None:
    memory.remember("a", "in default")
    memory.create_space("work")
    work = memory.in_space("work")
    with pytest.raises(hades.NotFound):
        work.get("a")
    work.remember("a", "in work")
    work.relate("a", "knows", "Bob")
    assert memory.get("a").content == "in default"
    assert memory.edges() == []
    assert memory.entities() == []
    assert [(s.name, s.topics) for s in memory.spaces()] == [("default", 1), ("work", 1)]
    edge = work.edges()[0].id
    with pytest.raises(hades.NotFound):
        memory.unrelate(edge)
    with pytest.raises(hades.Conflict):
        memory.create_space("work")
    memory.drop_space("work")
    for call in (lambda: work.get("a"), lambda: work.remember("a", "x"), lambda: work.edges("a")):
        with pytest.raises(hades.NotFound):
            call()
    assert memory.get("a").content == "in default"
    with pytest.raises(hades.InvalidInput):
        memory.drop_space("default")
    assert memory.check() == []


def test_opening_an_unknown_space_is_an_error(path: Path) -> None:
    with pytest.raises(hades.NotFound, match="spaces create"):
        hades.open(path, space="nope")


def test_a_batch_is_one_commit_and_all_or_nothing(memory: hades.Memory) -> None:
    with memory.batch():
        memory.remember("a", "one")
        memory.remember("b", "two")
    with pytest.raises(hades.InvalidInput), memory.batch():  # noqa: PT012
        memory.remember("c", "three")
        memory.remember("", "four")
    assert [t.name for t in memory.topics()] == ["a", "b"]


@pytest.mark.embedded("a client sends a batch when it ends")
def test_what_a_batch_undoes_or_drops_is_looked_up_again(memory: hades.Memory) -> None:
    memory.create_space("trial")
    trial = memory.in_space("trial", actor="eve")
    with memory.batch():
        with pytest.raises(RuntimeError), memory.batch():  # noqa: PT012
            trial.remember("a", "one")
            raise RuntimeError
        trial.remember("b", "two")
        memory.drop_space("trial")
        with pytest.raises(hades.NotFound):
            trial.remember("c", "three")
        memory.remember("d", "four")
    done = [(change.number, change.actor, change.action) for change in memory.log()]
    assert done[:2] == [(4, "ann", "remember"), (3, "ann", "drop_space")]
    assert memory.check() == []


@pytest.mark.embedded("a client sends a batch when it ends")
def test_a_failed_part_of_a_batch_leaves_the_rest(memory: hades.Memory) -> None:
    with memory.batch():
        memory.remember("a", "one")
        with pytest.raises(hades.Conflict):
            memory.remember("a", "two", expect_version=7)
        memory.remember("b", "two")
    assert memory.get("a").content == "one"
    assert memory.get("b").content == "two"


def test_the_log_says_who_did_what(memory: hades.Memory) -> None:
    memory.remember("a", "one")
    memory.relate("a", "knows", "Bob")
    memory.forget("a")
    assert [(c.number, c.actor, c.action, c.subject) for c in memory.log()] == [
        (3, "ann", "forget", "a"),
        (2, "ann", "relate", "a"),
        (1, "ann", "remember", "a"),
    ]


NASTY = [
    "emoji 🜏 and ünïcödé",
    "e\u0301 is not é",
    "../../etc/passwd",
    "'; DROP TABLE topics; --",
    "$(rm -rf /) `id` | & ;",
    "line\nbreak\r\n\ttab",
    "%s %d {0} {name}",
    "[bold]rich[/] markup",
    "a" * 2000,
    " leading and trailing ",
    "\u202eright to left",
]


def test_any_name_and_content_comes_back_exactly(memory: hades.Memory) -> None:
    for name in NASTY:
        memory.remember(name, name, tags=[name], metadata={name: name})
        state = memory.get(name)
        assert (state.topic, state.content, state.tags) == (name, name, (name,))
        assert dict(state.metadata) == {name: name}
        assert [t.name for t in memory.topics(tag=name)] == [name]
        memory.relate(name, name, name + "!" if len(name) < 1000 else "x", evidence=name)
        assert memory.edges(name)[0].relation == name
        memory.remember(name, name + "\n" + name)
        assert memory.get(name).content == name + "\n" + name
        memory.purge(name)
        assert memory.topics() == []


def test_content_may_hold_what_a_name_may_not(memory: hades.Memory) -> None:
    memory.remember("a", "nul \x00 inside", metadata={"k": "\x00"})
    assert memory.get("a").content == "nul \x00 inside"
    assert memory.get("a").metadata["k"] == "\x00"
    with pytest.raises(hades.InvalidInput, match="NUL"):
        memory.remember("a\x00b", "x")


@pytest.mark.parametrize("what", ["evidence", "question", "reason"])
def test_a_text_beside_a_note_holds_no_nul(memory: hades.Memory, what: str) -> None:
    memory.remember("a", "Ann met Bob\x00.")
    memory.relate("a", "knows", "b")
    before = memory.edges(), memory.history("a")
    calls: dict[str, list[Callable[[], object]]] = {
        "evidence": [
            lambda: memory.relate("a", "knows", "b", evidence="x\x00y"),
            lambda: memory.change_fact("a", "knows", "b", to="c", evidence="x\x00y"),
        ],
        "question": [lambda: memory.recall("Who\x00?"), lambda: memory.search("Who\x00?")],
        "reason": [lambda: memory.promote("a", reason="Bob\x00 left.")],
    }
    for call in calls[what]:
        with pytest.raises(hades.InvalidInput, match=f"The {what} cannot hold a NUL character"):
            call()
    assert (memory.edges(), memory.history("a")) == before


@pytest.mark.slow
def test_ten_megabytes_come_back_exactly(memory: hades.Memory) -> None:
    text = "The quick brown fox – jumps.\n" * 350_000
    memory.remember("big", text)
    memory.remember("big", text + "one more line")
    assert memory.get("big").content == text + "one more line"
    assert memory.get("big", 1).content == text


BAD_INPUT: list[Callable[[Any], object]] = [
    lambda m: m.remember("", "x"),
    lambda m: m.remember("a", "bad \udc80"),
    lambda m: m.remember("a", 5),
    lambda m: m.remember("a", b"bytes"),
    lambda m: m.remember("a", "x", confidence=2),
    lambda m: m.remember("a", "x", valid_from="whenever"),
    lambda m: m.remember("a", "x", metadata={"a": object()}),
    lambda m: m.relate("a", "", "b"),
    lambda m: m.relate("a", "r", "b", weight=-1),
    lambda m: m.relate("a", "r", "b", valid_from="2024-02", valid_to="2024-01"),
    lambda m: m.edges(direction="sideways"),
    lambda m: m.topics(limit=-1),
    lambda m: m.at(),
    lambda m: m.at("2024", valid="2024"),
    lambda m: m.merge("a"),
    lambda m: m.create_space(" "),
]


def test_bad_input_is_refused_and_nothing_is_written(memory: hades.Memory) -> None:
    memory.remember("kept", "x")
    before = memory.change
    for number, wrong in enumerate(BAD_INPUT):
        with pytest.raises(hades.InvalidInput) as refusal:
            wrong(memory)
        assert "\n" not in str(refusal.value), number
        assert memory.change == before, number
        assert memory.entities() == [], number


def test_a_view_has_no_way_to_write(memory: hades.Memory) -> None:
    memory.remember("a", "one")
    view = memory.at("now")
    for method in ("remember", "forget", "purge", "relate", "merge", "restore", "batch"):
        assert not hasattr(view, method)


def test_a_read_only_memory_refuses_to_write(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "one")
    with hades.open(path, read_only=True) as memory:
        assert memory.get("a").content == "one"
        with pytest.raises(hades.Denied):
            memory.remember("a", "two")


def test_a_closed_memory_says_so(path: Path) -> None:
    memory = hades.open(path)
    memory.close()
    memory.close()
    with pytest.raises(hades.Unavailable, match="closed"):
        memory.get("a")


def test_patterns_of_names_mean_the_same_everywhere(memory: hades.Memory) -> None:
    names = ["a.b", "ab", "a]b", "a-b", "été", "x\\d"]
    for name in names:
        memory.remember(name, "said")
    for glob, found in {
        "a?b": ["a-b", "a.b", "a]b"],
        "a[]-]b": ["a-b", "a]b"],
        "a[^.]b": ["a-b", "a]b"],
        "?t?": ["été"],
        "x\\*": ["x\\d"],
        "[z-a]*": [],
        "a.*": ["a.b"],
    }.items():
        assert sorted(one.name for one in memory.topics(glob=glob)) == found, glob


def test_opening_says_what_is_wrong_with_the_path(tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="folder"):
        hades.open(tmp_path)
    with pytest.raises(hades.NotFound, match="does not exist"):
        hades.open(tmp_path / "no" / "such" / "notes.hades")
    with pytest.raises(hades.NotFound, match="no memory"):
        hades.open(tmp_path / "notes.hades", create=False)
    with pytest.raises(hades.InvalidInput, match="neither a file"):
        hades.open("redis://localhost")
    assert list(tmp_path.iterdir()) == []


def test_a_new_memory_is_private_to_its_owner(path: Path) -> None:
    hades.open(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_log_says_what_changed(memory: hades.Memory) -> None:
    memory.remember("boss", "Ann leads.\nSince May.")
    memory.remember("boss", "Bob leads.\nSince May.\nUntil June.")
    memory.remember("boss", "Bob leads.\nSince May.\nUntil June.", tags=["team"])
    memory.relate("Ann", "works_at", "Acme", valid_from="2024-01")
    memory.unrelate("Ann", "works_at", "Acme", at="2024-06")
    memory.forget("boss")
    assert [change.summary for change in memory.log()] == [
        "forgotten",
        "ended: Ann --[works_at]--> Acme",
        "Ann --[works_at]--> Acme",
        "the same lines",
        "+2 −1 lines: Ann leads. → Bob leads.",
        "+2 lines: Ann leads.",
    ]
    first, second = memory.log(2), memory.log(2, after=memory.log(2)[-1].number)
    assert first + second == memory.log(4)


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_note_without_a_text_is_refused(memory: hades.Memory, text: str) -> None:
    with pytest.raises(hades.InvalidInput, match="The text is empty: write one"):
        memory.remember("a/b", text)
    with pytest.raises(hades.NotFound):
        memory.get("a/b")


@pytest.mark.embedded("a client has no snapshots")
def test_a_write_inside_a_snapshot_is_refused_not_lost(memory: hades.Memory) -> None:
    with memory.snapshot(), pytest.raises(hades.InvalidInput, match="snapshot"):
        memory.remember("a", "x")
    assert memory.topics() == []


def test_reading_a_dropped_space_is_an_error(memory: hades.Memory) -> None:
    memory.create_space("b")
    space = memory.in_space("b")
    memory.drop_space("b")
    for read in (space.topics, space.edges, space.entities, space.stats, space.log):
        with pytest.raises(hades.NotFound):
            read()


def test_a_finished_thread_leaves_no_file_open(memory: hades.Memory) -> None:
    if not Path("/proc/self/fd").exists():
        pytest.skip("this system does not show open files")
    memory.remember("a", "x")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        thread = threading.Thread(target=memory.get, args=("a",))
        thread.start()
        thread.join()
    assert len(os.listdir("/proc/self/fd")) <= before + 4


def test_line_ends_are_a_difference(memory: hades.Memory) -> None:
    memory.remember("a", "x\ny")
    memory.remember("a", "x\r\ny\n")
    assert memory.diff("a").text


@pytest.mark.embedded("a client has no snapshots")
def test_the_users_own_errors_pass_through_a_batch(memory: hades.Memory) -> None:
    with pytest.raises(FileNotFoundError), memory.batch():
        Path("/nonexistent/file").read_text()
    with pytest.raises(UnicodeDecodeError), memory.snapshot():
        b"\xff".decode()
