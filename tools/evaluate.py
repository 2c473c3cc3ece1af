"""Measure every question set there is, and write the reports: run by `make eval`.

Sets are the folders of HADES_DATA, else of `../shared/data` beside this checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
REPORT = ROOT / "eval-report"


def main() -> int:
    data = Path(os.environ.get("HADES_DATA") or ROOT.parent / "shared" / "data")
    if not data.is_dir():
        print(f"Nothing to measure: {data} is not there. Set HADES_DATA to a folder of sets.")
        return 0
    failed = False
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        if not (folder / "questions.jsonl").is_file():
            print(f"{folder.name}: skipped, it has no questions.jsonl\n", flush=True)
            continue
        runs: list[tuple[Path, list[str]]] = [(REPORT, [])]
        if (folder / "triples.jsonl").is_file():
            runs.append((REPORT / "with-triples", ["--triples"]))
        for report, options in runs:
            # A process each, so that one set's memory is not resident while another is timed.
            command = [sys.executable, "-c", "from hades.cli import main; main()", "eval"]
            asked = [str(folder), "--report", str(report), *options]
            done = subprocess.run([*command, *asked], cwd=ROOT)
            failed = failed or done.returncode != 0
            print(flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
