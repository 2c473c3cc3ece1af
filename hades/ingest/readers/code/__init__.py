"""Code: the symbols of a source file, and their contains, imports, calls and extends links.

tree-sitter parses. One query per language (languages.py) finds functions, classes, imports and
calls; everything after that is the same for all languages. A file may have errors: the parts that
can be parsed are used.
"""
