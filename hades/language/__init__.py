"""What HADES knows about languages: words, sentences, names, and the rules of English.

Modules of this package read any script. `english/` has all that holds for English alone: its
words as tables, and the readers that go by them. Another language would stand beside it.
"""
