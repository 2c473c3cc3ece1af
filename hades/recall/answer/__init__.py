"""Answers made of what was ranked: passages, facts, relations, overviews, and `ask`."""
