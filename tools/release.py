"""Check that a release can be made, build it, and tag it: run by `make release VERSION=1.0.0`.

Without `--tag` nothing outside `dist/` is changed. Nothing is ever pushed or uploaded: the last
lines printed are the commands for that.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import hades

ROOT = Path(__file__).parent.parent
RELEASED = ROOT / "tests" / "store" / "released"
STEPS = ("check", "test", "dist", "audit")
"""`dist` comes before `audit`, which adds the SBOM to its folder."""


def problems(version: str, *, tagging: bool) -> list[str]:
    """List what must be mended before this version can be released."""
    found = []
    if git("status", "--porcelain"):
        found.append("the working tree has changes: commit them")
    if not re.fullmatch(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?", version):
        found.append(f"{version!r} is not a version such as 1.0.0 or 1.1.0rc1")
    if hades.__version__ != version:
        found.append(f"hades/__init__.py says {hades.__version__}, not {version}")
    heading = re.search(rf"(?m)^## {re.escape(version)} \((.*)\)$", read("CHANGELOG.md"))
    if heading is None:
        found.append(f"CHANGELOG.md has no heading “## {version} (date)”")
    elif tagging and not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[1]):
        found.append(f"CHANGELOG.md gives {version} no date: “{heading[1]}”")
    if not (RELEASED / f"{version}.hades.gz").is_file():
        found.append(f"no memory of {version}: run python -m tests.store.released_making {version}")
    if git("tag", "--list", f"v{version}"):
        found.append(f"the tag v{version} exists")
    return found


def git(*words: str) -> str:
    """Return what git prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def read(name: str) -> str:
    """Return the text of a file of this checkout."""
    return (ROOT / name).read_text(encoding="utf-8")


def main(version: str, *options: str) -> int:
    """Check, build and, with `--tag`, tag; return the exit code."""
    tagging = "--tag" in options
    if found := problems(version, tagging=tagging):
        print("\n".join(f"Not ready: {problem}." for problem in found))
        return 1
    for step in STEPS:
        if subprocess.run(["make", step], cwd=ROOT, check=False).returncode:
            print(f"Not ready: make {step} failed.")
            return 1
    built = sorted(path.name for path in (ROOT / "dist").iterdir())
    print(f"Built: {', '.join(built)}. A release also needs: make test-all soak MINUTES=120.")
    if tagging:
        git("tag", "--annotate", f"v{version}", "--message", f"HADES {version}")
    print(f"{'Tagged' if tagging else 'Not tagged: add TAG=yes to tag'} v{version}. To publish:")
    print(f"  git push origin v{version}\n  twine upload dist/*.whl dist/*.tar.gz")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("Name the version: make release VERSION=1.0.0")
    sys.exit(main(*sys.argv[1:]))
