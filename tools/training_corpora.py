"""Lays out the documents and conversations that the questions in `training/` are about.

    git clone --bare https://github.com/OWNER/NAME CLONES/OWNER+NAME      # of each repository
    python tools/training_corpora.py CLONES OUT
    python tools/document_units.py units.json.xz OUT/*/ DATA/documents/*/

A collection's `source.json` names its repository and commit. `select` is a regular expression that
the path of a file must match as a whole; the file gets the name in its group `name`, or the whole
path, after `prefix`. A commit that a clone does not have is replaced by its HEAD, with a warning.
A collection whose files were converted by hand has no `select` and is skipped.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

TRAINING = Path(__file__).parents[1] / "training"


def git(clone: Path, *arguments: str) -> bytes:
    command = ["git", "--git-dir", str(clone), "-c", "core.quotepath=off", *arguments]
    return subprocess.run(command, capture_output=True, check=True).stdout


def lay_out(collection: Path, clone: Path, out: Path) -> str:
    """Write the files of a collection below `out`; return what was written, or is missing."""
    source = json.loads((collection / "source.json").read_text("utf-8"))
    commit = source["commit"]
    known = subprocess.run(
        ["git", "--git-dir", str(clone), "cat-file", "-e", f"{commit}^{{commit}}"],
        capture_output=True,
    )
    warning = "" if known.returncode == 0 else f"; commit {commit[:10]} is not there, took HEAD"
    commit = "HEAD" if warning else commit
    rules = [(re.compile(one["path"]), one.get("prefix", "")) for one in source["select"]]
    written = set()
    for line in git(clone, "ls-tree", "-r", commit).decode("utf-8").splitlines():
        details, _, path = line.partition("\t")
        for pattern, prefix in rules:
            if found := pattern.fullmatch(path):
                name = prefix + (found["name"] if "name" in pattern.groupindex else path)
                target = out / "corpus" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(git(clone, "cat-file", "blob", details.split()[2]))
                written.add(name)
    questions = (collection / "questions.jsonl").read_text("utf-8")
    shutil.copy(collection / "questions.jsonl", out / "questions.jsonl")
    rows = [json.loads(line) for line in questions.split("\n") if line.strip()]
    lost = {gold["file"] for row in rows for gold in row["gold"]} - written
    return f"{len(written)} files, {len(lost)} that questions name are missing{warning}"


def main() -> None:
    clones, out = map(Path, sys.argv[1:])
    for file in sorted(TRAINING.glob("*/*/source.json")):
        source = json.loads(file.read_text("utf-8"))
        clone = clones / source["repository"].removeprefix("github:").replace("/", "+")
        if "select" not in source:
            print(f"{file.parent.name}: skipped, its files were converted", flush=True)
        elif not clone.is_dir():
            print(f"{file.parent.name}: skipped, there is no {clone}", flush=True)
        else:
            said = lay_out(file.parent, clone, out / file.parent.name)
            print(f"{file.parent.name}: {said}", flush=True)


if __name__ == "__main__":
    main()
