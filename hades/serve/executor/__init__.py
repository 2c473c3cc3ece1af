"""The threads that carry calls to the memory."""
