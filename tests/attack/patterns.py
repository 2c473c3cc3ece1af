"""Every pattern of the package, how it is used, and an attack on all of them.

`python -m tests.attack.patterns` tries hundreds of shapes on every pattern, first counting steps,
then measuring the real `re` on 50,000 characters, and the readers on files of such shapes. Source
code is left out there: its parser is a library's, and is bounded by a time limit, not by its work.
With `--short` it tries what the suite tries. Both write down, in `patterns_tried.txt`, which
patterns held, so that the suite need not try them again until they change.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import hades
from hades.ingest.document import Unreadable
from hades.ingest.ignore import read_rules
from hades.ingest.readers import READERS, reader_for
from hades.language.english.settled import clause_about
from hades.language.patterns import LazyPattern
from hades.store.derived_edges import spellings
from tests.attack.steps import Counter

PACKAGE = Path(hades.__file__).parent
CHARACTERS = 50_000
SHAPES_TRIED, SHAPES_TRIED_SHORT, SHAPES_COMPARED = 200, 30, 20
TRIED = Path(__file__).with_name("patterns_tried.txt")
SECONDS_AT_MOST = 2.0
"""For so many characters; a quadratic pattern takes ten times as long."""

_COMMON = ("\n", " \n", "a", "a ", "a.", "# a\n", "- ", "> ", "<a>", "[a](", "```\n", "a,b\n", "|")
_HOSTILE_LINES = ["*a*a*a*a*b", "**/a/**/a/**/b", "a*[ab]*?*a", "a/**/*b*/**", "[!b]*[a-b]*/*a*b"]
_HOSTILE_NAMES = ["a", "a a a b", "a.a_a.b_b", "aaaa::a_b", "x/the a-a  a"]

BUILT: dict[str, Callable[[], list[re.Pattern[str]]]] = {
    "ingest/ignore.py _rule": lambda: [one.fits for one in read_rules(_HOSTILE_LINES)],
    "language/english/settled.py clause_about": lambda: [
        clause_about(one) for one in _HOSTILE_NAMES
    ],
    "store/derived_edges.py spellings": lambda: [
        form for name in _HOSTILE_NAMES for form in spellings(name)
    ],
    "recall/paths/path_text.py snippet": lambda: [re.compile(re.escape("a a b"), re.IGNORECASE)],
    "language/english/time_words.py _whole": list,
    "language/english/code_questions.py _rule": list,
    "language/english/connections.py _rule": list,
    "language/english/prose_patterns.py _verb": list,
    "language/patterns.py compiled": list,
}
"""The functions that make patterns out of names or lines, with what they make of hostile ones."""


@dataclass(frozen=True)
class Found:
    """A pattern, where it stands, and its dearest use: `search`, `fullmatch` or `match`."""

    place: str
    pattern: re.Pattern[Any]
    use: str

    @property
    def mark(self) -> str:
        """The line of `patterns_tried.txt`: it changes with the pattern and with the machine."""
        said = f"{self.use} {self.pattern.flags} {self.pattern.pattern!r} {_machine()}"
        return sha256(said.encode()).hexdigest()[:16]


@cache
def _machine() -> str:
    """The source of the machine that counts steps."""
    return Path(inspect.getfile(Counter)).read_text(encoding="utf-8")


@cache
def every_pattern() -> list[Found]:
    """Those that are constants of a module, those written in calls, and those that are built."""
    found: dict[Any, Found] = {}
    for one in (*_constants(), *_written(), *_built()):
        found.setdefault((one.pattern.pattern, one.pattern.flags, one.use), one)
    return list(found.values())


def new_patterns() -> list[Found]:
    """The patterns that were not tried yet as they are now."""
    tried = set(TRIED.read_text(encoding="utf-8").split())
    return [found for found in every_pattern() if found.mark not in tried]


def short_attack(found: Found) -> list[str]:
    """What is wrong with a pattern by its likely shapes: steps that grow, or another match."""
    counter = Counter(found.pattern)
    shape = counter.grows(found.use, SHAPES_TRIED_SHORT)
    wrong = [f"{found.place}: steps: {shape}"] if shape else []
    if counter.is_exact and isinstance(found.pattern.pattern, str):
        for lead, unit, end in islice(counter.shapes(), SHAPES_COMPARED):
            text = lead + unit * 3 + end
            match = found.pattern.match(text)
            if counter.match_end(text) != (match and match.end()):
                wrong.append(f"{found.place}: the machine matches {text!r} otherwise than `re`")
    return wrong


def _constants() -> Iterator[Found]:
    for module in pkgutil.walk_packages(hades.__path__, "hades."):
        if not module.name.endswith(".__main__"):
            try:
                loaded = importlib.import_module(module.name)
            except hades.Unavailable:  # an adapter whose framework is not installed
                continue
            for name, value in vars(loaded).items():
                for number, pattern in enumerate(_inside(value)):
                    place = f"{module.name}.{name}[{number}]"
                    yield Found(place, pattern, _use(loaded, name))


def _inside(value: object) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, LazyPattern):
        yield value.compiled()
    elif isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, dict):
        yield from _inside([*value.keys(), *value.values()])
    elif isinstance(value, list | tuple | set | frozenset):
        for one in value:
            yield from _inside(one)


def _use(module: ModuleType, name: str) -> str:
    """How a module uses one of its constants; what is not plain to see is a search."""
    source = re.sub(r"^from .* import [^(\n]+$", "", inspect.getsource(module), flags=re.MULTILINE)
    uses = set(re.findall(rf"\b{name}\b(?!\s*[:=])(?:\.(\w+))?", source))
    if f".match({name}," in source:
        uses = uses - {""} | {"match"}
    if not uses or uses - {"match", "fullmatch"}:
        return "search"
    return "fullmatch" if "fullmatch" in uses else "match"


@cache
def calls_of_re() -> list[tuple[str, ast.Call]]:
    """Every call of `re` inside a function, with the file and the function it stands in."""
    calls = []
    for path in sorted(PACKAGE.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "re." not in source and "lazy_pattern" not in source:
            continue
        for function in ast.walk(ast.parse(source)):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                place = f"{path.relative_to(PACKAGE).as_posix()} {function.name}"
                for call in ast.walk(function):
                    name = ast.unparse(call.func) if isinstance(call, ast.Call) else ""
                    if isinstance(call, ast.Call) and name.startswith(("re.", "lazy_pattern")):
                        calls.append((place, call))
    return calls


def builds(call: ast.Call) -> bool:
    """Whether a call of `re` makes its pattern out of something else than a literal."""
    if ast.unparse(call.func) in ("re.escape", "re.purge"):
        return False
    return not isinstance(call.args[0], ast.Constant)


def _written() -> Iterator[Found]:
    for place, call in calls_of_re():
        if call.args and isinstance(call.args[0], ast.Constant):
            use = ast.unparse(call.func).removeprefix("re.")
            pattern = re.compile(ast.literal_eval(call.args[0]))
            yield Found(place, pattern, use if use in ("match", "fullmatch") else "search")


def _built() -> Iterator[Found]:
    for place, make in BUILT.items():
        for pattern in make():
            yield Found(place, pattern, "match" if "ignore" in place else "search")


def _attack(found: Found) -> list[str]:
    """What is wrong with a pattern: steps that grow, or seconds that do not end."""
    counter = Counter(found.pattern)
    shape = counter.grows(found.use, SHAPES_TRIED)
    wrong = [f"steps: {shape}"] if shape else []
    for lead, unit, end in islice(dict.fromkeys(counter.shapes()), SHAPES_TRIED):
        text: Any = lead + unit * (CHARACTERS // len(unit)) + end
        if isinstance(found.pattern.pattern, bytes):
            text = text.encode("latin-1", "replace")
        begun = time.process_time()
        if found.use == "search":
            for _ in found.pattern.finditer(text):
                pass
        else:
            getattr(found.pattern, found.use)(text)
        spent = time.process_time() - begun
        if spent > SECONDS_AT_MOST:
            return [*wrong, f"{spent:.1f} s: {lead!r} + {unit!r} * n + {end!r}"]
    return wrong


def _attack_reader(suffix: str, units: list[str]) -> list[str]:
    """What makes a reader take more than its share for twice the text."""
    read, wrong = reader_for(Path(f"x{suffix}")), []
    assert read is not None
    for unit in units:
        spent = []
        for characters in (CHARACTERS, 4 * CHARACTERS):
            begun = time.process_time()
            try:
                read((unit * (characters // len(unit))).encode(), f"x{suffix}")
            except Unreadable:
                break
            spent.append(time.process_time() - begun)
        if len(spent) == 2 and spent[1] > SECONDS_AT_MOST and spent[1] > 9 * spent[0]:
            wrong.append(f"{spent[0]:.1f} s, four times as much {spent[1]:.1f} s: {unit!r} * n")
    return wrong


def main(is_short: bool) -> int:
    """Attack everything and note which patterns held; how many patterns and readers did not."""
    patterns, failed, units = every_pattern(), 0, set(_COMMON)
    held = set()
    for found in patterns:
        wrong = short_attack(found) if is_short else _attack(found)
        failed += bool(wrong)
        held |= {found.mark} if not wrong else set()
        counter = Counter(found.pattern)
        units |= {counter.example(counter.tree, turn) for turn in range(3)}
        for one in wrong:
            print(f"{found.place}: {one}", flush=True)
    TRIED.write_text("".join(f"{mark}\n" for mark in sorted(held)), encoding="utf-8")
    suffixes = [] if is_short else [one.suffixes.split()[0] for one in READERS if not one.extra]
    for suffix in suffixes:
        wrong = _attack_reader(suffix, sorted(units - {""}))
        failed += bool(wrong)
        for one in wrong:
            print(f"{suffix}: {one}", flush=True)
    print(f"{len(patterns)} patterns and {len(suffixes)} readers, {failed} did not hold")
    return failed


if __name__ == "__main__":
    sys.exit(min(main("--short" in sys.argv), 1))
