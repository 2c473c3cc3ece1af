"""Agent sessions through the real hook command: which statements are stored, and which come back.

Each project has a home and a repository of its own. The benchmark writes each session as a
transcript in Claude Code's format and runs its hooks. It sends each prompt in a new session, after
all sessions that are older than the prompt. `training/said/README.md` describes the data. The
projects are those that the keeper did not learn from; the set `said` of HADES_DATA is added if it
exists.
"""

from __future__ import annotations

import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import mean
from typing import Any

import hades
from bench.hooks import agent_home, hook, log_of, wait_for
from bench.table import note, show
from hades.project import project_memory

ROOT = Path(__file__).parent.parent
SAID = ROOT / "training" / "said"
CHOSEN_ON = ("mosslight", "marchettivoss", "slowroad", "kite")
"""Projects on which the constants of HADES were chosen."""
LEFT_OUT = ("galehut", "tullybrack", "quayside", "noortutor")
"""Projects from which nothing was learnt or chosen."""
WORD = r"\w+"
OVERLAP = 0.6
"""A quote counts as kept if a statement of its turn has at least this share of its words."""


def run(*, small: bool = False) -> None:
    """Replay the projects left out, those that constants were chosen on, and the set `said`."""
    replay("projects left out", SAID, LEFT_OUT[:1] if small else LEFT_OUT)
    if not small:
        replay("projects that constants were chosen on", SAID, CHOSEN_ON)
        folder = Path(os.environ.get("HADES_DATA", ROOT.parent / "shared" / "data")) / "said"
        if folder.exists():
            replay("the set said", folder, ())


def replay(title: str, folder: Path, names: Iterable[str]) -> None:
    """Replay projects (none: all of the folder) and print the table."""
    sessions, prompts = _rows(folder / "sessions.jsonl"), _rows(folder / "prompts.jsonl")
    names = tuple(names) or tuple(dict.fromkeys(row["project"] for row in sessions))
    rows: dict[str, list[dict[str, float]]] = defaultdict(list)
    kept: dict[str, list[float]] = defaultdict(list)
    for name in names:
        note(f"replaying {name}")
        _project(
            [row for row in sessions if row["project"] == name],
            [row for row in prompts if row["project"] == name],
            rows,
            kept,
        )
    table = [(kind, len(found), *_means(found)) for kind, found in sorted(rows.items())]
    every = [row for found in rows.values() for row in found]
    head = ("prompts", "", *MEASURES)
    show(f"Agent sessions: {title}", head, [*table, ("all", len(every), *_means(every))])
    figures = {name: f"{100 * mean(values):.1f} %" for name, values in kept.items() if name != "ms"}
    show("Statements kept", tuple(figures), [tuple(figures.values())])
    times = sorted(kept["ms"])
    print(f"a prompt in the resident: p50 {times[len(times) // 2]:.0f} ms\n")


MEASURES = ("line", "line or brief", "stale alone", "quiet", "words added")
"""Columns of the table. For a prompt that needs a fact: the lines have the fact; the lines or the
brief have it; the lines have only an outdated value. For a prompt that needs none: there is no
line. For all prompts: how many words the lines add."""


def _project(
    sessions: list[dict[str, Any]],
    prompts: list[dict[str, Any]],
    rows: dict[str, list[dict[str, float]]],
    kept: dict[str, list[float]],
) -> None:
    waiting = sorted(sessions, key=lambda row: row["at"])
    with agent_home() as (home, repository):
        fields = {"cwd": str(repository)}
        for prompt in sorted(prompts, key=lambda row: row["at"]):
            while waiting and waiting[0]["at"] <= prompt["at"]:
                _session(home, fields, waiting.pop(0))
            start = fields | {"session_id": prompt["id"], "source": "startup"}
            brief = _context(home, "session-start", start, "SessionStart")
            asked = fields | {"session_id": prompt["id"], "prompt": prompt["prompt"]}
            line = _context(home, "prompt", asked, "UserPromptSubmit")
            row = {"words added": float(len(line.split()))}
            if prompt["needs"]:
                row["line"] = _holds(line, prompt["keys"])
                row["line or brief"] = _holds(f"{line} {brief}", prompt["keys"])
                if prompt["type"] == "current":
                    old = _holds(line, prompt.get("stale_keys") or [])
                    row["stale alone"] = float(old and not row["line"])
            else:
                row["quiet"] = float(not line)
            rows[prompt["type"]].append(row)
        for session in waiting:
            _session(home, fields, session)
        _judge(repository, sessions, kept)
        answered = [one for one in log_of(home) if re.search(r"code prompt \d+ ms", one)]
        kept["ms"] += [float(one.split(" prompt ")[1].split()[0]) for one in answered]


def _session(home: Path, fields: dict[str, str], session: dict[str, Any]) -> None:
    """Write a session's transcript and run its hooks, as Claude Code does."""
    folder = home / ".claude" / "projects" / "mossgate"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{session['session']}.jsonl"
    rows = []
    for number, turn in enumerate(session["turns"]):
        text = turn["text"]
        content = text if turn["role"] == "user" else [{"type": "text", "text": text}]
        rows.append(
            {
                "type": turn["role"],
                "uuid": f"{session['session']}-{number}",
                "sessionId": session["session"],
                "timestamp": f"{session['at'][:-1]}.{number:03d}Z",
                "message": {"role": turn["role"], "content": content},
                **fields,
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    own = fields | {"session_id": session["session"], "transcript_path": str(path)}
    done = sum("session-end later" in line for line in log_of(home))
    _context(home, "session-start", own | {"source": "startup"}, "SessionStart")
    hook(home, "session-end", own | {"hook_event_name": "SessionEnd", "reason": "exit"})
    wait_for(home, "session-end later", done + 1)


def _judge(repository: Path, sessions: list[dict[str, Any]], kept: dict[str, list[float]]) -> None:
    """Compare the stored statements of each session with its labelled quotes, turn by turn."""
    with hades.open(str(project_memory(repository)), read_only=True) as memory:
        for session in sessions:
            found = memory.session(f"conversations/{session['session']}")
            lines = [*found.decided, *found.done, *found.open]
            statements = [(line.turn, _words(line.text)) for line in lines]
            wanted = [(row["turn"], _words(row["quote"])) for row in session["keep"]]
            for one in wanted:
                kept["kept"].append(float(any(_fits(one, said) for said in statements)))
            for said in statements:
                worth = any(_fits(one, said, OVERLAP / 2) for one in wanted)
                kept["worth it"].append(float(worth))


def _fits(wanted: tuple[int, set[str]], said: tuple[int, set[str]], share: float = OVERLAP) -> bool:
    return wanted[0] == said[0] and len(wanted[1] & said[1]) >= share * len(wanted[1])


def _context(home: Path, event: str, payload: dict[str, Any], original: str) -> str:
    answer = hook(home, event, payload | {"hook_event_name": original})
    return str(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))


def _means(rows: list[dict[str, float]]) -> list[str]:
    values = ([row[name] for row in rows if name in row] for name in MEASURES[:-1])
    shares = [f"{100 * mean(own):.1f} %" if own else "" for own in values]
    return [*shares, f"{mean(row['words added'] for row in rows):.0f}"]


def _holds(text: str, keys: Iterable[str]) -> float:
    """Return 1 if a text has one of the keys as whole words, else 0."""
    padded = _plain(text)
    return float(any(_plain(key) in padded for key in keys))


def _plain(text: str) -> str:
    return f" {' '.join(re.findall(WORD, text.casefold()))} "


def _words(text: str) -> set[str]:
    return set(re.findall(WORD, text.casefold()))


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line.strip()]
