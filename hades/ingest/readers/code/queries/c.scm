(function_definition declarator: (_) @name) @definition.function
(preproc_function_def name: (_) @name) @definition.function
[(struct_specifier name: (_) @name body: (_)) (union_specifier name: (_) @name body: (_))
 (enum_specifier name: (_) @name body: (_))] @definition.class
(type_definition type: [(struct_specifier body: (_)) (union_specifier body: (_))
  (enum_specifier body: (_))] declarator: (_) @name) @definition.class
(call_expression function: (_) @call)
(preproc_include) @import
(comment) @lead
