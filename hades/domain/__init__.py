"""Domain types: frozen dataclasses that do no input or output."""
