(class_specifier name: (_) @name body: (_)) @definition.class
(namespace_definition name: (_) @name) @definition.module
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @base)
(new_expression type: (_) @call)
(using_declaration (qualified_identifier)) @import
