"""Lifecycle: how notes and facts change, merge, are promoted, summarised and learned from."""
