"""The house: imports go one way, importing is cheap, everything is documented."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "hades"
sys.path.insert(0, str(ROOT / "tools"))

import public_names  # noqa: E402
import reference  # noqa: E402

from hades.store.catalogue import TABLES  # noqa: E402
from tests.attack import patterns  # noqa: E402

FLOORS = [
    {"serve", "ui", "cli", "evals", "hooks", "agents", "adapters", "__main__"},
    {"api", "client", "compat", "library", "memory", "opening", "operations"},
    {"recall", "ingest", "lifecycle", "exchange", "hierarchy"},
    {"index", "graph", "store", "models", "context", "settings", "breaker", "project"},
    {"language"},
    {"domain"},
    {"errors"},
]
"""From the roof to the ground: a room imports its own floor and those below."""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}


@cache
def _parsed() -> dict[Path, ast.Module]:
    modules = sorted(p for p in PACKAGE.rglob("*.py") if p != PACKAGE / "__init__.py")
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules}


def _imported_rooms(module: ast.Module) -> set[str]:
    rooms = set()
    for node in ast.walk(module):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "hades":
                names = [f"hades.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("hades.")}
    return rooms - {"__version__"}


def test_imports_go_one_way() -> None:
    wrong = []
    for path, module in _parsed().items():
        place = path.relative_to(PACKAGE)
        room = place.parts[0].removesuffix(".py")
        assert room in FLOOR, f"{room} has no place in the house: draw it in CONTRIBUTING.md first"
        wrong += [
            f"{place} imports {other}"
            for other in sorted(_imported_rooms(module))
            if FLOOR.get(other, -1) < FLOOR[room]
        ]
    assert not wrong, "\n".join(wrong)


RECALL_ROOMS = [
    {"plan", "run", "warming"},
    {"question"},
    {"query_context"},
    {"find"},
    {"rank"},
    {"paths"},
    {"answer"},
    {"answer_cache", "bridge_cache", "engine"},
]
"""The rooms of recall in the order of its recipe: each imports itself and those before it."""


def test_the_rooms_of_recall_import_those_before_them() -> None:
    order = {room: number for number, rooms in enumerate(RECALL_ROOMS) for room in rooms}
    wrong = []
    for path, module in _parsed().items():
        place = path.relative_to(PACKAGE)
        if place.parts[0] != "recall" or place.name == "__init__.py":
            continue
        for node in ast.walk(module):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hades.recall"):
                _, _, *inner = (node.module or "").split(".")
                rooms = inner[:1] or [alias.name for alias in node.names]
                own = order[place.parts[1].removesuffix(".py")]
                wrong += [f"{place} imports {room}" for room in rooms if order[room] > own]
    assert not wrong, "\n".join(wrong)


QUESTION_RULES = {
    "code_questions",
    "connections",
    "intent",
    "question_terms",
    "signs",
    "time_words",
    "version_questions",
}
"""The modules of `language/english` with rules about questions."""


def test_only_the_room_of_questions_reads_questions() -> None:
    wrong = []
    for path, module in _parsed().items():
        place = path.relative_to(PACKAGE)
        if place.parts[0] == "language" or place.parts[:2] == ("recall", "question"):
            continue
        for node in ast.walk(module):
            if not isinstance(node, ast.ImportFrom) or not node.module:
                continue
            names = {alias.name for alias in node.names}
            rules = node.module.removeprefix("hades.language.english.")
            # A time is extracted from the sentences of notes as well.
            if rules in QUESTION_RULES and names != {"read_time"}:
                wrong.append(f"{place} imports {rules}")
            if node.module == "hades.language.english" and names & QUESTION_RULES:
                wrong.append(f"{place} imports {names & QUESTION_RULES}")
    assert not wrong, "\n".join(wrong)


ALLOWED_CIRCLES: list[set[str]] = []
"""Modules that may import each other. CONTRIBUTING.md says why."""


def _imported_modules(tree: ast.AST, known: set[str]) -> set[str]:
    """The modules of the package that a module imports, in functions too, not for types alone."""
    modules: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            modules |= _imported_modules(ast.Module(node.orelse, []), known)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            modules |= names & known or {node.module}
        else:
            modules |= _imported_modules(node, known)
    return modules & known


def _circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """The groups of modules that reach each other by imports."""

    def reached(start: str) -> set[str]:
        found, todo = set[str](), [start]
        while todo:
            new = imports[todo.pop()] - found
            found |= new
            todo += new
        return found

    reach = {name: reached(name) for name in imports}
    circles: list[set[str]] = []
    for name in sorted(imports):
        circle = {other for other in reach[name] if name in reach[other]}
        if circle and circle not in circles:
            circles.append(circle)
    return circles


@cache
def _imports() -> dict[str, set[str]]:
    """The modules that each module imports."""
    trees = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): tree
        for path, tree in _parsed().items()
    }
    return {name: _imported_modules(tree, set(trees)) - {name} for name, tree in trees.items()}


def test_modules_do_not_import_each_other() -> None:
    assert [circle for circle in _circles(_imports()) if circle not in ALLOWED_CIRCLES] == []


def test_packages_do_not_import_each_other() -> None:
    rooms: dict[str, set[str]] = {room: set() for room in FLOOR}
    for name, modules in _imports().items():
        room = name.split(".")[1]
        rooms[room] |= {module.split(".")[1] for module in modules} - {room}
    assert _circles(rooms) == []


def test_a_circle_of_imports_is_found() -> None:
    known = {"hades.a", "hades.b", "hades.c"}
    inside = ast.parse("def f():\n    from hades import b")
    typed = ast.parse("if TYPE_CHECKING:\n    import hades.c\nelse:\n    import hades.b")
    assert _imported_modules(inside, known) == _imported_modules(typed, known) == {"hades.b"}
    chain = {"hades.a": {"hades.b"}, "hades.b": {"hades.c"}, "hades.c": set[str]()}
    assert _circles(chain) == []
    assert _circles(chain | {"hades.c": {"hades.a"}}) == [known]


def _capabilities() -> list[list[list[str]]]:
    """The rows of the table in CONTRIBUTING.md, as the names in each cell."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = page.partition("\n## Capabilities\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[re.findall("`([^`]+)`", cell) for cell in line.split("|")[2:-1]] for line in lines[2:]]


