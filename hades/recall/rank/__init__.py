"""Ranking of passages and notes: features, models and belief."""
