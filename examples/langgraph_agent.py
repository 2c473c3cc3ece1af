"""Ask a memory with an agent on LangGraph, step by step, and chat with it across runs.

Run it: python examples/langgraph_agent.py   (needs the extra `agents`)
"""

import tempfile
from pathlib import Path

import hades
from hades.agents.chat import Chat
from hades.agents.query import QueryAgent

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "team.hades"
    with hades.open(path) as memory:
        memory.remember("people/maya", "Maya Lind leads Atlas. She joined in 2021.")
        memory.remember("infra/queue", "We decided to use Redis as queue.")
        for event in QueryAgent(memory).stream("Who leads Atlas, and which queue do we use?"):
            print(event)  # each step with its cost; the answer last
        print(Chat(memory).say("Who leads Atlas?").text)
    with hades.open(path) as memory:  # another run: the chat continues
        print(Chat(memory).say("And when did she join?").text)
        print(len(Chat(memory).messages), "messages")
