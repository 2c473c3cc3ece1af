"""The plain text of results, one module for each kind: what people and models read."""
