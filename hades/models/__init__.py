"""Models: encoders make vectors, extractors find names, chat models write text."""
