"""Benchmarks: each prints tables with the peer measured in the same run, and the ratio."""
