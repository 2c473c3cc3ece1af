"""Symbols: the functions, classes and scopes a file defines, nested as they stand."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from hades.ingest.readers.code.expression import chain, one_line, without_generics
from hades.ingest.readers.code.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

    from hades.ingest.readers.code.grammar import Match, Matches

LONG_NESTED_LINES = 30
"""A function inside a function stands for itself from this length on."""
DEEPEST_PATH = 20
"""Names get no longer than this many steps: what is deeper belongs to what is around it."""
MOST_WRAPPED = 8
"""A node with more children than this is a list, not the wrapper of one definition."""
LONGEST_SIGNATURE_CHARS = 160
LONGEST_NAME_CHARS = 120


class Kind(Enum):
    """What a symbol is; the values are the captures of the queries."""

    FUNCTION = "function"
    CLASS = "class"
    DECLARED = "declared"
    NAMESPACE = "namespace"
    IMPL = "impl"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition: characters `start` to `end`, with the comments and decorators before it."""

    kind: Kind
    path: tuple[str, ...]
    """Its name inside the file: `("Engine", "close")`."""
    start: int
    end: int
    signature: str
    parent: int | None
    """The number of the symbol around it."""
    receiver: str = ""
    """What a Go method calls its own object."""
    owned: bool = False
    """Whether the name of another type is part of its own (`func (e *Engine) Close`)."""

    @property
    def is_scope(self) -> bool:
        return self.kind in (Kind.NAMESPACE, Kind.IMPL)


@dataclass(frozen=True, slots=True)
class _Found:
    kind: Kind
    names: tuple[str, ...]
    start: int
    end: int
    lead: int
    signature: str
    receiver: str = ""


_WRAPPERS = frozenset(
    {
        "decorated_definition",
        "export_statement",
        "lexical_declaration",
        "variable_declaration",
        "expression_statement",
        "ambient_declaration",
        "type_declaration",
        "template_declaration",
        "declaration",
        "field_declaration",
    }
)
"""Nodes that belong to a definition when it is the only one of its type inside."""

_EXPORT_WORDS = frozenset({"module", "exports", "prototype", "window", "globalThis", "this"})
"""Steps of `module.exports.f` or `A.prototype.f` that are not part of the name."""

_SIGNATURE_NOISE = re.compile(r"^=\s*|^(?:async\b\s*)?(?:function\b\s*\*?|class\b)\s*|^async\s+")
_WHITE = re.compile(r"\s+")


def find_symbols(source: Source, matches: Matches) -> list[Symbol]:
    """All symbols in order of their start, each after the one around it."""
    leads = _Leads(source, matches)
    found: dict[tuple[int, int], _Found] = {}
    for kind in Kind:
        for match in matches.get(kind.value, ()):
            one = _read(source, match, kind, leads)
            if one is not None:
                found.setdefault((one.start, one.end), one)
    return _nest(source, sorted(found.values(), key=lambda one: (one.start, -one.end)))


def innermost(symbols: Sequence[Symbol], starts: Sequence[int], at: int) -> int | None:
    """The number of the smallest symbol around a character; `starts` are the symbols'."""
    number: int | None = bisect_right(starts, at) - 1
    if number == -1:
        return None
    while number is not None and symbols[number].end <= at:
        number = symbols[number].parent
    return number


class _Leads:
    """Comments and attributes, to be asked which of them belong to what follows."""

    def __init__(self, source: Source, matches: Matches) -> None:
        self._text = source.text
        spans = []
        for match in matches.get("lead", ()):
            for node in match["lead"]:
                start = source.start(node)
                # Some grammars count the line end into the comment.
                spans.append((start + len(source.of_node(node).rstrip()), start))
        spans.sort()
        self._ends = [end for end, _ in spans]
        self._starts = [start for _, start in spans]

    def after(self, end: int) -> int:
        """Where a comment ends that follows `end` on the same line, else `end`."""
        number = bisect_left(self._starts, end)
        if number < len(self._starts):
            gap = self._text[end : self._starts[number]]
            if "\n" not in gap and not gap.strip(" \t;"):
                return self._ends[number]
        return end

    def cut_out(self, start: int, end: int) -> str:
        """The text from `start` to `end` without its comments."""
        kept = []
        for number in range(bisect_left(self._starts, start), bisect_left(self._starts, end)):
            kept.append(self._text[start : self._starts[number]])
            start = self._ends[number]
        return " ".join([*kept, self._text[start : max(start, end)]])

    def before(self, start: int) -> int:
        """Where the unbroken run of lines of comments that ends at `start` begins."""
        number = bisect_right(self._ends, start) - 1
        while number >= 0:
            gap = self._text[self._ends[number] : start]
            begin = self._starts[number]
            line = self._text.rfind("\n", 0, begin) + 1
            if gap.strip() or gap.count("\n") > 1 or self._text[line:begin].strip():
                break
            start = begin
            number -= 1
        return start


