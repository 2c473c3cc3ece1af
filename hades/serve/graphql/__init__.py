"""GraphQL: explore the graph with one query.

Strawberry's ASGI app, limiters and caches do the work. Types are made from the dataclasses of
`hades.domain` (`types.py`); `schema.py` adds the fields that lead from one object to another. A
query runs in one reading thread of the executor (`app.py`).
"""
