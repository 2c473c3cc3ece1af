"""A LangChain chain that reads from HADES and keeps its chat there, with answers as of any day.

The model is LangChain's own fake one, which replies with its prompt, so you see what a real model
would read. Run it: python examples/langchain_retriever.py   (needs `langchain-core`)
"""

import tempfile
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import PromptValue
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda, RunnablePassthrough

import hades
from hades.adapters.langchain import HadesChatHistory, HadesRetriever

NOTES = [
    ("infra/queue", "We use Redis as job queue.", "2024-01-10"),
    ("infra/queue", "We use Postgres as job queue, because Redis lost jobs.", "2024-06-11"),
    ("infra/cache", "The cache stays in Redis; it may lose entries.", "2024-06-12"),
    ("people/ann", "Ann Lee looks after the job queue.", "2024-02-01"),
]
PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Answer from these notes only:\n{notes}"), ("human", "{question}")]
)


def as_lines(documents: list[Document]) -> str:
    """Write each passage with its time, so that the model knows which version holds."""
    lines = []
    for found in documents:
        since, until = found.metadata["valid_from"], found.metadata["valid_to"]
        times = f"{since:.10} to {until:.10}" if until else f"since {since:.10}"
        lines.append(f"- {found.page_content} ({found.metadata['source']}, {times})")
    return "\n".join(lines)


def echo(prompt: PromptValue) -> AIMessage:
    """Stand in for a model: reply with the prompt."""
    return AIMessage(prompt.to_string())


def make_chain(view: hades.View) -> Runnable[str, str]:
    """The usual chain of retrieval: notes and question into the prompt, then to the model."""
    notes = HadesRetriever(memory=view, k=2) | as_lines
    inputs = {"notes": notes, "question": RunnablePassthrough()}
    return inputs | PROMPT | RunnableLambda(echo) | StrOutputParser()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as memory:
        for topic, text, day in NOTES:
            memory.remember(topic, text, valid_from=day)

        question = "Which job queue do we use?"
        print("Today:\n" + make_chain(memory).invoke(question))
        print("\nAs of March 2024:\n" + make_chain(memory.at("2024-03")).invoke(question))

        only_people = HadesRetriever(memory=memory, glob="people/*")
        print("\nOnly notes on people:\n" + as_lines(only_people.invoke("Who knows the queue?")))

        chat = HadesChatHistory(memory, session_id="ann/1")
        chat.add_messages([HumanMessage("My desk is in room 4."), AIMessage("Noted: room 4.")])
        again = HadesChatHistory(memory, session_id="ann/1")  # in another run, say
        print("\nThe chat so far:", *(f"{said.type}: {said.text}" for said in again.messages))
        print("\nAnd the memory knows it too:", memory.ask("In which room is the desk?"))


if __name__ == "__main__":
    main()
