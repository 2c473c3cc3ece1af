"""Put faults into central functions, one at a time, and show that the tests find each.

    python tools/faults.py                # all faults, by the tests that `make test` runs
    python tools/faults.py --slow         # by all tests, the slow ones too
    python tools/faults.py purge gate     # the faults with these words in their names

Each fault replaces one text of the package in a copy of this checkout; then the tests run that
should find it, until one fails. A fault whose text is in no file any more must be written anew.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
COPIED = ("hades", "tests", "examples", "docs", "deploy", "evals", "tools", "bench")


@dataclass(frozen=True)
class Fault:
    """A text of the package, what stands in its place, and the tests that should find it."""

    name: str
    text: str
    instead: str
    tests: str

    def file(self, root: Path) -> Path:
        """The one file that has the text."""
        holders = [
            path
            for path in sorted((root / "hades").rglob("*.py"))
            if path.read_text(encoding="utf-8").count(self.text) == 1
        ]
        if len(holders) != 1:
            raise SystemExit(f"{self.name}: {len(holders)} files have the text {self.text!r}")
        return holders[0]


FAULTS = (
    Fault(
        "store write: an expected version is not compared",
        "if draft.expect_version is not None and draft.expect_version != versions:",
        "if draft.expect_version is not None and draft.expect_version > versions:",
        "tests/test_memory.py",
    ),
    Fault(
        "store write: a version is not the latest one if it has a start of its own",
        "*(row.version, int(row.valid_from > write.at), state_id, row.topic),",
        "*(row.version, 0, state_id, row.topic),",
        "tests/test_time.py tests/test_memory.py",
    ),
    Fault(
        "store read: of two versions of one moment, the older one never ends",
        "AND n.valid_from >= s.valid_from AND (n.valid_from > s.valid_from OR",
        "AND n.valid_from > s.valid_from AND (n.valid_from > s.valid_from OR",
        "tests/test_time.py tests/test_memory.py",
    ),
    Fault(
        "store read: a moment before a change shows what came later",
        "AND s.valid_from <= :valid AND {believed",
        "AND s.valid_from <= :valid + 86400000000 AND {believed",
        "tests/test_time.py",
    ),
    Fault(
        "settle: a commit that was lost is taken for stored",
        "        if not stored:\n            for forget in self.on_undo:",
        "        if stored is None:\n            for forget in self.on_undo:",
        "tests/store/test_postgres_faults.py",
    ),
    Fault(
        "grants: a role sees the rows of every space",
        'using.replace("%s", mine), check.replace("%s", mine)',
        '"TRUE", check.replace("%s", mine)',
        "tests/store/test_grants.py",
    ),
    Fault(
        "purge: edges read in a purged text stay",
        '        gone["edges"] += _erase_extracted(database, write, space, texts)\n',
        "",
        "tests/test_extraction.py tests/attack/test_erasing.py",
    ),
    Fault(
        "purge: proposals that name a purged topic stay",
        "DELETE FROM proposals WHERE id = ?",
        "DELETE FROM proposals WHERE id = -?",
        "tests/test_promoting.py tests/test_reviewing.py tests/attack",
    ),
    Fault(
        "gate: greetings are stored",
        '    if is_talk(text):\n        return "it looks like small talk"\n',
        "",
        "tests/serve/test_mcp_tools.py",
    ),
    Fault(
        "gate: a note of another author hides a true one",
        "if note.author == author and note.confidence >= sure and not is_news:",
        "if note.confidence >= sure and not is_news:",
        "tests/attack/test_hostile_notes.py",
    ),
    Fault(
        "recall: the worst candidates come first",
        "order = np.lexsort((np.arange(len(scores)), -scores))[:limit]",
        "order = np.lexsort((np.arange(len(scores)), scores))[:limit]",
        "tests/recall tests/evals",
    ),
    Fault(
        "recall: the ranker's scores are turned round",
        "return np.asarray(standardised(columns) @ self.weights[kind], float)",
        "return np.asarray(standardised(columns) @ -self.weights[kind], float)",
        "tests/recall",
    ),
    Fault(
        "packer: a block that was packed takes no room",
        "        self.room -= block.tokens\n        return block",
        "        return block",
        "tests/context",
    ),
    Fault(
        "packer: the head of a block is not counted",
        "most = room - head if draft.most is None else min(room - head, draft.most)",
        "most = room if draft.most is None else min(room, draft.most)",
        "tests/context",
    ),
    Fault(
        "auth: a key of one space opens every space",
        "return self.spaces is None or space in self.spaces",
        "return True",
        "tests/serve/test_auth.py tests/serve/test_rest_roles.py",
    ),
    Fault(
        "auth: a reader may write",
        "if self.role < role:",
        "if self.role > role:",
        "tests/serve/test_auth.py tests/serve/test_rest_roles.py",
    ),
    Fault(
        "ingest: the last piece of a run is lost",
        "        pack.append(piece)\n        held += piece.tokens\n    yield pack",
        "        pack.append(piece)\n        held += piece.tokens\n    yield pack[:-1] or pack",
        "tests/ingest/test_chunk.py",
    ),
    Fault(
        "ingest: a passage exceeds what the encoder reads",
        "if pack and (together > room or too_long):",
        "if pack and too_long:",
        "tests/ingest/test_chunk.py",
    ),
    Fault(
        "time: a quarter begins a month late",
        "3 * int(quarter) - 2 if quarter",
        "3 * int(quarter) - 1 if quarter",
        "tests/language tests/domain tests/recall/test_time_asked.py",
    ),
    Fault(
        "time: a week begins on Sunday",
        "return start - start.weekday() * _ONE_DAY if",
        "return start - (start.weekday() + 1) * _ONE_DAY if",
        "tests/language tests/recall/test_time_asked.py",
    ),
    Fault(
        "cache: an answer is kept though something was written meanwhile",
        "if key is not None and self._store.changefeed.revision() == revision:",
        "if key is not None:",
        "tests/recall/test_answer_cache.py",
    ),
)


def _copy(root: Path, target: Path) -> None:
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(root / name, target / name, ignore=ignored)
    for path in (*root.glob("*.md"), root / "pyproject.toml", root / "Makefile"):
        shutil.copy(path, target)


def _found_by(target: Path, fault: Fault, selection: list[str]) -> str:
    """The first test that fails with the fault; empty when all pass."""
    path = fault.file(target)
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace(fault.text, fault.instead), encoding="utf-8")
    try:
        test = _first_failure(target, *selection, *fault.tests.split())
    finally:
        path.write_text(before, encoding="utf-8")
    if test and _first_failure(target, test):
        raise SystemExit(f"{fault.name}: {test} fails without the fault, too")
    return test


def _first_failure(target: Path, *tests: str) -> str:
    """The first test that fails; empty when all pass."""
    command = [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", *tests]
    result = subprocess.run(command, cwd=target, capture_output=True, text=True)
    failed = re.search(r"^(?:FAILED|ERROR) (tests/.+?)(?: - .*)?$", result.stdout, re.MULTILINE)
    if failed is None and result.returncode:
        raise SystemExit(f"{result.stdout[-2_000:]}{result.stderr[-2_000:]}")
    return failed[1] if failed else ""


def main() -> int:
    """Try the faults that were asked for; how many no test found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("words", nargs="*", help="try the faults with one of these in their names")
    parser.add_argument("--slow", action="store_true", help="run the slow tests too")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout to try")
    asked = parser.parse_args()
    selection = [] if asked.slow else ["-m", "not slow"]
    missed = 0
    with tempfile.TemporaryDirectory(prefix="hades-faults-") as folder:
        _copy(asked.root, Path(folder))
        for fault in FAULTS:
            if asked.words and not any(word in fault.name for word in asked.words):
                continue
            test = _found_by(Path(folder), fault, selection)
            missed += not test
            print(f"{fault.name}: {test or 'NO TEST FOUND IT'}", flush=True)
    print(f"{missed} faults were not found")
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
