"""MCP: the memory as tools, resources and prompts for agents.

The official SDK implements the protocol. This package describes the tools and their arguments;
each tool calls a method of `Memory` through the executor, with the rights of its caller.
"""
