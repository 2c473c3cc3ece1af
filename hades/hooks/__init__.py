"""Hooks: a memory for coding agents that they need not ask for.

The agent's program runs a small command at each event (client.py). The command hands the event to
a resident process (resident.py) that holds the memories and the encoder, and prints what it
answers. Whatever fails, the command exits with 0 and leaves one line in a log.
"""
