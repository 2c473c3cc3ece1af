"""Calls and imports in a Python repository: what HADES finds against a count by `ast`.

    python -m bench.code_graph FOLDER …

The count by `ast` is independent: it reads the same files with the standard library's parser,
follows imports (also through packages that pass names on), classes and their bases, and leaves
out what a name inside a function hides. Only calls of what the repository defines are counted.
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import hades


@dataclass
class Module:
    """What a file defines and imports."""

    name: str
    is_package: bool
    tree: ast.Module
    names: dict[str, str] = field(default_factory=dict)
    """What a name means: a definition here, or something imported."""
    bases: dict[str, list[str]] = field(default_factory=dict)
    imports: set[str] = field(default_factory=set)


def module_name(path: Path, top: Path) -> str:
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    if folder == path.parent:
        folder = next((one for one in path.parents if (one / "pyproject.toml").exists()), top)
    parts = list(path.relative_to(folder).with_suffix("").parts)
    if parts[0] == "src" and len(parts) > 1:
        parts = parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


class Count:
    """The calls and imports of a repository, by `ast`."""

    def __init__(self, top: Path, files: list[Path]) -> None:
        self.modules: dict[str, Module] = {}
        self.defined: set[str] = set()
        self.calls: set[tuple[str, str]] = set()
        self.imports: set[tuple[str, str]] = set()
        for path in files:
            try:
                tree = ast.parse(path.read_bytes())
            except (SyntaxError, ValueError):
                continue
            name = module_name(path, top)
            module = Module(name, path.name == "__init__.py", tree)
            self.modules[name] = module
            self._define(module, tree, name)
            relative = path.relative_to(top).as_posix()
            for node in ast.walk(tree):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    self._import(module, node, relative)
        for module in self.modules.values():
            for parent, node in _defs(module.tree, module.name):
                if isinstance(node, ast.ClassDef):
                    self.bases_of(module, f"{parent}.{node.name}", node)
        for module in self.modules.values():
            self._walk(module, module.tree, module.name, None, None, frozenset())

    def _define(self, module: Module, node: ast.AST, prefix: str) -> None:
        for _, one in _defs(node, prefix, deep=False):
            name = f"{prefix}.{one.name}"
            self.defined.add(name)
            if prefix == module.name:
                module.names[one.name] = name
            if isinstance(one, ast.ClassDef):
                self._define(module, one, name)

    def _import(self, module: Module, node: ast.Import | ast.ImportFrom, relative: str) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.imports.add((relative, alias.name))
                bound = alias.asname or alias.name.partition(".")[0]
                module.names.setdefault(bound, alias.name if alias.asname else bound)
            return
        if node.module == "__future__":
            return
        origin = node.module or ""
        if node.level:
            parts = module.name.split(".")
            parts = parts[: len(parts) - node.level + module.is_package]
            origin = ".".join(filter(None, [*parts, origin]))
        self.imports.add((relative, origin))
        for alias in node.names:
            if alias.name != "*":
                target = f"{origin}.{alias.name}"
                self.imports.add((relative, target))
                module.names.setdefault(alias.asname or alias.name, target)

    def bases_of(self, module: Module, name: str, node: ast.ClassDef) -> None:
        found = [self._dotted(module, base, frozenset()) for base in node.bases]
        module.bases[name] = [one for one in found if one]

    def symbol(self, name: str) -> str:
        """What a symbol belongs to here: no overloads, no functions inside functions."""
        name = name.partition("#")[0]
        while name not in self.defined and "." in name:
            name = name.rpartition(".")[0]
        return name

    def meant(self, name: str, steps: int = 8) -> str:
        """The definition a dotted name leads to, through packages that pass it on."""
        if name in self.defined or not steps:
            return name
        parts = name.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            module = self.modules.get(".".join(parts[:cut]))
            if module is not None:
                target = module.names.get(parts[cut])
                if target is None or target == ".".join(parts[: cut + 1]):
                    break
                return self.meant(".".join([target, *parts[cut + 1 :]]), steps - 1)
        # A member of a class that it inherits.
        owner, _, last = name.rpartition(".")
        if owner and owner != name:
            found = self.meant(owner, steps - 1)
            if found in self.defined:
                return self.member(found, last) or name
        return name

    def member(self, owner: str, name: str, steps: int = 8) -> str | None:
        if f"{owner}.{name}" in self.defined:
            return f"{owner}.{name}"
        module = next((m for m in self.modules.values() if owner in m.bases), None)
        if module is None or not steps:
            return None
        for base in module.bases[owner]:
            if found := self.member(self.meant(base), name, steps - 1):
                return found
        return None

    def _dotted(self, module: Module, node: ast.expr, hidden: frozenset[str]) -> str | None:
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if isinstance(node, ast.Subscript):
            return self._dotted(module, node.value, hidden) if not parts else None
        if not isinstance(node, ast.Name) or node.id in hidden:
            return None
        start = module.names.get(node.id)
        return None if start is None else ".".join([start, *reversed(parts)])

    def _walk(
        self,
        module: Module,
        node: ast.AST,
        prefix: str,
        caller: str | None,
        owner: str | None,
        hidden: frozenset[str],
    ) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                name = f"{prefix}.{child.name}" if caller is None or owner == caller else ""
                self._walk(module, child, name or prefix, name or caller, name or owner, hidden)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inside = caller is not None and caller != owner
                name = str(caller) if inside else f"{prefix}.{child.name}"
                local = hidden | _bound(child)
                self._walk(module, child, name, name, owner, local)
            else:
                if isinstance(child, ast.Call) and caller:
                    self._call(module, child, caller, owner, hidden)
                self._walk(module, child, prefix, caller, owner, hidden)

    def _call(
        self,
        module: Module,
        node: ast.Call,
        caller: str,
        owner: str | None,
        hidden: frozenset[str],
    ) -> None:
        called = node.func
        target: str | None = None
        if isinstance(called, ast.Attribute) and owner:
            if isinstance(called.value, ast.Name) and called.value.id in ("self", "cls"):
                target = self.member(owner, called.attr)
                if target:
                    self.calls.add((caller, target))
                return
            if (
                isinstance(called.value, ast.Call)
                and isinstance(called.value.func, ast.Name)
                and called.value.func.id == "super"
            ):
                for base in module.bases.get(owner, []):
                    if target := self.member(self.meant(base), called.attr):
                        self.calls.add((caller, target))
                        break
                return
        found = self._dotted(module, called, hidden)
        if found and (target := self.meant(found)) in self.defined and target != caller:
            self.calls.add((caller, target))


def _defs(
    node: ast.AST, prefix: str, *, deep: bool = True
) -> Iterator[tuple[str, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix, child
            if deep and isinstance(child, ast.ClassDef):
                yield from _defs(child, f"{prefix}.{child.name}")
        elif isinstance(child, ast.If | ast.Try | ast.With | ast.ExceptHandler):
            yield from _defs(child, prefix, deep=deep)


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """The names a function binds itself."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    names = {one.arg for one in every} | {one.arg for one in (given.vararg, given.kwarg) if one}
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if node is not function:
                names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names -= {one.asname or one.name for one in node.names}
    return frozenset(names)


