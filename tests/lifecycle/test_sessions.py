"""Sessions: what a conversation was about, and what it left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import Shell

import hades
from tests.conftest import HeldClock

MONDAY = [
    ("user", "Our CI on Jenkins fails twice a week. What would you do?"),
    ("assistant", "Shall I move the deploys to GitHub Actions?"),
    ("user", "Yes, do that. Please never deploy on a Friday."),
    ("assistant", "The build job runs on GitHub Actions now."),
    ("user", "Good. Next week we move the nightly backups to Actions as well."),
]
LATER = [
    ("user", "The rule about Fridays changes."),
    ("assistant", "How?"),
    ("user", "Deploys on a Friday are fine from now on, until noon."),
]


def messages(turns: list[tuple[str, str]], day: str) -> list[dict[str, str]]:
    return [{"role": role, "content": content, "at": day} for role, content in turns]


@pytest.fixture(autouse=True)
def _spring(clock: HeldClock) -> None:
    clock.set("2026-04-01")


@pytest.fixture
def distilled(memory: hades.Memory) -> hades.Memory:
    memory.distil(messages(MONDAY, "2026-03-02"))
    return memory


def test_a_conversation_shows_its_goal_and_what_was_decided_and_left_open(
    distilled: hades.Memory,
) -> None:
    (session,) = distilled.sessions()
    assert session == distilled.session(session.conversation)
    assert (session.goal, session.turns) == (MONDAY[0][1], 5)
    assert f"{session.at:%Y-%m-%d}" == "2026-03-02"
    (rule,) = (line for line in session.decided if "never deploy on a Friday" in line.text)
    assert (rule.turn, rule.holds) == (2, True)
    (plan,) = session.open
    assert "nightly backups" in plan.text
    assert distilled.get(plan.state.partition("@")[0]).content == plan.text


def test_a_replaced_rule_is_marked_in_the_session_that_made_it(distilled: hades.Memory) -> None:
    done = distilled.distil(messages(LATER, "2026-03-09"))
    later, first = distilled.sessions()
    (replaced,) = (line for line in first.decided if not line.holds)
    assert "never deploy" in replaced.text
    assert [statement.replaces for statement in done.statements] == [replaced.state]
    assert later.goal == LATER[0][1]


def test_a_forgotten_statement_is_no_longer_shown(distilled: hades.Memory) -> None:
    (session,) = distilled.sessions()
    distilled.forget(session.open[0].state.partition("@")[0])
    (after,) = distilled.sessions()
    assert (after.open, after.decided) == ((), session.decided)


def test_what_is_no_conversation_is_refused_with_a_sentence(distilled: hades.Memory) -> None:
    distilled.remember("design/x", "Approach X.")
    with pytest.raises(hades.NotFound, match="design/x is no conversation"):
        distilled.session("design/x")
    for wrong in ("text", [{"role": "user"}], [{"content": 3}], ["x"]):
        with pytest.raises(hades.InvalidInput):
            distilled.distil(wrong)  # type: ignore[arg-type]


def test_the_list_is_cut_at_its_limit_and_bounded_by_time(distilled: hades.Memory) -> None:
    distilled.distil(messages(LATER, "2026-03-09"))
    assert [session.goal for session in distilled.sessions(limit=1)] == [LATER[0][1]]
    assert [session.goal for session in distilled.sessions(until="2026-03-05")] == [MONDAY[0][1]]
    assert len(distilled.sessions(since="2026-03-01", until="2026-04")) == 2
    assert distilled.sessions(glob="users/*") == []


def test_files_and_failed_commands_come_from_the_metadata(distilled: hades.Memory) -> None:
    noted = {"files": ["ci/build.yml"], "failed": "not a list"}
    text = "user: Move the CI."
    distilled.remember("conversations/x", text, kind="conversation", metadata=noted)
    session = distilled.session("conversations/x")
    assert (session.files, session.failed) == (("ci/build.yml",), ())


def test_a_dry_run_stores_nothing(memory: hades.Memory) -> None:
    done = memory.distil(messages(MONDAY, "2026-03-02"), dry_run=True)
    assert done.dry_run
    assert done.statements
    assert memory.topics() == []


def test_the_commands(path: Path, tmp_path: Path) -> None:
    shell = Shell(path)
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(messages(MONDAY, "2026-03-02")), encoding="utf-8")
    assert "nothing was stored" in shell("distil", f"@{file}", "--dry-run")
    said = shell("distil", f"@{file}", "--user", "ana")
    assert "Please never deploy on a Friday" in said
    assert "users/ana/constraints/" in said
    assert "statements of 5 turns" in said
    shell("distil", json.dumps(messages(LATER, "2026-03-09")), "--user", "ana")
    latest, first = shell.json("sessions", "list")
    assert shell.json("sessions", "show", latest["conversation"]) == latest
    listed = shell("sessions", "list", "--until", "2026-03-05")
    assert listed.startswith(f'2026-03-02 {first["conversation"]}  "{MONDAY[0][1]}"  ')
    assert f"{len(first['decided'])} decided, " in listed
    shown = shell("sessions", "show", first["conversation"]).splitlines()
    assert shown[1] == "Decided:"
    (rule,) = (line for line in shown if "never deploy" in line)
    assert rule.startswith(" Yes, do that. Please never deploy on a Friday (answering")
    assert rule.endswith("@1, turn 2]  replaced")
    assert "no sessions" in shell("sessions", "list", "--until", "2020")
    assert "a JSON list" in shell.refused("distil", '{"role": "user"}')
