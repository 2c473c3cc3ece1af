"""Recall: retrievers, walks, ranking, paths and packing for a question."""
