"""A LlamaIndex query engine and a chat engine that read from HADES, as of any day.

The model is LlamaIndex's own mock one, which replies with its prompt, so you see what a real model
would read. Run it: python examples/llamaindex_retriever.py   (needs `llama-index-core`)
"""

import asyncio
import tempfile
from pathlib import Path

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory
from llama_index.core.query_engine import RetrieverQueryEngine

import hades
from hades.adapters.llamaindex import HadesMemoryBlock, HadesNodeRetriever

NOTES = [
    ("infra/queue", "We use Redis as job queue.", "2024-01-10"),
    ("infra/queue", "We use Postgres as job queue, because Redis lost jobs.", "2024-06-11"),
    ("infra/cache", "The cache stays in Redis; it may lose entries.", "2024-06-12"),
    ("people/ann", "Ann Lee looks after the job queue.", "2024-02-01"),
]


def query(view: hades.View, question: str) -> None:
    """Run the usual query engine; its response has the nodes it was written from."""
    engine = RetrieverQueryEngine.from_args(HadesNodeRetriever(view, k=2), llm=MockLLM())
    response = engine.query(question)
    for found in response.source_nodes:
        print(f"   {found.score:.2f}  {found.node.id_}  {found.text}")
    print("   The model reads:")
    print("      " + str(response).strip().replace("\n", "\n      "))


def chat(memory: hades.Memory) -> None:
    """Chat with short-term memory of LlamaIndex and long-term memory in HADES."""
    block = HadesMemoryBlock(memory=memory, budget=200)
    short = Memory.from_defaults(session_id="ann/1", memory_blocks=[block])
    engine = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=short)
    reply = asyncio.run(engine.achat("Who looks after the job queue?"))
    print("   " + str(reply).strip().replace("\n", "\n   "))


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as memory:
        for topic, text, day in NOTES:
            memory.remember(topic, text, valid_from=day)

        question = "Which job queue do we use?"
        print(f"{question}  Today:")
        query(memory, question)
        print(f"\n{question}  As of March 2024:")
        query(memory.at("2024-03"), question)

        print("\nOnly notes on people:")
        for found in HadesNodeRetriever(memory, glob="people/*").retrieve("Who knows the queue?"):
            print(f"   {found.text}")

        print("\nThe chat engine, with what the memory block recalls:")
        chat(memory)


if __name__ == "__main__":
    main()
