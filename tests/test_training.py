"""The situations that the encoder and the reader are trained on are well formed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_every_situation_is_well_formed() -> None:
    command = [sys.executable, "tools/situations.py", "training/notes"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    assert "in 28 domains" in checked.stdout
