"""How a question is answered: retrievers, walks, ranking, paths and packing."""
