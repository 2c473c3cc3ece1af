"""Languages: their suffixes, queries and grammars.

Definitions are found by the tag query of the grammar, if it is usable, and by a query here. The tag
queries of JavaScript and Go are not usable: they pair comments with definitions and take a minute
for 20,000 lines of comments. Those of C and C++ take declarations for definitions. No tag query
finds imports or bases. The captures are:

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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import tree_sitter

    QueryMatch = dict[str, list[tree_sitter.Node]]
    """One match of the query: nodes by capture name."""

MOST_ERROR_CHILDREN = 10_000
"""The time to match grows with its square: 0.25 s at 10,000, half a minute at 100,000."""

_PYTHON = """
(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))
(call function: (_) @call)
[(import_statement) (import_from_statement)] @import
(comment) @lead
"""

_SCRIPT = """
[(function_declaration name: (_) @name) (generator_function_declaration name: (_) @name)
 (method_definition name: (_) @name)] @definition.function
(class_declaration name: (_) @name) @definition.class
(variable_declarator name: (identifier) @name
  value: [(arrow_function) (function_expression) (generator_function)]) @definition.function
(variable_declarator name: (identifier) @name value: (class)) @definition.class
(assignment_expression left: [(identifier) (member_expression)] @name
  right: [(arrow_function) (function_expression)]) @definition.function
(assignment_expression left: (member_expression) @name right: (class)) @definition.class
(call_expression function: (_) @call)
(new_expression constructor: (_) @call)
(import_statement) @import
(export_statement source: (_)) @import
(variable_declarator value: (call_expression function: (identifier) @_require)
  (#eq? @_require "require")) @import
[(comment) (decorator)] @lead
"""

_JSX = """
(jsx_opening_element name: (_) @call)
(jsx_self_closing_element name: (_) @call)
"""

_JAVASCRIPT = """
(class_body (field_definition property: (_) @name
  value: [(arrow_function) (function_expression)]) @definition.function)
(class_heritage (_) @base)
"""

_TYPESCRIPT = """
[(abstract_class_declaration name: (_) @name) (interface_declaration name: (_) @name)
 (enum_declaration name: (_) @name) (type_alias_declaration name: (_) @name)] @definition.class
[(function_signature name: (_) @name) (method_signature name: (_) @name)
 (abstract_method_signature name: (_) @name)] @definition.function
(class_body (public_field_definition name: (_) @name
  value: [(arrow_function) (function_expression)]) @definition.function)
(internal_module name: (_) @name) @definition.module
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause type: (_) @base)
"""

_GO = """
[(function_declaration name: (_) @name) (method_declaration name: (_) @name)] @definition.function
[(type_spec name: (_) @name) (type_alias name: (_) @name)] @definition.class
(field_declaration !name type: (_) @base)
(interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))
(call_expression function: (_) @call)
(import_spec) @import
(package_clause (_) @package)
(comment) @lead
"""

_RUST = """
(function_signature_item name: (_) @name) @definition.function
(impl_item type: (_) @name) @definition.impl
(impl_item trait: (_) @base)
(trait_item bounds: (trait_bounds
  [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(call_expression function: (_) @call)
(macro_invocation macro: (_) @call)
[(mod_item !body) (use_declaration)] @import
[(line_comment) (block_comment) (attribute_item)] @lead
"""

_JAVA = """
[(enum_declaration name: (_) @name) (record_declaration name: (_) @name)
 (annotation_type_declaration name: (_) @name)] @definition.class
[(constructor_declaration name: (_) @name)
 (compact_constructor_declaration name: (_) @name)] @definition.method
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(method_invocation arguments: (_) @arguments) @call
(object_creation_expression type: (_) @call)
(import_declaration) @import
(package_declaration [(identifier) (scoped_identifier)] @package)
[(line_comment) (block_comment)] @lead
"""

_C = """
(function_definition declarator: (_) @name) @definition.function
(preproc_function_def name: (_) @name) @definition.function
[(struct_specifier name: (_) @name body: (_)) (union_specifier name: (_) @name body: (_))
 (enum_specifier name: (_) @name body: (_))] @definition.class
(type_definition type: [(struct_specifier body: (_)) (union_specifier body: (_))
  (enum_specifier body: (_))] declarator: (_) @name) @definition.class
(call_expression function: (_) @call)
(preproc_include) @import
(comment) @lead
"""

_CPP = """
(class_specifier name: (_) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.module
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(new_expression type: (_) @call)
(using_declaration (qualified_identifier)) @import
"""


@dataclass(frozen=True, slots=True)
class CodeLanguage:
    """How one language is parsed and how its symbols are named."""

    name: str
    """The name in the metadata of documents."""
    family: str
    """Languages of one family share the rules of modules and imports."""
    suffixes: str
    query: str
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
    *("javascript", "script", ".js .mjs .cjs .jsx", _SCRIPT + _JSX + _JAVASCRIPT),
    index_stems=_SCRIPT_INDEX,
)
LANGUAGES = (
    CodeLanguage(
        *("python", "python", ".py .pyi .pyw", _PYTHON),
        tagged=True,
        selves=("self", "cls"),
        index_stems=("__init__",),
    ),
    JAVASCRIPT,
    CodeLanguage(
        *("typescript", "script", ".ts .mts .cts", _SCRIPT + _TYPESCRIPT),
        factory="language_typescript",
        index_stems=_SCRIPT_INDEX,
    ),
    CodeLanguage(
        *("typescript", "script", ".tsx", _SCRIPT + _TYPESCRIPT + _JSX),
        factory="language_tsx",
        index_stems=_SCRIPT_INDEX,
    ),
    CodeLanguage("go", "go", ".go", _GO),
    CodeLanguage(
        *("rust", "rust", ".rs", _RUST),
        tagged=True,
        joint="::",
        selves=("self", "Self"),
        index_stems=("mod", "lib", "main"),
    ),
    CodeLanguage("java", "java", ".java", _JAVA, tagged=True, implicit_self=True),
    CodeLanguage("c", "c", ".c", _C, joint="::"),
    # A header is parsed as C++, which includes most of C.
    CodeLanguage(
        *("cpp", "c", ".h .cc .cpp .cxx .hh .hpp .hxx", _C + _CPP), joint="::", implicit_self=True
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
    return grammar, tree_sitter.Query(grammar, tags + language.query)


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
