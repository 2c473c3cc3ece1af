"""GraphQL: exploring the graph by one question that says what it wants back.

A query is read, found valid and weighed before anything is done. Then all of it is executed
in one thread of the desk: its fields call the view one after the other, so that a hundred
nodes are a hundred look-ups and not a hundred trips between threads. A query that only reads
sees one moment throughout (a snapshot). One that also walks the indexes (search, recall,
paths, neighbours, subgraph, working memory) cannot be inside a snapshot, since indexes move
on their own: each of its fields sees the memory as it is when its turn comes.
"""

from hades.serve.graphql.asgi import mounted

__all__ = ["mounted"]
