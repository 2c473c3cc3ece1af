"""A library: many memories, its volumes, that are asked as one.

Each volume is an ordinary memory, a file or a schema of PostgreSQL. The catalogue, a memory itself,
knows their places, what each holds in outline (its sketch), and where new topics go. A question
gathers an excerpt from the volumes, and the usual recall runs over that excerpt.
"""