def _read(source: Source, match: Match, kind: Kind, leads: _Leads) -> _Found | None:
    node = match[kind.value][0]
    if kind is Kind.CLASS and node.parent is not None and node.parent.type == "type_definition":
        return None  # `typedef struct tag {…} Name`: known as Name
    name = _declared_name(match["name"][0]) if "name" in match else None
    names = _names(source, name, match)
    if not names:
        return None
    outer = _with_wrappers(node)
    start, end = source.start(outer), leads.after(source.end(outer))
    return _Found(
        kind,
        names,
        start,
        end,
        leads.before(start),
        _signature(source, node, name, match, leads),
        _receiver(source, node),
    )


def _declared_name(node: Node) -> Node:
    """The name inside a C declarator such as `*(*name(int))(void)`; any other node itself."""
    while node.type.endswith("_declarator"):
        inner = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
        if inner is None:
            break
        node = inner
    return node


def _names(source: Source, name: Node | None, match: Match) -> tuple[str, ...]:
    if name is None:
        return ("default",)
    text = source.of_node(name)
    names = chain(text)
    if not all(names) or not names:
        plain = _WHITE.sub("", without_generics(text)[:LONGEST_NAME_CHARS]).strip("'\"`[]")
        # Operators and destructors are names too; the scope before them is still a scope.
        scope, joint, last = plain.rpartition("::")
        names = (*scope.split("::"), last) if joint and scope else (plain,)
    elif name.type == "member_expression":
        names = tuple(part for part in names if part not in _EXPORT_WORDS) or ("default",)
    if "owner" in match:
        owner = chain(source.of_node(match["owner"][0]).lstrip("*(").split("[")[0].rstrip(") "))
        names = (*owner, *names)
    return names if all(names) else ()


def _with_wrappers(node: Node) -> Node:
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        if parent.named_child_count > MOST_WRAPPED:
            break
        if sum(child.type == node.type for child in parent.named_children) != 1:
            break
        node = parent
    return node


def _signature(source: Source, node: Node, name: Node | None, match: Match, leads: _Leads) -> str:
    """What stands between the name and the body, on one line."""
    body = match["body"][0] if "body" in match else node.child_by_field_name("body")
    if body is None:
        body = node.child_by_field_name("value")
    end = source.start(body) if body is not None else source.end(node)
    begin = source.start(node) if name is None or "impl" in match else source.end(name)
    if node.type == "macro_definition":
        return "!"
    text = one_line(leads.cut_out(begin, end), LONGEST_SIGNATURE_CHARS)
    text = _SIGNATURE_NOISE.sub("", _SIGNATURE_NOISE.sub("", text))
    return text.rstrip("{:;= >" if text.endswith("=>") else "{:;= ")


def _receiver(source: Source, node: Node) -> str:
    receiver = node.child_by_field_name("receiver")
    for parameter in receiver.named_children if receiver is not None else ():
        name = parameter.child_by_field_name("name")
        if name is not None:
            return source.of_node(name)
    return ""


def _nest(source: Source, found: Sequence[_Found]) -> list[Symbol]:
    symbols: list[Symbol] = []
    parent: int | None = None
    closed_at = 0
    for one in found:
        while parent is not None and symbols[parent].end <= one.start:
            closed_at = max(closed_at, symbols[parent].end)
            parent = symbols[parent].parent
        around = symbols[parent] if parent is not None else None
        if around is not None and (one.end > around.end or _is_detail(source, one, around)):
            continue
        floor = max(closed_at, around.start if around is not None else 0)
        symbols.append(
            Symbol(
                one.kind,
                (*(around.path if around is not None else ()), *one.names),
                one.lead if one.lead >= floor else one.start,
                one.end,
                one.signature,
                parent,
                one.receiver,
                len(one.names) > 1,
            )
        )
        if one.kind is not Kind.DECLARED:
            parent = len(symbols) - 1
        else:
            closed_at = max(closed_at, one.end)
    return symbols


def _is_detail(source: Source, one: _Found, around: Symbol) -> bool:
    """Whether a definition inside another is too short or too deep to stand for itself."""
    if len(around.path) >= DEEPEST_PATH:
        return True
    if around.kind is not Kind.FUNCTION:
        return False
    return source.text.count("\n", one.start, one.end) + 1 < LONG_NESTED_LINES
