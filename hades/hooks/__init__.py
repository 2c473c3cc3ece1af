"""Hooks: give coding agents a memory without a call by the model.

The agent's program runs a small command at each event (client.py). The command hands the event to
a resident process (resident.py) that holds the memories and the encoder, and prints its answer.
If anything fails, the command exits with 0 and writes one line to a log.
"""
