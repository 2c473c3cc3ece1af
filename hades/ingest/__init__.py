"""How knowledge comes in: readers make documents, documents become states, chunks, links."""
