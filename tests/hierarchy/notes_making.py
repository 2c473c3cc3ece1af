"""Notes about three subjects, which every sensible hierarchy keeps apart."""

from __future__ import annotations

import hades

SUBJECTS = {
    "boats": """The ferry sails to the island. A sailing boat needs wind. The harbour has forty
    boats. The captain moors the ship at the quay. The lifeboat was repaired in the harbour. A
    kayak is a narrow boat. The ship's anchor holds in the storm.""",
    "bread": """Sourdough bread needs a starter. The oven bakes bread at high heat. Rye flour makes
    dense bread. Knead the dough for ten minutes. Yeast lets the dough rise. The baker sells bread
    rolls in the morning. Bread flour has more gluten.""",
    "stars": """A red giant is an old star. The telescope shows the rings of Saturn. Jupiter has
    ninety moons. A supernova ends a heavy star. The galaxy has spiral arms of stars. Astronomers
    measured the distance of the star. A comet passes the sun.""",
}


def remember_subjects(memory: hades.Memory) -> None:
    with memory.batch():
        for subject, text in SUBJECTS.items():
            for number, sentence in enumerate(text.split(".")[:-1]):
                memory.remember(f"{subject}/{number}", f"{' '.join(sentence.split())}.")


def members_by_cluster(view: hades.View) -> dict[str, set[str]]:
    """The subjects of the members of each cluster of level 1."""
    found = {}
    for cluster in view.hierarchy().clusters:
        if cluster.level == 1:
            cites = [member.cite for member in view.clusters(cluster.id, 1_000).members]
            found[cluster.id] = {cite.partition("/")[0] for cite in cites}
    return found
