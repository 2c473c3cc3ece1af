"""Trust: how often the first sentence of `ask` is right, on sets written before the code."""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hades
from bench.table import note, show
from hades.domain.answer import Answer
from hades.evals.replay import read_events, write_event
from hades.evals.sets import moment

SETS = Path(__file__).parent.parent / "evals" / "trust"
OUTCOMES = ("right", "further down", "outdated", "wrong", "denied")
WORDS_READ = 150
WHOLE_AT_MOST = 4
"""Shorter answers must be whole words: 8 is not in 1998."""


def run(*, small: bool = False) -> None:
    """Replay every set, or only those for development, and count the outcomes in percent."""
    rows = []
    for folder in sorted(path for path in SETS.iterdir() if path.is_dir()):
        if small and not folder.name.endswith("_dev"):
            continue
        counts, doubted, noticed = Counter[str](), 0, Counter[bool]()
        for question, answer in _asked(folder):
            if question["type"] == "unknown":
                noticed[bool(answer.shortfall)] += 1
                continue
            counts[_outcome(question, answer)] += 1
            doubted += bool(answer.shortfall)
        total = counts.total()
        shares = [f"{100 * counts[outcome] / total:.0f}" for outcome in OUTCOMES]
        known = f"{noticed[True]} of {noticed.total()}" if noticed else ""
        rows.append([folder.name, total, *shares, f"{100 * doubted / total:.0f}", known])
    show("`ask`, percent", ["set", "questions", *OUTCOMES, "doubted", "unknown noticed"], rows)
    note("doubted: the answer begins with “Not sure” or “Nothing found says anything about …”")


def _asked(folder: Path) -> Iterator[tuple[dict[str, Any], Answer]]:
    """Yield each question and its answer from the notes written before it; `index` is not run."""
    lines = (folder / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    questions.sort(key=lambda one: str(one["asked_at"]))
    events, clock = read_events(folder / "events.jsonl"), SimpleNamespace(now=0)
    with tempfile.TemporaryDirectory() as home:
        path = Path(home, "trust.hades")
        with hades.open(path, encoder="minilm", clock=lambda: clock.now) as memory:
            for question in questions:
                asked_at = moment(question["id"], question, "asked_at")
                while events and events[0].at <= asked_at:
                    clock.now = max(clock.now + 1, events[0].at)
                    write_event(memory, events.pop(0))
                clock.now = max(clock.now, asked_at)
                yield question, memory.ask(question["question"])


def _outcome(question: dict[str, Any], answer: Answer) -> str:
    texts = [sentence.text for sentence in answer.sentences]
    if not texts:
        return "denied"
    first, read = texts[0], " ".join(" ".join(texts).split()[:WORDS_READ])
    wanted = [one if isinstance(one, list) else [one] for one in question["answer"]]
    if question["type"] in ("ever", "still"):
        return "right" if any(_key(first).startswith(_key(one[0])) for one in wanted) else "wrong"
    listed = any(len(one) > 1 for one in wanted)
    if any(_has(read if listed else first, one) for one in wanted):
        return "right"
    if any(_has(read, one) for one in wanted):
        return "further down"
    return "outdated" if any(_has(first, [one]) for one in question["outdated"]) else "wrong"


def _has(text: str, values: Sequence[str]) -> bool:
    told = _key(text)
    keys = map(_key, values)
    return all(
        key in told or (len(key.strip()) > WHOLE_AT_MOST and key.strip() in told) for key in keys
    )


def _key(text: str) -> str:
    """Return the words of a text in lower case, between spaces."""
    return " ".join(["", *re.findall(r"\w+", text.lower()), ""])
