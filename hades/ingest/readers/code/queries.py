"""What to look for in each language: one tree-sitter query per grammar.

The captures are the vocabulary of the reader:

    @function @class   a symbol with a block of its own
    @declared          a symbol without a body: it stays in the block around it
    @namespace @impl   a scope that lends its name to what is inside
    @name @body        of the symbol in the same pattern; @owner: the receiver's type
    @base              something the class around it extends
    @call              a callee; with @arguments in the same pattern, it ends where they start
    @import            a whole import statement
    @package           the package a file says it is in
    @lead              what may stand before a symbol and belong to it: comments, attributes
"""

PYTHON = """
(function_definition name: (_) @name body: (_) @body) @function
(class_definition name: (_) @name body: (_) @body) @class
(class_definition superclasses: (argument_list
  [(identifier) (attribute) (subscript)] @base))
(call function: (_) @call)
[(import_statement) (import_from_statement)] @import
(comment) @lead
"""

_SCRIPT = """
(function_declaration name: (_) @name body: (_) @body) @function
(generator_function_declaration name: (_) @name body: (_) @body) @function
(class_declaration name: (_) @name body: (_) @body) @class
(class_body (method_definition name: (_) @name body: (_) @body) @function)
(variable_declarator name: (identifier) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)
  (generator_function body: (_) @body)]) @function
(variable_declarator name: (identifier) @name value: (class body: (_) @body)) @class
(assignment_expression left: [(identifier) (member_expression)] @name right: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)]) @function
(assignment_expression left: (member_expression) @name right: (class body: (_) @body)) @class
(export_statement value: [(arrow_function) (function_expression)] @function)
(export_statement value: (class) @class)
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

JAVASCRIPT = (
    _SCRIPT
    + _JSX
    + """
(class_body (field_definition property: (_) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)]) @function)
(class_heritage (_) @base)
"""
)

TYPESCRIPT = (
    _SCRIPT
    + """
(abstract_class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(type_alias_declaration name: (_) @name value: (_) @body) @class
(function_signature name: (_) @name) @function
(class_body (method_signature name: (_) @name) @declared)
(abstract_method_signature name: (_) @name) @declared
(interface_body (method_signature name: (_) @name) @declared)
(class_body (public_field_definition name: (_) @name value: [
  (arrow_function body: (_) @body)
  (function_expression body: (_) @body)]) @function)
(internal_module name: (_) @name body: (_) @body) @namespace
(extends_clause value: (_) @base)
(implements_clause (_) @base)
(extends_type_clause type: (_) @base)
"""
)

TSX = TYPESCRIPT + _JSX

GO = """
(function_declaration name: (_) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration type: (_) @owner))
  name: (_) @name) @function
(type_spec name: (_) @name type: (_) @body) @class
(type_alias name: (_) @name type: (_) @body) @class
(field_declaration !name type: (_) @base)
(interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))
(call_expression function: (_) @call)
(import_spec) @import
(package_clause (_) @package)
(comment) @lead
"""

RUST = """
(function_item name: (_) @name body: (_) @body) @function
(macro_definition name: (_) @name) @function
(struct_item name: (_) @name) @class
(enum_item name: (_) @name body: (_) @body) @class
(union_item name: (_) @name body: (_) @body) @class
(trait_item name: (_) @name body: (_) @body) @class
(function_signature_item name: (_) @name) @declared
(impl_item type: (_) @name body: (_) @body) @impl
(impl_item trait: (_) @base)
(trait_item bounds: (trait_bounds
  [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(mod_item name: (_) @name body: (_) @body) @namespace
(mod_item !body) @import
(use_declaration) @import
(call_expression function: (_) @call)
(macro_invocation macro: (_) @call)
[(line_comment) (block_comment) (attribute_item)] @lead
"""

JAVA = """
(class_declaration name: (_) @name body: (_) @body) @class
(interface_declaration name: (_) @name body: (_) @body) @class
(enum_declaration name: (_) @name body: (_) @body) @class
(record_declaration name: (_) @name body: (_) @body) @class
(annotation_type_declaration name: (_) @name body: (_) @body) @class
(method_declaration name: (_) @name body: (_) @body) @function
(constructor_declaration name: (_) @name body: (_) @body) @function
(compact_constructor_declaration name: (_) @name body: (_) @body) @function
(method_declaration name: (_) @name !body) @declared
(superclass (_) @base)
(super_interfaces (type_list (_) @base))
(extends_interfaces (type_list (_) @base))
(method_invocation arguments: (_) @arguments) @call
(object_creation_expression type: (_) @call)
(import_declaration) @import
(package_declaration [(identifier) (scoped_identifier)] @package)
[(line_comment) (block_comment)] @lead
"""

C = """
(function_definition declarator: (_) @name body: (_) @body) @function
(preproc_function_def name: (_) @name parameters: (_)) @function
(struct_specifier name: (_) @name body: (_) @body) @class
(union_specifier name: (_) @name body: (_) @body) @class
(enum_specifier name: (_) @name body: (_) @body) @class
(type_definition type: [
  (struct_specifier body: (_) @body)
  (union_specifier body: (_) @body)
  (enum_specifier body: (_) @body)] declarator: (_) @name) @class
(call_expression function: (_) @call)
(preproc_include) @import
(comment) @lead
"""

CPP = (
    C
    + """
(class_specifier name: (_) @name body: (_) @body) @class
(namespace_definition name: (_) @name body: (_) @body) @namespace
(base_class_clause
  [(type_identifier) (qualified_identifier) (template_type)] @base)
(new_expression type: (_) @call)
(using_declaration (qualified_identifier)) @import
"""
)
