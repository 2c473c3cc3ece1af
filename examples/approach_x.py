"""Why don't we use approach X? A memory that knows what was true when, and why it changed.

A team rejects an approach because of a bug, fixes the bug by a refactoring, and is asked
about it before and after. Run it: python examples/approach_x.py
"""

import tempfile
from pathlib import Path

import hades

T1, T2 = "2024-01-10", "2024-02-20"


def day(moment) -> str:
    return f"{moment:%Y-%m-%d}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, hades.open(Path(folder) / "team.hades") as m:
        print("T1  approach X is considered, and rejected because of Bug Y")
        m.remember(
            "design/approach_x",
            "Considered approach X but rejected due to Bug Y",
            tags=["decision"],
            valid_from=T1,
        )
        m.remember("bugs/bug_y", "Bug Y causes data corruption in approach X", valid_from=T1)
        m.relate(
            "design/approach_x",
            "rejected_because",
            "bugs/bug_y",
            evidence="Approach X rejected because it triggers Bug Y",
            valid_from=T1,
        )

        print("T2  a refactoring fixes Bug Y: the fact changes\n")
        m.remember(
            "refactoring/2024_q1", "Refactored data layer, Bug Y no longer occurs", valid_from=T2
        )
        m.remember(
            "bugs/bug_y", "Bug Y fixed: data layer refactored to prevent corruption", valid_from=T2
        )
        m.change_fact(
            "design/approach_x",
            "rejected_because",
            to="refactoring/2024_q1",
            content="Approach X now viable after Bug Y fix (refactoring T2)",
            evidence="Approach X now viable due to refactoring",
            at=T2,
        )

        print("Why don't we use approach X?")
        print("  ", m.get("design/approach_x").content)
        for edge in m.edges("design/approach_x"):
            print(f"   holds since {day(edge.valid_from)}: {edge}")
        for edge in m.edges("design/approach_x", all=True):
            if edge.valid_to is not None:
                print(
                    f"   held until {day(edge.valid_to)}: {edge}  (then edge {edge.superseded_by})"
                )

        print("\nWhy was approach X rejected, back at T1?")
        then = m.at(T1)
        print("  ", then.get("design/approach_x").content)
        for edge in then.edges("design/approach_x"):
            print(f"   {edge}: {edge.evidence}")

        turn = m.when_changed("design/approach_x", "rejected_because", "viable_after_fix")
        print("\nWhen did approach X become viable?")
        print(f"   {day(turn.at)}: {turn.before.relation} gave way to {turn.after.relation}")

        print("\nWhat changed in what we say about it?")
        print("   " + m.diff("design/approach_x").text.replace("\n", "\n   "))


if __name__ == "__main__":
    main()
