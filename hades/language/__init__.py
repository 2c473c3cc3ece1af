"""Language: words, sentences, names, and the rules of English.

The modules of this package read any script. `english/` has everything that holds for English only:
tables of words, and the readers that use them. Another language would be a package beside it.
"""
