"""Symbols: the functions, classes and scopes that a file defines, with their nesting.

The file is cut along them without loss. The block of a symbol is its text without the symbols
inside it: for a class, its header and fields; for the file, its imports and constants.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import TYPE_CHECKING

from hades.ingest.document import Block, IntroducedName, Origin
from hades.ingest.readers.code.naming import is_distinctive
from hades.ingest.readers.text import one_line, without_brackets

if TYPE_CHECKING:
    from tree_sitter import Node

    from hades.ingest.readers.code.languages import QueryMatch

LONG_NESTED_LINES = 30
"""A function inside a function is a symbol of its own if it has at least this many lines."""
DEEPEST_PATH = 20
"""Limit of steps in a name. Deeper definitions belong to the symbol around them."""
MOST_WRAPPED = 8
"""A node with more children than this is a list, not the wrapper of one definition."""
LONGEST_SIGNATURE_CHARS = 160
LONGEST_NAME_CHARS = 120
LONGEST_CHAIN_CHARS = 200

_JOINT = re.compile(r"(?:(?<!\s)\s++)?(?:\?\.|\.|::|->)\s*")
_IDENTIFIER = re.compile(r"[^\W\d$][\w$]*|\$[\w$]*")
_LAST_IDENTIFIER = re.compile(r"(?:\.|::|->)\s*([^\W\d][\w$]*)\s*$")
_WORD = re.compile(r"\w")
_CLOSING = re.compile(r"\}[);]*\s*(?://|/\*)|#\s*endif\b")
_SIGNATURE_NOISE = re.compile(r"^=\s*|^(?:async\b\s*)?(?:function\b\s*\*?|class\b)\s*|^async\s+")

_WRAPPER_TYPES = """
decorated_definition export_statement lexical_declaration variable_declaration
expression_statement ambient_declaration type_declaration template_declaration declaration
field_declaration
"""
_WRAPPERS = frozenset(_WRAPPER_TYPES.split())
"""Nodes that belong to a definition if it is the only child of its type."""

_EXPORT_WORDS = frozenset({"module", "exports", "prototype", "window", "globalThis", "this"})
"""Steps of `module.exports.f` or `A.prototype.f` that are not part of the name."""


class SymbolKind(Enum):
    """The kind of a symbol."""

    FUNCTION = auto()
    CLASS = auto()
    DECLARED = auto()
    """A declaration without a body; it is no block of its own."""
    NAMESPACE = auto()
    IMPL = auto()
    """The scope of a Rust `impl`."""


_KINDS = {
    "definition.function": SymbolKind.FUNCTION,
    "definition.method": SymbolKind.FUNCTION,
    "definition.macro": SymbolKind.FUNCTION,
    "definition.class": SymbolKind.CLASS,
    "definition.interface": SymbolKind.CLASS,
    "definition.module": SymbolKind.NAMESPACE,
    "definition.impl": SymbolKind.IMPL,
}
"""By capture. Other definitions of a tag query, such as constants, are not symbols."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition: characters `start` to `end`, including comments and decorators before it."""

    kind: SymbolKind
    path: tuple[str, ...]
    """Its name inside the file: `("Engine", "close")`."""
    start: int
    end: int
    signature: str
    parent: int | None = None
    """The index of the symbol around it."""
    receiver: str = ""
    """The name of the receiver of a Go method."""
    is_owned: bool = False
    """Whether its own path names the type it belongs to (`func (e *Engine) Close`)."""
    name: str = ""
    """Its qualified name."""
    owner: str = ""
    """The qualified name of the symbol that contains it; empty if that is the file."""

    @property
    def is_scope(self) -> bool:
        return self.kind in (SymbolKind.NAMESPACE, SymbolKind.IMPL)


