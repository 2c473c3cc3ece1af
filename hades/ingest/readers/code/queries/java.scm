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
