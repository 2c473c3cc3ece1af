"""Serve: one process over one memory, for agents (MCP), applications (REST, GraphQL) and
operators (sockets, metrics). Every call ends in a method of `Memory`, which has the logic.
"""
