"""The store: what a memory keeps, and the SQL that reads and writes it."""
