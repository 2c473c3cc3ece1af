"""How an idea evolved: what causes stomach ulcers, from 1910 to 1994.

Notes on papers change what is believed. The memory answers as of any year, keeps what was believed
before, and finds how two ideas are connected. Run it: python examples/research.py
"""

import tempfile
from pathlib import Path

import hades

CAUSE = "idea/cause_of_ulcers"
BELIEFS = [
    ("1910", 0.9, "Ulcers are caused by acid: no acid, no ulcer."),
    ("1954", 0.9, "Ulcers are caused by acid and stress. Bacteria cannot live in the stomach."),
    ("1984", 0.5, "Ulcers may be caused by a bacterium; most physicians still blame acid."),
    ("1994", 0.95, "Most ulcers are caused by the bacterium Helicobacter pylori."),
]
PAPERS = [
    ("1910", "papers/schwarz_1910", "Schwarz finds no peptic ulcer in a stomach without acid."),
    ("1954", "papers/palmer_1954", "Palmer finds no bacteria in 1,180 biopsies of the stomach."),
    ("1984", "papers/marshall_warren_1984",
     "Marshall and Warren find curved bacteria in nearly all patients with ulcers."),
    ("1985", "papers/marshall_1985",
     "Marshall drinks a culture of Helicobacter pylori and falls ill with gastritis."),
    ("1994", "papers/nih_1994", "A consensus panel recommends antibiotics against ulcers."),
]  # fmt: skip
FACTS = [
    ("1910", "papers/schwarz_1910", "supports", "acid hypothesis"),
    ("1954", "papers/palmer_1954", "supports", "acid hypothesis"),
    ("1954", "papers/palmer_1954", "contradicts", "bacterial hypothesis"),
    ("1976", "acid hypothesis", "treated_by", "acid blockers"),
    ("1984", "papers/marshall_warren_1984", "supports", "bacterial hypothesis"),
    ("1985", "papers/marshall_1985", "tests", "bacterial hypothesis"),
    ("1985", "papers/marshall_1985", "cites", "papers/marshall_warren_1984"),
    ("1994", "papers/nih_1994", "cites", "papers/marshall_warren_1984"),
    ("1994", "papers/nih_1994", "recommends", "antibiotics"),
]


def show(title: str, *lines: object) -> None:
    print(f"\n{title}")
    for line in lines:
        print("   " + str(line).replace("\n", "\n   "))


def read_papers(m: hades.Memory) -> None:
    with m.batch():
        for year, sure, text in BELIEFS:
            m.remember(CAUSE, text, confidence=sure, valid_from=year)
        for year, topic, text in PAPERS:
            m.remember(topic, text, tags=["paper"], valid_from=year)
        for year, source, relation, target in FACTS:
            m.relate(source, relation, target, valid_from=year)


def answer(view: hades.View, question: str) -> str:
    """The first sentence of an answer, with its source."""
    return view.ask(question).sentences[0].marked()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as m:
        read_papers(m)
        show(
            "How did the idea change?",
            *(f"{s.valid_from:%Y}  {s.confidence:.0%} sure: {s.content}" for s in m.history(CAUSE)),
        )
        question = "What causes ulcers?"
        show(question, answer(m, question))
        show(question + "  As of 1960:", answer(m.at("1960"), question))
        question = "What was believed to cause ulcers in 1990?"
        show(question, answer(m, question))
        show("What happened in 1985?", m.ask("What happened in 1985?"))

        show("How is the acid hypothesis connected with antibiotics?")
        print("  ", str(m.paths("acid hypothesis", "antibiotics")[0]).replace(" <", "\n      <"))
        show(
            "And in 1990?", *m.at("1990").paths("acid hypothesis", "antibiotics") or ["not at all"]
        )

        before = m.log(1)[0].at
        m.unrelate("papers/palmer_1954", "contradicts", "bacterial hypothesis", at="1984")
        show("Which papers speak about bacteria?", *m.edges("bacterial hypothesis"))
        show("In 1960:", *m.at("1960").edges("bacterial hypothesis"))
        known = m.at(known=before).edges("bacterial hypothesis")
        show("Before this note was corrected:", *known)


if __name__ == "__main__":
    main()
