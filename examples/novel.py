"""A novelist's memory: who knew what in which chapter, why, and what the drafts changed.

The story has its own time: a chapter is a month of 1412, and facts hold from a chapter on. What
the author wrote first and changed later is the other time, the one at which the memory learned it.

Run it: python examples/novel.py
"""

import tempfile
from pathlib import Path

import hades

SARAH, KING, SECRET = "character/sarah", "character/king", "secret/the_order"
TEXTS = [
    (1, SARAH, "Sarah is a miller's daughter. She admires the king."),
    (1, KING, "The king is young and popular. The horse of the king is called Ember."),
    (1, "character/rupert", "Rupert is the king's chamberlain."),
    (1, SECRET, "The king ordered the murder of Sarah's parents."),
    (2, "event/murder", "Soldiers in masks murder Sarah's parents at the mill."),
    (4, "event/fire", "The king burns the harvest of his own kingdom."),
    (4, SARAH, "Sarah is a skilled warrior. She hates the king and runs from him."),
    (5, "scene/5", "Sarah watched the king from the shadows and let him pass."),
    (6, "scene/6", "Sarah fled when the king appeared at the fair."),
    (6, "scene/7", "Sarah bought two loaves from a merchant of Ravenhall."),
]
FACTS = [
    (1, "character/rupert", "knows", SECRET, "he carried the order"),
    (2, SARAH, "knows", "event/murder", "she found the mill empty"),
    (4, SARAH, "knows", SECRET, "a dying soldier told her"),
    (4, SARAH, "has_trait", "fear of the king", ""),
    (4, SARAH, "has_trait", "desire for revenge", ""),
    (4, "fear of the king", "caused_by", "event/murder", ""),
    (4, "desire for revenge", "caused_by", "event/fire", ""),
]


def chapter(number: int) -> str:
    return f"1412-{number:02}"


def show(title: str, *lines: object) -> None:
    print(f"\n{title}")
    for line in lines:
        print("   " + str(line).replace("\n", "\n   "))


def write(m: hades.Memory) -> None:
    with m.batch():
        for number, topic, text in TEXTS:
            m.remember(topic, text, valid_from=chapter(number))
        for number, subject, relation, target, how in FACTS:
            m.relate(subject, relation, target, valid_from=chapter(number), evidence=how)


def ask_for_knowledge(m: hades.Memory) -> None:
    for number in (1, 3, 5):
        then = m.at(chapter(number))
        known = then.edges(SARAH, relation="knows", direction="out")
        show(
            f"What did Sarah know in chapter {number}?",
            *(f"{then.get(edge.target.name).content}  ({edge.evidence})" for edge in known),
            *([] if known else ["nothing of the plot"]),
        )
    show("Who knew of the order in chapter 3?", *m.at(chapter(3)).edges(SECRET))
    learned = m.edges(SARAH, relation="knows")[-1]
    show("When did Sarah learn of it?", f"{learned.valid_from:%B %Y}: {learned.evidence}")


def ask_for_reasons(m: hades.Memory) -> None:
    show("Did Sarah ever admire the king?", m.ask("Did Sarah ever admire the king?"))
    for path in m.paths(SARAH, "event/murder")[:2]:
        show(f"Sarah and the murder, reliability {path.reliability:.2f}", path)
    question = "How would Sarah react if she saw the king right now?"
    found = m.recall(question, budget=300)
    show(f"What a model would read in {found.tokens} tokens", found.context)


def revise(m: hades.Memory) -> None:
    m.remember("scene/8", "The horse of the king is called Cinder.", valid_from=chapter(8))
    for proposal in m.proposals():
        show("A contradiction, waiting for the author", proposal.why)
        m.reject(proposal.id, why="a slip of the pen")

    first_draft = m.log(1)[0].at
    m.remember(SECRET, "Rupert ordered the murder, in the king's name.", valid_from=chapter(1))
    question = "Who ordered the murder?"
    show("The second draft: " + question, m.ask(question).sentences[0].text)
    show("The first draft: " + question, m.at(known=first_draft).ask(question).sentences[0].text)
    show("What changed", m.diff(SECRET).text)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "novel.hades") as m:
        write(m)
        ask_for_knowledge(m)
        ask_for_reasons(m)
        revise(m)


if __name__ == "__main__":
    main()
