"""No text, whoever wrote it, makes a pattern of the package slow: the work grows with its length.

Steps are counted, not seconds, on the likely shapes of each pattern. Every run tries the patterns
that are new or changed since `patterns_tried.txt` was written; `make test-all` tries all of them,
and `make attack` more shapes, and the clock too.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from hades.ingest.readers.text import without_brackets
from hades.ingest.walk import walk
from tests.attack.patterns import every_pattern, new_patterns, short_attack
from tests.attack.steps import Counter

PARTS = 8


def test_the_steps_of_a_new_pattern_grow_with_the_text_alone() -> None:
    assert [wrong for found in new_patterns() for wrong in short_attack(found)] == []


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_the_steps_of_every_pattern_grow_with_the_text_alone(part: int) -> None:
    patterns = every_pattern()[part::PARTS]
    assert [wrong for found in patterns for wrong in short_attack(found)] == []


@pytest.mark.parametrize(
    ("pattern", "use"),
    [
        (r"\s+$", "search"),
        (r"(?:a+)+b", "match"),
        (r"(?:ab?|b)*!", "match"),
        (r"\w*\d\w*", "fullmatch"),
        (r"<(\w+)>.*?</\1>", "search"),
        (r"^\s*(?:class\b|using\b)", "search"),
        (r"^is\b.*\bor\b.*\bmore\b", "match"),
    ],
)
def test_what_blows_up_is_seen(pattern: str, use: str) -> None:
    flags = re.MULTILINE if pattern.startswith(r"^\s") else 0
    assert Counter(re.compile(pattern, flags)).grows(use) is not None


IGNORED = (
    "trailing\\ \n"
    + """
# a comment
*.log
!keep.log
build/
/top.txt
docs/*.tmp
**/cache/**
a?c[0-9][!x].md
\\#odd
deep/**/leaf
*a*a*b
[unclosed
"""
)
FILES = """
x.log keep.log sub/keep.log build/in sub/build/in top.txt sub/top.txt docs/a.tmp docs/in/a.tmp
cache/in sub/cache/in/in abc12.md abc1x.md #odd deep/leaf deep/one/two/leaf deep/leaf.txt
xaxab xab [unclosed sub/plain
"""


def test_ignore_files_leave_out_what_git_leaves_out(tmp_path: Path) -> None:
    for name in [*FILES.split(), "trailing "]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text(IGNORED)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    told = [*git, "ls-files", "-z", "--others", "--exclude-standard"]
    kept = subprocess.run(told, check=True, capture_output=True, text=True).stdout.split("\0")
    found = {one.relative_to(tmp_path).as_posix() for one, _ in walk(tmp_path)}
    assert found == {one for one in kept if one and one != ".gitignore"}


def test_a_hostile_ignore_file_does_not_stop_the_walk(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 100 + "b\n" + "**/a/" * 500 + "b\n" + "[" * 4_000)
    (tmp_path / ("a" * 250)).write_text("x")
    assert [one for one, _ in walk(tmp_path)] == [tmp_path / ("a" * 250)]


def test_brackets_go_however_deep_they_are() -> None:
    assert without_brackets("Ann (MIT (Boston)), Bob) (x", "()") == "Ann , Bob) (x"
    assert without_brackets("a" + "<" * 100_000 + ">" * 100_000 + "b", "<>") == "ab"