def chain(text: str) -> tuple[str, ...]:
    """Return the identifiers of `a.b`, `a::b`, `a->b` or `a?.b`.

    For another expression with a last identifier (`open(x).read`), return an empty text, which
    resolves to nothing, and that identifier. Return () for anything else.
    """
    if len(text) <= LONGEST_CHAIN_CHARS:
        whole = _without_generics(text.strip().lstrip("*&")).removeprefix("::").replace("#", "")
        parts = tuple(_JOINT.split(whole.replace("!", "")))
        if all(_IDENTIFIER.fullmatch(part) for part in parts):
            return parts
    last = _LAST_IDENTIFIER.search(text[-LONGEST_CHAIN_CHARS:])
    return ("", last.group(1)) if last else ()


def _without_generics(text: str) -> str:
    """Remove generics: `Map<K, List<V>>::new` becomes `Map::new`."""
    return without_brackets(text.replace("::<", "<"), "<>") if "<" in text else text


# Finding


def find_symbols(text: str, matches: Mapping[str, Sequence[QueryMatch]]) -> list[Symbol]:
    """Return all symbols in order of their start, each after the one around it."""
    comments = _Comments(text, matches.get("lead", ()))
    by_span: dict[tuple[int, int], tuple[int, Symbol]] = {}
    for capture, kind in _KINDS.items():
        for match in matches.get(capture, ()):
            if symbol := _symbol(text, match[capture][0], match["name"][0], kind, comments):
                end = comments.after(symbol.end)
                lead = comments.before(symbol.start)
                by_span.setdefault((symbol.start, end), (lead, replace(symbol, end=end)))
    return _nest(text, sorted(by_span.values(), key=lambda item: (item[1].start, -item[1].end)))


class _Comments:
    """Comments and attributes; finds those that belong to a definition."""

    def __init__(self, text: str, matches: Sequence[QueryMatch]) -> None:
        self._text = text
        nodes = [node for match in matches for node in match["lead"]]
        # Some grammars include the line end in the comment.
        spans = sorted((n.start_byte, self._trimmed(n.start_byte, n.end_byte)) for n in nodes)
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def _trimmed(self, start: int, end: int) -> int:
        return start + len(self._text[start:end].rstrip())

    def after(self, end: int) -> int:
        """Return the end of a comment that follows `end` on the same line, else `end`."""
        number = bisect_left(self._starts, end)
        if number < len(self._starts):
            gap = self._text[end : self._starts[number]]
            if "\n" not in gap and not gap.strip(" \t;"):
                return self._ends[number]
        return end

    def cut_out(self, start: int, end: int) -> str:
        """Return the text from `start` to `end` without its comments."""
        kept = []
        for number in range(bisect_left(self._starts, start), bisect_left(self._starts, end)):
            kept.append(self._text[start : self._starts[number]])
            start = self._ends[number]
        return " ".join([*kept, self._text[start : max(start, end)]])

    def before(self, start: int) -> int:
        """Return the start of the comment lines directly before `start`, else `start`."""
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


def _symbol(
    text: str, node: Node, name: Node, kind: SymbolKind, comments: _Comments
) -> Symbol | None:
    body = _body(node, kind)
    is_class = kind is SymbolKind.CLASS
    if is_class and node.parent is not None and node.parent.type == "type_definition":
        return None  # `typedef struct tag {…} Name` is found as Name
    if kind is SymbolKind.NAMESPACE and body is None:
        return None  # Rust's `mod x;` is an import
    if kind is SymbolKind.FUNCTION and body is None and node.type != "macro_definition":
        kind = SymbolKind.DECLARED
    name = _declared_name(name)
    owner, receiver = _owner(text, node)
    path = (*owner, *_names(text, name))
    if not all(path):
        return None
    begin = node.start_byte if kind is SymbolKind.IMPL else name.end_byte
    end = body.start_byte if body is not None else node.end_byte
    is_macro = node.type == "macro_definition"
    signature = "!" if is_macro else _signature(comments.cut_out(begin, end))
    outer = _with_wrappers(node)
    start = outer.start_byte
    end = outer.end_byte
    return Symbol(kind, path, start, end, signature, None, receiver, len(path) > 1)


