(function_signature_item name: (_) @name) @definition.function
(impl_item type: (_) @name) @definition.impl
(impl_item trait: (_) @base)
(trait_item bounds: (trait_bounds
  [(type_identifier) (scoped_type_identifier) (generic_type)] @base))
(call_expression function: (_) @call)
(macro_invocation macro: (_) @call)
[(mod_item !body) (use_declaration)] @import
[(line_comment) (block_comment) (attribute_item)] @lead
