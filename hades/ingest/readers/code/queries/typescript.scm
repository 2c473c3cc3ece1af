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
