"""Ingestion: readers return documents, which become states, chunks, links and vectors."""
