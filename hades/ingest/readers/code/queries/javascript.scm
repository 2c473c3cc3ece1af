(class_body (field_definition property: (_) @name
  value: [(arrow_function) (function_expression)]) @definition.function)
(class_heritage (_) @base)
