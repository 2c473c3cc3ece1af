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
        retrievers = ", ".join(f"{one} {score:.2f}" for one, score in hit.retrievers.items())
        first = " ".join(hit.chunk.text.split())[:140]
        print(f"   {hit.score:.2f}  {hit.chunk.topic}:{hit.line}  ({retrievers})\n         {first}")


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
            show("Harbour Board (by name)", m.search("Harbour Board", 3, retriever="names"))
            show(
                "when is the sea highest? (code)",
                m.search("when is the sea highest", 1, kind="code"),
            )

            before = m.log(1)[0].at
            text = (docs / "lighthouse.md").read_text()
            (docs / "lighthouse.md").write_text(text.replace("whale oil", "colza oil"))
            m.ingest(docs)
            show("what did it burn? (now)", m.search("oil lamp", 1, retriever="words"))
            show(
                "what did it burn? (before the edit)",
                m.at(before).search("oil lamp", 1, retriever="words"),
            )
            print("\n" + m.diff("sample/lighthouse.md").text)


if __name__ == "__main__":
    main()
