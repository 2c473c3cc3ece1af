"""Measure every question set there is, and write the reports: run by `make eval`.

Sets are the folders of HADES_DATA, else of `../shared/data` beside this checkout. Questions
are split in halves by a hash of their id; a question is ranked by weights learned from the
other half of all sets, so no number here is of a question the ranker has seen.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "eval-report"


COMMAND = [sys.executable, "-c", "from hades.cli import main; main()"]


def main() -> int:
    data = Path(os.environ.get("HADES_DATA") or ROOT.parent / "shared" / "data")
    if not data.is_dir():
        print(f"Nothing to measure: {data} is not there. Set HADES_DATA to a folder of sets.")
        return 0
    folders = sorted(path for path in data.iterdir() if (path / "questions.jsonl").is_file())
    for path in sorted(data.iterdir()):
        if path.is_dir() and path not in folders:
            print(f"{path.name}: skipped, it has no questions.jsonl\n", flush=True)
    REPORT.mkdir(exist_ok=True)
    held_out = [train(folders, fold) for fold in (0, 1)]
    if None in held_out:
        return 1
    failed = False
    for folder in folders:
        runs: list[tuple[Path, list[str]]] = [(REPORT, [])]
        if (folder / "triples.jsonl").is_file():
            runs.append((REPORT / "with-triples", ["--triples"]))
        for report, options in runs:
            # A process each, so that one set's memory is not resident while another is timed.
            asked = [str(folder), "--report", str(report), "--held-out", *map(str, held_out)]
            done = subprocess.run([*COMMAND, "eval", *asked, *options], cwd=ROOT)
            failed = failed or done.returncode != 0
            print(flush=True)
    return int(failed)


def train(folders: list[Path], fold: int) -> Path | None:
    """A ranker that has not seen this half of any set's questions."""
    target = REPORT / f"without-half-{fold}.json"
    asked = [*map(str, folders), "--fold", str(1 - fold), "--to", str(target)]
    done = subprocess.run([*COMMAND, "train-ranker", *asked], cwd=ROOT)
    return target if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
