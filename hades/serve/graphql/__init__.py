"""GraphQL: exploring the graph with one query that says what it wants back.

Strawberry's own ASGI app, limiters and caches do the work. Its types are made from the
dataclasses of `hades.domain` (`types.py`); what leads from one thing to the next is a function
(`schema.py`). A whole query runs in one reading thread of the executor (`app.py`).
"""
