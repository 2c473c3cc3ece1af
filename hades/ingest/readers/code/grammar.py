"""Grammar: parse a file and run its language's query over the tree.

The grammars are compiled into their own wheels, so nothing is fetched at run time.
Each is loaded when the first file of its language is read. Parsing and matching run in
tree-sitter and do not recurse, however deep the file nests.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from hades.ingest.document import Unreadable
from hades.ingest.readers.code.languages import Language

if TYPE_CHECKING:
    import tree_sitter

    Match = dict[str, list[tree_sitter.Node]]
    """One place the query fits, by capture name."""
    Matches = dict[str, list[Match]]
    """All of them, under each capture they have."""

MOST_ERROR_CHILDREN = 10_000
"""Time to match grows with the square of it: 0.25 s at 10,000, half a minute at 100,000."""


@cache
def _grammar_and_query(language: Language) -> tuple[tree_sitter.Language, tree_sitter.Query]:
    try:
        import tree_sitter

        package = import_module(language.package)
    except ImportError as missing:
        raise Unreadable(
            f"reading {language.name} code needs an extra: pip install 'hades-memory[code]'"
        ) from missing
    grammar = tree_sitter.Language(getattr(package, language.factory)())
    return grammar, tree_sitter.Query(grammar, language.query)


def _is_hopeless(root: tree_sitter.Node) -> bool:
    """Whether the parser gave up on most of the file; matching such a tree takes minutes."""
    if not root.has_error:
        return False
    broken = [root, *root.children] if root.is_error else [c for c in root.children if c.is_error]
    return any(node.child_count > MOST_ERROR_CHILDREN for node in broken)


def find(language: Language, data: bytes) -> Matches | None:
    """Every match of the language's query in UTF-8 source, by capture name.

    None for text that has nothing of the language in it.
    """
    grammar, query = _grammar_and_query(language)
    import tree_sitter

    # A parser is not shared: it must not be used by two threads at once, and is cheap to make.
    tree = tree_sitter.Parser(grammar).parse(data)
    if _is_hopeless(tree.root_node):
        return None
    matches: Matches = {}
    for _, match in tree_sitter.QueryCursor(query).matches(tree.root_node):
        for capture in match:
            matches.setdefault(capture, []).append(match)
    return matches
