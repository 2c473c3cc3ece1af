"""What a model reads: exact tokens, and a context packed within them."""
