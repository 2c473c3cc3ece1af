"""An editor that saves while the mirror writes loses no text.

Each text that the editor saved is afterwards in the history of its note, in its file or in a
conflict file.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import hades

ROUNDS = 130 if os.environ.get("HADES_ATTACK") == "long" else 3
NOTES = 40
EDITOR = """
import os, sys, time
from pathlib import Path

folder, in_place = Path(sys.argv[1]), sys.argv[2] == "in place"
for line in sys.stdin:
    files = sorted(folder.glob("note*.md"))
    buffers = [file.read_text() for file in files]
    print("loaded", flush=True)
    for file, text in zip(files, buffers):
        until = time.monotonic() + 0.02
        while time.monotonic() < until:  # until the mirror is about to replace it
            if any(name.startswith(f".{file.name}") for name in os.listdir(folder)):
                break
        head = text[: text.rindex("---") + 3]
        text = f"{head}\\n\\nRound {line.strip()}, {file.stem}.\\n"
        if in_place:
            with open(file, "w") as opened:
                opened.write(text)
        else:
            draft = folder / ".saving"
            draft.write_text(text)
            os.replace(draft, file)
    print("saved", flush=True)
"""


@pytest.mark.parametrize("how", ["in place", "by rename"])
def test_an_editor_that_saves_during_a_run_loses_nothing(
    path: Path, tmp_path: Path, how: str
) -> None:
    vault, lost = tmp_path / "vault", list[str]()
    topics = [f"note{number:02}" for number in range(NOTES)]
    command = [sys.executable, "-c", EDITOR, str(vault), how]
    with (
        hades.open(path) as memory,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run,
    ):
        assert run.stdin is not None
        assert run.stdout is not None
        for topic in topics:
            memory.remember(topic, "One.")
        memory.mirror(vault)
        for turn in range(ROUNDS):
            with memory.batch():
                for topic in topics:
                    memory.remember(topic, f"Memory {turn}.")
            print(turn, file=run.stdin, flush=True)
            assert run.stdout.readline() == "loaded\n"
            memory.mirror(vault)
            assert run.stdout.readline() == "saved\n"
            memory.mirror(vault)
            lost += [topic for topic in topics if not _is_kept(memory, vault, topic, turn)]
            for copy in vault.glob("*.conflict*.md"):
                copy.unlink()
        run.stdin.close()
    assert lost == []
    assert not [name for name in os.listdir(vault) if name.startswith(".") and "note" in name]


def _is_kept(memory: hades.Memory, vault: Path, topic: str, turn: int) -> bool:
    text = f"Round {turn}, {topic}."
    kept = [state.content for state in memory.history(topic)]
    kept += [file.read_text() for file in vault.glob(f"{topic}.*")]
    return any(text in content for content in kept)
