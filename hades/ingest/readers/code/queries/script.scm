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
