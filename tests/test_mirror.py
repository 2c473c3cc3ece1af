"""The mirror: notes as Markdown files that people edit, both ways, and nothing is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from shell import Shell

import hades
from hades.domain.mirror import MirrorSummary
from hades.exchange import markdown
from hades.exchange.markdown import NotePaths, note_text, read_note, safe_path
from hades.exchange.mirror import STATE_FILE
from hades.ingest.folder_lock import folder_lock
from hades.operations import mirroring


@pytest.fixture
def memory(path: Path) -> Iterator[hades.Memory]:
    with hades.open(path, actor="ann") as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "vault"


def files(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and path.name != STATE_FILE)
    return sorted(path.relative_to(folder).as_posix() for path in found)


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def quiet(done: MirrorSummary) -> bool:
    return done == MirrorSummary(unchanged=done.unchanged)


# Both ways


def test_the_first_run_writes_notes_and_nothing_else(
    memory: hades.Memory, folder: Path, tmp_path: Path
) -> None:
    memory.remember("design/cache", "An LRU cache.", tags=["b", "a"], confidence=0.8)
    memory.remember("Ann", "Ann leads.", metadata={"aliases": ["Annie"], "version": "x"})
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\nRead it.")
    memory.ingest(tmp_path / "docs", phases=["nodes"])
    assert sorted(memory.mirror(folder).written) == ["Ann.md", "design/cache.md"]
    assert files(folder) == ["Ann.md", "design/cache.md"]
    text = (folder / "design" / "cache.md").read_text()
    assert text.startswith("---\ntopic: design/cache\nversion: 1\nkind: note\ntags:\n- a\n- b\n")
    assert "\nconfidence: 0.8\n---\n\nAn LRU cache.\n" in text
    ann = (folder / "Ann.md").read_text()
    assert "aliases:\n- Annie\nmetadata:\n  version: x\n---\n\nAnn leads.\n" in ann
    assert quiet(memory.mirror(folder))


def test_an_edited_file_is_a_new_version(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "One.", tags=["x"], metadata={"k": [1, None, "2024-01-01"]})
    memory.mirror(folder)
    edit(folder / "a.md", "One.", "Two.")
    edit(folder / "a.md", "- x\n", "- x\n- y\n")
    edit(folder / "a.md", "kind: note\n", "kind: note\ntime: 12:30\nrating: 5\n")
    done = memory.mirror(folder)
    assert done.read == ["a@2"]
    now = memory.get("a")
    assert (now.content, now.tags) == ("Two.", ("x", "y"))
    assert now.metadata == {"k": [1, None, "2024-01-01"], "time": "12:30", "rating": 5}
    assert "\nversion: 2\n" in (folder / "a.md").read_text()
    assert memory.log(1)[0].actor == "ann"
    assert quiet(memory.mirror(folder))
    assert memory.get("a", 1).content == "One."


def test_blank_lines_line_ends_and_the_form_of_yaml_are_no_edit(
    memory: hades.Memory, folder: Path
) -> None:
    memory.remember("a", "One.\r\nTwo.\n\n", tags=["x"])
    memory.mirror(folder)
    file = folder / "a.md"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n").replace(b"\r\r", b"\r"))
    edit(file, "tags:\n- x\n", "tags: [x]  # mine\n")
    assert quiet(memory.mirror(folder))
    assert memory.get("a").version == 1


def test_a_new_file_is_a_new_topic(memory: hades.Memory, folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "New note.md").write_text("Hello.")
    (folder / "plan.md").write_text("---\nvalid_from: 2024-03\ntags: a, b\n---\nA plan.")
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / ".obsidian").mkdir()
    (folder / ".obsidian" / "x.md").write_text("not a note")
    assert sorted(memory.mirror(folder).read) == ["deep/er/New note@1", "plan@1"]
    plan = memory.get("plan")
    assert plan.valid_from == datetime(2024, 3, 1, tzinfo=UTC)
    assert plan.tags == ("a", "b")
    assert "topic: plan\n" in (folder / "plan.md").read_text()
    assert quiet(memory.mirror(folder))


def test_a_changed_note_is_written_to_its_file_wherever_that_is(
    memory: hades.Memory, folder: Path
) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    (folder / "sub").mkdir()
    (folder / "a.md").rename(folder / "sub" / "b.md")
    assert quiet(memory.mirror(folder))
    memory.remember("a", "Two.")
    assert memory.mirror(folder).written == ["sub/b.md"]
    assert files(folder) == ["sub/b.md"]
    assert (folder / "sub" / "b.md").read_text().endswith("\n\nTwo.\n")


# Conflicts


def test_a_conflict_keeps_both_texts_until_somebody_resolves_it(
    memory: hades.Memory, folder: Path
) -> None:
    memory.remember("d/a", "One.")
    memory.mirror(folder)
    edit(folder / "d" / "a.md", "One.", "Mine.")
    mine = (folder / "d" / "a.md").read_bytes()
    memory.remember("d/a", "Theirs.")
    done = memory.mirror(folder)
    assert [file for file, _ in done.conflicts] == ["d/a.conflict.md"]
    assert not done.read
    assert (folder / "d" / "a.conflict.md").read_bytes() == mine
    assert (folder / "d" / "a.md").read_text().endswith("\n\nTheirs.\n")
    assert [file for file, _ in memory.mirror(folder).conflicts] == ["d/a.conflict.md"]
    edit(folder / "d" / "a.md", "Theirs.", "Mine again.")
    memory.remember("d/a", "Theirs again.")
    again = [file for file, _ in memory.mirror(folder).conflicts]
    assert again == ["d/a.conflict.md", "d/a.conflict-2.md"]
    edit(folder / "d" / "a.md", "Theirs again.", "Theirs and mine.")
    for file in again:
        (folder / file).unlink()
    assert memory.mirror(folder).read == ["d/a@4"]
    assert quiet(memory.mirror(folder))


def test_the_same_edit_on_both_sides_is_no_conflict(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    edit(folder / "a.md", "One.", "Two.")
    memory.remember("a", "Two.")
    assert not memory.mirror(folder).conflicts
    assert quiet(memory.mirror(folder))
    assert memory.get("a").version == 2


def test_an_editor_with_an_old_text_does_not_undo_new_versions(
    memory: hades.Memory, folder: Path
) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    old = (folder / "a.md").read_text()
    memory.remember("a", "Two.")
    memory.mirror(folder)
    for text in (old, old.replace("One.", "One and a half.")):
        (folder / "a.md").write_text(text)
        assert len(memory.mirror(folder).conflicts) >= 1
        assert memory.get("a").content == "Two."
    assert (folder / "a.conflict.md").read_text() == old
    (folder / "a.md").write_text(old)  # a text that is kept already is not kept again
    assert [file for file, _ in memory.mirror(folder).conflicts][-1] == "a.conflict.md"
    assert files(folder) == ["a.conflict-2.md", "a.conflict.md", "a.md"]
    assert "One and a half." in (folder / "a.conflict-2.md").read_text()


def test_a_file_that_was_there_first_is_a_conflict_unless_it_says_the_same(
    memory: hades.Memory, folder: Path
) -> None:
    folder.mkdir()
    for name in ("a", "b"):
        memory.remember(name, "Memory.")
        (folder / f"{name}.md").write_text("Memory." if name == "a" else "File.")
    done = memory.mirror(folder)
    assert done.written == ["a.md"]
    assert [file for file, _ in done.conflicts] == ["b.conflict.md"]
    assert (folder / "b.conflict.md").read_text() == "File."


def test_a_file_that_changes_while_it_is_read_stays(
    memory: hades.Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    edit(folder / "a.md", "One.", "Two.")

    def interrupted(state: hades.State) -> str:
        edit(folder / "a.md", "Two.", "Three.")
        return note_text(state)

    with monkeypatch.context() as patch:
        patch.setattr(mirroring, "note_text", interrupted)
        assert "changed meanwhile" in memory.mirror(folder).skipped[0][1]
    assert (folder / "a.md").read_text().endswith("Three.\n")
    done = memory.mirror(folder)
    assert [file for file, _ in done.conflicts] == ["a.conflict.md"]  # it still says version 1
    assert (folder / "a.conflict.md").read_text().endswith("Three.\n")


def test_a_dry_run_of_a_conflict_says_what_would_be(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    edit(folder / "a.md", "One.", "Mine.")
    memory.remember("a", "Theirs.")
    done = memory.mirror(folder, dry_run=True)
    said = "a.md and its topic both changed: it would get the memory's text, this file yours."
    assert done.conflicts == [("a.conflict.md", said)]
    assert files(folder) == ["a.md"]
    assert "it now has" in memory.mirror(folder).conflicts[0][1]


# Deleted files, forgotten topics


def test_a_deleted_file_is_reported_and_only_forgotten_on_demand(
    memory: hades.Memory, folder: Path
) -> None:
    for name in ("a", "b", "c"):
        memory.remember(name, "One.")
    memory.mirror(folder)
    (folder / "a.md").unlink()
    for _ in range(2):
        assert memory.mirror(folder) == MirrorSummary(deleted=["a.md"], unchanged=2)
    assert memory.mirror(folder, deleted="restore").written == ["a.md"]
    (folder / "a.md").unlink()
    (folder / "b.md").unlink()
    memory.remember("b", "Nobody has read this.")
    done = memory.mirror(folder, deleted="forget")
    assert (done.forgotten, done.written) == (["a"], ["b.md"])
    with pytest.raises(hades.NotFound, match="forgotten"):
        memory.get("a")
    assert quiet(memory.mirror(folder, deleted="forget"))
    with pytest.raises(hades.InvalidInput, match="report, forget, restore"):
        memory.mirror(folder, deleted="all")


def test_nothing_is_forgotten_if_an_unreadable_file_could_be_it(
    memory: hades.Memory, folder: Path
) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    (folder / "a.md").rename(folder / "moved.md")
    edit(folder / "moved.md", "kind: note", "kind: [")
    done = memory.mirror(folder, deleted="forget")
    assert (done.deleted, done.forgotten) == (["a.md"], [])
    assert done.forget_blocked_by == "moved.md"
    assert memory.mirror(folder).forget_blocked_by == ""
    (folder / "moved.md").unlink()
    assert memory.mirror(folder, deleted="forget").forgotten == ["a"]


def test_the_file_of_a_forgotten_topic_goes_unless_it_was_edited(
    memory: hades.Memory, folder: Path
) -> None:
    for name in ("d/a", "b"):
        memory.remember(name, "One.")
    memory.mirror(folder)
    edit(folder / "b.md", "One.", "Two.")
    for name in ("d/a", "b"):
        memory.forget(name)
    done = memory.mirror(folder)
    assert (done.removed, [file for file, _ in done.conflicts]) == (["d/a.md"], ["b.md"])
    assert files(folder) == ["b.md"]
    assert not (folder / "d").exists()
    edit(folder / "b.md", "version: 1\n", "")
    assert memory.mirror(folder).read == ["b@3"]
    assert memory.get("b").content == "Two."


def test_an_erased_topic_does_not_come_back(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "A secret.")
    memory.mirror(folder)
    memory.purge("a")
    assert "erased" in memory.mirror(folder).skipped[0][1]
    assert not memory.topics()


# Files of others


BOMB = "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
BAD = {
    "latin.md": (b"caf\xe9", "not UTF-8"),
    "zero.md": (b"a\x00b", "NUL"),
    "empty.md": (b"\n", "empty"),
    "open.md": (b"---\ntopic: x\n", "does not end"),
    "yaml.md": (b"---\ntopic: [x\n---\nText", "not plain YAML (line 3)"),
    "list.md": (b"---\n- x\n---\nText", "key: value"),
    "bomb.md": (f"---\n{BOMB}---\nText".encode(), "not plain YAML"),
    "tag.md": (b"---\nx: !!python/name:os.system\n---\nText", "not plain YAML"),
    "deep.md": (b"---\nx: " + b"[" * 2_000 + b"\n---\nText", "not plain YAML"),
    "deeper.md": (b"---\nx: " + b"[" * 60_000 + b"\n---\nText", "nested too deeply"),
    "set.md": (b"---\nx: !!set {a}\n---\nText", "plain JSON"),
    "number.md": (b"---\n1: x\n---\nText", "strings for keys"),
    "version.md": (b"---\nversion: 1.5\n---\nText", "`version`"),
    "kind.md": (b"---\nkind: recipe\n---\nText", "`kind`"),
    "topic.md": (b"---\ntopic: 12\n---\nText", "`topic`"),
    "sure.md": (b"---\nconfidence: high\n---\nText", "confidence"),
    "tags.md": (b"---\ntags: {a: b}\n---\nText", "`tags`"),
    "meta.md": (b"---\nmetadata: x\n---\nText", "`metadata`"),
    "time.md": (b"---\nvalid_from: soonish\n---\nText", "soonish"),
    "future.md": (b"---\nvalid_from: 2999\n---\nText", "`valid_from`"),
    "name.md": (b"---\ntopic: " + b"x" * 2_001 + b"\n---\nText", "shorten"),
}


def test_a_bad_file_is_named_in_one_sentence_and_left_alone(
    memory: hades.Memory, folder: Path, tmp_path: Path
) -> None:
    folder.mkdir()
    for name, (raw, _) in BAD.items():
        (folder / name).write_bytes(raw)
    with (folder / "huge.md").open("wb") as file:
        file.truncate(markdown.NOTE_BYTES_AT_MOST + 1)
    (tmp_path / "secret.md").write_text("Outside.")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    done = memory.mirror(folder)
    skipped = dict(done.skipped)
    assert len(skipped) == len(done.skipped) == len(BAD) + 2
    for name, (raw, why) in BAD.items():
        assert why in skipped[name]
        assert "\n" not in skipped[name]
        assert (folder / name).read_bytes() == raw
    assert "larger than 16 MB" in skipped["huge.md"]
    assert "a link" in skipped["link.md"]
    assert done == MirrorSummary(skipped=done.skipped)
    assert not memory.topics()


def test_a_broken_file_does_not_get_a_twin(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    edit(folder / "a.md", "kind: note", "kind: [")
    (folder / STATE_FILE).unlink()
    memory.remember("a", "Two.")
    assert memory.mirror(folder).written == []
    assert files(folder) == ["a.md"]


def test_a_copy_of_a_file_is_not_the_topic(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    (folder / "A copy.md").write_bytes((folder / "a.md").read_bytes())
    done = memory.mirror(folder)
    assert [file for file, _ in done.skipped] == ["A copy.md"]
    assert "a.md" in done.skipped[0][1]


def test_documents_are_not_written_through_a_mirror(
    memory: hades.Memory, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text("# Guide\n\nRead it.")
    memory.ingest(tmp_path / "docs", phases=["nodes"])
    folder.mkdir()
    (folder / "x.md").write_text("---\ntopic: docs/guide.md\n---\nMine.")
    assert "document" in memory.mirror(folder).skipped[0][1]
    assert memory.get("docs/guide.md").version == 1


def test_a_link_in_the_folder_leads_no_note_out(
    memory: hades.Memory, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    folder.mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    memory.remember("out/a", "One.")
    memory.remember("out/b/c", "One.")
    done = memory.mirror(folder)
    assert len(done.skipped) == 3
    assert not done.written
    assert not list((tmp_path / "outside").iterdir())


def test_an_ignored_file_is_not_overwritten(memory: hades.Memory, folder: Path) -> None:
    folder.mkdir()
    (folder / ".hadesignore").write_text("a.md\n")
    (folder / "a.md").write_text("Private.")
    memory.remember("a", "One.")
    assert "ignored" in memory.mirror(folder).skipped[0][1]
    assert (folder / "a.md").read_text() == "Private."


# Names


HOSTILE = [
    *("../x", "/etc/passwd", "x/../../y", "..", ".", "a//b", ".git/config", "m.hades/x"),
    *("con", "CON.txt", "nul/x", "q?:|*", " lead", "trail. ", "node_modules/x", "\u202e"),
    *("A", "a", "Case/x", "case/X", "\xe9", "e\u0301", "a.md", "a.md/b", "x.conflict", "~"),
    *("x" * 2_000, "y" * 101, "a/" * 500 + "b", "💥" * 400, "x.conflict-2", "#[[^]]"),
    *("multi\nline", "- [a]: {", "2024", "true", "---"),
]


def test_hostile_names_stay_inside_and_apart(memory: hades.Memory, folder: Path) -> None:
    for name in HOSTILE:
        memory.remember(name, f"About {name[:20]!r}.")
    done = memory.mirror(folder)
    assert not done.skipped
    assert sorted(done.written) == files(folder)
    assert len({file.casefold() for file in done.written}) == len(HOSTILE)
    beside = {name for name in os.listdir(folder.parent) if not name.startswith("notes.hades")}
    assert beside == {"vault"}
    assert quiet(memory.mirror(folder))
    (folder / STATE_FILE).unlink()
    assert quiet(memory.mirror(folder))
    assert {topic.version for topic in memory.topics()} == {1}


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=300), unique=True))
def test_any_name_has_a_safe_path_of_its_own(names: list[str]) -> None:
    paths = NotePaths()
    made = [paths.path_of(name) for name in names]
    assert len({path.casefold() for path in made}) == len(names)
    for path in [*made, *map(safe_path, names)]:
        assert len(path.encode()) <= 250
        for part in path.split("/"):
            assert part.strip(". ") == part
            assert part not in ("", ".", "..")
            assert not set(part) & set('<>:"\\|?*\x00\n')
            assert part.split(".")[0].lower() not in ("con", "nul", "com1")


_texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(-1e300, 1e300) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
)


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00")),
    st.lists(_texts, max_size=3, unique=True),
    st.dictionaries(_texts | st.sampled_from(sorted(markdown.OWN_KEYS)), _values, max_size=4),
)
def test_what_is_written_is_read_again(
    content: str, tags: list[str], metadata: dict[str, Any]
) -> None:
    now = datetime(2024, 5, 6, 7, 8, 9, 12, tzinfo=UTC)
    state = hades.State("a: b", 3, content, now, None, now, 0.25, 1.0, (*sorted(tags),), metadata)
    note = read_note(note_text(state).encode())
    assert note.says(state)
    assert (note.topic, note.version) == ("a: b", 3)


# Crashes, locks, other memories


class _Killed(BaseException):
    pass


def test_a_killed_run_is_finished_by_the_next(
    memory: hades.Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process dies before each rename of a pass, and after it; the next pass completes it."""
    outcomes = [_killed_at(memory, tmp_path / str(n), n, monkeypatch) for n in range(23)]
    assert outcomes == [True] * 22 + [False]


