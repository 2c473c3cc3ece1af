"""A symbol has one name, wherever its repository was ingested from."""

from __future__ import annotations

from pathlib import Path

import pytest

import hades

FILES = {
    "shop/__init__.py": "from shop.store import Engine as Motor\n",
    "shop/store/__init__.py": "from .engine import Engine\n",
    "shop/store/engine.py": "class Base:\n    def stop_all(self): pass\n\n\n"
    "class Engine(Base):\n    def close_all(self):\n        self.stop_all()\n",
    "shop/lib/tools.py": "def sharpen_all():\n    pass\n",
    "shop/lib/__init__.py": "",
    "shop/use.py": "import shop\nfrom shop.store.engine import Engine\n\n\n"
    "class Faster(Engine):\n    def close_all(self):\n        super().close_all()\n\n\n"
    "def run_it():\n    shop.Motor()\n    Engine().close_all()\n",
}
LAYOUTS = {
    "the repository, flat": ("repo-1.0", "repo-1.0", ""),
    "the repository with src": ("repo-1.0", "repo-1.0", "src"),
    "a monorepo": ("mono", "mono", "packages/shop-py"),
    "the package alone": ("repo-1.0", "repo-1.0/shop", ""),
    "a part of the package": ("repo-1.0", "repo-1.0/shop/store", ""),
}


def write(top: Path, inside: str, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / inside / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_give_the_same_names(tmp_path: Path, path: Path, layout: str) -> None:
    top, given, inside = LAYOUTS[layout]
    write(tmp_path / top, inside, {"pyproject.toml": "[project]\n", **FILES})
    with hades.open(path) as memory:
        memory.ingest(tmp_path / given)
        found = {edge.target.name for edge in memory.edges(relation="contains")}
        assert "shop.store.engine.Engine.close_all" in found
        calls = {(edge.source.name, edge.target.name) for edge in memory.edges(relation="calls")}
        assert ("shop.store.engine.Engine.close_all", "shop.store.engine.Base.stop_all") in calls
        if not given.endswith("store"):
            assert "shop.lib.tools.sharpen_all" in found
            # Names that packages pass on lead to what they mean.
            assert ("shop.use.run_it", "shop.store.engine.Engine") in calls
            faster = "shop.use.Faster.close_all"
            assert (faster, "shop.store.engine.Engine.close_all") in calls


def symbols(folder: Path, memory_at: Path) -> dict[str, str]:
    """Ingest a folder: the name of the symbol in each file."""
    with hades.open(memory_at) as memory:
        memory.ingest(folder)
        edges = memory.edges(relation="contains")
        return {edge.source.name: edge.target.name for edge in edges}


def test_files_outside_packages_are_named_from_the_project(tmp_path: Path) -> None:
    tests, space = "def go_on():\n    pass\n", "def float_by():\n    pass\n"
    write(tmp_path, "repo", {"setup.py": "", "tests/test_a.py": tests, "src/names/space.py": space})
    assert symbols(tmp_path / "repo", tmp_path / "whole.hades") == {
        "repo/tests/test_a.py": "tests.test_a.go_on",
        "repo/src/names/space.py": "names.space.float_by",
    }
    # What lies above what was given may have nothing to do with it.
    write(tmp_path, "other", {"setup.py": "", "checks/parts/test_a.py": tests})
    assert symbols(tmp_path / "other/checks/parts", tmp_path / "part.hades") == {
        "parts/test_a.py": "parts.test_a.go_on"
    }


SPIN = {
    ".rs": "pub fn spin_up() {}\n",
    ".go": "package a\n\nfunc SpinUp() {}\n",
    ".ts": "export function spinUp() {}\n",
}


@pytest.mark.parametrize(
    ("manifest", "text", "file", "named"),
    [
        ("Cargo.toml", '[package]\nname = "fast-io"\n', "src/net/mod.rs", "fast_io::net::spin_up"),
        ("go.mod", "module example.org/lib/tool\n", "lib/a.go", "example.org/lib/tool/lib.SpinUp"),
        ("package.json", '{"name": "@shop/cart"}', "src/a.ts", "@shop/cart.a.spinUp"),
        ("package.json", '{"name": ["no"]}', "src/a.ts", "repo.a.spinUp"),
        ("package.json", '{"name": "../.."}', "src/a.ts", "repo.a.spinUp"),
        ("package.json", "[" * 100_000, "src/a.ts", "repo.a.spinUp"),
        ("Cargo.toml", "x" * 300_000, "src/a.rs", "repo::a::spin_up"),
    ],
)
def test_manifests_name_their_package(
    tmp_path: Path, manifest: str, text: str, file: str, named: str
) -> None:
    write(tmp_path, "repo", {manifest: text, file: SPIN[Path(file).suffix]})
    found = symbols(tmp_path / "repo", tmp_path / "m.hades")
    assert found == {f"repo/{file}": named}
