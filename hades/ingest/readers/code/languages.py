"""Languages: which suffix is which, and how each one writes a qualified name.

Knowing this needs no parser: the table can be read without the extra `code`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hades.ingest.readers.code import queries


@dataclass(frozen=True, slots=True)
class Language:
    """How one language is parsed and how it speaks of its symbols."""

    name: str
    """As it stands in a document's metadata."""
    family: str
    """Languages of one family have the same modules and imports."""
    package: str
    query: str
    factory: str = "language"
    joint: str = "."
    """What stands between a class and its method in a qualified name."""
    selves: frozenset[str] = frozenset()
    """The words by which a method names its own object or class."""
    implicit_self: bool = False
    """Whether a bare `close()` inside a method may mean the method `close`."""


_THIS = frozenset({"this"})

LANGUAGES: dict[str, Language] = {
    "python": Language(
        "python", "python", "tree_sitter_python", queries.PYTHON, selves=frozenset({"self", "cls"})
    ),
    "javascript": Language(
        "javascript", "script", "tree_sitter_javascript", queries.JAVASCRIPT, selves=_THIS
    ),
    "typescript": Language(
        "typescript",
        "script",
        "tree_sitter_typescript",
        queries.TYPESCRIPT,
        factory="language_typescript",
        selves=_THIS,
    ),
    "tsx": Language(
        "typescript",
        "script",
        "tree_sitter_typescript",
        queries.TSX,
        factory="language_tsx",
        selves=_THIS,
    ),
    "go": Language("go", "go", "tree_sitter_go", queries.GO),
    "rust": Language(
        "rust",
        "rust",
        "tree_sitter_rust",
        queries.RUST,
        joint="::",
        selves=frozenset({"self", "Self"}),
    ),
    "java": Language(
        "java", "java", "tree_sitter_java", queries.JAVA, selves=_THIS, implicit_self=True
    ),
    "c": Language("c", "c", "tree_sitter_c", queries.C, joint="::"),
    "cpp": Language(
        "cpp", "c", "tree_sitter_cpp", queries.CPP, joint="::", selves=_THIS, implicit_self=True
    ),
}

SUFFIXES: dict[str, str] = {
    ".py": "python",
    ".pyi": "python",
    ".pyw": "python",
    ".js": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".jsx": "javascript",
    ".ts": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
    ".c": "c",
    ".h": "c",
    ".cc": "cpp",
    ".cpp": "cpp",
    ".cxx": "cpp",
    ".hh": "cpp",
    ".hpp": "cpp",
    ".hxx": "cpp",
}
"""File suffix, in lower case, to the key of its language in LANGUAGES."""
