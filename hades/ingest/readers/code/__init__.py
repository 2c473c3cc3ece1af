"""Code: a source file becomes its symbols, and how they contain, import, call and extend.

tree-sitter parses; one query per language (languages.py) says what counts as a function,
a class, an import or a call, and everything after that is the same for all languages.
Nothing here needs the file to be correct: what can be parsed is used.
"""
