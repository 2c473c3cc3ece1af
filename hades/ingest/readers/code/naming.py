"""Naming: what a file and the symbols in it are called from elsewhere.

The name is read off the path, as far as a path can tell: `src/hades/store.py` is
`hades.store`, `net/http/server.go` is `net/http`, `core/src/io/mod.rs` is `core::io`.
C and C++ have no modules: their files are known by the path one would include.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from posixpath import splitext

from hades.ingest.readers.code.languages import SUFFIXES, Language

_PYTHON_PACKAGE_FOLDERS = frozenset({"site-packages", "dist-packages"})
_SOURCE_FOLDERS = frozenset({"src", "lib", "include"})
_PYTHON_FOLDER = re.compile(r"python\d(\.\d+)?$")
_INDEX_STEMS = {
    "python": frozenset({"__init__"}),
    "script": frozenset({"index"}),
    "rust": frozenset({"mod", "lib", "main"}),
}
"""Files that speak for their folder."""

_COMMON_WORDS = """
add all any append apply args array assert async await base block body bool build byte bytes
call cancel change char check class clean clear clone close code collect command compare
compile config connect const content context convert copy count create current cursor data
date decode default define delete destroy dict document done draw dump each edit element empty
encode end enter entry equals error event exec execute exit expand export extend fetch field
file fill filter find finish first flush fold format forward from func function generate get
group handle handler hash head height help hide host id import index info init input insert
int invoke is item items iter join key keys kind last len length level limit line link list
listen load local lock log lookup loop main make map mark match max member memory merge
message method min mod mode model module move name names new next node none normalize notify
null num number object offset open option options output pack page pair parent parse part path
peek point pop port position post prepare print process push put query queue quit raise random
range read reader receive record reduce register release reload remove render repeat replace
reply report request reset resize resolve response restart result resume return reverse root
round run save scan score search section seek select self send sequence service set settings
setup shift show shutdown size skip sleep slice sort source space span spawn split stack start
state status step stop store str string submit sum swap switch sync table tag target task
teardown test text this tick time timeout to toggle token top total trace transform tree trim
true truncate try type unit unlock up update upload url use user util utils valid validate
value values vector verify version view visit wait walk warn width work wrap write writer yield
"""
COMMON_NAMES = frozenset(_COMMON_WORDS.split())
"""Words every program has a symbol for; alone they would be found in all prose."""

SHORTEST_DISTINCTIVE_CHARS = 3


def is_distinctive(name: str) -> bool:
    """Whether the bare name of a symbol, met in other text, likely means that symbol."""
    word = name.strip("_$").lower()
    is_protocol = name.startswith("__") and name.endswith("__")
    if is_protocol or not word.replace("$", "_").isidentifier():
        return False
    return len(word) >= SHORTEST_DISTINCTIVE_CHARS and word not in COMMON_NAMES


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file stands among the modules of its language."""

    topic: str
    module: str
    """The name others import it by."""
    prefix: str
    """What stands before the name of a symbol in it, with its joint."""
    parts: tuple[str, ...] = ()
    """What relative imports start from: its package, its Rust module, its folder."""


def path_parts(path: str) -> tuple[tuple[str, ...], str]:
    """Folders and file name; steps like `.` and `..` that lead nowhere are dropped."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return (tuple(parts[:-1]), parts[-1]) if parts else ((), path)


def strip_suffix(file: str) -> str:
    """The file name without the suffix of a known language (`a.d.ts` is `a`)."""
    stem, suffix = splitext(file)
    return stem.removesuffix(".d") if suffix.lower() in SUFFIXES else file


def _below_root(folders: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """The project's name where a source folder shows it, and the folders below that folder."""
    for at in range(len(folders) - 1, -1, -1):
        if folders[at] in _PYTHON_PACKAGE_FOLDERS:
            return "", folders[at + 1 :]
        if folders[at] == "node_modules":
            folders = folders[at + 1 :]
            break
    for at, folder in enumerate(folders):
        if folder in _SOURCE_FOLDERS:
            below = folders[at + 1 :]
            if below and _PYTHON_FOLDER.match(below[0]):
                below = below[1:]
            return (folders[at - 1] if at else ""), below
    return "", folders


def script_module(path: str) -> str:
    """The dotted name of a JavaScript or TypeScript file; its project's name comes first."""
    folders, file = path_parts(path)
    project, below = _below_root(folders)
    stem = strip_suffix(file)
    parts = [part for part in (project, *below) if part]
    if stem not in _INDEX_STEMS["script"] or not parts:
        parts.append(stem)
    return ".".join(parts)


def place_of(topic: str, language: Language, package: str) -> Place:
    """The place of a file by its path; `package` is what the file itself says, or empty."""
    folders, file = path_parts(topic)
    project, below = _below_root(folders)
    stem = strip_suffix(file)
    index = stem in _INDEX_STEMS.get(language.family, ())
    if language.family == "python":
        parts = below if index and below else (*below, stem)
        module = ".".join(parts)
        return Place(topic, module, module + ".", parts if index else below)
    if language.family == "script":
        module = script_module(topic)
        return Place(topic, module, module + ".")
    if language.family == "rust":
        crate = (project or "crate").replace("-", "_")
        parts = (crate, *below) if index else (crate, *below, stem)
        module = "::".join(parts)
        return Place(topic, module, module + "::", parts)
    if language.family == "go":
        module = "/".join(below) or project or package or stem
        return Place(topic, module, module + ".")
    if language.family == "java":
        return Place(topic, package, package + "." if package else "")
    return Place(topic, "/".join((*below, file)), "", below)


def qualified(place: Place, path: tuple[str, ...], joint: str) -> str:
    """The name of a symbol from elsewhere; a bare common word also gets its file's name."""
    name = joint.join(path)
    if not place.prefix and len(path) == 1 and not is_distinctive(name):
        return f"{strip_suffix(path_parts(place.topic)[1])}{joint}{name}"
    return place.prefix + name
