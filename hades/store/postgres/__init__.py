"""The engine for several processes and machines: PostgreSQL."""
