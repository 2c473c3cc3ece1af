"""MCP: the memory as tools, resources and prompts an agent can use.

The official SDK speaks the protocol. Here are the tools' words and arguments; each tool calls
a method of `Memory` through the executor, as the caller who asked.
"""
