"""Whether a note says that what it is about is fixed, done or gone."""

from __future__ import annotations

import pytest

from hades.language.english.settled import settled

SETTLED = [
    ("bugs/bug_y", "Bug Y fixed: data layer refactored to prevent corruption", "fixed"),
    ("bugs/y", "Fixed in 1.2", "fixed"),
    ("bugs/y", "Crash on save.\nStatus: resolved", "resolved"),
    ("bugs/y", "2024-03-02: done.", "done"),
    ("bug/102", "Bug 102 is now fixed by Ann, users can save again.", "fixed"),
    ("bug/102", "#102 was closed as a duplicate of #90.", "closed"),
    ("bug/102", "With the new driver, 102 has been resolved.", "resolved"),
    ("bugs/import_timeout", "The import timeout is finally solved.", "solved"),
    ("bugs/y", "It crashed on large files. It is fixed since Tuesday.", "fixed"),
    ("bugs/y", "We widened the buffer and the bug is gone.", "gone"),
    ("bugs/y", "The crash came from the parser. Fixed it.", "fixed"),
    ("bugs/y", "Bug Y no longer occurs.", "no longer"),
    ("bugs/y", "Since the upgrade, the problem no longer happens", "no longer"),
    ("budget/q3", "The Q3 budget was approved on 4 May.", "approved"),
    ("release/1.2", "Released.", "released"),
    ("feature/dark-mode", "Dark mode has been removed from the product.", "removed"),
    ("people/Ann Lee", "Ann Lee left the company.", "left"),
    ("people/Ann", "Ann has left.", "left"),
    ("bugs/009", "Bug 9 fixed: pool enlarged", "fixed"),
    ("bugs/9-pool", "Bug #9 fixed: pool enlarged", "fixed"),
    ("bugs/pool", "Bug 9 fixed: pool enlarged", "fixed"),
    ("bugs/9", "We fixed bug 9 by enlarging the pool.", "fixed"),
    ("bugs/9", "Enlarged the pool. That fixed it.", "fixed"),
    ("bugs/9", "Ada has finally solved the problem.", "solved"),
    ("bugs/9", "Bug 9 does not occur any more.", "does not occur any more"),
]
OPEN = [
    ("bugs/y", "Crash on save"),
    ("bugs/y", "Not fixed yet."),
    ("bugs/y", "It isn't fixed."),
    ("bugs/y", "It is not yet resolved, although Ann tried."),
    ("bugs/y", "It will be fixed in 1.3."),
    ("bugs/y", "To be done."),
    ("bugs/y", "Must be closed by Friday."),
    ("bugs/y", "When it is fixed, we can ship."),
    ("bugs/y", "If all goes well, it is fixed tomorrow."),
    ("bugs/y", "Is it fixed?"),
    ("bugs/y", "Fixed?"),
    ("bugs/y", "Partly fixed."),
    ("bugs/y", "It is nearly done."),
    ("bugs/y", "Fixed on staging, but not in production."),
    ("bugs/y", "Fixed in 1.2. Reopened in 1.3."),
    ("bugs/y", "It was fixed in 1.2 and came back in 1.3."),
    ("bugs/y", "Resolved for Linux; still happens on Windows."),
    ("bugs/y", "Fixed costs are 300 a month."),
    ("bugs/y", "Fixed the typo in the log message."),
    ("bugs/y", "Closed source driver, we cannot look inside."),
    ("bugs/y", "Planned: fixed in 1.3"),
    ("bugs/y", "Target: done by Friday"),
    ("bugs/y", "Ann fixed another bug today."),
    ("bugs/y", "The workaround for the bug is removed."),
    ("bug/102", "Bug 103 is fixed."),
    ("bug/102", "Same cause as bug 103, which is fixed."),
    ("bugs/y", "Hopefully fixed in the nightly build."),
    ("people/Ann", "Ann left her notes on the desk."),
    ("bugs/9-pool", "Bug 10 fixed: pool enlarged"),
    ("bugs/pool", "The cause is the same as in bug 9. Bug 9 is fixed."),
    ("incidents/2026-09-14", "Bug 14 is fixed."),
    ("bugs/9", "We fixed the test of bug 9."),
    ("bugs/9", "Nobody fixed it."),
    ("bugs/9", "We have not fixed bug 9."),
    ("people/Ann", "The button on the left is hers."),
    ("process/release", "This is done by hand every week."),
    ("docs/guide", "Fixed in 1.2. " + "More words follow here. " * 100),
    ("bugs/y", ""),
    ("///", "It went well."),
]


@pytest.mark.parametrize(("topic", "text", "word"), SETTLED)
def test_a_note_that_settles_its_topic(topic: str, text: str, word: str) -> None:
    assert settled(topic, text) == word


@pytest.mark.parametrize(("topic", "text"), OPEN)
def test_a_note_that_does_not(topic: str, text: str) -> None:
    assert settled(topic, text) == ""
