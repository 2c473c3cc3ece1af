"""Kill -9 in the midst of what erases or replaces, then look for erased text in every file.

    python tests/attack/kills.py 500        # how many kills; the short form of the suite has 20

A process does one thing (purge, drop_space, restore, reembed, backup) and is killed before one of
its steps, each statement and each change to a file being one, or at a random moment. A server
is killed while a file is sent to it. Afterwards

- `check` is asked: what was erased and still lies in a file must be named by it;
- the memory is opened for writing, which finishes what is owed, and purged where that was not
  done: then no byte of the text may be left in any file beside it, and `check` finds nothing.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import hades
from hades.store.sqlite.database import SqliteDatabase as Database

SECRETS = {"default": "xyzzyplugh", "private": "corgegrault"}
"""By space: what stands in it and is erased."""
CHANGES_A_FILE = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "shutil.rmtree"}

MAKE = """
import sys, hades
with hades.open(sys.argv[1] + "/memory/notes.hades") as memory:
    memory.create_space("private")
    for space, secret in zip((memory, memory.in_space("private")), sys.argv[2:]):
        for number in range(6):
            space.remember("person", f"The password is {secret} " + "and more " * (200 + number))
            space.remember(f"other/{number}", f"Nothing of it in note {number}. " * 40)
        space.relate("person", "told", f"Agent {secret}", evidence=f"said {secret}")
        space.search("password", retriever="words")
    memory.backup(sys.argv[1] + "/backup.hades")
"""


def _backup(memory: hades.Memory) -> None:
    memory.backup(Path(memory.inside.store.database.path).with_name("copy.hades"))


def _restore(memory: hades.Memory) -> None:
    memory.restore(Path(memory.inside.store.database.path).parents[1] / "backup.hades")


def _reembed(memory: hades.Memory) -> None:
    from hades.models.encoder import MINILM_FOLDER

    memory.reembed(f"folder:{MINILM_FOLDER}")


DEEDS: dict[str, Callable[[hades.Memory], object]] = {
    "purge": lambda memory: memory.purge("person"),
    "drop_space": lambda memory: memory.drop_space("private"),
    "restore": _restore,
    "reembed": _reembed,
    "backup": _backup,
}


SHARES = {"purge": 0.35, "drop_space": 0.25, "restore": 0.2, "reembed": 0.05, "backup": 0.15}
"""Of all kills."""


class Killer:
    """Counts the steps of this process, and ends it before one of them."""

    def __init__(self, at: int) -> None:
        self.at, self.seen = at, 0
        run = Database.run
        Database.run = lambda *given: (self.step(), run(*given))[1]  # type: ignore[method-assign]
        sys.addaudithook(lambda event, _: self.step() if event in CHANGES_A_FILE else None)

    def step(self) -> None:
        self.seen += 1
        if self.seen == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def _child(folder: Path, deed: str, at: int, told: int) -> None:
    with hades.open(folder / "memory/notes.hades") as memory:
        killer = Killer(at)
        os.write(told, b"begun ")
        DEEDS[deed](memory)
        os.write(told, str(killer.seen).encode())


def run(folder: Path, deed: str, at: int = 0, after_s: float | None = None) -> tuple[int, float]:
    """Do something in a process that is killed at a step or a moment; its steps and seconds."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            _child(folder, deed, at, write)
            os._exit(0)
        except BaseException as error:
            os.write(2, f"{deed} at {at}: {error!r}\n".encode())
            os._exit(1)
    os.close(write)
    os.read(read, 6)
    begun = time.monotonic()
    if after_s is not None:
        time.sleep(after_s)
        os.kill(child, signal.SIGKILL)
    with os.fdopen(read) as pipe:
        steps = int(pipe.read() or 0)
    took = time.monotonic() - begun
    _, status = os.waitpid(child, 0)
    assert not os.WIFEXITED(status) or os.WEXITSTATUS(status) == 0, f"{deed} failed"
    return steps, took


def said_in(folder: Path, words: Iterable[str] = SECRETS.values()) -> list[str]:
    """The files in which one of the words stands."""
    sought = [word.encode() for word in words]
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(word in path.read_bytes() for word in sought)
    ]


def _gone(memory: hades.Memory) -> list[str]:
    """The words that are erased, by what the memory tells."""
    spaces = {space.name for space in memory.spaces()}
    there = {name for name in spaces if memory.in_space(name).topics("person")}
    return [word for space, word in SECRETS.items() if space not in there]


def faults(folder: Path) -> list[str]:
    """What is wrong after a kill; the memory is empty of both words afterwards."""
    path, found = folder / "memory/notes.hades", []
    path.with_name("copy.hades").unlink(missing_ok=True)  # a finished backup is its owner's
    with hades.open(path, read_only=True) as memory:
        gone = _gone(memory)
        if said_in(path.parent, gone) and not memory.check():
            found.append(f"not said by check: {said_in(path.parent, gone)}")
    with hades.open(path) as memory:
        if left := said_in(path.parent, gone):
            found.append(f"not finished by opening: {left}")
        # What a killed backup left is named; whoever opens the memory does not owe it.
        if problems := [one for one in memory.check() if ".copy.hades." not in one.where]:
            found.append(f"check after opening: {problems[0].what} ({problems[0].where})")
        if SECRETS["default"] not in gone and memory.purge("person")["wiped"] != 1:
            found.append("purge did not finish")
        if SECRETS["private"] not in gone:
            memory.drop_space("private")
        if left := said_in(path.parent):
            found.append(f"left after purge: {left}")
        if problems := memory.check():
            found.append(f"check after purge: {problems[0].what} ({problems[0].where})")
    return found


def attack(kills: int, seed: int = 7) -> dict[str, Counter[str]]:
    """So many kills, shared by the deeds; by deed how many there were, and what was wrong."""
    generator = random.Random(seed)
    results = {}
    with tempfile.TemporaryDirectory(prefix="hades-kills-") as made:
        root = Path(made)
        (root / "made" / "memory").mkdir(parents=True)
        subprocess.run(
            [sys.executable, "-c", MAKE, str(root / "made"), *SECRETS.values()], check=True
        )
        for deed in DEEDS:
            seen: Counter[str] = Counter()
            steps, took = run(_fresh(root), deed)
            share = round(kills * SHARES[deed])
            at_steps = generator.sample(range(1, steps + 1), min(steps, share * 2 // 3))
            moments = [generator.uniform(0, took * 1.1) for _ in range(share - len(at_steps))]
            for at, after_s in [(at, None) for at in at_steps] + [(0, s) for s in moments]:
                folder = _fresh(root)
                run(folder, deed, at, after_s)
                seen["kills"] += 1
                for fault in faults(folder):
                    seen[fault.split(":")[0]] += 1
                    if "-v" in sys.argv:
                        print(deed, at, after_s, fault, file=sys.stderr)
            results[deed] = seen
            seen["steps"] = steps
    return results


def _fresh(root: Path) -> Path:
    shutil.rmtree(root / "now", ignore_errors=True)
    shutil.copytree(root / "made", root / "now")
    return root / "now"


if __name__ == "__main__":
    print(json.dumps(attack(int(sys.argv[1]) if len(sys.argv) > 1 else 24)))
