"""Languages: their suffixes, queries and grammars.

Definitions are found by the tag query of the grammar, if it is usable, and by those in `queries/`.
The tag queries of JavaScript and Go are not usable: they pair comments with definitions and take a
minute for 20,000 lines of comments. Those of C and C++ take declarations for definitions. No tag
query finds imports or bases. The captures are:

    @definition.*   a symbol; module and impl are scopes, part of the names inside them
    @name           the name of the symbol in the same pattern
    @base           a base of the class around it
    @call           a callee; with @arguments in the same pattern, it ends where they start
    @import         a whole import statement
    @package        the package that the file declares
    @lead           comments and attributes, which may belong to the symbol after them

This module can be imported without the extra `code`. A grammar is loaded when the first file of its
language is read. Parsing and matching run in tree-sitter and do not recurse, however deep the file
is nested.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

    QueryMatch = dict[str, list[tree_sitter.Node]]
    """One match of the query: nodes by capture name."""

MOST_ERROR_CHILDREN = 10_000
"""The time to match grows with the square of this number: 10,000 take 0.25 s, 100,000 half a
minute."""


@dataclass(frozen=True, slots=True)
class CodeLanguage:
    """How one language is parsed and how its symbols are named."""

    name: str
    """The name in the metadata of documents."""
    family: str
    """Languages of one family share the rules of modules and imports."""
    suffixes: str
    queries: str
    """The names of the files in `queries/` whose patterns find its symbols."""
    tagged: bool = False
    """Whether the tag query of the grammar is used."""
    factory: str = "language"
    joint: str = "."
    """The separator between a class and its method in a qualified name."""
    selves: tuple[str, ...] = ("this",)
    """The words by which a method names its own object or class."""
    implicit_self: bool = False
    """Whether a bare `close()` inside a method may mean the method `close`."""
    index_stems: tuple[str, ...] = ()
    """Stems of files that stand for their folder."""


_SCRIPT_INDEX = ("index",)
JAVASCRIPT = CodeLanguage(
    name="javascript",
    family="script",
    suffixes=".js .mjs .cjs .jsx",
    queries="script jsx javascript",
    index_stems=_SCRIPT_INDEX,
)
LANGUAGES = (
    CodeLanguage(
        name="python",
        family="python",
        suffixes=".py .pyi .pyw",
        queries="python",
        tagged=True,
        selves=("self", "cls"),
        index_stems=("__init__",),
    ),
    JAVASCRIPT,
    CodeLanguage(
        name="typescript",
        family="script",
        suffixes=".ts .mts .cts",
        queries="script typescript",
        factory="language_typescript",
        index_stems=_SCRIPT_INDEX,
    ),
    CodeLanguage(
        name="typescript",
        family="script",
        suffixes=".tsx",
        queries="script typescript jsx",
        factory="language_tsx",
        index_stems=_SCRIPT_INDEX,
    ),
    CodeLanguage(name="go", family="go", suffixes=".go", queries="go"),
    CodeLanguage(
        name="rust",
        family="rust",
        suffixes=".rs",
        queries="rust",
        tagged=True,
        joint="::",
        selves=("self", "Self"),
        index_stems=("mod", "lib", "main"),
    ),
    CodeLanguage(
        name="java",
        family="java",
        suffixes=".java",
        queries="java",
        tagged=True,
        implicit_self=True,
    ),
    CodeLanguage(name="c", family="c", suffixes=".c", queries="c", joint="::"),
    # A header is parsed as C++, which includes most of C.
    CodeLanguage(
        name="cpp",
        family="c",
        suffixes=".h .cc .cpp .cxx .hh .hpp .hxx",
        queries="c cpp",
        joint="::",
        implicit_self=True,
    ),
)
SUFFIXES = {suffix: language for language in LANGUAGES for suffix in language.suffixes.split()}
"""Languages by file suffix in lower case."""


@cache
def _grammar_and_query(language: CodeLanguage) -> tuple[tree_sitter.Language, tree_sitter.Query]:
    import tree_sitter

    package = import_module(f"tree_sitter_{language.name}")
    grammar = tree_sitter.Language(getattr(package, language.factory)())
    tags = package.TAGS_QUERY if language.tagged else ""
    folder = Path(__file__).with_name("queries")
    own = [(folder / f"{name}.scm").read_text("utf-8") for name in language.queries.split()]
    return grammar, tree_sitter.Query(grammar, "\n".join([tags, *own]))


def find_matches(language: CodeLanguage, source: bytes) -> dict[str, list[QueryMatch]] | None:
    """Return the matches of the language's query in a source, listed under each capture's name.

    Return None if the parser could not make sense of the text.
    """
    grammar, query = _grammar_and_query(language)
    import tree_sitter

    # Parsers are not thread-safe and cheap to create, so each call has its own.
    tree = tree_sitter.Parser(grammar).parse(source)
    if _is_hopeless(tree.root_node):
        return None
    matches: dict[str, list[QueryMatch]] = {}
    for _, match in tree_sitter.QueryCursor(query).matches(tree.root_node):
        for capture in match:
            matches.setdefault(capture, []).append(match)
    return matches


def _is_hopeless(root: tree_sitter.Node) -> bool:
    """Return whether the parser gave up on most of the file. Matching would take minutes."""
    if not root.has_error:
        return False
    broken = [root, *root.children] if root.is_error else [c for c in root.children if c.is_error]
    return any(node.child_count > MOST_ERROR_CHILDREN for node in broken)
