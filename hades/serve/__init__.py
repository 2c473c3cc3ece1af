"""Serve: one process over one memory, for agents (MCP), applications (REST, GraphQL) and
operators (sockets, metrics). Nothing here has logic of its own: every call ends in a
method of `Memory`.
"""