def _plain(name: str) -> str:
    return name if "." in name else name.lower()


def shares(name: str, found: set[tuple[str, str]], counted: set[tuple[str, str]]) -> None:
    both = len(found & counted)
    recall, precision = both / max(1, len(counted)), both / max(1, len(found))
    print(f"  {name:8} found {len(found):6} counted {len(counted):6}", end="")
    print(f"  recall {recall:.3f}  precision {precision:.3f}")


def main(folder: str, *, show: int = 0) -> None:
    top = Path(folder).resolve()
    with (
        tempfile.TemporaryDirectory() as temporary,
        hades.open(Path(temporary) / "code.hades") as memory,
    ):
        memory.ingest(top)
        files = [
            top / one.name.removeprefix(f"{top.name}/")
            for one in memory.topics()
            if one.name.endswith(".py")
        ]
        count = Count(top, files)
        edges = memory.edges(relation="calls", limit=None)
        calls = {(count.symbol(edge.source.name), edge.target.name) for edge in edges}
        imports = {
            (edge.source.name.removeprefix(f"{top.name}/"), edge.target.name)
            for edge in memory.edges(relation="imports", limit=None)
            if edge.source.name.endswith(".py")
        }
        # A module of one word and the same word in prose are one node, however it is spelled.
        imports = {(file, _plain(count.meant(name))) for file, name in imports}
        count.imports = {(file, _plain(count.meant(name))) for file, name in count.imports}
    inside = {pair for pair in calls if pair[1] in count.defined}
    print(f"{top.name}: {len(files)} files")
    shares("calls", inside, count.calls)
    shares("imports", imports, count.imports)
    print(f"  calls that lead to nothing defined here: {len(calls) - len(inside)} of {len(calls)}")
    if show:
        for name, pairs in (
            ("missed calls", count.calls - inside),
            ("wrong calls", inside - count.calls),
            ("missed imports", count.imports - imports),
            ("wrong imports", imports - count.imports),
        ):
            print(f"  {name}:")
            for pair in sorted(pairs)[:show]:
                print("    ", *pair)


if __name__ == "__main__":
    wanted = [one for one in sys.argv[1:] if not one.startswith("--")]
    for one in wanted:
        main(one, show=25 if "--show" in sys.argv else 0)