def _body(node: Node, kind: SymbolKind) -> Node | None:
    """Return the body of a definition, which follows its signature, or None."""
    for field in ("body", "value", "right", *(["type"] if kind is SymbolKind.CLASS else [])):
        child = node.child_by_field_name(field)
        if child is not None:
            return child.child_by_field_name("body") or child
    return None


def _declared_name(node: Node) -> Node:
    """Return the name inside a C declarator such as `*(*name(int))(void)`, or the node itself."""
    while node.type.endswith("_declarator"):
        inner = node.child_by_field_name("declarator") or next(iter(node.named_children), None)
        if inner is None:
            break
        node = inner
    return node


def _names(text: str, name: Node) -> tuple[str, ...]:
    written = text[name.start_byte : name.end_byte]
    names = chain(written)
    if not names or not all(names):
        bare = "".join(_without_generics(written)[:LONGEST_NAME_CHARS].split()).strip("'\"`[]")
        # Operators and destructors are names too, and may have a scope before them.
        scope, joint, last = bare.rpartition("::")
        return (*scope.split("::"), last) if joint and scope else (bare,)
    if name.type == "member_expression":
        return tuple(part for part in names if part not in _EXPORT_WORDS) or ("default",)
    return names


def _owner(text: str, node: Node) -> tuple[tuple[str, ...], str]:
    """Return the type that a Go method belongs to, and its receiver's name; else () and ""."""
    receiver = node.child_by_field_name("receiver")
    for parameter in receiver.named_children if receiver is not None else ():
        kind, name = (parameter.child_by_field_name(field) for field in ("type", "name"))
        if kind is not None:
            owner = text[kind.start_byte : kind.end_byte].lstrip("*(").split("[")[0].rstrip(") ")
            return chain(owner), text[name.start_byte : name.end_byte] if name else ""
    return (), ""


def _with_wrappers(node: Node) -> Node:
    while (parent := node.parent) is not None and parent.type in _WRAPPERS:
        if parent.named_child_count > MOST_WRAPPED:
            break
        if sum(child.type == node.type for child in parent.named_children) != 1:
            break
        node = parent
    return node


def _signature(between: str) -> str:
    """Return the text between name and body as one line."""
    line = one_line(between[: LONGEST_SIGNATURE_CHARS * 4], LONGEST_SIGNATURE_CHARS)
    line = _SIGNATURE_NOISE.sub("", _SIGNATURE_NOISE.sub("", line))
    return line.rstrip("{:;= >" if line.endswith("=>") else "{:;= ")


def _nest(text: str, leading: Sequence[tuple[int, Symbol]]) -> list[Symbol]:
    """Return symbols with parent, full path and comments, without details (`_is_detail`).

    `leading` has each symbol with the start of the comments before it, in order.
    """
    symbols: list[Symbol] = []
    parent: int | None = None
    closed_at = 0
    for lead, symbol in leading:
        while parent is not None and symbols[parent].end <= symbol.start:
            closed_at = max(closed_at, symbols[parent].end)
            parent = symbols[parent].parent
        around = symbols[parent] if parent is not None else None
        if around is not None and (symbol.end > around.end or _is_detail(text, symbol, around)):
            continue
        floor = max(closed_at, around.start if around is not None else 0)
        path = (*around.path, *symbol.path) if around is not None else symbol.path
        start = lead if lead >= floor else symbol.start
        symbols.append(replace(symbol, path=path, start=start, parent=parent))
        if symbol.kind is not SymbolKind.DECLARED:
            parent = len(symbols) - 1
        else:
            closed_at = max(closed_at, symbol.end)
    return symbols


