"""Three ways people use a memory with history: bugs, research, decisions.

Run it: python examples/three_uses.py
"""

import tempfile
from pathlib import Path

import hades


def bug_tracking(m: hades.Memory) -> None:
    m.remember("project", "Working on feature X", valid_from="2024-01-08")
    m.remember("bugs/y", "Crash on save", valid_from="2024-01-10")
    m.relate("project", "blocked_by", "bugs/y", valid_from="2024-01-10")
    m.remember("bugs/y", "Only with large files: the buffer is too small", valid_from="2024-01-12")
    m.remember("bugs/y", "Fixed in 1.2", valid_from="2024-01-15")
    m.change_fact(
        "project",
        "blocked_by",
        content="Feature X complete, fixed bug Y; approach Z avoided: it copies the buffer",
        at="2024-01-15",
    )
    print("How did bug Y go?")
    for state in m.history("bugs/y"):
        print(f"   {state.valid_from:%d %b}  {state.content}")
    print("What held the project up on 11 January?")
    print("  ", *m.at("2024-01-11").edges("project"))


def research_evolution(m: hades.Memory) -> None:
    m.remember("topic/a", "Topic A is understood as X", valid_from="2023-05")
    m.remember(
        "papers/new", "Evidence that A is not X", metadata={"year": 2024}, valid_from="2024-02"
    )
    m.relate("papers/new", "contradicts", "topic/a", weight=0.8, valid_from="2024-02")
    m.remember("topic/a", "X is in doubt", confidence=0.4, valid_from="2024-02")
    m.remember("topic/a", "A is X only under condition C (papers/new)", valid_from="2024-03")
    m.change_fact("papers/new", "contradicts", evidence="synthesis", at="2024-03")
    print("\nHow did our understanding of A evolve?")
    for state in m.history("topic/a"):
        print(f"   {state.valid_from:%b %Y}  {state.confidence:.0%} sure: {state.content}")
    print("  ", *m.edges("topic/a"))


def decision_making(m: hades.Memory) -> None:
    m.remember("evaluation/x", "Technology X: fast, mature")
    m.remember("evaluation/y", "Technology Y: elegant, but young")
    m.remember("decision/technology", "Open: X or Y?", tags=["decision"], valid_from="2024-01")
    m.relate("decision/technology", "considered", "evaluation/x")
    m.relate("decision/technology", "considered", "evaluation/y")
    m.remember("decision/technology", "We chose X over Y: it is mature", valid_from="2024-04")
    print("\nWhy did we choose technology X over Y?")
    print("  ", m.get("decision/technology").content)
    for edge in m.edges("decision/technology", direction="out"):
        print(f"   {edge.relation}: {m.get(edge.target.name).content}")
    print("   before:", m.history("decision/technology")[0].content)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as memory:
        bug_tracking(memory)
        research_evolution(memory)
        decision_making(memory)