def _named(column: int) -> set[str]:
    return {name for row in _capabilities() for name in row[column]}


def test_the_table_of_capabilities_names_every_module() -> None:
    named = _named(1)
    assert {path for path in named if (PACKAGE / path).is_dir() != path.endswith("/")} == set()
    assert {path for path in named if not (PACKAGE / path).exists()} == set()
    modules = {path.relative_to(PACKAGE) for path in _parsed() if path.stem[:2] != "__"}
    folders = {Path(path) for path in named}
    missing = {str(module) for module in modules if not folders & {module, *module.parents}}
    assert missing == set(), "name these modules in CONTRIBUTING.md#capabilities"


def test_the_table_of_capabilities_names_every_table_operation_and_command() -> None:
    assert _named(0) == set(TABLES)
    operations = _named(2)
    assert {name for name in operations if not hasattr(reference.hades.Memory, name)} == set()
    assert set(reference.OPERATIONS) - operations == set()
    commands = {name for name, _ in reference.all_commands()}
    groups = {name.partition(" ")[0] for name in commands}
    assert _named(3) - groups == set()
    same = {name.replace("_", "-") for name in operations}
    assert groups - _named(3) - same == set()


def test_the_table_of_capabilities_names_docs_pages_and_tests_that_exist() -> None:
    places = {4: (ROOT / "docs", PACKAGE / "ui" / "pages"), 5: (ROOT / "tests",)}
    for column, folders in places.items():
        named = _named(column)
        lost = {name for name in named if not any((folder / name).exists() for folder in folders)}
        assert lost == set()


PRIVATE_ELSEWHERE = {"_asdict", "_exit", "_fields", "_make", "_replace", "_tc"}
"""Private names of other libraries that have no public ones: named tuples, `os`, python-docx."""


def _private_from_elsewhere(tree: ast.AST) -> set[str]:
    """The private attributes that a module reads, but neither it nor a class above it defines."""
    read: dict[str, str] = {}
    own: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Name):
            own.add(node.id)
        elif isinstance(node, ast.Attribute) and node.attr[0] == "_" != node.attr[1:2]:
            owner = ast.unparse(node.value)
            if owner in ("self", "cls", "super()"):
                own.add(node.attr)
            read[node.attr] = f"{owner}.{node.attr}"
    return {text for name, text in read.items() if name not in own | PRIVATE_ELSEWHERE}


def test_private_attributes_are_read_where_they_are_defined() -> None:
    """What the rooms need of a memory is in `View.inside`."""
    found = {
        path.relative_to(PACKAGE): names
        for path, tree in _parsed().items()
        if (names := _private_from_elsewhere(tree))
    }
    assert not found


def test_a_private_attribute_of_another_module_is_found() -> None:
    assert _private_from_elsewhere(ast.parse("def f(view):\n    return view._store")) == {
        "view._store"
    }
    own = "class A:\n    def f(self, other):\n        return self._a == other._a"
    assert not _private_from_elsewhere(ast.parse(own))


def test_a_class_name_is_one_thing() -> None:
    """A reader who meets a class by its name never has to ask which one is meant."""
    places: dict[str, list[str]] = {}
    for path, module in _parsed().items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                place = f"{path.relative_to(PACKAGE)}:{node.lineno}"
                places.setdefault(node.name, []).append(place)
    double = [f"{name}: {', '.join(at)}" for name, at in sorted(places.items()) if len(at) > 1]
    assert not double, "\n".join(double)


