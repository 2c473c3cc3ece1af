"""Audit what a release depends on and what it tracks: run by `make audit`.

Lists every installed package that HADES needs, with its licence; fails on a licence that is not
allowed; writes the list as a CycloneDX SBOM; and looks for secrets in the tracked files.
Known vulnerabilities are not looked up, which needs a network: run `pip-audit` beside it.

Allowed are permissive licences and MPL-2.0, whose duties end at its own files. The core needs
nothing else. EXCEPTIONS names packages of extras with other licences, and why each is accepted:
HADES imports them unchanged and ships no copy of them.
"""

from __future__ import annotations

import importlib.metadata as metadata
import json
import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from hades import __version__
from hades.language.redact import REDACTED, redact

ROOT = Path(__file__).parent.parent
SBOM = ROOT / "dist" / "hades-memory.cdx.json"
NAME = "hades-memory"
NOT_SHIPPED = {"dev", "bench", "all", "frameworks"}
"""Extras for developers, and extras that only repeat others."""
ALLOWED = {"0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0"}
ALLOWED |= {"MIT-CMU", "MPL-2.0", "PSF-2.0", "Python-2.0", "Unicode-3.0", "Unlicense", "Zlib"}
SPDX = {"apache": "Apache-2.0", "bsd": "BSD-3-Clause", "isc": "ISC", "mit": "MIT"}
SPDX |= {"gpl": "GPL-2.0-or-later", "mpl": "MPL-2.0", "psf": "PSF-2.0"}
"""Licences by a word in older metadata."""
EXCEPTIONS = {
    "psycopg": "LGPL: imported as a library that the user can replace",
    "psycopg-binary": "LGPL: as psycopg",
    "psycopg-pool": "LGPL: as psycopg",
    "igraph": "GPL: an extra that the user installs; a product that ships it must follow the GPL",
}
SECRET_CHARACTERS_AT_LEAST = 20
SECRET_BITS_AT_LEAST = 3.5
"""Entropy per character; words and placeholders have less."""


def needed(extras: set[str]) -> dict[str, metadata.Distribution]:
    """Return the installed packages that HADES needs with these extras, by name."""
    packages: dict[str, metadata.Distribution] = {}
    todo = [(NAME, extra) for extra in {"", *extras}]
    seen = set(todo)
    while todo:
        name, extra = todo.pop()
        package = next(iter(metadata.distributions(name=name)), None)
        if package is None:
            print(f"{name}: not installed, so not audited")
            continue
        packages[name] = package
        for requirement in map(Requirement, package.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                inner = canonicalize_name(requirement.name)
                new = {(inner, wanted) for wanted in {"", *requirement.extras}} - seen
                seen |= new
                todo += new
    packages.pop(NAME)
    return dict(sorted(packages.items()))


def licence_of(package: metadata.Distribution) -> str:
    """Return the licence of a package as an SPDX expression where its metadata allows that."""
    about = package.metadata
    classifiers = [one for one in about.get_all("Classifier") or () if one.startswith("License")]
    named = [about.get("License-Expression") or about.get("License") or "", *classifiers]
    for name in [one.rpartition(" :: ")[2] for one in named if one and "\n" not in one]:
        if terms_of(name) & ALLOWED or "License-Expression" in about:
            return name.removesuffix(" License")
        if word := re.search(rf"(?i)\b({'|'.join(SPDX)})\b", name):
            return SPDX[word[0].lower()]
    return "unknown"


def terms_of(expression: str) -> set[str]:
    """Return the licences that an SPDX expression names."""
    return set(re.findall(r"[A-Za-z0-9.+-]+", expression)) - {"AND", "OR", "WITH"}


def is_allowed(expression: str) -> bool:
    """Return whether every part of an expression leaves the choice of an allowed licence."""
    return all(terms_of(part) & ALLOWED for part in expression.split(" AND "))


def component(name: str, version: str, licence: str, kind: str = "library") -> dict[str, object]:
    """Return a package as a component of CycloneDX."""
    purl = f"pkg:pypi/{name}@{version}"
    own = {"type": kind, "name": name, "version": version, "bom-ref": purl, "purl": purl}
    return own | {"licenses": [{"expression": licence}]}


def has_secret(line: str) -> bool:
    """Return whether a line has a private key, or a random value where `redact` sees a secret."""
    first, *rest = redact(line).split(REDACTED)
    at = len(first)
    for piece in rest:
        end = line.find(piece, at) if piece else len(line)
        value, at = line[at:end], end + len(piece)
        shares = [count / len(value) for count in Counter(value).values()]
        bits = -sum(share * math.log2(share) for share in shares)
        is_random = bits >= SECRET_BITS_AT_LEAST and any(map(str.isdigit, value))
        if is_random and len(value) >= SECRET_CHARACTERS_AT_LEAST:
            return True
    return line.lstrip().startswith("-----BEGIN") and first != line


def secrets() -> list[str]:
    """List the places of tracked files that look like a secret."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    found = []
    for name in listed.stdout.decode().split("\0")[:-1]:
        raw = (ROOT / name).read_bytes()
        lines = [] if b"\0" in raw else raw.decode(errors="replace").splitlines()
        found += [f"{name}:{number}" for number, line in enumerate(lines, 1) if has_secret(line)]
    return found


def main() -> int:
    """Print the audit, write the SBOM and return the exit code."""
    extras = set(metadata.metadata(NAME).get_all("Provides-Extra") or ()) - NOT_SHIPPED
    core, every, wrong = needed(set()), needed(extras), []
    for name, package in every.items():
        licence = licence_of(package)
        why = "" if is_allowed(licence) else EXCEPTIONS.get(name, "NOT ALLOWED")
        where = "core" if name in core else "extra"
        print(f"{where:<6}{name:<40}{package.version:<14}{licence}  {why}".rstrip())
        if why == "NOT ALLOWED" or (why and name in core):
            wrong.append(f"the licence of {name}: {licence}")
    own = component(NAME, __version__, "Apache-2.0", "application")
    parts = [component(name, one.version, licence_of(one)) for name, one in every.items()]
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(json.dumps(bill | {"metadata": {"component": own}, "components": parts}))
    print(f"{len(core)} packages of the core, {len(every)} with extras; SBOM: {SBOM}")
    wrong += [f"a possible secret at {place}" for place in secrets()]
    print("\n".join(f"FAILED: {one}" for one in wrong) or "Licences and secrets: nothing found.")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
