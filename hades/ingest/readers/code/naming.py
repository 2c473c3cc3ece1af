"""Naming: qualified names of files, their symbols and their imports.

The name of a module is derived from its path: `src/hades/store.py` is `hades.store`,
`net/http/server.go` is `net/http`, `core/src/io/mod.rs` is `core::io`. C and C++ have no modules:
their files are named by the path to include.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath, splitext
from typing import TYPE_CHECKING

from hades.ingest.readers.code.languages import JAVASCRIPT, SUFFIXES, CodeLanguage

if TYPE_CHECKING:
    from tree_sitter import Node

    Written = Callable[[Node | None], str]

_SOURCE_FOLDERS = frozenset({"src", "lib", "include"})
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
"""Common names of symbols, which would match ordinary words of any prose."""

SHORTEST_DISTINCTIVE_CHARS = 3
DEEPEST_USE_TREE = 20

_GO_VERSION = re.compile(r"v\d+$")


def is_distinctive(name: str) -> bool:
    """Return whether the bare name of a symbol, in other text, likely means that symbol."""
    word = name.strip("_$").lower()
    is_protocol = name.startswith("__") and name.endswith("__")
    if is_protocol or not word.replace("$", "_").isidentifier():
        return False
    return len(word) >= SHORTEST_DISTINCTIVE_CHARS and word not in COMMON_NAMES


# Files and symbols


@dataclass(frozen=True, slots=True)
class ModulePlace:
    """The place of a file among the modules of its language."""

    topic: str
    module: str
    """The name by which other files import it."""
    prefix: str
    """The text before the name of a symbol in it, with the separator."""
    parts: tuple[str, ...] = ()
    """The base of relative imports: its package, its Rust module or its folder."""
    path: str = ""
    """Its path, from its root if that is known."""


def path_parts(path: str) -> tuple[tuple[str, ...], str]:
    """Return the folders and the file name of a path, without `.` and `..`."""
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    return (tuple(parts[:-1]), parts[-1]) if parts else ((), path)


def _strip_suffix(file: str) -> str:
    """Return the file name without the suffix of a known language (`a.d.ts` is `a`)."""
    stem, suffix = splitext(file)
    return stem.removesuffix(".d") if suffix.lower() in SUFFIXES else file


def _below_root(folders: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Return the folder above the first `src` or the like, else "", and the folders below it."""
    for at, folder in enumerate(folders):
        if folder in _SOURCE_FOLDERS:
            return (folders[at - 1] if at else ""), folders[at + 1 :]
    return "", folders


def place_of(
    topic: str, language: CodeLanguage, package: str = "", rooted: str = ""
) -> ModulePlace:
    """Return the place of a file by its path. `package` is the package that it declares.

    `rooted` is its path from the root of its package, if known (see `roots`).
    """
    path = rooted or topic
    folders, file = path_parts(path)
    project, below = _rooted(folders, language) if rooted else _below_root(folders)
    stem = _strip_suffix(file)
    if language.index_stems:
        package_of = {
            "python": below,
            "script": (project, *below) if project else below,
            "rust": ((project or "crate").replace("-", "_"), *below),
        }
        around = package_of[language.family]
        parts = around if stem in language.index_stems and around else (*around, stem)
        module = language.joint.join(parts)
        starts_from = parts if language.family == "rust" else around
        return ModulePlace(topic, module, module + language.joint, starts_from, path)
    if language.family == "go":
        module = "/".join(below) or project or package or stem
        return ModulePlace(topic, module, module + ".", path=path)
    if language.family == "java":
        return ModulePlace(topic, package, package + "." if package else "", path=path)
    return ModulePlace(topic, "/".join((*below, file)), "", below, path)


def _rooted(folders: tuple[str, ...], language: CodeLanguage) -> tuple[str, tuple[str, ...]]:
    """Return the package name, if modules of the language begin with it, and the folders below."""
    if language.family not in ("rust", "script"):
        return "", folders
    scoped = 2 if folders[0].startswith("@") else 1
    below = folders[scoped:]
    return "/".join(folders[:scoped]), below[1:] if below[:1] in (("src",), ("lib",)) else below


def qualified(place: ModulePlace, path: tuple[str, ...], joint: str) -> str:
    """Return the qualified name of a symbol. A bare common word gets the file's name before it."""
    name = joint.join(path)
    if not place.prefix and len(path) == 1 and not is_distinctive(name):
        return f"{_strip_suffix(path_parts(place.topic)[1])}{joint}{name}"
    return place.prefix + name


# Imports


@dataclass(frozen=True, slots=True)
class Import:
    """An import: the qualified name of its target, and its name in this file, if any."""

    target: str
    at: int
    statement: str
    alias: str = ""
    meaning: str = ""
    """The qualified name that the alias stands for."""


Taken = tuple[str, str, str]
"""The target of an import, its alias, and the qualified name that the alias stands for."""


def find_imports(
    text: str, statements: Iterable[Node], place: ModulePlace, language: CodeLanguage
) -> list[Import]:
    """Return the imports of a file, in order, without those of an empty target."""

    def written(node: Node | None) -> str:
        return "".join(text[node.start_byte : node.end_byte].split()) if node is not None else ""

    imports = []
    for node in statements:
        shown = text[node.start_byte : node.end_byte]
        for target, alias, meaning in _READERS[language.family](node, written, place):
            if target.strip(".:/"):
                imports.append(Import(target, node.start_byte, shown, alias, meaning))
    return imports