def test_patterns_are_constants_or_literals() -> None:
    """So that `tests/attack/` sees all; what builds them of names is listed there."""
    built = {place for place, call in patterns.calls_of_re() if patterns.builds(call)}
    assert built == set(patterns.BUILT)


def test_importing_hades_loads_nothing_heavy() -> None:
    heavy = {"numba", "onnxruntime", "numpy", "tantivy", "pydantic", "typer", "rich", "fastapi"}
    heavy |= {"langgraph", "langchain_core"}
    heavy |= {"httpx", "uvicorn", "yaml", "openai", "httpx2", "sklearn", "igraph", "scipy"}
    code = (
        "import sys, tempfile, hades\n"
        "with tempfile.TemporaryDirectory() as f, hades.open(f + '/m.hades') as m:\n"
        "    m.remember('a', 'x'); m.at('now').get('a'); m.purge('a')\n"
        "print(*sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not heavy & set(out.stdout.split())


def test_the_help_loads_neither_the_store_nor_the_rules_of_english() -> None:
    code = "import sys, hades.cli; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    late = {"hades.store.store", "hades.lifecycle.review", "hades.recall.engine"}
    late |= {"hades.language.english.prose_facts", "hades.language.english.periods"}
    assert not late & set(out.stdout.split())


def test_patterns_of_language_are_compiled_at_first_use() -> None:
    code = (
        "from hades.language.patterns import LazyPattern\n"
        "LazyPattern.compiled = lambda self: print(self.pattern)\n"
        "import hades.cli, hades.language.english.prose_facts, hades.lifecycle.promote"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not out.stdout


def test_the_version_is_in_the_changelog() -> None:
    import hades

    assert f"## {hades.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_reference_has_every_operation_command_and_setting() -> None:
    """The pages are written when they are needed, so nobody reads them before a release."""
    pages = {path.name: text for path, text in reference.pages().items()}
    command = re.compile(r"^## `hades ([a-z -]+?)(?: [\[A-Z].*)?`$", re.MULTILINE)
    headings = set(command.findall(pages["commands.md"]))
    assert headings == {name for name, _ in reference.all_commands()}
    calls = {f"| `{one.verb} {one.path}` |" for one in reference.OPERATIONS.values()}
    assert {call for call in calls if call not in pages["rest.md"]} == set()
    assert {name for name in reference.TOOLS if f"| `{name}` |" not in pages["mcp.md"]} == set()
    named = {f"`{name}`" for name in reference.Settings.model_fields}
    assert {name for name in named if name not in pages["settings.md"]} == set()
    public = {f"## `hades.{name}" for name in reference.hades.__all__}
    assert {name for name in public if name not in pages["python.md"]} == set()
    assert "type Query" in pages["schema.graphql"]
    assert all(len(text.splitlines()) > 20 for text in pages.values())


def test_every_public_name_command_and_setting_has_a_sentence() -> None:
    assert reference.undocumented() == []


def test_no_public_name_is_lost() -> None:
    """`docs/reference/names.txt` lists all that users of version 1 may rely on."""
    listed, now = public_names.read(), public_names.public_names()
    assert not public_names.lost(listed, now), "\n".join(public_names.lost(listed, now))
    news = public_names.text(public_names.with_news(listed, now))
    assert public_names.FILE.read_text(encoding="utf-8") == news, (
        "new public names: run `make docs`"
    )


def test_a_lost_name_is_told_in_a_sentence() -> None:
    listed = {"hades.open": ["uri", "space"], "command ask": ["--json"]}
    assert public_names.lost(listed, {"hades.open": ["uri", "clock"]}) == [
        "command ask is public but was removed: restore it, or say so in the changelog.",
        "'space' of hades.open is public but was removed: restore it, or say so in the changelog.",
    ]
    assert public_names.with_news(listed, {"hades.open": ["clock"]}) == {
        "hades.open": ["uri", "space", "clock"],
        "command ask": ["--json"],
    }


def test_links_in_the_docs_lead_somewhere() -> None:
    """Links to the reference lead to pages that `make docs` writes, and links in these too."""
    generated = reference.pages()
    lost = []
    written = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/lab").glob("*.md")]
    texts = {page: page.read_text(encoding="utf-8") for page in sorted(written)} | generated
    for page, text in texts.items():
        for link in re.findall(r"\]\(([^)]+)\)", text):
            if "://" in link:
                continue
            target, _, anchor = link.partition("#")
            place = Path(os.path.normpath(page.parent / target)) if target else page
            known = place in texts or place.exists()
            if known and (not anchor or anchor in _anchors(texts[place])):
                continue
            lost.append(f"{page.relative_to(ROOT)} links to {link}")
    assert not lost, "\n".join(lost)


@cache
def _anchors(text: str) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
