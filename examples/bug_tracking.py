"""Bugs, fixes, and a decision that a bug explains: until when does its reason hold?

A bug blocks a release and decides a design. Its fix changes neither silently: the memory proposes
which facts may be over, and a person decides. Run it: python examples/bug_tracking.py
"""

import tempfile
from pathlib import Path

import hades

BUG, DESIGN, RELEASE = "bugs/412", "design/direct_upload", "release/2.1"


def show(title: str, *lines: object) -> None:
    print(f"\n{title}")
    for line in lines:
        print("   " + str(line).replace("\n", "\n   "))


def ask(view: hades.View, question: str, when: str = "") -> None:
    """Show the two best sentences of an answer, each with its source."""
    show(question + when, *(s.marked() for s in view.ask(question).sentences[:2]))


def report_bugs(m: hades.Memory) -> None:
    m.remember(RELEASE, "Release 2.1 brings uploads of any size.", valid_from="2024-03-01")
    m.remember(BUG, "Bug 412: uploads above 4 GB are cut off.", valid_from="2024-03-04")
    m.relate(RELEASE, "blocked_by", BUG, valid_from="2024-03-04")
    m.remember(
        BUG, "Bug 412: the proxy counts bytes in 32 bits, so the count overflows at 4 GB.",
        valid_from="2024-03-11",
    )  # fmt: skip
    m.remember("bugs/430", "Bug 430: the progress bar jumps back to 0 %.", valid_from="2024-04-02")
    m.relate(RELEASE, "blocked_by", "bugs/430", valid_from="2024-04-02")


def decide(m: hades.Memory) -> None:
    m.remember(
        DESIGN,
        "We decided against direct upload: it goes through the proxy and would hit bug 412. "
        "Files are uploaded in parts of 1 GB instead.",
        tags=["decision"],
        valid_from="2024-03-13",
    )
    m.relate(
        DESIGN, "rejected_because", BUG, evidence="review of 13 March", valid_from="2024-03-13"
    )


def fix(m: hades.Memory) -> None:
    m.remember(BUG, "Bug 412 is fixed: proxy 1.9 counts bytes in 64 bits.", valid_from="2024-05-20")
    for proposal in m.proposals():
        show("The fix may end a fact", proposal.why)
        if proposal.fields["source"] == RELEASE:
            m.approve(proposal.id)
            print("   approved: the release waits for this bug no longer")
        else:
            m.reject(proposal.id, why="the review decides on the design")
            print("   rejected: the review decides on the design")
    m.change_fact(
        DESIGN, "rejected_because", to="proxy/1.9", at="2024-05-27",
        content="Direct upload is allowed since proxy 1.9.", evidence="review of 27 May",
    )  # fmt: skip


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "m.hades") as m:
        report_bugs(m)
        decide(m)
        ask(m, "What blocks release 2.1?")
        ask(m, "Why do we not use direct upload?")
        fix(m)
        ask(m, "What blocks release 2.1?")
        ask(m, "Why do we not use direct upload?")
        ask(m.at("2024-04"), "Why do we not use direct upload?", " (in April)")
        ask(m, "When was bug 412 fixed?")

        turn = m.when_changed(DESIGN, "rejected_because")
        show(
            "When did the reason end?",
            f"{turn.at:%d %B %Y}: {turn.before.relation} {turn.before.target.name}"
            f" gave way to {turn.after.relation} {turn.after.target.name}",
        )
        show("How did bug 412 go?", *(f"{s.valid_from:%d %b}  {s.content}" for s in m.history(BUG)))
        show("The brief for Monday morning", m.brief().text)


if __name__ == "__main__":
    main()
