"""How a question is answered: seeds from meaning, words and names; later, the walk from there."""