def _is_detail(text: str, symbol: Symbol, around: Symbol) -> bool:
    """Return whether a definition is too short or too deep to be a symbol of its own."""
    if len(around.path) >= DEEPEST_PATH:
        return True
    if around.kind is not SymbolKind.FUNCTION:
        return False
    return text.count("\n", symbol.start, symbol.end) + 1 < LONG_NESTED_LINES


def innermost(symbols: Sequence[Symbol], starts: Sequence[int], at: int) -> int | None:
    """Return the index of the smallest symbol around character `at`; `starts` are the symbols'."""
    number: int | None = bisect_right(starts, at) - 1
    if number == -1:
        return None
    while number is not None and symbols[number].end <= at:
        number = symbols[number].parent
    return number


# Blocks


def cut_blocks(text: str, topic: str, symbols: Sequence[Symbol], joint: str) -> tuple[Block, ...]:
    """Return the blocks of a file, each with the names of the symbols that begin in it."""
    blocks: list[Block] = []
    starts = {symbol.start for symbol in symbols}
    for start, end, number in _pieces(symbols, len(text)):
        piece = text[start:end]
        kept = piece.strip()
        if not kept:
            continue
        first = start + len(piece) - len(piece.lstrip())
        if blocks and first not in starts and _only_closes(kept):
            blocks[-1] = blocks[-1]._replace(end=first + len(kept))
            continue
        symbol = symbols[number] if number is not None else None
        heading = topic
        whole = False
        # A namespace is not part of the heading, so that pieces of a file join across it.
        if symbol is not None and symbol.kind is not SymbolKind.NAMESPACE:
            heading = f"{topic} > {_label(symbol, joint)}"
            # The rest of a function after an inner one may be joined with other blocks.
            whole = symbol.kind is SymbolKind.FUNCTION and first == symbol.start
        blocks.append(Block(first, first + len(kept), heading, whole))
    introduced: list[dict[str, IntroducedName]] = [{} for _ in blocks]
    block_starts = [block.start for block in blocks]
    for symbol in symbols:
        if not symbol.is_scope:
            here = introduced[block_at(block_starts, symbol.start)]
            for name in (symbol.name, symbol.path[-1]):
                if name == symbol.name or is_distinctive(name):
                    here.setdefault(name, IntroducedName(name, Origin.SYMBOL, "code_symbol"))
    named = zip(blocks, introduced, strict=True)
    return tuple(block._replace(names=tuple(names.values())) for block, names in named)


def block_at(starts: Sequence[int], at: int) -> int:
    """Return the index of the block that has character `at`, from the `starts` of all blocks."""
    return max(0, bisect_right(starts, at) - 1)


def _pieces(symbols: Sequence[Symbol], length: int) -> list[tuple[int, int, int | None]]:
    """Return spans (start, end, innermost symbol's index or None) that cover the whole text."""
    pieces: list[tuple[int, int, int | None]] = []
    at = 0
    inside: int | None = None

    def leave(until: int) -> None:
        nonlocal at, inside
        while inside is not None and symbols[inside].end <= until:
            pieces.append((at, symbols[inside].end, inside))
            at = symbols[inside].end
            inside = symbols[inside].parent

    for number, symbol in enumerate(symbols):
        if symbol.kind is not SymbolKind.DECLARED:
            leave(symbol.start)
            pieces.append((at, symbol.start, inside))
            at = symbol.start
            inside = number
    leave(length)
    return [*pieces, (at, length, None)]


def _only_closes(piece: str) -> bool:
    """Return whether a piece has only closing brackets, with their comments."""
    lines = (line.strip() for line in piece.split("\n"))
    return all(not _WORD.search(line) or _CLOSING.match(line) for line in lines)


def _label(symbol: Symbol, joint: str) -> str:
    if symbol.kind is SymbolKind.IMPL:
        return symbol.signature
    gap = " " if _WORD.match(symbol.signature) else ""
    return f"{joint.join(symbol.path)}{gap}{symbol.signature}"
