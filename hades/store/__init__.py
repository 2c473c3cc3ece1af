"""What is remembered: one port, and the engines behind it."""
