"""Models: encoders that make vectors, extractors that find names."""