def _python(node: Node, written: Written, place: ModulePlace) -> Iterator[Taken]:
    origin = node.child_by_field_name("module_name")
    module = _python_module(written(origin), place)
    yield module, "", ""
    for item in node.children_by_field_name("name"):
        alias = written(item.child_by_field_name("alias"))
        name = written(item.child_by_field_name("name") if alias else item)
        target = f"{module}.{name}" if module else name
        # `import a.b` binds `a`; the whole of `a.b` only with `as`.
        bound = name if origin or alias else name.partition(".")[0]
        yield target, alias or bound, target if origin or alias else bound


def _python_module(written: str, place: ModulePlace) -> str:
    name = written.lstrip(".")
    if name == written:
        return name
    up = len(written) - len(name) - 1
    folders = place.parts[: len(place.parts) - up] if up <= len(place.parts) else ()
    return ".".join((*folders, *filter(None, name.split("."))))


def _script(node: Node, written: Written, place: ModulePlace) -> Iterator[Taken]:
    module = ""
    taken = list[tuple[str, str]]()
    waiting = [node]
    while waiting:
        part = waiting.pop()
        name = part.child_by_field_name("name")
        alias = part.child_by_field_name("alias")
        if part.type == "string":
            module = written(part).strip("\"'`")
        elif part.type in ("identifier", "shorthand_property_identifier_pattern"):
            is_item = part.type != "identifier"
            taken.append((written(part) if is_item else "", written(part)))
        elif part.type in ("import_specifier", "export_specifier"):
            taken.append((written(name), written(alias or name)))
        elif part.type == "pair_pattern":
            key, value = (part.child_by_field_name(field) for field in ("key", "value"))
            taken.append((written(key), written(value)))
        else:
            waiting += reversed(part.named_children)
    if not module:
        return
    if module.startswith("."):
        path = normpath(join(dirname(place.path.replace("\\", "/")), module))
        rooted = path if place.path != place.topic else ""
        module = place_of(path, JAVASCRIPT, rooted=rooted).module
    yield module, "", ""
    for item, alias_name in taken:
        if alias_name != "require":
            target = f"{module}.{item}" if item and item != "default" else module
            yield target, alias_name, target


def _go(node: Node, written: Written, place: ModulePlace) -> Iterator[Taken]:
    path = written(node.child_by_field_name("path")).strip('"`')
    steps = [step for step in path.split("/") if not _GO_VERSION.match(step)] or [path]
    alias = written(node.child_by_field_name("name")) or steps[-1]
    yield path, "" if alias in ("_", ".") else alias, path


def _rust(node: Node, written: Written, place: ModulePlace) -> Iterator[Taken]:
    """Yield the imports of a `mod` or `use` item."""
    if node.type == "mod_item":
        name = written(node.child_by_field_name("name"))
        yield place.prefix + name, name, place.prefix + name
        return
    waiting: list[tuple[Node, tuple[str, ...], str | None]] = [(node, (), None)]
    while waiting:
        part, prefix, alias = waiting.pop()
        path = part.child_by_field_name("path")
        if part.type in ("use_declaration", "use_list", "scoped_use_list", "use_wildcard"):
            if part.type == "scoped_use_list" and len(prefix) < DEEPEST_USE_TREE:
                prefix = (*prefix, *written(path).split("::"))
            # The targets of a wildcard have no names here.
            name_here = "" if part.type == "use_wildcard" else None
            below = [child for child in part.named_children if child != path]
            waiting += [(child, prefix, name_here) for child in reversed(below)]
        elif part.type == "use_as_clause" and path is not None:
            waiting.append((path, prefix, written(part.child_by_field_name("alias"))))
        elif part.type in ("identifier", "scoped_identifier", "self", "crate", "super"):
            absolute = rust_absolute((*prefix, *written(part).split("::")), place)
            target = "::".join(filter(None, absolute))
            bound = absolute[-1] if alias is None else alias
            yield target, "" if bound == "_" else bound, target


def _java(node: Node, written: Written, place: ModulePlace) -> Iterator[Taken]:
    name = written(node.named_children[0]) if node.named_children else ""
    yield name, name.rpartition(".")[2], name


def _c(node: Node, written: Written, place: ModulePlace) -> Iterator[Taken]:
    if node.type == "using_declaration":
        name = written(node.named_children[0]).removeprefix("::")
        yield name, name.rpartition("::")[2], name
        return
    path = written(node.child_by_field_name("path"))
    name = path.strip('"<>')
    if path.startswith('"') and ("/" not in name or name.startswith(".")):
        name = normpath("/".join((*place.parts, name)))
    if name != path:
        yield name.removeprefix("../"), "", ""


_READERS: dict[str, Callable[[Node, Written, ModulePlace], Iterator[Taken]]] = {
    "python": _python,
    "script": _script,
    "go": _go,
    "rust": _rust,
    "java": _java,
    "c": _c,
}


def rust_absolute(path: tuple[str, ...], place: ModulePlace) -> tuple[str, ...]:
    """Return the path with `crate`, `self` and `super` resolved for this file."""
    if len(path) > 1 and path[-1] == "self":
        path = path[:-1]
    if path[:1] == ("crate",):
        return (*place.parts[:1], *path[1:])
    if path[:1] == ("self",):
        return (*place.parts, *path[1:])
    up = 0
    while path[up : up + 1] == ("super",):
        up += 1
    if up:
        return (*place.parts[: max(1, len(place.parts) - up)], *path[up:])
    return path