def _killed_at(
    memory: hades.Memory, vault: Path, death: int, monkeypatch: pytest.MonkeyPatch
) -> bool:
    """Kill a pass at one of its renames, check the passes after it; return if it was killed."""
    memory.create_space(vault.name)
    space = memory.in_space(vault.name)
    for name in ("changed", "edited", "both", "gone"):
        space.remember(name, "One.")
    space.mirror(vault)
    for name, text in (("changed", "Two."), ("fresh", "One."), ("both", "Theirs.")):
        space.remember(name, text)
    space.forget("gone")
    edit(vault / "edited.md", "One.", "Two.")
    edit(vault / "both.md", "One.", "Mine.")
    (vault / "new.md").write_text("New.")
    steps, killed = iter(range(100)), False

    def dying(real: Callable[[Path, Path], None], source: Path, target: Path) -> None:
        if next(steps) == death:
            raise _Killed
        real(source, target)
        if next(steps) == death:
            raise _Killed

    with monkeypatch.context() as patch:
        for name in ("link", "rename"):
            patch.setattr(os, name, partial(dying, getattr(os, name)))
        patch.setattr(mirroring, "save_synced", lambda *_: None)
        try:
            space.mirror(vault)
        except _Killed:
            killed = True
    space.mirror(vault)
    last = space.mirror(vault)
    assert [file for file, _ in last.conflicts] == ["both.conflict.md"]
    assert (last.skipped, last.written, last.read) == ([], [], [])
    assert (vault / "both.conflict.md").read_text().endswith("Mine.\n")
    texts = {"both": "Theirs.", "changed": "Two.", "edited": "Two.", "fresh": "One.", "new": "New."}
    versions = {"both": 2, "changed": 2, "edited": 2, "fresh": 1, "new": 1}
    assert {topic.name: topic.version for topic in space.topics()} == versions
    for name, text in texts.items():
        assert space.get(name).content == text
        assert (vault / f"{name}.md").read_text().endswith(f"{text}\n")
    assert not (vault / "gone.md").exists()
    return killed


