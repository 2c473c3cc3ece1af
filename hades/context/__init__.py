"""Contexts for models: exact token counts, and evidence packed within a budget."""
