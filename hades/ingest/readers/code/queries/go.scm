[(function_declaration name: (_) @name) (method_declaration name: (_) @name)] @definition.function
[(type_spec name: (_) @name) (type_alias name: (_) @name)] @definition.class
(field_declaration !name type: (_) @base)
(interface_type (type_elem . [(type_identifier) (qualified_type)] @base .))
(call_expression function: (_) @call)
(import_spec) @import
(package_clause (_) @package)
(comment) @lead
