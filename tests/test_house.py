"""The house: imports go one way, importing is cheap, everything is documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "hades"

FLOORS = [
    {"serve", "cli", "evals"},
    {"api", "client", "memory", "reviewing", "writing", "view", "exploring", "asking"},
    {"recall", "ingest", "lifecycle", "learn", "exchange"},
    {"index", "graph", "store", "models", "context", "settings"},
    {"domain"},
    {"errors"},
]
"""From the roof to the ground: a room imports its own floor and those below."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


def _modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "hades":
                names = [f"hades.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("hades.")}
    return rooms - {"__version__"}


@pytest.mark.parametrize("path", _modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    room = _room(path)
    assert room in FLOOR, f"{room} has no place in the house: draw it in docs/design.md first"
    for other in _imported_rooms(path):
        assert FLOOR[other] >= FLOOR[room], f"{room} must not import {other}"


def test_importing_hades_loads_nothing_heavy() -> None:
    heavy = {
        "numba",
        "onnxruntime",
        "numpy",
        "tantivy",
        "pydantic",
        "typer",
        "rich",
        "fastapi",
        "httpx",
    }
    code = (
        "import sys, tempfile, hades\n"
        "with tempfile.TemporaryDirectory() as f, hades.open(f + '/m.hades') as m:\n"
        "    m.remember('a', 'x'); m.at('now').get('a'); m.purge('a')\n"
        "print(*sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(out.stdout.split())


def test_the_version_is_in_the_changelog() -> None:
    import hades

    assert f"## {hades.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_reference_is_up_to_date() -> None:
    """Every public name, command and setting is described in the generated pages."""
    sys.path.insert(0, str(ROOT / "tools"))
    import reference

    for path, text in reference.pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make docs`"


def test_every_public_name_command_and_setting_has_a_sentence() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import reference

    assert reference.undocumented() == []


def test_links_in_the_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
