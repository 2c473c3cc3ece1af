"""Ask a memory with an agent on LangGraph, step by step, and chat with it across runs.

No model is needed: rules decide. With `model="default"` a language model decides and answers.
Run it: python examples/langgraph_agent.py   (needs the extra `agents`)
"""

import tempfile
from pathlib import Path

import hades
from hades.agents.chat import Chat
from hades.agents.memory_agent import MemoryAgent
from hades.agents.query import QueryAgent

NOTES = [
    ("people/maya", "Maya Lind leads Atlas. She joined in 2021.", "2024-01-08"),
    ("infra/queue", "We decided to use Redis as queue.", "2024-03-05"),
    ("infra/queue", "We decided to use Postgres as queue, because Redis lost jobs.", "2024-06-11"),
]
TEXT = "Maya Lind moved to Oslo.\n\nThanks a lot!\n\nFrom now on the queue keeps jobs for 7 days."


def ask(memory: hades.Memory) -> None:
    question = "Who leads Atlas, and which queue do we use?"
    print(f"{question}\n")
    agent = QueryAgent(memory, budget=2_000)
    for event in agent.stream(question):
        print("  ", str(event).replace("\n", "\n   "))  # each step with its cost; the answer last
    result = agent.ask("Which queue do we use?")
    print("\nWhich queue do we use?\n  ", result.current_answer)
    print("   earlier:", result.historical_context)


def take_notes(memory: hades.Memory) -> None:
    print("\nWhat the memory agent would do with a text:")
    for action in MemoryAgent(memory).decide(TEXT).actions:
        print("  ", action)


def chat(path: Path) -> None:
    print("\nA chat that continues in the next run:")
    for line in ("Who leads Atlas?", "And when did she join?"):
        with hades.open(path) as memory:  # each line is a run of its own
            print(f"   > {line}\n   {Chat(memory).say(line).text}")
    with hades.open(path) as memory:
        print("  ", len(Chat(memory).messages), "messages kept")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "team.hades"
        with hades.open(path) as memory:
            for topic, text, day in NOTES:
                memory.remember(topic, text, valid_from=day)
            ask(memory)
            take_notes(memory)
        chat(path)


if __name__ == "__main__":
    main()
