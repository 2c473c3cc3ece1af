"""Roots: the path by which a source file is imported, wherever its repository is ingested from.

The root of a Python package is the first folder above it without an `__init__.py`. Other Python
files are named from the root of their project. The manifest of a Rust, Go or JavaScript package
gives its name, and nothing else of a manifest is used.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from hades.ingest.readers.code.languages import SUFFIXES

MANIFEST_BYTES_AT_MOST = 256 * 1024
_PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", ".hg")
_SOURCE_FOLDERS = ("src", "lib")
_NAME = re.compile(r"@?\w[\w@./-]{0,199}")
_GO_MODULE = re.compile(r"^module[ \t]+\"?([^\s\"]+)", re.M)


class Roots:
    """Finds the roots of source files and caches them by folder.

    Manifests and projects are searched in the ingested folder and below, because folders above it
    may be unrelated. Only a Python package may begin above it.
    """

    def __init__(self, top: Path) -> None:
        self._top = top if top.is_dir() else top.parent
        self._project_root = cache(self._find_project_root)
        self._manifest = cache(self._find_manifest)

    def import_path(self, path: Path) -> str:
        """Return the path of a source file from its root, or an empty text if it is unknown."""
        language = SUFFIXES.get(path.suffix.lower())
        if language is None:
            return ""
        if language.family == "python":
            root = self._python_root(path.parent)
            return "" if root is None else path.relative_to(root).as_posix()
        if language.family not in _MANIFESTS:
            return ""
        named = self._manifest(path.parent, language.family)
        return "" if named is None else f"{named[1]}/{path.relative_to(named[0]).as_posix()}"

    def _python_root(self, folder: Path) -> Path | None:
        package = folder
        while (package / "__init__.py").is_file() and package != package.parent:
            package = package.parent
        return self._project_root(folder) if package == folder else package

    def _find_project_root(self, folder: Path) -> Path | None:
        """Return the nearest project root, or its `src` or `lib` around the folder, or None."""
        for root in (folder, *folder.parents):
            if self._top not in (root, *root.parents):
                break
            if any((root / mark).exists() for mark in _PROJECT_MARKS):
                first = folder.relative_to(root).parts[:1]
                return root / first[0] if first and first[0] in _SOURCE_FOLDERS else root
        return None

    def _find_manifest(self, folder: Path, family: str) -> tuple[Path, str] | None:
        """Return the nearest folder with a manifest that states a name, and the name, or None."""
        file, read = _MANIFESTS[family]
        if name := _stated_name(folder / file, read):
            return folder, name
        return self._manifest(folder.parent, family) if self._top in folder.parents else None


def _stated_name(file: Path, read: Callable[[str], object]) -> str:
    """Return the name in a manifest, or an empty text if there is no usable one."""
    try:
        with file.open("rb") as opened:
            text = opened.read(MANIFEST_BYTES_AT_MOST + 1)
        name = read(text.decode()) if len(text) <= MANIFEST_BYTES_AT_MOST else None
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return name if isinstance(name, str) and _NAME.fullmatch(name) else ""


def _go_module(text: str) -> object:
    module = _GO_MODULE.search(text)
    return module and module[1]


_MANIFESTS: dict[str, tuple[str, Callable[[str], object]]] = {
    "rust": ("Cargo.toml", lambda text: tomllib.loads(text).get("package", {}).get("name")),
    "go": ("go.mod", _go_module),
    "script": ("package.json", lambda text: json.loads(text).get("name")),
}
