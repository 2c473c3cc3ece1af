"""The doors to machine learning: encoder, extractor, reranker, chat model."""
