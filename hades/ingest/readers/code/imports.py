"""Imports: what a file takes from elsewhere, and under which name it uses it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from posixpath import dirname, join, normpath

from hades.ingest.readers.code.naming import Place, script_module

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_PYTHON_NOISE = re.compile(r"#[^\n]*|[()\\]")
_COLON = re.compile(r"\s*:\s*")
_AS = re.compile(r"\s+as\s+")
_STRING = re.compile(r"""(["'`])([^"'`\n]+)\1""")
_NAMESPACE = re.compile(r"\*\s*as\s+([\w$]+)")
_BRACES = re.compile(r"\{([^}]*)\}", re.DOTALL)
_DEFAULT = re.compile(r"import\s+(?:type\s+)?([\w$]+)\s*(?:,|from\b|=)")
_BOUND = re.compile(r"([\w$]+)\s*=")
_RUST_TOKEN = re.compile(r"::|[{},*]|[^\W\d]\w*")
_INCLUDE = re.compile(r'include(?:_next)?\s*([<"])([^>"\n]+)')
_JAVA = re.compile(r"import\s+(?:static\s+)?([\w.\s]+?)\s*(\.\s*\*)?\s*;")
_GO_VERSION = re.compile(r"v\d+$")


@dataclass(frozen=True, slots=True)
class Import:
    """Something imported: its qualified name, and the name it has in this file, if any."""

    target: str
    alias: str = ""
    bound: str = ""
    """What the alias stands for, where that is not the target."""

    @property
    def meaning(self) -> str:
        return self.bound or self.target


def read_import(statement: str, place: Place, family: str) -> list[Import]:
    """The imports of one statement, those that say nothing left out."""
    return [one for one in _READERS[family](statement, place) if one.target.strip(".:/")]


def _split_alias(text: str, word: re.Pattern[str] = _AS) -> tuple[str, str]:
    name, *alias = word.split(text.strip(), maxsplit=1)
    return name.strip(), (alias[0] if alias else name).strip()


def _python(statement: str, place: Place) -> Iterator[Import]:
    words = " ".join(_PYTHON_NOISE.sub(" ", statement).split())
    if words.startswith("import "):
        for item in words.removeprefix("import ").split(","):
            name, alias = _split_alias(item)
            # `import a.b` binds `a`; the whole of `a.b` only with `as`.
            top = name.partition(".")[0]
            yield Import(name, top, top) if alias == name else Import(name, alias)
        return
    origin, _, items = words.removeprefix("from").partition(" import ")
    module = _python_module(origin.replace(" ", ""), place)
    if module == "__future__":
        return
    yield Import(module)
    for item in items.split(","):
        name, alias = _split_alias(item)
        if name.isidentifier():
            yield Import(f"{module}.{name}" if module else name, alias)


def _python_module(origin: str, place: Place) -> str:
    name = origin.lstrip(".")
    if name == origin:
        return name
    up = len(origin) - len(name) - 1
    folders = place.parts[: len(place.parts) - up] if up <= len(place.parts) else ()
    return ".".join((*folders, *filter(None, name.split("."))))


def _script(statement: str, place: Place) -> Iterator[Import]:
    strings = _STRING.findall(statement)
    if not strings:
        return
    module = strings[-1][1]
    if module.startswith("."):
        module = script_module(normpath(join(dirname(place.topic.replace("\\", "/")), module)))
    yield Import(module)
    clause = _COMMENT.sub(" ", statement[: statement.rfind(strings[-1][1])])
    rename = _AS if clause.startswith(("import", "export")) else _COLON
    for found in (_DEFAULT.match(clause), _NAMESPACE.search(clause)):
        if found:
            yield Import(module, found.group(1))
    if braces := _BRACES.search(clause):
        for item in braces.group(1).split(","):
            name, alias = _split_alias(item.strip().removeprefix("type "), rename)
            if name and name != "default":
                yield Import(f"{module}.{name}", "" if clause.startswith("export") else alias)
            elif name:
                yield Import(module, alias)
    elif not clause.startswith(("import", "export")) and (bound := _BOUND.match(clause)):
        yield Import(module, bound.group(1))


def _go(statement: str, place: Place) -> Iterator[Import]:
    found = _STRING.search(statement)
    if found is None:
        return
    path = found.group(2)
    steps = [step for step in path.split("/") if not _GO_VERSION.match(step)] or [path]
    alias = statement[: found.start()].strip() or steps[-1]
    yield Import(path, "" if alias in ("_", ".") else alias)


def _rust(statement: str, place: Place) -> Iterator[Import]:
    tokens = _RUST_TOKEN.findall(_COMMENT.sub(" ", statement))
    if "mod" in tokens:
        name = tokens[tokens.index("mod") + 1 :][:1]
        yield from (Import(f"{place.prefix}{one}", one) for one in name)
        return
    tokens = tokens[tokens.index("use") + 1 :] if "use" in tokens else []
    stack: list[tuple[str, ...]] = []
    prefix: tuple[str, ...] = ()
    path: tuple[str, ...] = ()
    alias = ""
    renaming = False
    for token in [*tokens, ","]:
        if token == "{":
            stack.append(prefix)
            prefix, path = path, path
        elif token in ("}", ","):
            if path != prefix:
                yield _rust_import(path, alias, place)
            if token == "}" and stack:
                prefix = stack.pop()
            path, alias, renaming = prefix, "", False
        elif token == "as":
            renaming = True
        elif renaming:
            alias = token
        elif token != "::":
            path = (*path, token)


def _rust_import(path: tuple[str, ...], alias: str, place: Place) -> Import:
    if path[-1] == "*":
        return Import("::".join(rust_absolute(path[:-1], place)))
    if path[-1] == "self" and len(path) > 1:
        path = path[:-1]
    alias = alias or path[-1]
    return Import("::".join(rust_absolute(path, place)), "" if alias == "_" else alias)


def rust_absolute(path: tuple[str, ...], place: Place) -> tuple[str, ...]:
    """The path with `crate`, `self` and `super` replaced by what they mean in this file."""
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


def _java(statement: str, place: Place) -> Iterator[Import]:
    if found := _JAVA.search(_COMMENT.sub(" ", statement)):
        name = "".join(found.group(1).split())
        yield Import(name, "" if found.group(2) else name.rpartition(".")[2])


def _c(statement: str, place: Place) -> Iterator[Import]:
    if found := _INCLUDE.search(statement):
        bracket, path = found.groups()
        if bracket == '"' and ("/" not in path or path.startswith(".")):
            path = normpath("/".join((*place.parts, path)))
        yield Import(path.removeprefix("../"))
    elif statement.startswith("using"):
        name = statement.removeprefix("using").strip(" ;\n").removeprefix("::")
        yield Import(name, name.rpartition("::")[2])


_READERS: dict[str, Callable[[str, Place], Iterator[Import]]] = {
    "python": _python,
    "script": _script,
    "go": _go,
    "rust": _rust,
    "java": _java,
    "c": _c,
}
