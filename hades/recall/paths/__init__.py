"""Paths through the graph: between nodes, around one, and in words."""
