"""Finding passages: retrievers, walks, the beam, reading on, candidates."""
