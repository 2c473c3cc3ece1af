"""Take in a folder, search it, change a file, and search the past.

Run it: python examples/first_search.py
"""

import shutil
import tempfile
from pathlib import Path

import hades

SAMPLE = Path(__file__).parent / "sample"


def show(question: str, hits: list[hades.Hit]) -> None:
    print(f"\n{question}")
    for hit in hits:
        doors = ", ".join(f"{door} {score:.2f}" for door, score in hit.doors.items())
        first = " ".join(hit.chunk.text.split())[:140]
        print(f"   {hit.score:.2f}  {hit.chunk.topic}:{hit.line}  ({doors})\n         {first}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "sample"
        shutil.copytree(SAMPLE, docs)
        with hades.open(Path(folder) / "sample.hades") as m:
            done = m.ingest(docs)
            print(f"ingested {done.added} files: {m.stats()['chunks']} passages, ", end="")
            print(f"{len(m.entities())} names, {m.stats()['mentions']} mentions")
            show(
                "Who repaired the glass after the gale?",
                m.search("Who repaired the glass after the gale?", 2),
            )
            show("Harbour Board (by name)", m.search("Harbour Board", 3, door="names"))
            show(
                "when is the sea highest? (code)",
                m.search("when is the sea highest", 1, kind="code"),
            )

            before = m.log(1)[0].at
            text = (docs / "lighthouse.md").read_text()
            (docs / "lighthouse.md").write_text(text.replace("whale oil", "colza oil"))
            m.ingest(docs)
            show("what did it burn? (now)", m.search("oil lamp", 1, door="words"))
            show(
                "what did it burn? (before the edit)",
                m.at(before).search("oil lamp", 1, door="words"),
            )
            print("\n" + m.diff("sample/lighthouse.md").text)


if __name__ == "__main__":
    main()
