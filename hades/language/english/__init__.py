"""English: its lexicon, and the readers of statements, questions and times that use it."""
