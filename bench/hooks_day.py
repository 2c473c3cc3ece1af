"""Two days of an agent with hooks: forty sessions in one repository, replayed through the real
command. It prints what the agent would have seen, and how much of it is useful.

The notes, the sessions and the labels were written by hand (`evals/hooks/`). The thresholds were
chosen on other data.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import hades
from bench.hooks import EVALS, agent_home, hook, wait_for
from bench.table import note, show
from hades.context.tokens import token_family
from hades.project import make_project_folder

DATA = EVALS / "hooks"


def run(*, small: bool = False) -> None:
    """Replay the days (`small`: its first five sessions), with and without briefs."""
    for briefed in (True, False):
        replay_day(briefed=briefed, small=small)


def replay_day(*, briefed: bool, small: bool) -> None:
    """Replay the days and print what was added. A line of the brief is not shown again."""
    sessions = _rows("day_sessions.jsonl")[: 5 if small else None]
    labels = {(row["session"], row["turn"], row["id"]): row["useful"] for row in _labels()}
    with agent_home() as (home, repository):
        _remember(repository)
        days = [
            _session(home, repository, row, number, briefed)
            for number, row in enumerate(sessions, 1)
        ]
    rows, hits, asked = [], [], 0
    for row, (brief, turns) in zip(sessions, days, strict=True):
        lines = [(turn, line) for turn, text in enumerate(turns, 1) for line in _lines(text)]
        hits += [(row["session"], turn, *line.split(": ", 1)) for turn, line in lines]
        asked += len(turns)
        added = sum(_tokens(text) for text in turns)
        with_hit = sum(1 for text in turns if text)
        rows.append((row["about"], _tokens(brief), added, f"{with_hit} of {len(turns)}"))
    what = "Two days with hooks" if briefed else "The same days without briefs"
    show(what, ("session", "tokens: brief", "lines", "prompts with a hit"), rows)
    useful = [labels.get((session, turn, name)) for session, turn, name, _ in hits]
    judged = [verdict for verdict in useful if verdict is not None]
    with_hit = len({(session, turn) for session, turn, *_ in hits})
    tokens = [brief + added for _, brief, added, _ in rows]
    summary = [
        ("tokens added to a session, mean", round(sum(tokens) / len(tokens))),
        ("prompts with a hit", f"{with_hit} of {asked}"),
        ("lines shown", len(hits)),
        ("lines judged by hand", len(judged)),
        ("useful of them", f"{sum(judged)} ({sum(judged) / max(1, len(judged)):.0%})"),
    ]
    show("In all", ("", ""), summary)
    marks = {True: "useful", False: "not", None: "?"}
    listed = [(*hit[:3], marks[verdict], hit[3]) for hit, verdict in zip(hits, useful, strict=True)]
    show("Every line", ("session", "turn", "id", "label", "text"), listed)


def _session(
    home: Path, repository: Path, row: dict[str, Any], number: int, briefed: bool
) -> tuple[str, list[str]]:
    """Replay one session; return its brief and the context of each prompt."""
    note(row["about"])
    transcript = home / ".claude" / "projects" / "mossgate" / f"{row['session']}.jsonl"
    transcript.parent.mkdir(parents=True, exist_ok=True)
    fields = {"session_id": row["session"], "cwd": str(repository)}
    fields["transcript_path"] = str(transcript)

    def event(name: str, original: str, **more: Any) -> str:
        answer = hook(home, name, fields | {"hook_event_name": original} | more)
        return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))

    brief = event("session-start", "SessionStart", source="startup") if briefed else ""
    seen = []
    for turn in row["turns"]:
        seen.append(event("prompt", "UserPromptSubmit", prompt=turn["prompt"]))
        with transcript.open("a", encoding="utf-8") as file:
            for speaker, text in (("user", turn["prompt"]), ("assistant", turn["answer"])):
                line = {"type": speaker, "sessionId": row["session"], "message": {"content": text}}
                file.write(json.dumps(line) + "\n")
        event("turn-end", "Stop", last_assistant_message=turn["answer"])
    event("session-end", "SessionEnd", reason="prompt_input_exit")
    wait_for(home, "session-end later", number)
    return brief, seen


def _remember(repository: Path) -> None:
    with hades.open(make_project_folder(repository)) as memory:
        with memory.batch():
            for row in _rows("day_notes.jsonl"):
                memory.remember(row["topic"], row["content"], valid_from=row["at"])
        memory.index()


def _tokens(text: str) -> int:
    """Count the tokens of GPT-4, as docs/mcp.md does; those of Claude can only be estimated."""
    return token_family("cl100k").count([text])[0]


def _lines(context: str) -> list[str]:
    return [line.removeprefix(" - ") for line in context.splitlines() if line.startswith(" - ")]


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines()]


def _labels() -> list[dict[str, Any]]:
    return _rows("day_labels.jsonl") if (DATA / "day_labels.jsonl").exists() else []
