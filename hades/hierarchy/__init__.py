"""Hierarchy: how the chunks of a space are organised into clusters of two levels."""
