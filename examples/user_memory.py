"""What users said: distil their conversations, ask about one user, and take it back.

No language model is needed. Run it: python examples/user_memory.py
"""

import tempfile
from pathlib import Path

import hades

MARCH = [
    {"role": "user", "at": "2026-03-02", "content": "Send me the reports as PDF from now on, "
     "never as spreadsheets. I am vegetarian, so no meat in the meals."},
    {"role": "assistant", "at": "2026-03-02", "content": "All right, I will."},
]  # fmt: skip
JUNE = [
    {"role": "user", "at": "2026-06-01", "content": "No more PDF: from now on I want reports as "
     "plain text."},
    {"role": "assistant", "at": "2026-06-01", "content": "Plain text it is."},
]  # fmt: skip
BEN = [
    {
        "role": "user",
        "at": "2026-05-04",
        "content": "Send me the reports on paper from now on, always.",
    }
]
QUESTION = "How should reports be sent?"


def show(title: str, *lines: object) -> None:
    print(f"\n{title}")
    for line in lines:
        print("  ", line)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as m:
        m.distil(MARCH, user="ana")
        later = m.distil(JUNE, user="ana")
        m.distil(BEN, user="ben")

        found = m.recall(QUESTION, about="ana", kind="note")
        show("What is known about Ana?", *(passage.chunk.text for passage in found.passages))
        show("Of which is in force:", m.ask(QUESTION, about="ana", kind="note"))
        show("In April:", m.at("2026-04-01").ask(QUESTION, about="ana", kind="note"))

        (changed,) = later.statements
        topic = changed.state.partition("@")[0]
        show("How it changed", *(f"{s.valid_from:%d %B}: {s.content}" for s in m.history(topic)))

        m.withdraw(topic, m.get(topic).version)
        show("Taken back: the first one holds again", m.get(topic).content)

        for conversation in m.topics("users/ana/*", kind="conversation"):
            m.purge(conversation.name)  # with everything that was distilled from it
        show("Erased, but for Ben", *(topic.name for topic in m.topics()))


if __name__ == "__main__":
    main()
