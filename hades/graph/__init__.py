"""Algorithms over neighbours: walks, flows, beams and paths; no store, no SQL."""