def test_an_editor_that_had_the_file_open_writes_a_conflict_file(
    memory: hades.Memory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.remember("d/a", "One.")
    memory.mirror(folder)
    file = folder / "d" / "a.md"
    memory.remember("d/a", "Two.")
    with file.open("r+b") as opened, monkeypatch.context() as patch:

        def saving(path: Path) -> str:
            opened.write(file.read_bytes().replace(b"Two.", b"Mine."))
            opened.flush()
            return ""

        patch.setattr(mirroring, "stamp_of", saving)  # called when the file was replaced
        done = memory.mirror(folder)
    assert done.conflicts[0][0] == "d/a.conflict.md"
    assert "both changed" in done.conflicts[0][1]
    assert b"Mine." in (folder / "d" / "a.conflict.md").read_bytes()
    assert file.read_text().endswith("\nTwo.\n")
    assert not (folder / "d" / mirroring.ASIDE).exists()


def test_links_among_the_files_moved_aside_are_not_followed(
    memory: hades.Memory, folder: Path, tmp_path: Path
) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("A secret.")
    aside = folder / mirroring.ASIDE
    aside.mkdir()
    (aside / "secret.md").symlink_to(outside / "secret.md")
    assert "is not a file" in memory.mirror(folder).skipped[0][1]
    (aside / "secret.md").unlink()
    aside.rmdir()
    aside.symlink_to(outside)
    memory.remember("a", "Two.")
    assert "is a link" in memory.mirror(folder).skipped[0][1]
    assert files(folder) == ["a.md"]
    assert [file.name for file in outside.iterdir()] == ["secret.md"]
    assert [topic.name for topic in memory.topics()] == ["a"]


def test_two_runs_take_turns(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "One.")
    folder.mkdir()
    with folder_lock(folder, "mirroring", None):
        with pytest.raises(hades.Unavailable, match="Another process"):
            memory.mirror(folder)

        def stop(what: str, _done: int, _total: int) -> None:
            assert "waiting" in what
            raise _Killed

        with pytest.raises(_Killed):
            memory.mirror(folder, on_progress=stop)
    assert memory.mirror(folder).written == ["a.md"]


def test_a_folder_belongs_to_one_space_of_one_memory(
    memory: hades.Memory, folder: Path, tmp_path: Path
) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    memory.create_space("work")
    with pytest.raises(hades.InvalidInput, match="another memory or space"):
        memory.in_space("work").mirror(folder)
    with (
        hades.open(tmp_path / "other.hades") as other,
        pytest.raises(hades.InvalidInput, match="another memory or space"),
    ):
        other.mirror(folder)
    for bad in ("{", "[]", '{"files": {"a": {}}}', '{"memory": "", "files": {"a": {"topic": 1}}}'):
        (folder / STATE_FILE).write_text(bad)
        with pytest.raises(hades.InvalidInput, match="damaged"):
            memory.mirror(folder)
    assert files(folder) == ["a.md"]


def test_a_folder_that_cannot_be_is_refused(memory: hades.Memory, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for wrong in ("file", "no/such/folder"):
        with pytest.raises(hades.Unavailable, match="cannot be mirrored"):
            memory.mirror(tmp_path / wrong)


def test_a_file_that_somebody_writes_now_waits(memory: hades.Memory, folder: Path) -> None:
    memory.remember("a", "One.")
    memory.mirror(folder)
    edit(folder / "a.md", "One.", "Tw")
    assert not memory.mirror(folder, settled_s=60).read
    os.utime(folder / "a.md", (0, 10**9))
    assert memory.mirror(folder, settled_s=60).read == ["a@2"]


# Links


def test_links_of_files_are_edges_that_end_with_them(memory: hades.Memory, folder: Path) -> None:
    memory.remember("cache", "An LRU cache.")
    memory.mirror(folder)
    file = folder / "api.md"
    file.write_text("It uses [[Redis]].\n\n- depends on [[cache]] (since May)\n- with [[Ann]]\n")
    memory.mirror(folder)
    memory.index()

    def stated() -> set[tuple[str, str]]:
        return {(edge.relation, edge.target.name) for edge in memory.edges("api", direction="out")}

    assert stated() == {("refers_to", "Redis"), ("depends_on", "cache"), ("refers_to", "Ann")}
    assert [edge.source.name for edge in memory.edges("cache", relation="depends_on")] == ["api"]
    edit(file, "- depends on [[cache]] (since May)\n", "")
    memory.mirror(folder)
    memory.index()
    assert stated() == {("refers_to", "Redis"), ("refers_to", "Ann")}


def test_two_words_before_a_link_are_its_relation(memory: hades.Memory) -> None:
    items = ("used on", "made by", "see also", "is a", "with", "see")
    memory.remember("bike", "\n".join(f"- {words} [[It {words}]]" for words in items))
    memory.index()
    relations = [edge.relation for edge in memory.edges("bike", direction="out")]
    assert relations == ["used_on", "made_by", "see_also", "is_a", "refers_to", "refers_to"]


# The command line, exports


def test_the_command_tells_what_it_did(path: Path, folder: Path) -> None:
    shell = Shell(path)
    shell("spaces", "create", "work")
    shell("remember", "a", "One.", "--space", "work")
    with hades.open(path, space="work") as memory:
        assert "written a.md\n1 written" in shell("mirror", str(folder), "--space", "work")
        edit(folder / "a.md", "One.", "Two.")
        dry = shell.json("mirror", str(folder), "--space", "work", "--dry-run")
        assert dry["read"] == ["a@2"]
        assert memory.get("a").version == 1
        memory.remember("a", "Three.")
    told = shell.run("mirror", str(folder), "--space", "work", "--json")
    assert told.exit_code == 1
    assert [file for file, _ in json.loads(told.stdout)["conflicts"]] == ["a.conflict.md"]
    told = shell.run("mirror", str(folder), "--space", "work")
    assert told.exit_code == 1
    assert told.stdout.startswith("conflict a.conflict.md: Take")
    assert "0 forgotten, 1 in conflict, 1 unchanged" in told.stdout
    (folder / "a.conflict.md").unlink()
    (folder / "a.md").unlink()
    assert "deleted a.md: its note is kept" in shell("mirror", str(folder), "--space", "work")
    (folder / "b.md").write_text("---\nkind: [\n---\nText.")
    told = shell.run("mirror", str(folder), "--space", "work", "--deleted", "forget")
    assert (
        "its note is kept, because b.md was skipped and may be the same file, renamed"
        in told.stdout
    )
    assert "another memory" in shell.refused("mirror", str(folder))


def test_watching_tells_only_news(
    path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell = Shell(path)
    shell("remember", "a", "One.")
    looks = iter(range(3))

    def sleep(_seconds: float) -> None:
        look = next(looks)
        if look == 1:
            edit(folder / "a.md", "One.", "Two.")
            os.utime(folder / "a.md", (0, 10**9))
        if look == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("hades.cli.sources.time.sleep", sleep)
    told = shell.run("mirror", str(folder), "--watch").stdout
    assert told.count("written a.md") == 1
    assert told.count("read a@2") == 1
    assert told.count("unchanged") == 2


def test_an_export_writes_the_same_files_at_any_time(
    memory: hades.Memory, folder: Path, tmp_path: Path
) -> None:
    memory.remember("d/a", "Old.", valid_from="2020")
    memory.remember("d/a", "New.", valid_from="2024")
    memory.remember("../b", "Beside.", valid_from="2024")
    memory.mirror(folder)
    memory.export(tmp_path / "now", "markdown")
    assert files(tmp_path / "now") == files(folder)
    for file in files(folder):
        assert (tmp_path / "now" / file).read_bytes() == (folder / file).read_bytes()
    memory.at("2022").export(tmp_path / "then", "markdown")
    assert files(tmp_path / "then") == ["d/a.md"]
    assert (tmp_path / "then" / "d" / "a.md").read_text().endswith("\nOld.\n")
    with pytest.raises(hades.InvalidInput, match="Markdown cannot hold embeddings"):
        memory.export(tmp_path / "vectors", "markdown", embeddings=True)


def test_a_server_mirrors_for_nobody(server: Any, path: Path, folder: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "One.")
    with server.serving(path), hades.open(server.address) as client:
        with pytest.raises(hades.Unavailable, match="where it is"):
            client.mirror(folder)
        with pytest.raises(hades.InvalidInput, match="is a folder"):
            client.export(folder, "markdown")
    assert not folder.exists()
