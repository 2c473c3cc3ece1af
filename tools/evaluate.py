"""Measure every question set there is, and write the reports: run by `make eval`.

Sets are the folders below `evals` in this checkout, and below HADES_DATA, else `../shared/data`
beside this checkout. Questions about a corpus or conversations are split in halves by a hash of
their id; a question is ranked by weights learned from the other half of all such sets, so no
number here is of a question the ranker has seen. The other kinds, and the ladder from flat to
HiRAG×PathRAG, are asked with the ranker in the package.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hades.evals.sets import LADDER_KINDS, QUESTIONS, kind_of

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "eval-report"
COMMAND = [sys.executable, "-c", "from hades.cli import main; main()"]
NOTES = "10,30,100,all"
"""Everyday sets are also cut to small memories."""


def main() -> int:
    data = Path(os.environ.get("HADES_DATA") or ROOT.parent / "shared" / "data")
    folders = [*sets_in(ROOT / "evals"), *sets_in(data)]
    if not data.is_dir():
        print(f"Public sets: skipped, {data} is not there. Set HADES_DATA to a folder of sets.\n")
    REPORT.mkdir(exist_ok=True)
    ladders = [one for one in folders if kind_of(one) in LADDER_KINDS]
    held_out = [train(ladders, fold) for fold in (0, 1)] if ladders else []
    if None in held_out:
        return 1
    failed = False
    for folder in folders:
        runs: list[tuple[Path, list[str]]] = [(REPORT, [])]
        if folder in ladders:
            runs = [(REPORT, ["--held-out", *map(str, held_out)]), (REPORT, ["--ladder"])]
            if (folder / "triples.jsonl").is_file():
                runs.append((REPORT / "with-triples", ["--triples", *runs[0][1]]))
        elif kind_of(folder) == "everyday":
            runs = [(REPORT, ["--notes", NOTES])]
        for report, options in runs:
            # A process each, so that one set's memory is not resident while another is timed.
            asked = [str(folder), "--report", str(report), *options]
            done = subprocess.run([*COMMAND, "eval", *asked], cwd=ROOT)
            failed = failed or done.returncode != 0
            print(flush=True)
    return int(failed)


def sets_in(data: Path) -> list[Path]:
    """Every folder below that is a set; those beside them that hold none are named."""
    found = {one.parent for one in data.rglob(QUESTIONS) if kind_of(one.parent)}
    for path in sorted(data.iterdir()) if data.is_dir() else []:
        if path.is_dir() and not any(one.is_relative_to(path) for one in found):
            print(f"{path.name}: skipped, there is no set in it\n", flush=True)
    return sorted(found)


def train(folders: list[Path], fold: int) -> Path | None:
    """A ranker that has not seen this half of any set's questions."""
    target = REPORT / f"without-half-{fold}.json"
    asked = [*map(str, folders), "--fold", str(1 - fold), "--to", str(target)]
    done = subprocess.run([*COMMAND, "train-ranker", *asked], cwd=ROOT)
    return target if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
