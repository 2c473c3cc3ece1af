"""Ask a memory of notes and files: the answer, how it hangs together, and what it cost.

Run it: python examples/recall.py
"""

import tempfile
from pathlib import Path

import hades

SAMPLE = Path(__file__).parent / "sample"
REJECTED, FIXED = "2024-01-10", "2024-02-20"


def remember(m: hades.Memory) -> None:
    m.remember(
        "design/approach_x", "Approach X was rejected because it triggers Bug Y.",
        tags=["decision"], valid_from=REJECTED,
    )  # fmt: skip
    m.remember("bugs/bug_y", "Bug Y corrupts data on restart.", valid_from=REJECTED)
    m.relate("design/approach_x", "rejected_because", "bugs/bug_y", valid_from=REJECTED)
    m.remember("refactoring/q1", "The new data layer makes Bug Y impossible.", valid_from=FIXED)
    m.change_fact(
        "design/approach_x", "rejected_because", to="refactoring/q1",
        content="Approach X is viable since the data layer was refactored.", at=FIXED,
    )  # fmt: skip
    done = m.ingest(SAMPLE)
    print(f"remembered {len(m.topics())} topics, {done.added} of them files\n")


def show(question: str, view: hades.View) -> None:
    answer = view.ask(question)
    found = answer.recall
    print(f"{question}  ({found.intent}, {found.tokens} tokens, {found.ms:.0f} ms)")
    for sentence in answer.sentences:
        number = sentence.citation - 1
        told = found.facts[number].edge if sentence.kind == "fact" else found.passages[number]
        print(f"   {sentence.text}  [{told.id}, {told.valid_from:%Y-%m-%d}]")
    for path in found.paths[:2]:
        print(f"   {path.reliability:.2f}  {path}")
    for note in found.reasons:
        print(f"   {note}")
    print()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as m:
        remember(m)
        show("Why was approach X rejected?", m)
        show("Why was approach X rejected?", m.at(REJECTED))
        show("Who built Skerry Light, and where was she from?", m)

        found = m.recall("What is known about Bug Y?", budget=120)
        print("The context a model would get, in 120 tokens:\n")
        print("   " + found.context.replace("\n", "\n   "))


if __name__ == "__main__":
    main()
