"""Ranking what was found: passages and notes, features and belief."""
