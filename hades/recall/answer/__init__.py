"""Answers made of the ranking: passages, facts, relations, overviews, and `ask`."""
