(class_definition superclasses: (argument_list [(identifier) (attribute) (subscript)] @base))
(call function: (_) @call)
[(import_statement) (import_from_statement)] @import
(comment) @lead
