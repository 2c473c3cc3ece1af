"""MCP: the memory as tools, resources and prompts an agent can use.

The official SDK speaks the protocol; here is only what is said. A tool is a function with
typed arguments and a typed reply (`tool.py`); every one ends in a method of `Memory`,
carried there by the desk, as the caller who asked.
"""
