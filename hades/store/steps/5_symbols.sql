-- A question for the uses of a symbol looks among symbols only.
CREATE INDEX entities_symbols ON entities (space) WHERE kind = 'code_symbol'
