"""Programs that tests start, installed from Debian where that can be done."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import suppress

_PLACES = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin"


def program(name: str, *packages: str) -> str | None:
    """Return where a program is; if it is missing, install these packages first."""
    found = shutil.which(name, path=_PLACES)
    if found is not None or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return found
    # Another process of the tests may be installing; in run level 1 no package starts a service.
    options = "-y -qq --no-install-recommends -o DPkg::Lock::Timeout=120"
    environment = {**os.environ, "RUNLEVEL": "1", "DEBIAN_FRONTEND": "noninteractive"}
    command = f"apt-get update -qq; apt-get install {options} {' '.join(packages)}"
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(["sh", "-c", command], env=environment, capture_output=True, timeout=180)
    return shutil.which(name, path=_PLACES)
