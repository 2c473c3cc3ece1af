"""Telemetry: what a server counts, traces, logs and says of its health."""
