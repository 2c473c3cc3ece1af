"""A symbol has one name, wherever its repository was ingested from."""

from __future__ import annotations

from pathlib import Path

import pytest

import hades
from hades.ingest.readers.code.roots import Roots

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


def test_files_outside_packages_are_named_from_the_project(tmp_path: Path) -> None:
    write(tmp_path, "repo", {"setup.py": "", "tests/test_a.py": "", "src/names/space.py": ""})
    roots = Roots(tmp_path / "repo")
    assert roots.import_path(tmp_path / "repo/tests/test_a.py") == "tests/test_a.py"
    assert roots.import_path(tmp_path / "repo/src/names/space.py") == "names/space.py"
    # What lies above what was given may have nothing to do with it.
    assert Roots(tmp_path / "repo/tests").import_path(tmp_path / "repo/tests/test_a.py") == ""


@pytest.mark.parametrize(
    ("manifest", "text", "file", "named"),
    [
        ("Cargo.toml", '[package]\nname = "fast-io"\n', "src/net/mod.rs", "fast-io/src/net/mod.rs"),
        ("go.mod", "module example.org/lib/tool\n", "lib/a.go", "example.org/lib/tool/lib/a.go"),
        ("package.json", '{"name": "@shop/cart"}', "src/a.ts", "@shop/cart/src/a.ts"),
        ("package.json", '{"name": ["no"]}', "src/a.ts", ""),
        ("package.json", '{"name": "../.."}', "src/a.ts", ""),
        ("package.json", "[" * 100_000, "src/a.ts", ""),
        ("Cargo.toml", "x" * 300_000, "src/a.rs", ""),
    ],
)
def test_manifests_name_their_package(
    tmp_path: Path, manifest: str, text: str, file: str, named: str
) -> None:
    write(tmp_path, "", {manifest: text, file: ""})
    assert Roots(tmp_path).import_path(tmp_path / file) == named
