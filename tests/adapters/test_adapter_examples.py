"""The examples of docs/adapters.md: short, and run as they stand, with scripted models."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_models import FOR

import hades

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "adapters.md").read_text(encoding="utf-8")
EXAMPLES = {
    match[1]: block
    for block in re.findall(r"^```py\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    if (match := re.search(r"from hades\.adapters\.(\w+) import", block))
}
ADAPTERS = sorted(
    path.stem
    for path in (ROOT / "hades" / "adapters").glob("*.py")
    if "with framework(" in path.read_text(encoding="utf-8")
)


def test_every_adapter_has_a_short_example_and_is_short_itself() -> None:
    assert sorted(EXAMPLES) == ADAPTERS
    assert [name for name, block in EXAMPLES.items() if block.count("\n") >= 30] == []
    lines = {
        path.name: path.read_text(encoding="utf-8").count("\n")
        for path in (ROOT / "hades" / "adapters").glob("*.py")
    }
    assert {name: count for name, count in lines.items() if count > 155} == {}


@pytest.mark.slow
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_an_example_runs(adapter: str, tmp_path: Path) -> None:
    try:
        importlib.import_module(f"hades.adapters.{adapter}")
    except hades.Unavailable as error:
        pytest.skip(str(error))
    script = tmp_path / "example.py"
    script.write_text(FOR.get(adapter, "") + EXAMPLES[adapter], encoding="utf-8")
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    (expected,) = re.findall(r"\)  # (.+)$", EXAMPLES[adapter], re.MULTILINE)
    assert expected in run.stdout
