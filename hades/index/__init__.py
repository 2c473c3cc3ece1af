"""What makes it fast: vectors, words, names and graph arrays, all derived, all rebuildable."""
