"""The gate: who is asking, by which way, how much; and what is written down of it."""
