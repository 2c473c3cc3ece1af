"""Indexes: vectors, words, names and graph arrays, all derived from the store."""
